"""Adding pictures to a library: scan, decode in worker processes, encode, acknowledge in batches.

A batch is stored while the next one is being encoded, and is one commit of the store: after a crash at any point
everything acknowledged is there, and adding the same folder again resumes, because a file whose size and time of change
are known is not read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.encoders.base import Encoder
from viewfinder.encoders.vectors import check_rows, find_unusable, say_no_vector
from viewfinder.errors import BadInput
from viewfinder.pictures import BadFile, DecodedFile, Decoders, FoundFile, Outcome, absolute_root, walk
from viewfinder.pictures.walk_notes import WalkNotes, describe_kinds, describe_left_out
from viewfinder.store.manifest import Manifest, Matched
from viewfinder.store.objects import is_gone, parse_url, walk_objects
from viewfinder.store.reports import AddReport, Progress
from viewfinder.store.rows import Failure, FileRecord, PictureRow
from viewfinder.store.store import Store
from viewfinder.store.tables import COMMIT_EVERY_S, pace_batches

MAX_LISTED_FAILURES = 1000
"""Failures that a report lists; the store has them all."""


@dataclass(frozen=True, eq=False)
class EmbeddedFile(DecodedFile):
    """A picture that was embedded elsewhere: its raw vector, and no pixels."""

    raw_g: Float32[np.ndarray, " g"]


@runtime_checkable
class Embedder(Protocol):
    """Reads and embeds files in place of this process."""

    def embed(self, files: Iterable[FoundFile]) -> Iterator[EmbeddedFile | BadFile]:
        """One outcome per file, in their order; the files are drawn as they are needed, there may be millions."""
        ...


@dataclass(frozen=True, eq=False)
class _PictureBatch:
    """Outcomes of some files; `raw_nr` will hold the vectors of the pictures that are `new`."""

    outcomes: Sequence[Outcome]
    new: Mapping[str, DecodedFile]
    raw_nr: Future[Float[np.ndarray, "n raw"]]


class Ingest:
    """One run of `add` over one library. Only `run` writes, and it holds the library meanwhile.

    Its memory does not grow with the files, found or known: these are in the manifest.
    """

    _manifest: Manifest

    def __init__(
        self,
        store: Store,
        encoder: Encoder,
        *,
        workers: int | None = None,
        follow_links: bool = True,
        include: Sequence[str] = (),
        embedder: Embedder | None = None,
    ) -> None:
        self._store, self._encoder, self._follow_links, self._include = store, encoder, follow_links, include
        self._embedder = embedder
        self._workers = workers or max(os.cpu_count() or 1, 1)
        self._rows: dict[str, PictureRow] = {}  # those that the batch under way may change
        self._unusable: dict[str, str] = {}  # pictures of the last batch without a usable vector, and why
        self._report = AddReport()

    def plan(self, roots: Sequence[Path]) -> AddReport:
        """Counts the files that `run` would read, without reading or writing anything (`--dry-run`)."""
        with Manifest.opened() as self._manifest:
            matched = self._match_places(roots)
        self._report.found, self._report.unchanged = matched.found, matched.unchanged
        self._report.added = matched.to_read
        self._report.quarantined = matched.still_failed + matched.unreadable
        return self._report

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
        with Manifest.opened() as self._manifest:
            matched = self._match_places(roots)
            self._report.found, self._report.unchanged = matched.found, matched.unchanged
            for unreadable in self._manifest.unreadable():
                self._quarantine_files(unreadable)
            # Places below these roots that could not be read before, and now can (or are gone).
            places, above = self._manifest.places_no_longer_found(), _make_absolute(roots)
            if healed := [str(place) for place in places if any(place.is_relative_to(root) for root in above)]:
                self._store.forget_failures(healed)
            self._count_failures(matched.failures, matched.still_failed)
            note(self._report)
            done = 0
            files = self._manifest.to_read()
            with self._read_files(files) as outcomes, closing(self._make_batches(outcomes)) as batches:
                for batch in batches:
                    self._take_batch(batch)
                    done += len(batch.outcomes)
                    note(self._report)
                    if progress is not None:
                        progress(done, matched.to_read)
                    if should_stop() and done < matched.to_read:
                        self._report.stopped = True
                        break
        return self._report

    @contextmanager
    def _read_files(self, files: Iterable[FoundFile]) -> Iterator[Iterator[Outcome]]:
        """The outcomes of files, in their order: decoded here, or embedded elsewhere."""
        if self._embedder is not None:
            yield self._embedder.embed(files)
            return
        with Decoders(self._workers, fit=self._encoder.fit) as decoders:
            yield decoders.decode(file.path for file in files)

    def _match_places(self, roots: Sequence[Path]) -> Matched:
        """Fills the manifest: what is below the roots, without what is known and did not change."""
        places = _make_absolute(roots)
        self._manifest.learn(self._store, self._encoder.raw_version)
        folders = [place for place in places if parse_url(place) is None]
        notes = WalkNotes()
        self._manifest.find(walk(folders, follow_links=self._follow_links, include=self._include, notes=notes))
        for url in filter(None, map(parse_url, places)):
            self._manifest.find(walk_objects(url, include=self._include, notes=notes))
        matched = self._manifest.match(MAX_LISTED_FAILURES)
        if not matched.found:
            raise BadInput(_explain_nothing_found(roots, notes))
        self._report.take_notes(notes)
        if self._include and not notes.included:
            patterns = ", ".join(map(repr, self._include))
            self._report.notes.append(f"include {patterns}: nothing that is otherwise left out matches")
        return matched

    def _make_batches(self, outcomes: Iterator[Outcome]) -> Generator[_PictureBatch, None, None]:
        """Batches to be stored, with their vectors. While the caller stores one, those of the next are being made.

        A batch waits for its successor only if files come fast: what took long to read is to be stored at once.
        """
        waiting: _PictureBatch | None = None
        with ThreadPoolExecutor(1, thread_name_prefix="encoding") as encoding:
            asked = monotonic()
            for drawn in pace_batches(outcomes):
                is_slow = monotonic() - asked > COMMIT_EVERY_S
                new = self._find_new(drawn, () if waiting is None else waiting.new)
                batch = _PictureBatch(drawn, new, encoding.submit(self._encode_pictures, list(new.values())))
                if waiting is not None:
                    yield waiting
                wait([batch.raw_nr])
                waiting = None if is_slow else batch
                if waiting is None:
                    yield batch
                asked = monotonic()
            if waiting is not None:
                yield waiting

    def _find_new(self, outcomes: Sequence[Outcome], waiting: Container[str]) -> dict[str, DecodedFile]:
        """The pictures of a batch that have no vector yet, and will not get one with the batch that is `waiting`."""
        new: dict[str, DecodedFile] = {}
        for outcome in outcomes:
            if isinstance(outcome, BadFile) or outcome.id in waiting or self._manifest.has_vector(outcome.id):
                continue
            new.setdefault(outcome.id, outcome)
        return new

    def _take_batch(self, batch: _PictureBatch) -> None:
        """One batch: bad files into quarantine, pictures into the store."""
        new, vectors, unusable = self._find_vectors(batch)
        # Copies of a picture that has just been found unusable may follow in this batch.
        outcomes = [_reject_unusable(outcome, self._unusable | unusable) for outcome in batch.outcomes]
        self._unusable = unusable
        bad = [outcome for outcome in outcomes if isinstance(outcome, BadFile)]
        self._quarantine_files([Failure(str(file.path), file.size, file.mtime_ns, file.reason) for file in bad])
        pictures = [outcome for outcome in outcomes if isinstance(outcome, DecodedFile)]
        if healed := [str(picture.path) for picture in pictures if self._manifest.has_failed(str(picture.path))]:
            self._store.forget_failures(healed)
        self._rows = self._read_rows(batch.outcomes)
        touched: set[str] = set()
        for path in (str(file.path) for file in bad):
            if (before := self._manifest.picture_at(path)) is not None:
                touched.add(before)
                self._remove_file(before, path)  # it held a picture, and no longer does
        for picture in pictures:
            touched |= self._place_file(picture)
        if new:
            self._store.keep_originals({picture: read.path for picture, read in new.items()})
            self._store.add([self._rows[picture] for picture in new], vectors)
            self._manifest.add_vectors(new)
        self._store.replace([self._rows[picture] for picture in sorted(touched - new.keys())])

    def _find_vectors(
        self, batch: _PictureBatch
    ) -> tuple[dict[str, DecodedFile], dict[str, Float[np.ndarray, "n _"]], dict[str, str]]:
        """The new pictures of a batch, their vectors in each space, and those that have no usable one, with the reason.

        Raises PartFailed: the encoder gave something else than vectors.
        """
        encoder, new = self._encoder, dict(batch.new)
        vectors: dict[str, Float[np.ndarray, "n _"]] = {}
        unusable: dict[str, str] = {}
        steps: tuple[tuple[str, Callable[[], object]], ...] = (
            (encoder.raw_version, batch.raw_nr.result),
            (encoder.version, lambda: encoder.project(vectors[encoder.raw_version])),
        )
        for space, make in steps:
            if not new:
                break
            names = list(new)
            vectors[space] = check_rows(make(), len(names), encoder)
            bad = find_unusable(vectors[space])
            unusable |= {names[row]: say_no_vector(encoder, why) for row, why in bad.items()}
            kept = [row for row in range(len(names)) if row not in bad]
            vectors = {known: rows_nd[kept] for known, rows_nd in vectors.items()}
            new = {names[row]: new[names[row]] for row in kept}
        return new, vectors, unusable

    def _read_rows(self, outcomes: Sequence[Outcome]) -> dict[str, PictureRow]:
        """The known pictures that these files hold, and that lay in their places before."""
        ids = {outcome.id for outcome in outcomes if isinstance(outcome, DecodedFile)}
        ids.update(filter(None, (self._manifest.picture_at(str(outcome.path)) for outcome in outcomes)))
        known = sorted(picture for picture in ids if self._manifest.has_vector(picture) is not None)
        return {row.id: row for row in self._store.rows_of(known)}

    def _encode_pictures(self, pictures: Sequence[DecodedFile]) -> Float[np.ndarray, "n raw"]:
        embedded = [picture.raw_g for picture in pictures if isinstance(picture, EmbeddedFile)]
        if embedded and len(embedded) == len(pictures):
            return np.stack(embedded)
        return self._encoder.pictures([picture.pixels for picture in pictures]).global_bd

    def _place_file(self, picture: DecodedFile) -> set[str]:
        """Records that `picture` lies at its path now; returns the ids whose rows changed."""
        path = str(picture.path)
        file = FileRecord(path, picture.size, picture.mtime_ns)
        touched = {picture.id}
        before = self._manifest.picture_at(path)
        known = self._rows.get(picture.id)
        if before is not None and before != picture.id:
            self._remove_file(before, path)
            touched.add(before)
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
        self._manifest.put_file(path, picture.id)
        return touched

    def _remove_file(self, picture: str, path: str) -> None:
        row = self._rows[picture]
        self._rows[picture] = replace(row, files=tuple(file for file in row.files if file.path != path))
        self._manifest.remove_file(path)

    def _quarantine_files(self, failures: Sequence[Failure]) -> None:
        self._store.quarantine(failures)
        self._manifest.add_failures(failures)
        self._count_failures(failures, len(failures))

    def _count_failures(self, failures: Sequence[Failure], count: int) -> None:
        self._report.failures += failures[: MAX_LISTED_FAILURES - len(self._report.failures)]
        self._report.quarantined += count


def _reject_unusable(outcome: Outcome, unusable: Mapping[str, str]) -> Outcome:
    """The outcome, as a bad file if its picture is among those that have no usable vector."""
    if isinstance(outcome, BadFile) or (why := unusable.get(outcome.id)) is None:
        return outcome
    return BadFile(outcome.path, outcome.size, outcome.mtime_ns, why)


def _explain_nothing_found(roots: Sequence[Path], notes: WalkNotes) -> str:
    """What was found in place of pictures."""
    left = describe_left_out(notes.left_out, examples=False)
    told = "".join(f"{part}; " for part in (describe_kinds(notes.passed_over), left and f"left out {left}") if part)
    return (
        f"no pictures in {', '.join(map(str, roots))}: {told}looked for JPEG, PNG, WebP, GIF, BMP, TIFF, AVIF, HEIC, "
        "JPEG XL and RAW files, leaving out hidden and ignored ones"
    )


def _make_absolute(roots: Sequence[Path]) -> list[Path]:
    return [absolute_root(root) if (url := parse_url(root)) is None else Path(url) for root in roots]
