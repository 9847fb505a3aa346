"""Adding pictures to a library: scan, decode in worker processes, encode, acknowledge in batches.

A batch is stored while the next one is being encoded, and is one commit of the store: after a crash at any point
everything acknowledged is there, and adding the same folder again resumes, because a file whose size and time of change
are known is not read again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Container, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.encoders.base import Encoder
from viewfinder.encoders.vectors import check_rows, find_unusable, say_no_vector
from viewfinder.errors import BadInput, PictureError, ViewfinderError
from viewfinder.pictures import (
    BadFile,
    DecodedFile,
    Decoders,
    FoundFile,
    IdentifiedFile,
    Outcome,
    absolute_root,
    decode_one,
    list_former_fits,
)
from viewfinder.pictures.facts.model import Fact, find_value
from viewfinder.pictures.facts.places import advise_places
from viewfinder.pictures.pixel_hashes import is_same_picture, split_pixel_hash
from viewfinder.pictures.scan import walk
from viewfinder.pictures.walk_notes import WalkNotes, describe_kinds, describe_left_out
from viewfinder.processors import count_processors, use_one_blas_thread
from viewfinder.store.kept_encoders import SAME_VECTOR, encode_usable
from viewfinder.store.known_facts import complete_facts, count_unnamed, stamp_settings
from viewfinder.store.manifest import Manifest, Matched
from viewfinder.store.object_walk import walk_objects
from viewfinder.store.objects import is_gone, parse_url
from viewfinder.store.removal import delete_thumbnails
from viewfinder.store.reports import AddReport, Progress
from viewfinder.store.rows import Failure, FileRecord, PictureRow, keep_files
from viewfinder.store.store import Store
from viewfinder.store.tables import COMMIT_EVERY_S, pace_batches

MAX_LISTED_FAILURES = 1000
"""Failures that a report lists; the store has them all."""

MAX_LEFT_BEHIND, MAX_LISTED_LEFT_BEHIND = 10_000, 10
"""Pictures without a file any more that a run remembers, and the most that a report lists."""


@dataclass(frozen=True, eq=False)
class EmbeddedFile(DecodedFile):
    """A picture that was embedded elsewhere: its raw vector, and no pixels."""

    raw_g: Float32[np.ndarray, " g"]


@runtime_checkable
class Embedder(Protocol):
    """Reads and embeds files in place of this process."""

    def embed(self, files: Iterable[FoundFile]) -> Iterator[EmbeddedFile | IdentifiedFile | BadFile]:
        """One outcome per file, in their order; the files are drawn as they are needed, there may be millions.

        A file that is `facts_only` need not be embedded.
        """
        ...


@dataclass(frozen=True, eq=False)
class _ReadFile:
    """A file that was found, what reading it gave, and the id of the picture that it holds ("" for a bad one)."""

    file: FoundFile
    outcome: Outcome
    picture: str = ""
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, eq=False)
class _PictureBatch:
    """Some files as read; `raw_nr` will hold the vectors of the pictures that are `new`, `beside` those that the
    library's other encoders make of them."""

    reads: Sequence[_ReadFile]
    new: Mapping[str, DecodedFile]
    raw_nr: Future[Float[np.ndarray, "n raw"]]
    beside: Future[list[_VectorsBeside]]


@dataclass(frozen=True, eq=False)
class _VectorsBeside:
    """Raw vectors of pictures in the space of another encoder."""

    space: str
    pictures: Sequence[str]
    raw_mr: Float[np.ndarray, "m raw"]


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
        leave_out: Collection[str] = (),
        load_others: Callable[[], Sequence[Encoder]] = tuple,
    ) -> None:
        """`leave_out`: the facts that are not kept. `load_others`: called if there is anything to read, gives the
        library's other encoders, which get vectors of the new pictures as well; what one fails to make is made later.
        """
        self._leave_out, self._load_others = leave_out, load_others
        self._others: dict[str, tuple[Encoder, Decoders]] = {}
        self._store, self._encoder, self._follow_links, self._include = store, encoder, follow_links, include
        self._embedder = embedder
        self._workers = workers or count_processors()
        self._rows: dict[str, PictureRow] = {}  # those that the batch under way may change
        self._unusable: dict[str, str] = {}  # pictures of the last batch without a usable vector, and why
        self._recognised: dict[str, str] = {}  # pictures of the last batch that turned out to be known ones
        self._fresh: dict[str, str] = {}  # new pictures of the batches under way, by their pixels
        self._left_behind: dict[str, str] = {}  # pictures whose place another has taken: the path by the id
        self._unnamed = 0  # files with coordinates whose places cannot be named
        self._completed = 0  # files of an earlier viewfinder whose facts are read for the first time
        self._report = AddReport()

    def plan(self, roots: Sequence[Path]) -> AddReport:
        """Counts the files that `run` would read, without reading or writing anything (`--dry-run`)."""
        with Manifest.opened() as self._manifest:
            matched = self._match_places(roots)
        self._report.found, self._report.reread = matched.found, matched.to_reread
        self._report.unchanged = matched.unchanged + matched.to_reread
        self._report.added = matched.to_read - matched.to_reread
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
            with ExitStack() as stack:
                if matched.to_read:
                    stack.enter_context(use_one_blas_thread())
                if matched.to_read and self._embedder is None:
                    for other in self._load_others():
                        decoders = stack.enter_context(Decoders(self._workers, fit=other.fit))
                        self._others[other.raw_version] = other, decoders
                batches = stack.enter_context(closing(self._list_batches()))
                for batch in batches:
                    self._take_batch(batch)
                    done += len(batch.reads)
                    note(self._report)
                    if progress is not None:
                        progress(done, matched.to_read)
                    if should_stop() and done < matched.to_read:
                        self._report.stopped = True
                        break
        self._report.notes += self._say_completed() + self._say_left_behind()
        if self._unnamed:
            self._report.notes.append(advise_places(self._unnamed))
        return self._report

    def _list_batches(self) -> Generator[_PictureBatch, None, None]:
        """All files that are to be read, batch by batch."""
        for files in self._manifest.list_rounds():
            with self._read_files(files) as reads, closing(self._make_batches(reads)) as batches:
                yield from batches

    @contextmanager
    def _read_files(self, files: Iterable[FoundFile]) -> Iterator[Iterator[_ReadFile]]:
        """Files as they are read, in their order: decoded here, or embedded elsewhere."""
        drawn = deque[FoundFile]()

        def draw() -> Iterator[FoundFile]:
            for file in files:
                drawn.append(file)
                yield file

        if self._embedder is not None:
            yield (_ReadFile(drawn.popleft(), outcome) for outcome in self._embedder.embed(draw()))
            return
        with Decoders(self._workers, fit=self._encoder.fit) as decoders:
            yield (_ReadFile(drawn.popleft(), outcome) for outcome in decoders.read(draw()))

    def _match_places(self, roots: Sequence[Path]) -> Matched:
        """Fills the manifest: what is below the roots, without what is known and did not change."""
        places = _make_absolute(roots)
        self._manifest.learn(self._store, self._encoder.raw_version)
        folders = [place for place in places if parse_url(place) is None]
        stamp, notes = stamp_settings(self._leave_out), WalkNotes()
        found = walk(folders, follow_links=self._follow_links, include=self._include, notes=notes)
        self._manifest.find(found, stamp)
        for url in filter(None, map(parse_url, places)):
            self._manifest.find(walk_objects(url, include=self._include, notes=notes), stamp)
        matched = self._manifest.match(MAX_LISTED_FAILURES)
        if not matched.found:
            raise BadInput(_explain_nothing_found(roots, notes))
        self._report.take_notes(notes)
        if self._include and not notes.included:
            patterns = ", ".join(map(repr, self._include))
            self._report.notes.append(f"include {patterns}: nothing that is otherwise left out matches")
        return matched

    def _make_batches(self, reads: Iterator[_ReadFile]) -> Generator[_PictureBatch, None, None]:
        """Batches to be stored, with their vectors. While the caller stores one, those of the next are being made.

        A batch waits for its successor only if files come fast: what took long to read is to be stored at once, and so
        is the first one, which somebody may be waiting for.
        """
        waiting: _PictureBatch | None = None
        is_first = True
        with ThreadPoolExecutor(1, thread_name_prefix="encoding") as encoding:
            asked = monotonic()
            for drawn in pace_batches(reads):
                is_slow = is_first or monotonic() - asked > COMMIT_EVERY_S
                is_first = False
                named = self._name_pictures(drawn)
                new = self._find_new(named, () if waiting is None else waiting.new)
                raw_nr = encoding.submit(self._encode_pictures, list(new.values()))
                batch = _PictureBatch(named, new, raw_nr, encoding.submit(self._encode_beside, new))
                if waiting is not None:
                    yield waiting
                wait([batch.raw_nr])
                wait([batch.beside])
                waiting = None if is_slow else batch
                if waiting is None:
                    yield batch
                asked = monotonic()
            if waiting is not None:
                yield waiting

    def _name_pictures(self, reads: Sequence[_ReadFile]) -> list[_ReadFile]:
        """The files of a batch with the pictures that they hold, and what is known of these.

        Without those of which only the facts were read, and that are other pictures by now: these are put aside.
        """
        named = []
        fresh, self._fresh = dict(self._fresh), {}
        for read in reads:
            outcome = read.outcome
            if isinstance(outcome, BadFile):
                named.append(read)
                continue
            pixels = split_pixel_hash(outcome.pixel_hash)[0]
            if isinstance(outcome, IdentifiedFile) and not self._is_still_there(outcome):
                self._manifest.put_aside(read.file)
            else:
                picture = self._find_picture(outcome, fresh)
                fresh[pixels] = self._fresh[pixels] = picture
                named.append(replace(read, picture=picture))
        told = [_list_known(read.outcome) for read in named]
        self._unnamed += count_unnamed(told)
        known = complete_facts(told, self._leave_out)
        return [replace(read, facts=facts) for read, facts in zip(named, known, strict=True)]

    def _is_still_there(self, outcome: IdentifiedFile) -> bool:
        """Whether a file that seems unchanged holds the picture that was there."""
        before = self._manifest.picture_at(str(outcome.path))
        known = "" if before is None else self._manifest.pixel_hash_of(before)
        # Of an earlier viewfinder: its pictures are named by the whole content.
        return outcome.pixel_hash == known or (not known and outcome.id == before)

    def _find_picture(self, outcome: DecodedFile | IdentifiedFile, fresh: Mapping[str, str]) -> str:
        """The picture that a file holds: the one that lay there, or any that has its pixels; else it is a new one.

        `fresh`: pictures of the batches under way, by their pixels.
        """
        before = self._manifest.picture_at(str(outcome.path))
        if before is not None and is_same_picture(self._manifest.pixel_hash_of(before), outcome.pixel_hash):
            return before
        if self._manifest.has_vector(outcome.id) is not None:
            return outcome.id
        pixels = split_pixel_hash(outcome.pixel_hash)[0]
        return (fresh.get(pixels) if pixels else None) or self._manifest.picture_with(outcome.pixel_hash) or outcome.id

    def _find_new(self, reads: Sequence[_ReadFile], waiting: Container[str]) -> dict[str, DecodedFile]:
        """The pictures of a batch that have no vector yet, and will not get one with the batch that is `waiting`.

        Also those that were turned where they lie: their vectors are made anew.
        """
        new: dict[str, DecodedFile] = {}
        for read in reads:
            outcome, picture = read.outcome, read.picture
            if not isinstance(outcome, DecodedFile) or picture in waiting:
                continue
            if not self._manifest.has_vector(picture):
                new.setdefault(picture, outcome)
            elif self._was_turned(outcome, picture):
                new[picture] = outcome
        return new

    def _was_turned(self, outcome: DecodedFile, picture: str) -> bool:
        """Whether the picture lay there, or in a place that is gone, and is shown another way up now."""
        if self._manifest.pixel_hash_of(picture) in ("", outcome.pixel_hash):
            return False
        if (before := self._manifest.picture_at(str(outcome.path))) is not None:
            return before == picture
        return all(is_gone(file.path) for row in self._store.rows_of([picture]) for file in row.files)

    def _take_batch(self, batch: _PictureBatch) -> None:
        """One batch: bad files into quarantine, pictures into the store."""
        new, vectors, unusable = self._find_vectors(batch)
        known = self._recognise_pictures(batch.reads, new, vectors)
        kept = [row for row, picture in enumerate(new) if picture not in known]
        new = {picture: read for picture, read in new.items() if picture not in known}
        vectors = {space: rows_nd[kept] for space, rows_nd in vectors.items()}
        # Copies of a picture that has just been recognised, or found unusable, may follow in this batch.
        self._recognised, known = known, self._recognised | known
        reads = [replace(read, picture=known.get(read.picture, read.picture)) for read in batch.reads]
        reads = [_reject_unusable(read, self._unusable | unusable) for read in reads]
        self._unusable = unusable
        bad = [read.outcome for read in reads if isinstance(read.outcome, BadFile)]
        self._quarantine_files([Failure(str(file.path), file.size, file.mtime_ns, file.reason) for file in bad])
        good = [read for read in reads if not isinstance(read.outcome, BadFile)]
        if healed := [str(read.file.path) for read in good if self._manifest.has_failed(str(read.file.path))]:
            self._store.forget_failures(healed)
        self._rows = self._read_rows(reads)
        touched: set[str] = set()
        for path in (str(file.path) for file in bad):
            if (before := self._manifest.picture_at(path)) is not None:
                touched.add(before)
                self._remove_file(before, path)  # it held a picture, and no longer does
        turned = [picture for picture in new if self._manifest.has_vector(picture)]
        for read in good:
            touched |= self._place_file(read, is_shown=new.get(read.picture) is read.outcome)
        beside = [one for one in batch.beside.result() if new]
        if turned:  # before the rows: what is cut short can be repeated
            made_anew = {one.space for one in beside if set(turned) <= set(one.pictures)}
            self._store.forget_vectors(turned, kept=vectors.keys() | made_anew)
            delete_thumbnails(self._store.folder, turned)
        for one in beside:
            rows = [row for row, picture in enumerate(one.pictures) if picture in new]
            self._store.add_vectors(one.space, [one.pictures[row] for row in rows], one.raw_mr[rows])
        changed = [self._rows[picture] for picture in sorted(touched - new.keys())]
        if new:
            self._store.keep_originals({picture: read.path for picture, read in new.items() if picture not in turned})
            self._store.add([self._rows[picture] for picture in new], vectors, changed)
            self._manifest.add_vectors((picture, self._rows[picture].pixels or "") for picture in new)
        else:
            self._store.replace(changed)

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

    def _recognise_pictures(
        self,
        reads: Sequence[_ReadFile],
        new: Mapping[str, DecodedFile],
        vectors: Mapping[str, Float[np.ndarray, "n _"]],
    ) -> dict[str, str]:
        """New pictures that are the ones that lay in their places, where no pixel hash says so; returns those by these.

        A file may have been edited since an earlier viewfinder added it, which knew no such hash: then the vectors are
        those of the same pixels.
        """
        asked: dict[str, str] = {}
        for read in reads:
            before = self._manifest.picture_at(str(read.file.path)) if read.picture in new else None
            if before not in (None, read.picture) and not self._manifest.pixel_hash_of(before):
                asked[read.picture] = before
        if not asked:
            return {}
        space = self._encoder.raw_version
        table, stored_md = self._store.read_added(space, sorted(set(asked.values())))
        stored = {
            row["id"]: (row["width"], row["height"], stored_d.astype(np.float32))
            for row, stored_d in zip(table.select(["id", "width", "height"]).to_pylist(), stored_md, strict=True)
        }
        made = dict(zip(new, vectors[space], strict=True))
        found = {}
        for picture, before in asked.items():
            width, height, stored_d = stored.get(before, (0, 0, np.zeros(0, np.float32)))
            if (width, height) != (new[picture].facts.width, new[picture].facts.height):
                continue
            vectors_now_and_formerly = chain([made[picture]], self._encode_formerly(new[picture]))
            if any(
                np.linalg.norm(made_d - stored_d) <= SAME_VECTOR * np.linalg.norm(stored_d)
                for made_d in vectors_now_and_formerly
            ):
                found[picture] = before
        return found

    def _encode_formerly(self, read: DecodedFile) -> Iterator[Float[np.ndarray, " raw"]]:
        """The raw vectors that earlier viewfinders made of a file, where they decoded it otherwise."""
        for fit in list_former_fits(self._encoder.fit):
            with suppress(PictureError):
                again = decode_one(read.path, fit)
                if again.id == read.id:
                    yield self._encoder.pictures([again.pixels]).global_bd[0]

    def _read_rows(self, reads: Sequence[_ReadFile]) -> dict[str, PictureRow]:
        """The known pictures that these files hold, and that lay in their places before."""
        ids = {read.picture for read in reads if read.picture}
        ids.update(filter(None, (self._manifest.picture_at(str(read.file.path)) for read in reads)))
        known = sorted(picture for picture in ids if self._manifest.has_vector(picture) is not None)
        return {row.id: row for row in self._store.rows_of(known)}

    def _encode_pictures(self, pictures: Sequence[DecodedFile]) -> Float[np.ndarray, "n raw"]:
        embedded = [picture.raw_g for picture in pictures if isinstance(picture, EmbeddedFile)]
        if embedded and len(embedded) == len(pictures):
            return np.stack(embedded)
        return self._encoder.pictures([picture.pixels for picture in pictures]).global_bd

    def _encode_beside(self, pictures: Mapping[str, DecodedFile]) -> list[_VectorsBeside]:
        """Raw vectors in the spaces of the library's other encoders, which want other pixels of the same files."""
        found = []
        for space, (encoder, decoders) in list(self._others.items()) if pictures else ():
            try:
                outcomes = list(decoders.decode(read.path for read in pictures.values()))
                read_twice = zip(pictures.items(), outcomes, strict=True)
                good = {
                    picture: again
                    for (picture, read), again in read_twice
                    if isinstance(again, DecodedFile) and again.is_picture(read.id, read.pixel_hash)
                }
                if good:
                    names, made_mr, _ = encode_usable(encoder, good)
                    found.append(_VectorsBeside(space, names, made_mr))
            except ViewfinderError as error:  # the picture is added all the same, and this is tried again later
                del self._others[space]
                self._report.notes.append(f"{encoder.name} makes no vectors of new pictures: {error}")
        return found

    def _place_file(self, read: _ReadFile, *, is_shown: bool) -> set[str]:
        """Records that a picture lies at this path now; returns the ids whose rows changed.

        `is_shown`: its vector was made from this file.
        """
        picture, outcome, path = read.picture, read.outcome, str(read.file.path)
        assert not isinstance(outcome, BadFile)
        file = FileRecord(path, outcome.size, outcome.mtime_ns, read.file.stamp, read.facts)
        touched = {picture}
        before = self._manifest.picture_at(path)
        known = self._rows.get(picture)
        if before is not None and before != picture:
            self._remove_file(before, path)
            touched.add(before)
            self._report.changed += 1
            if not self._rows[before].files and len(self._left_behind) < MAX_LEFT_BEHIND:
                self._left_behind[before] = path
        elif known is None:
            self._report.added += 1
        elif before is None:
            gone = [old.path for old in known.files if is_gone(old.path)]
            for old in gone[:1]:
                self._remove_file(picture, old)
            moved = bool(gone) or not known.files  # no files: its last one got other content in this run
            self._report.moved += moved
            self._report.duplicates += not moved
        else:
            self._count_known(read, known)
        self._rows[picture] = self._renew_row(self._rows.get(picture), read, file, is_shown=is_shown)
        self._manifest.put_file(path, picture)
        return touched

    def _count_known(self, read: _ReadFile, known: PictureRow) -> None:
        """Counts a file that holds the picture that it held before."""
        outcome = read.outcome
        assert not isinstance(outcome, BadFile)
        old = next(file for file in known.files if file.path == str(read.file.path))
        if isinstance(outcome, IdentifiedFile):
            self._report.unchanged += 1
            self._report.reread += old.stamp is not None
            self._completed += old.stamp is None
        elif old.stamp is None or known.pixels is None:
            self._report.unchanged += outcome.id == known.id
            self._report.changed += outcome.id != known.id
        else:
            is_same = old.facts == read.facts and known.pixels == outcome.pixel_hash
            self._report.unchanged += is_same
            self._report.changed += not is_same

    def _renew_row(self, known: PictureRow | None, read: _ReadFile, file: FileRecord, *, is_shown: bool) -> PictureRow:
        """A picture's row with a file as it is now."""
        outcome, pixels = read.outcome, known and known.pixels
        assert not isinstance(outcome, BadFile)
        row = known
        if isinstance(outcome, DecodedFile) and (row is None or is_shown):
            facts, pixels = outcome.facts, outcome.pixel_hash
            row = row or PictureRow(read.picture, (), 0, 0, "", outcome.size, facts.captured, facts.camera)
            row = replace(row, width=facts.width, height=facts.height, format=facts.format)
        assert row is not None, "a picture that is not known is decoded"
        if pixels is None:
            self._manifest.put_pixel_hash(read.picture, outcome.pixel_hash)
        if row.machine:
            row = replace(row, machine=self._keep_machine_facts(row, outcome, is_shown=is_shown))
        files = (*(old for old in row.files if old.path != file.path), file)
        size = outcome.size if len(files) == 1 else row.bytes
        row = replace(row, files=files, bytes=size, pixels=pixels or outcome.pixel_hash or None)
        return replace(row, captured=self._find_text(row, "captured"), camera=self._find_text(row, "camera"))

    def _keep_machine_facts(
        self, row: PictureRow, outcome: DecodedFile | IdentifiedFile, *, is_shown: bool
    ) -> tuple[Fact, ...]:
        """What machines said of a picture: nothing of one that is shown another way up now, as boxes lie elsewhere."""
        if is_shown and row.pixels not in (None, outcome.pixel_hash):
            return ()
        return tuple(fact for fact in row.machine if fact.name not in self._leave_out)

    def _find_text(self, row: PictureRow, name: str) -> str | None:
        """A fact of a picture that has a column of its own."""
        if name in self._leave_out:
            return None
        found: str | None = find_value(row.known, name)
        are_read = all(file.stamp is not None for file in row.files)
        return found if found is not None or are_read else getattr(row, name)

    def _say_completed(self) -> list[str]:
        """A note on the files that an earlier viewfinder had added."""
        count = self._completed
        files = "file" if count == 1 else "files"
        said = f"what is known of {count:,} {files} that an earlier viewfinder added was read for the first time"
        return [said] if count else []

    def _say_left_behind(self) -> list[str]:
        """Notes on pictures whose places others have taken, and of which words would be lost unnoticed."""
        notes = []
        for row in sorted(self._store.rows_of(list(self._left_behind)), key=lambda row: self._left_behind[row.id]):
            if row.files or not (row.captions or row.attributes):
                continue
            captions, columns = len(row.captions), len(row.attributes)
            counted = [
                f"{count} {what if count == 1 else what + 's'}"
                for count, what in ((captions, "caption"), (columns, "column"))
                if count
            ]
            were = "was" if captions + columns == 1 else "were"
            notes.append(
                f"{self._left_behind[row.id]} holds another picture now: {' and '.join(counted)} of the former one "
                f"{were} left behind"
            )
        more = len(notes) - MAX_LISTED_LEFT_BEHIND
        return notes[:MAX_LISTED_LEFT_BEHIND] + ([f"and {more:,} more such files"] if more > 0 else [])

    def _remove_file(self, picture: str, path: str) -> None:
        row = self._rows[picture]
        self._rows[picture] = keep_files(row, [file for file in row.files if file.path != path])
        self._manifest.remove_file(path)

    def _quarantine_files(self, failures: Sequence[Failure]) -> None:
        self._store.quarantine(failures)
        self._manifest.add_failures(failures)
        self._count_failures(failures, len(failures))

    def _count_failures(self, failures: Sequence[Failure], count: int) -> None:
        self._report.failures += failures[: MAX_LISTED_FAILURES - len(self._report.failures)]
        self._report.quarantined += count


def _reject_unusable(read: _ReadFile, unusable: Mapping[str, str]) -> _ReadFile:
    """The file, as a bad one if its picture is among those that have no usable vector."""
    outcome = read.outcome
    if isinstance(outcome, BadFile) or (why := unusable.get(read.picture)) is None:
        return read
    return _ReadFile(read.file, BadFile(outcome.path, outcome.size, outcome.mtime_ns, why))


def _list_known(outcome: Outcome) -> tuple[Fact, ...]:
    """What a file says of its picture, also through an embedder that reads date and camera alone."""
    if isinstance(outcome, BadFile):
        return ()
    if outcome.known or isinstance(outcome, IdentifiedFile):
        return outcome.known
    told = {"captured": outcome.facts.captured, "camera": outcome.facts.camera}
    return tuple(Fact(name, (value,), "the file") for name, value in told.items() if value)


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
