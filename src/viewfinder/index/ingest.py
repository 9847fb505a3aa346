"""Adding pictures to a library: scan, decode in worker processes, encode, acknowledge in batches.

Every batch is one commit of the store: after a crash at any point everything acknowledged is there, and adding the same
folder again resumes, because a file whose size and time of change are known is not read again.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.encoders.base import Encoder
from viewfinder.errors import BadInput
from viewfinder.index.objects import is_gone, parse_url, scan_objects
from viewfinder.index.rows import Failure, FileRecord, PictureRow
from viewfinder.index.store import Store
from viewfinder.index.tables import pace_batches
from viewfinder.pictures import BadFile, DecodedFile, Decoders, FoundFile, Outcome, Scan, can_be_read_now, scan


@dataclass
class AddReport:
    """What `add` did. `stopped` says that it was interrupted between batches; adding again resumes.

    `found`: files, and places that could not be read. Once all is read, it is the sum of `added`, `changed`,
    `moved`, `unchanged`, `duplicates` (copies of pictures that are here) and `quarantined`.
    """

    found: int = 0
    added: int = 0
    changed: int = 0
    moved: int = 0
    unchanged: int = 0
    duplicates: int = 0
    quarantined: int = 0
    described: int = 0
    stopped: bool = False
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


Progress = Callable[[int, int], None]
"""Called after each batch: files done, files to do."""


@dataclass(frozen=True, eq=False)
class EmbeddedFile(DecodedFile):
    """A picture that was embedded elsewhere: its raw vector, and no pixels."""

    raw_g: Float32[np.ndarray, " g"]


@runtime_checkable
class Embedder(Protocol):
    """Reads and embeds files in place of this process."""

    def embed(self, files: Sequence[FoundFile]) -> Iterator[EmbeddedFile | BadFile]:
        """One outcome per file, in their order."""
        ...


class Ingest:
    """One run of `add` over one library. Only `run` writes, and it holds the library meanwhile."""

    def __init__(
        self,
        store: Store,
        encoder: Encoder,
        *,
        workers: int | None = None,
        follow_links: bool = True,
        embedder: Embedder | None = None,
    ) -> None:
        self._store, self._encoder, self._follow_links = store, encoder, follow_links
        self._embedder = embedder
        self._workers = workers or max(os.cpu_count() or 1, 1)
        self._rows = {row.id: row for row in store.rows()}
        self._by_path = {file.path: (row.id, file) for row in self._rows.values() for file in row.files}
        self._stored = store.ids_with_vectors(encoder.raw_version)  # a picture that lost its vector is read again
        self._failed = {failure.path: failure for failure in store.failures()}
        self._report = AddReport()

    def plan(self, roots: Sequence[Path]) -> AddReport:
        """What `run` would read, without reading or writing anything (`--dry-run`)."""
        found = self._scanned(roots)
        to_read, still_failed, unchanged = self._sorted(found.files)
        left_out = len(still_failed) + len(found.unreadable)
        return AddReport(
            found=len(found.files) + len(found.unreadable),
            added=len(to_read),
            unchanged=unchanged,
            quarantined=left_out,
        )

    def run(
        self,
        roots: Sequence[Path],
        *,
        progress: Progress | None = None,
        note: Callable[[AddReport], None] = lambda report: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> AddReport:
        """Reads what is new or changed below `roots`, batch by batch; `should_stop` is asked between batches.

        `note` is called with the current report before the first batch and after each one.
        """
        found = self._scanned(roots)
        to_read, still_failed, self._report.unchanged = self._sorted(found.files)
        self._report.found = len(found.files) + len(found.unreadable)
        self._quarantine([Failure(str(entry.path), 0, 0, entry.reason) for entry in found.unreadable])
        # Places below these roots that could not be read before, and now can (or are gone).
        now = {str(entry.path) for entry in found.unreadable}
        places = [path for path, failure in self._failed.items() if not failure.size and not failure.mtime_ns]
        healed = [p for p in places if p not in now and any(Path(p).is_relative_to(root) for root in found.roots)]
        if healed:
            self._store.forget_failures(healed)
        self._report.failures += still_failed
        self._report.quarantined += len(still_failed)
        done = 0
        note(self._report)
        with self._outcomes(to_read) as outcomes:
            for batch in pace_batches(outcomes):
                self._take(batch)
                done += len(batch)
                note(self._report)
                if progress is not None:
                    progress(done, len(to_read))
                if should_stop() and done < len(to_read):
                    self._report.stopped = True
                    break
        return self._report

    @contextmanager
    def _outcomes(self, files: Sequence[FoundFile]) -> Iterator[Iterator[Outcome]]:
        """The outcomes of files, in their order: decoded here, or embedded elsewhere."""
        if self._embedder is not None:
            yield self._embedder.embed(files)
            return
        with Decoders(self._workers, fit=self._encoder.fit) as decoders:
            yield decoders.decode(file.path for file in files)

    def _scanned(self, roots: Sequence[Path]) -> Scan:
        urls = [url for root in roots if (url := parse_url(root)) is not None]
        found = scan([root for root in roots if parse_url(root) is None], follow_links=self._follow_links)
        for url in urls:
            files, unreadable = scan_objects(url)
            places = {file.path: file for file in (*found.files, *files)}
            found = Scan((*found.roots, Path(url)), tuple(places.values()), (*found.unreadable, *unreadable))
        if not found.files and not found.unreadable:
            where = ", ".join(map(str, roots))
            raise BadInput(
                f"no pictures in {where}: looked for JPEG, PNG, WebP, GIF, BMP, TIFF, AVIF, HEIC and RAW files, "
                "leaving out hidden and ignored ones"
            )
        return found

    def _sorted(self, files: Sequence[FoundFile]) -> tuple[list[FoundFile], list[Failure], int]:
        """The files to read, known failures that did not change, and how many pictures did not change."""
        to_read, still_failed, unchanged = [], [], 0
        for file in files:
            picture, known = self._by_path.get(str(file.path), ("", None))
            failure = self._failed.get(str(file.path))
            if (
                known is not None
                and picture in self._stored
                and (known.size, known.mtime_ns) == (file.size, file.mtime_ns)
            ):
                unchanged += 1
            elif (
                failure is not None
                and (failure.size, failure.mtime_ns) == (file.size, file.mtime_ns)
                and not can_be_read_now(failure.reason)
            ):
                still_failed.append(failure)
            else:
                to_read.append(file)
        return to_read, still_failed, unchanged

    def _take(self, outcomes: Sequence[Outcome]) -> None:
        """One batch: bad files into quarantine, pictures into the store."""
        bad = [outcome for outcome in outcomes if isinstance(outcome, BadFile)]
        self._quarantine([Failure(str(file.path), file.size, file.mtime_ns, file.reason) for file in bad])
        pictures = [outcome for outcome in outcomes if isinstance(outcome, DecodedFile)]
        if healed := [str(picture.path) for picture in pictures if str(picture.path) in self._failed]:
            self._store.forget_failures(healed)
        new: dict[str, DecodedFile] = {}
        touched: set[str] = set()
        for path in (str(file.path) for file in bad if str(file.path) in self._by_path):
            touched.add(self._by_path[path][0])
            self._remove_file(self._by_path[path][0], path)  # it held a picture, and no longer does
        for picture in pictures:
            touched |= self._place(picture)
            if picture.id not in self._stored and picture.id not in new:
                new[picture.id] = picture
        if new:
            raw_nr = self._raw_vectors(list(new.values()))
            vectors = {self._encoder.raw_version: raw_nr, self._encoder.version: self._encoder.project(raw_nr)}
            self._store.keep_originals({picture: read.path for picture, read in new.items()})
            self._store.add([self._rows[picture] for picture in new], vectors)
            self._stored |= new.keys()
        self._store.replace([self._rows[picture] for picture in sorted(touched - new.keys())])

    def _raw_vectors(self, pictures: Sequence[DecodedFile]) -> Float[np.ndarray, "n raw"]:
        embedded = [picture.raw_g for picture in pictures if isinstance(picture, EmbeddedFile)]
        if len(embedded) == len(pictures):
            return np.stack(embedded)
        return self._encoder.pictures([picture.pixels for picture in pictures]).global_bd

    def _place(self, picture: DecodedFile) -> set[str]:
        """Records that `picture` lies at its path now; returns the ids whose rows changed."""
        path = str(picture.path)
        file = FileRecord(path, picture.size, picture.mtime_ns)
        touched = {picture.id}
        before = self._by_path.get(path)
        known = self._rows.get(picture.id)
        if before is not None and before[0] != picture.id:
            self._remove_file(before[0], path)
            touched.add(before[0])
            self._report.changed += 1
        elif known is None:
            self._report.added += 1
        elif before is None:
            gone = [old.path for old in known.files if is_gone(old.path)]
            for old in gone[:1]:
                self._remove_file(picture.id, old)
            moved = bool(gone) or not known.files  # no files: its last one got other content in this run
            self._report.moved += moved
            self._report.duplicates += not moved
        else:
            self._report.unchanged += 1  # touched, but the content is the same
        files = tuple(old for old in self._rows[picture.id].files if old.path != path) if known else ()
        facts = picture.facts
        row = self._rows.get(picture.id) or PictureRow(
            picture.id, (), facts.width, facts.height, facts.format, picture.size, facts.captured, facts.camera
        )
        self._rows[picture.id] = replace(row, files=(*files, file))
        self._by_path[path] = (picture.id, file)
        return touched

    def _remove_file(self, picture: str, path: str) -> None:
        row = self._rows[picture]
        self._rows[picture] = replace(row, files=tuple(file for file in row.files if file.path != path))
        self._by_path.pop(path, None)

    def _quarantine(self, failures: Sequence[Failure]) -> None:
        self._store.quarantine(failures)
        self._failed.update({failure.path: failure for failure in failures})
        self._report.failures += failures
        self._report.quarantined += len(failures)


def note_descriptions(
    store: Store, captions: Mapping[Path, Sequence[str]], catalogue: Mapping[Path, Sequence[Mapping[str, str]]]
) -> int:
    """Records captions and catalogue rows with the pictures at these paths; returns how many pictures changed."""
    changed = []
    for row in store.rows():
        paths = [Path(file.path) for file in row.files]
        said = [caption for path in paths for caption in captions.get(path, ())]
        values: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            for entry in catalogue.get(path, ()):
                for name, value in entry.items():
                    values[name].append(value)
        updated = replace(
            row,
            captions=tuple(dict.fromkeys((*row.captions, *said))),
            attributes=dict(row.attributes) | {name: tuple(dict.fromkeys(found)) for name, found in values.items()},
        )
        if updated != row:
            changed.append(updated)
    store.replace(changed)
    return len(changed)


@dataclass(frozen=True)
class PictureDescriptions:
    """Captions and catalogue rows as read, to be matched with the library's files."""

    captions: Sequence[Any]
    catalogue: Any

    @staticmethod
    def read(captions: str | Path | None, catalogue: str | Path | None) -> PictureDescriptions | None:
        """Reads the tables before anything is added: a damaged one should be reported at once."""
        if captions is None and catalogue is None:
            return None
        from viewfinder.data import read_captions_csv, read_catalogue

        said = [] if captions is None else read_captions_csv(Path(captions))[0]
        return PictureDescriptions(said, None if catalogue is None else read_catalogue(Path(catalogue)))

    def apply(self, store: Store) -> tuple[int, list[str]]:
        """Records them with the pictures they are about; returns how many, and what could not be matched."""
        from viewfinder.data import match_keys

        paths = [Path(file.path) for row in store.rows() for file in row.files]
        notes = []
        captions: dict[Path, list[str]] = {}
        if self.captions:
            found = match_keys([str(picture.path) for picture in self.captions], paths)
            for path, positions in found.files.items():
                captions[path] = [text for position in positions for text in self.captions[position].captions]
            if found.unmatched:
                notes.append(f"{len(found.unmatched)} captioned pictures are not in the library")
        rows: dict[Path, list[Mapping[str, str]]] = {}
        if self.catalogue is not None:
            matches = self.catalogue.matches(paths)
            rows = {path: [row.values for row in found] for path, found in matches.rows.items()}
            if matches.unmatched:
                notes.append(f"{len(matches.unmatched)} catalogue rows are about no picture in the library")
        return note_descriptions(store, captions, rows), notes
