"""A library: a folder on disk that holds what is known about a collection, and searches it.

<library>/library.json   format, encoder, the active space and the one before it; a copy lies with the tables
          tables/        the store of record (Lance)
          snapshots/     what searching maps into memory; a cache
          heads/         heads tuned on the user's own captions
          approximate/   a cache: what large collections are searched with
          thumbnails/    a cache
          repair/        while a repair is not done (see `index.repair_journal`)
          features/      a cache: vectors as `evaluate` and `train` read them (see `evaluation.pictures`)
"""

from __future__ import annotations

import os
import shutil
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Conversation, PictureId
from viewfinder.encoders import Encoder, load_encoder
from viewfinder.encoders.base import to_file_name
from viewfinder.encoders.starter.encoder import Head
from viewfinder.encoders.vectors import check_rows, find_unusable
from viewfinder.errors import (
    BadInput,
    EmptyQuery,
    EncoderMismatch,
    LibraryBusy,
    LibraryError,
    NotALibrary,
    PartFailed,
    UnknownName,
    check_path,
    check_type,
)
from viewfinder.pictures import BadFile, absolute_root
from viewfinder.questioners import QuestionerChoice
from viewfinder.retrievers import Composer, Retriever, RetrieverClass, load_retriever
from viewfinder.search.approximate import ApproximateIndex
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hit, Hits
from viewfinder.search.index_files import (
    APPROXIMATE,
    index_file,
    is_due,
    pays,
    read_card,
    read_index,
    renew_index,
    serves,
)
from viewfinder.search.near_scores import IndexedPictures
from viewfinder.search.raw_vectors import check_fits
from viewfinder.session.session import Picture, Session, id_of, is_known
from viewfinder.stopping import is_stop_asked
from viewfinder.store.bucket import MARKER, PULLING, find_bucket, place_name
from viewfinder.store.checksums import checksum_file
from viewfinder.store.ingest import AddReport, Embedder, Ingest, PictureDescriptions, Progress, Rows
from viewfinder.store.objects import is_gone, parse_url
from viewfinder.store.regions import FillReport, StoredVectors
from viewfinder.store.removal import Selection, delete_copies
from viewfinder.store.repair import find_database_damage, repair_tables, set_database_aside
from viewfinder.store.repair_journal import BEFORE, RepairJournal, RepairReport, end_repair, go_on_with_repair
from viewfinder.store.rows import Failure, PictureRow, describe_pictures, to_frame, to_values
from viewfinder.store.settings import SCRATCH, SETTINGS, Settings, read_settings, write_settings
from viewfinder.store.snapshot import Snapshot, read_generation
from viewfinder.store.snapshot_files import load_snapshot
from viewfinder.store.store import Store
from viewfinder.store.tables import (
    FILLED,
    REGIONS,
    REPAIR,
    TABLES,
    Tables,
    check_repaired,
    damaged_library,
    private_files,
)

if TYPE_CHECKING:
    from viewfinder.session.session import OwnImage
    from viewfinder.tuning import TuneReport

CHECKSUM = ".crc32"
"""Suffix of the file that holds a head's checksum."""


class Library:
    """Pictures, encoder and store in one folder; `viewfinder.open` makes one.

    `len(library)` counts its pictures, and iterating yields them (`index.PictureRow`), by id. It need not be closed;
    `with` or `close` frees its memory at once.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self._bucket = find_bucket(folder)
        self._settings_mark = (0, 0)  # of the file read last; none so far
        self._gallery: Gallery | None = None
        self._closed = False
        self._is_in_repair = False
        self._index: tuple[Any, ApproximateIndex | None] = (None, None)  # with the mark of the file read last
        self._indexer: threading.Thread | None = None
        self.left_out: tuple[BadFile, ...] = ()
        """Pictures that the last `prepare` could not process: one file of each, and the reason."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases pictures and encoder. Open sessions go on until they next access the library."""
        self._closed, self._gallery, self._index = True, None, (None, None)
        for cached in ("store", "encoder", "_raw"):
            self.__dict__.pop(cached, None)

    def __len__(self) -> int:
        """How many pictures there are now."""
        return len(self.gallery()) if self.space is not None else 0

    def __bool__(self) -> bool:
        """Always true: a library without pictures is a library."""
        return True

    def __iter__(self) -> Iterator[PictureRow]:
        """The pictures, by id: where they lie, and what is known about them."""
        return (row for row in self.store.rows() if row.files)

    def __getitem__(self, picture: Picture) -> PictureRow:
        """One picture, by its id (or a result): what is known about it now. Raises UnknownName: there is none."""
        row = self._row(picture)
        if row is None:
            raise UnknownName(f"no picture in this library has the id {id_of(picture)!r}; ids are what `find` prints")
        return row

    def __contains__(self, picture: object) -> bool:
        """Whether it has a picture, by its id, its row or a result."""
        return isinstance(picture, Picture) and self._row(picture) is not None

    def _row(self, picture: Picture) -> PictureRow | None:
        return next((row for row in self.store.rows_of([id_of(picture)]) if row.files), None)

    @staticmethod
    def open(folder: Path, *, encoder: str | None = None, create: bool = True) -> Library:
        """Opens the library in `folder`, or creates it there if `create` allows.

        Raises:
            NotALibrary: the folder holds something else, or nothing and `create` is False.
            DamagedLibrary: there are tables but no library.json, or it is half repaired.
            NewerLibrary: it was written by a later viewfinder.
            EncoderMismatch: it was made with another encoder than the one asked for.
        """
        if (bucket := find_bucket(folder)) is not None:
            bucket.refresh()
        check_repaired(folder)
        file = folder / SETTINGS
        if file.exists():
            settings = read_settings(file)
            if encoder is not None and encoder != settings.encoder:
                raise EncoderMismatch(
                    f"{place_name(folder)} was made with the encoder {settings.encoder!r}, not {encoder!r}: "
                    f"leave --encoder out, or make another library with --library"
                )
            return Library(folder, settings)
        if any((folder / TABLES).glob("vectors.*")):
            raise damaged_library(folder, "library.json is missing")
        if not create:
            raise NotALibrary(f"there is no library in {place_name(folder)}: make one with `viewfinder add FOLDER`")
        interrupted = {"tables", "writing.lock", MARKER, PULLING}  # what an interrupted creation leaves
        if folder.exists() and not (
            folder.is_dir() and all(it.name in interrupted or it.name.startswith(SCRATCH) for it in folder.iterdir())
        ):
            raise NotALibrary(f"{folder} holds other files: choose a new or empty folder for the library")
        settings = Settings(encoder or "starter")
        load_encoder(settings.encoder)  # a misspelt name is reported before anything is written
        with Store.create(folder).writing():
            if file.exists():  # another process created it at the same time
                return Library.open(folder, encoder=encoder)
            library = Library(folder, settings)
            library._save(settings)
        return library

    # -- pictures

    def add(
        self,
        *paths: str | Path,
        captions: str | Path | Rows | None = None,
        catalogue: str | Path | Rows | None = None,
        dry_run: bool = False,
        workers: int | None = None,
        follow_links: bool = True,
        embedder: Embedder | None = None,
        progress: Progress | None = None,
        note: Callable[[AddReport], None] = lambda report: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> AddReport:
        """Adds folders and files; never removes anything outside them. Two processes take turns.

        `captions` and `catalogue` are CSV files with a column image, file, path or id, or rows of one's own: mappings
        of columns to values. A catalogue's columns take the place of what they said of a picture before. What is
        acknowledged stays, whatever happens afterwards; adding the same again resumes where it stopped. `follow_links`
        concerns links inside the folders; links that are not followed are skipped and reported. `embedder` reads and
        embeds in place of this process, for example a cluster (`viewfinder.cluster`); with one, paths may also be URLs
        of object storage. `note` is called with the current report before the first batch and after each one.
        """
        check_type("workers", workers, Integral, type(None))
        if workers is not None and workers < 1:
            raise BadInput(f"workers: {workers} processes are asked for, give 1 or more")
        roots = [check_path("a path to add", path) for path in paths]
        for root in roots:
            if embedder is None and not dry_run and (url := parse_url(root)) is not None:
                raise BadInput(
                    f"{url}: pictures in object storage are read by a cluster: `viewfinder add {url} --ray local`"
                )
        if dry_run:
            return Ingest(self.store, self.encoder).plan(roots)
        tables = PictureDescriptions.read(captions, catalogue)
        self.encoder.pictures([])  # the first use loads a network, which must not happen under the lock
        with self.store.writing():
            self._refresh_settings()
            self._renew_space()
            report = AddReport()
            if roots:

                def acknowledged(done: int, total: int) -> None:
                    self._settle(roots)  # with the first batch: after a later interruption one can search what is there
                    if progress is not None:
                        progress(done, total)

                ingest = Ingest(self.store, self.encoder, workers=workers, follow_links=follow_links, embedder=embedder)
                report = ingest.run(
                    roots, progress=acknowledged, note=note, should_stop=lambda: should_stop() or is_stop_asked()
                )
            if tables is not None and not report.stopped:
                report.described, notes = tables.apply(self.store)
                report.notes += notes
            self._settle(roots)
        if self.settings.space is not None:
            self.gallery()
        return report

    def describe(
        self,
        picture: Picture,
        *,
        captions: Sequence[str] | None = None,
        attributes: Mapping[str, object] | None = None,
    ) -> PictureRow:
        """Puts other captions in the place of a picture's, or other values in that of the columns that are given.

        The value of a column is one, or a list or tuple of several; None clears it. Returns the picture as it is now.

        Raises:
            UnknownName: there is no such picture.
            BadInput: captions are not texts.
        """
        check_type("captions", captions, list, tuple, type(None))
        check_type("attributes", attributes, Mapping, type(None))
        for caption in captions or ():
            check_type("a caption", caption, str)
        with self.store.writing():
            self._refresh_settings()
            row = self[picture]
            if captions is not None:
                row = replace(row, captions=tuple(dict.fromkeys(filter(None, map(str.strip, captions)))))
            told = {name: to_values(value) for name, value in (attributes or {}).items()}
            row = replace(row, attributes={name: it for name, it in {**row.attributes, **told}.items() if it})
            self.store.replace([row])
        return row

    def prune(self, *, dry_run: bool = False, force: bool = False) -> list[PictureId]:
        """Forgets files that are gone, and pictures of which no file is left; returns those pictures' ids.

        Raises BadInput, unless `force`: nothing is left of a folder that was added, or half of all pictures are gone.
        """
        with self.store.writing():
            self._refresh_settings()
            rows = self.store.rows()
            left = [replace(row, files=tuple(f for f in row.files if not self._is_gone(f.path))) for row in rows]
            gone = [row.id for row in left if not row.files]
            if not dry_run:
                if gone and not force:
                    self._check_roots(rows, left)
                self._forget(rows, left, [f.path for f in self.store.failures() if not os.path.lexists(f.path)])
        return gone

    def remove(self, *pictures: Picture | Path, dry_run: bool = False) -> list[PictureId]:
        """Forgets pictures: results, rows, ids, or all files at or below paths; returns those of which no file is left.

        Your files stay where they are, and adding them again takes them in again. Only copies that the library keeps
        itself are deleted: small ones, those of what a server was sent, and those in a bucket.

        Raises UnknownName: the library knows nothing of one of them; then all stay.
        """
        with self.store.writing():
            self._refresh_settings()
            meant = Selection.of(self.store, [it.id if isinstance(it, Hit) else it for it in pictures])
            rows, failures = meant.find(self.store)
            left = [meant.leave(row) for row in rows]
            gone = [row for row, rest in zip(rows, left, strict=True) if not rest.files]
            if not dry_run:
                delete_copies(self.folder, gone)  # before the rows: what is cut short can be repeated
                self._forget(rows, left, failures)
                self._save(
                    replace(self.settings, roots=tuple(it for it in self.settings.roots if not meant.covers(it)))
                )
        return [row.id for row in gone]

    def _forget(self, rows: Sequence[PictureRow], left: Sequence[PictureRow], failures: Sequence[str]) -> None:
        """Stores what is left of rows, takes failures out of quarantine, and gives the room back."""
        self.store.delete([row.id for row in left if not row.files])
        self.store.replace([new for new, old in zip(left, rows, strict=True) if new.files and new.files != old.files])
        self.store.forget_failures(failures)
        self.store.compact()

    def failures(self) -> list[Failure]:
        """The files in quarantine, with the reasons."""
        return self.store.failures()

    def verify(self) -> list[str]:
        """Everything that is not as it should be, one line each; an empty list means that all is well."""
        if problems := [f"damaged: {file}" for file in (*self.store.find_damage(), *self._damaged_heads())]:
            return problems
        if not self._is_in_repair and (self.folder / REPAIR).exists():
            problems.append("a repair was interrupted: `viewfinder repair` goes on with it")
        rows = self.store.rows()
        for row in rows:
            problems += [f"gone: {file.path}" for file in row.files if self._is_gone(file.path)]
        ids = {row.id for row in rows}
        # Other spaces may lag behind: `switch` completes one before it becomes active.
        active = self.settings.space if self._has_old_space() else self.encoder.version
        for space in {self.encoder.raw_version, active} - {None} if ids else ():
            there, matrix_nd = self.store.read_vectors(str(space))
            problems += [f"no vector in {space}: {picture}" for picture in sorted(ids.difference(there))]
            problems += [  # as earlier versions stored them
                f"no usable vector in {space}: {there[row]}: {why}: `viewfinder remove` it and add its file again"
                for row, why in find_unusable(matrix_nd).items()
            ]
        if without := self._vectors_without_picture():
            problems.append(
                f"no picture for {len(without):,} vectors (the first: {without[0]}); an `add` that was cut short "
                "leaves such, and lost pictures do: `viewfinder add` their folders again, `viewfinder repair` clears "
                "the rest"
            )
        self.store.pictures_with_regions()  # can they be read? Missing regions are made when needed
        self.store.failures()
        if not self._is_in_repair and find_database_damage(self.folder):
            problems.append(
                "the server's database, with its conversations and tokens, is damaged: restore a copy of it, or "
                "`viewfinder repair` moves it aside"
            )
        return problems

    @staticmethod
    def repair(folder: Path, *, encoder: str | None = None, progress: Progress | None = None) -> RepairReport:
        """Repairs a damaged library: tables, vectors from files, spaces from vectors, `library.json`, snapshots.

        `encoder` names the encoder if nothing else does. An undamaged library stays as it is, except for its snapshots.
        A repair that was interrupted, by a kill too, goes on with the next one, whose report tells of both; until then
        the library cannot be opened.

        Raises:
            NotALibrary: there are no tables. BadInput: nothing says with which encoder it was made.
        """
        if (bucket := find_bucket(folder)) is not None:
            raise LibraryError(
                f"{bucket.url} lies in a bucket, which keeps its files whole itself: mend what is missing with "
                "`viewfinder add`, or copy an earlier version of the bucket back"
            )
        if not any(place.is_dir() for place in (folder / TABLES, folder / REPAIR / BEFORE)):
            raise NotALibrary(f"{folder} holds no library, or nothing that is left of one: check the path")
        with (store := Store(folder)).writing(), Tables(folder).guarded():
            journal = go_on_with_repair(folder)
            settings = _salvage_settings(folder, encoder, journal)
            repair_tables(folder, journal)
            store.reopen()
            library = Library(folder, settings)
            library._is_in_repair = True
            library.__dict__["store"] = store  # which holds the lock
            library._repair_the_rest(journal, progress)
            if library.space is not None:
                library.gallery()
            for problem in library.verify():
                journal.note_lost(problem)
            end_repair(folder)
        return journal.report

    def status(self) -> dict[str, Any]:
        """Counts, spaces and encoder, for people and programs."""
        rows = self.store.rows()
        return {
            "library": place_name(self.folder),
            "pictures": sum(bool(row.files) for row in rows),
            "files": sum(len(row.files) for row in rows),
            "missing": sum(self._is_gone(file.path) for row in rows for file in row.files),
            "with_captions": sum(bool(row.captions) for row in rows),
            "with_regions": len(self.store.pictures_with_regions()),
            "catalogue_columns": sorted({name for row in rows for name in row.attributes}),
            "failures": len(self.store.failures()),
            "encoder": self.settings.encoder,
            "space": self.space,
            "spaces": self.store.spaces(),
            "tuned": self.settings.head is not None,
            "index": self._describe_index(),
        }

    def to_arrow(self) -> Any:
        """The pictures as an Arrow table, by id: facts, captions, and one column per catalogue column."""
        return describe_pictures(list(self))

    def to_pandas(self) -> Any:
        """`to_arrow` as a pandas DataFrame. Raises ViewfinderError: pandas is not installed."""
        return to_frame(self.to_arrow())

    @cached_property
    def store(self) -> Store:
        """The store of record."""
        self._check_open()
        return Store.open(self.folder)

    # -- searching

    def find(
        self,
        text: str = "",
        n: int = 10,
        *,
        like: Picture | OwnImage | None = None,
        where: Mapping[str, str] | None = None,
        without: str = "",
    ) -> Hits:
        """One search: words, an image, what to leave out, and catalogue columns to filter by.

        `like`: a picture of the library (a result, a row, an id), or one of your own: a file, what a file holds, a PIL
        image, or an array of uint8 (h, w, 3), (h, w, 4) or (h, w). A text is an id where there is no such file.
        """
        check_type("text", text, str)
        check_type("without", without, str)
        if not text.strip() and like is None:
            raise EmptyQuery("nothing to look for: give a few words, or an image with --like")
        session = Session(self.gallery(), Composer(), None, n=n, where=where)
        if like is None:
            hits = [session.say(text)]
        else:
            hits = [session.like(like, text) if is_known(like, self) else session.show(like, text)]
        if without:
            hits.append(session.reject(text=without))
        last, elapsed_ms = hits[-1], sum(hit.elapsed_ms for hit in hits)
        return Hits(list(last), last.verdict, elapsed_ms, last.missing, last.unheard)

    def chat(
        self,
        retriever: str | Retriever[Any] | RetrieverClass = "composer",
        questioner: QuestionerChoice = "information_gain",
        *,
        checkpoint: str | Path | None = None,
        n: int = 10,
        where: Mapping[str, str] | None = None,
        conversation: Conversation | None = None,
        picture_bias: float | None = None,
        progress: Progress | None = None,
    ) -> Session:
        """A conversation over this library.

        Args (the others are those of `Session`):
            retriever: a name or class (with weights of your own from `checkpoint`), or one that is already loaded.
            checkpoint: trained weights, if the retriever has any; by default the shipped ones.
            picture_bias: how much a retriever that speaks leans to pictures (`chat.answered_with`, `chat.reply`) rather
                than words when it chooses how to answer; None: as its weights say.
            progress: called with the progress of `prepare`, which may take minutes the first time.

        Raises:
            EncoderMismatch: the weights were trained on the vectors of another encoder than this library's.
            BadInput: a picture bias is given for a retriever that does not speak.
        """
        weights = None if checkpoint is None else check_path("checkpoint", checkpoint)
        if not isinstance(retriever, str | Retriever) and not callable(retriever):
            raise BadInput(f"retriever: a name or a retriever is needed, this is {type(retriever).__name__}")
        found = load_retriever(retriever, weights)
        self.prepare(found, progress)
        self._index_soon()
        pictures = _PreparedPictures(self, found, self._gallery)
        return Session(
            pictures, found, questioner, n=n, where=where, conversation=conversation, picture_bias=picture_bias
        )

    def prepare(self, retriever: Retriever[Any], progress: Progress | None = None) -> FillReport:
        """Makes the regions of the pictures, if the retriever reads them and no earlier one needed them.

        This takes as long as adding the pictures did. What is made is kept, and the next call resumes from there; it
        tries again the pictures that were left out because their files could not be read. Raises EncoderMismatch.
        """
        filled = FillReport()
        if (space := retriever.reads.space) is not None:
            check_fits(space, self.gallery().raw)
        if retriever.reads.regions:
            filled = self._raw.fill(self.gallery().snapshot, progress)
            self._raw.has_regions(self.gallery().snapshot)  # kept for the next conversation
        self.left_out = filled.left_out
        return filled

    def gallery(self) -> Gallery:
        """The pictures as they are now; the same object until the library changes."""
        self._check_open()
        self._refresh_settings()
        self._renew_space()
        space = self.space
        if space is None:
            raise BadInput(f"{place_name(self.folder)} holds no pictures yet: add some with `viewfinder add FOLDER`")
        known = self._gallery  # read once: another thread may reset it
        if known is None or known.snapshot.generation != read_generation(self.folder, space):
            known = self._gallery = self.gallery_of(load_snapshot(self.folder, space))
        return known

    def gallery_of(self, snapshot: Snapshot) -> Gallery:
        """A present or earlier snapshot of the active space, seen through the encoder."""
        gallery = Gallery(snapshot, self.encoder, self._raw, match_words=True)
        gallery.indexed = self._find_index(snapshot)
        return gallery

    def build_index(self, report: Callable[[str], None] = lambda line: None) -> bool:
        """Makes or grows the index with which a large collection is searched; returns whether there was anything to do.

        This takes a minute for a million pictures; meanwhile searches scan all pictures. `add` on the command line does
        it, so does `serve`, and a conversation starts it in the background. `report` is told the progress.
        """
        gallery = self.gallery()
        if not pays(len(gallery)) or not is_due(gallery.indexed):
            return False
        if (index := renew_index(self.folder, gallery, report)) is None:
            return False
        self._index = (self._mark_index(gallery.snapshot), index)
        gallery.indexed = self._find_index(gallery.snapshot)
        return True

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder this library was made with, and its tuned head if it has one."""
        self._check_open()
        return self._load_encoder(self.settings.head)

    # -- spaces

    @property
    def space(self) -> str | None:
        """The active space; None while there are no pictures."""
        if self.settings.space is None and self._has_pictures():  # `add` died before it could record it
            return self.encoder.version
        return self.settings.space

    def tune(
        self,
        *,
        captions: str | Path | None = None,
        catalogue: str | Path | None = None,
        report: Callable[[str], None] | None = None,
    ) -> TuneReport:
        """Learns how words match these pictures, from captions or a catalogue; see `viewfinder.tuning.tune`.

        `report` is told the progress, one line at a time; `switch_back` returns to the previous space.

        Raises BadInput: neither table, too few pictures in them, or an encoder that cannot be tuned.
        """
        if captions is None and catalogue is None:
            raise BadInput("tune needs a table: captions=CSV or catalogue=CSV")
        tables = {"captions": captions, "catalogue": catalogue}
        from viewfinder.tuning.collection import tune

        given = {name: check_path(name, table) for name, table in tables.items() if table is not None}
        return tune(self, **given, report=report)

    def use_head(self, head: Head) -> None:
        """Builds a space for a head of the starter beside the present one, from stored raw vectors; switches to it."""
        # Heads that differ only in what their scores mean share one space, but have files of their own.
        file = Path("heads") / f"{head.fingerprint()}-{zlib.crc32(repr(head.calibration).encode()):08x}.safetensors"
        with private_files(self.folder):
            head.save(self.folder / file)
            checksum = checksum_file(self.folder / file)
            (self.folder / file).with_suffix(CHECKSUM).write_text(f"{checksum:08x}\n", encoding="utf-8")
        if self._bucket is not None:
            self._bucket.push(str(file), str(file.with_suffix(CHECKSUM)))
        encoder = self._load_encoder(str(file))
        self._build_space(encoder)
        self.switch(encoder.version, str(file))
        self.gallery()

    def switch_back(self) -> None:
        """Switches to the space before the last `tune`; calling it again switches forward."""
        if self.settings.previous is None:
            raise BadInput(f"{place_name(self.folder)} was never tuned: there is nothing to go back to")
        space, head = self.settings.previous
        self.switch(space, head)

    def switch(self, space: str, head: str | None) -> None:
        """Makes a space the active one, in one atomic step; pictures added since it was built are added to it first."""
        with self.store.writing():
            self._refresh_settings()
            rows = {row.id: row for row in self.store.rows()}
            if missing := sorted(rows.keys() - set(self.store.read_vectors(space)[0])):
                encoder = self._load_encoder(head)
                raw_nr = self.store.read_vectors_of(encoder.raw_version, missing)
                made, vectors_nd = _project(encoder, missing, raw_nr)
                self.store.add([rows[picture] for picture in made], {space: vectors_nd})
            current = self.settings
            previous = None if current.space is None else (current.space, current.head)
            self._save(replace(current, space=space, head=head, previous=previous))

    # -- inside

    def _find_index(self, snapshot: Snapshot) -> IndexedPictures | None:
        """The index over a snapshot, if an index pays and there is one that still serves it."""
        if not pays(len(snapshot)):
            return None
        mark = self._mark_index(snapshot)
        if mark != self._index[0]:
            self._index = (mark, read_index(self.folder, snapshot.space, snapshot.matrix_nd.shape[1]))
        index = self._index[1]
        indexed = None if index is None else IndexedPictures(index, snapshot.ids)
        return indexed if serves(indexed) else None

    def _mark_index(self, snapshot: Snapshot) -> tuple[int, int]:
        """Which index lies there now: another number for another file."""
        return _mark_file(index_file(self.folder, snapshot.space))

    def _index_soon(self) -> None:
        """Starts to make the index in the background if it is due; nobody waits for it."""
        known = self._gallery
        running = self._indexer is not None and self._indexer.is_alive()
        if known is not None and pays(len(known)) and is_due(known.indexed) and not running:
            self._indexer = threading.Thread(target=self._build_quietly, name="index", daemon=True)
            self._indexer.start()

    def _build_quietly(self) -> None:
        # Closed or removed meanwhile, a full disk, too little memory: searches keep scanning.
        with suppress(Exception):
            self.build_index()

    def _describe_index(self) -> dict[str, Any] | None:
        """What `status` says about the index; None if there is none."""
        return None if self.space is None else read_card(self.folder, self.space)

    def _check_open(self) -> None:
        if self._closed:
            raise LibraryError(f"{self.folder} was closed: open it again with viewfinder.open")

    def _repair_the_rest(self, journal: RepairJournal, progress: Progress | None) -> None:
        """What comes after the tables. Each step may be repeated; what it drops stands in the journal before."""
        if lost := find_database_damage(self.folder):
            journal.note_lost_once("the server's database", lost)
            journal.save(self.folder)
            set_database_aside(self.folder)
        self._repair_heads(journal)
        self._repair_vectors(journal, progress)
        if any(name.startswith(REGIONS) for name in journal.lost_rows):
            (self.folder / TABLES / FILLED).unlink(missing_ok=True)
            journal.note_mended("regions of pictures, made again when they are needed")
        if journal.report != RepairReport():
            journal.save(self.folder)  # with what the settings lose
        for cache in ("snapshots", APPROXIMATE):
            shutil.rmtree(self.folder / cache, ignore_errors=True)
        self._save(self.settings)

    def _repair_heads(self, journal: RepairJournal) -> None:
        settings, damaged = self.settings, self._damaged_heads()
        if settings.previous is not None and settings.previous[1] in damaged:
            journal.note_lost("what `viewfinder tune --undo` would go back to")
            self.settings = replace(self.settings, previous=None)
        if settings.head in damaged:
            journal.note_lost(
                f"the tuned head {settings.head}: the shipped one is used, `viewfinder tune` makes another"
            )
            journal.save(self.folder)
            (self.folder / str(settings.head)).unlink(missing_ok=True)
            self.settings = replace(self.settings, head=None, space=None)

    def _repair_vectors(self, journal: RepairJournal, progress: Progress | None) -> None:
        """Makes lost raw vectors again from the files; then the active space."""
        encoder, rows = self.encoder, self.store.rows()
        lacking = {row.id for row in rows} - self.store.ids_with_vectors(encoder.raw_version)
        files = [Path(file.path) for row in rows if row.id in lacking for file in row.files]
        if there := [file for file in files if file.exists()]:
            Ingest(self.store, encoder).run(there, progress=progress)
        still = lacking - self.store.ids_with_vectors(encoder.raw_version)
        if lacking - still:
            journal.note_mended(f"vectors of {len(lacking - still):,} pictures, from their files")
        if still:
            journal.note_lost(
                f"vectors of {len(still):,} pictures whose files are gone: `viewfinder prune` forgets them"
            )
        if not (with_raw := self.store.ids_with_vectors(encoder.raw_version)):
            return
        made = self.store.ids_with_vectors(encoder.version)
        if with_raw - made or f"vectors.{to_file_name(encoder.version)}" in journal.lost_rows:
            self._build_space(encoder)
            journal.note_mended(f"the space {encoder.version}, from raw vectors")
        self.settings = replace(self.settings, space=encoder.version)
        if self.settings.previous is not None and self.settings.previous[0] not in self.store.spaces():
            journal.note_lost("what `viewfinder tune --undo` would go back to")
            self.settings = replace(self.settings, previous=None)

    def _vectors_without_picture(self) -> list[str]:
        """Vectors that no picture has, by id; none of a batch that is being added."""
        if not self.store.vectors_without_picture():
            return []
        try:
            with self.store.writing(timeout=0):
                return sorted(self.store.vectors_without_picture())
        except LibraryBusy:  # somebody is adding: what is not acknowledged yet is no problem
            return []
        except LibraryError:  # a disk that may only be read has no writer
            return sorted(self.store.vectors_without_picture())

    def _damaged_heads(self) -> list[str]:
        """The heads that are named but missing, or not as they were written."""
        named = {self.settings.head, None if self.settings.previous is None else self.settings.previous[1]} - {None}
        return sorted(str(head) for head in named if not _is_sound(self.folder / str(head)))

    def _is_gone(self, path: str) -> bool:
        """Whether a picture has lost this file; a library in a bucket has the files there, too."""
        return self._bucket is None and is_gone(path)

    def _has_pictures(self) -> bool:
        return self.encoder.version in self.store.spaces() and not self.store.is_empty()

    def _settle(self, roots: Sequence[Path]) -> None:
        """Records the space of the pictures and where they were added from, once there are any."""
        folders = {*self.settings.roots, *(str(absolute_root(root)) for root in roots if root.is_dir())}
        outer = sorted(one for one in folders if not folders.intersection(map(str, Path(one).parents)))
        settled = replace(self.settings, space=self.encoder.version, roots=tuple(outer))
        if settled != self.settings and self._has_pictures():
            self._save(settled)

    def _check_roots(self, before: Sequence[PictureRow], after: Sequence[PictureRow]) -> None:
        """Raises BadInput if so much is gone that a drive may be unplugged."""
        advice = "is a drive unplugged? If they are to be forgotten, `viewfinder prune --force` does it"
        for root in self.settings.roots:
            known, there = (
                sum(file.path.startswith(f"{root.rstrip('/')}/") for row in rows for file in row.files)
                for rows in (before, after)
            )
            if known and not there:
                raise BadInput(f"nothing is left of {root}, where {known:,} pictures were: {advice}")
        if 2 * (gone := sum(not row.files for row in after)) > len(after):
            raise BadInput(f"{gone:,} of {len(after):,} pictures are gone: {advice}")

    def _build_space(self, encoder: Encoder) -> None:
        """Builds the space of an encoder from the stored raw vectors, in place of one of that name."""
        ids, raw_nr = self.store.read_vectors(encoder.raw_version)
        chunks = (slice(at, at + 4096) for at in range(0, len(ids), 4096))
        self.store.write_space(encoder.version, (_project(encoder, ids[chunk], raw_nr[chunk]) for chunk in chunks))

    def _renew_space(self) -> None:
        """If an untuned library has the space of an earlier viewfinder's head, builds that of the present one."""

        if self._has_old_space():
            with self.store.writing():
                self._refresh_settings()
                if self._has_old_space():
                    self._build_space(self.encoder)
                    self._save(replace(self.settings, space=self.encoder.version))

    def _has_old_space(self) -> bool:
        """Whether an untuned library has the space of an earlier viewfinder's head: what next searches it renews it."""
        made = self.settings.space
        is_ours = self.settings.head is None and made is not None and made.startswith(f"{self.encoder.raw_version}-")
        return is_ours and made != self.encoder.version

    @cached_property
    def _raw(self) -> StoredVectors:
        """The raw vectors, which no head changes."""
        return StoredVectors(self.store, self.encoder)

    def _load_encoder(self, head: str | None) -> Encoder:
        if head is not None and not _is_sound(self.folder / head):
            raise damaged_library(self.folder, f"{head} is missing, or not as it was written")
        return load_encoder(self.settings.encoder, head_file=None if head is None else self.folder / head)

    def _refresh_settings(self) -> None:
        """Another process may have switched spaces, which changes no table; checking the file takes 5 us."""
        if self._bucket is not None:
            self._bucket.refresh()
        if not self._is_in_repair:
            check_repaired(self.folder)
        mark = _mark_settings(self.folder)
        if mark in (self._settings_mark, (0, 0)):
            return
        fresh, self._settings_mark = read_settings(self.folder / SETTINGS), mark
        if fresh != self.settings:
            self.settings = fresh
            self._gallery = None
            self.__dict__.pop("encoder", None)

    def _save(self, settings: Settings) -> None:
        write_settings(self.folder, settings)
        if settings.head != self.settings.head:
            self.__dict__.pop("encoder", None)
        self.settings = settings
        self._settings_mark = _mark_settings(self.folder)
        self._gallery = None


@dataclass
class _PreparedPictures:
    """The pictures of a library for one retriever, prepared again before a turn if pictures were added."""

    library: Library
    retriever: Retriever[Any]
    last: Gallery | None

    def gallery(self) -> Gallery:
        if self.last is None or self.library.gallery() is not self.last:
            self.library.prepare(self.retriever)
            self.last = self.library.gallery()
        return self.last


def _mark_settings(folder: Path) -> tuple[int, int]:
    """Changes when a library's settings are replaced; (0, 0) while there are none. 5 us."""
    return _mark_file(f"{folder}/{SETTINGS}")


def _project(
    encoder: Encoder, ids: Sequence[str], raw_nr: Float[np.ndarray, "n raw"]
) -> tuple[list[str], Float[np.ndarray, "m d"]]:
    """The vectors of these pictures in an encoder's space, without those whose raw vectors cannot be used.

    Raises PartFailed: of some of the others it gives vectors that cannot be used.
    """
    spoilt = find_unusable(raw_nr)  # as earlier versions stored them
    kept = [row for row in range(len(ids)) if row not in spoilt]
    vectors_md = check_rows(encoder.project(raw_nr[kept]), len(kept), encoder)
    if unusable := find_unusable(vectors_md):
        first, why = next(iter(unusable.items()))
        raise PartFailed(
            f"the space {encoder.version} cannot be made: of {len(unusable):,} pictures the encoder or its head gives "
            f"vectors that cannot be used (first: {ids[kept[first]]}: {why}); the present space stays as it is"
        )
    return [ids[row] for row in kept], vectors_md


def _mark_file(file: str | Path) -> tuple[int, int]:
    try:
        status = os.stat(file)  # noqa: PTH116 (every turn asks, and joining paths would take longer)
    except (FileNotFoundError, NotADirectoryError):
        return 0, 0
    return status.st_ino, status.st_mtime_ns


def _is_sound(head: Path) -> bool:
    """Whether a head is there and, if its checksum is known, as it was saved."""
    try:
        noted = head.with_suffix(CHECKSUM).read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return head.is_file()
    return head.is_file() and f"{checksum_file(head):08x}" == noted


def _salvage_settings(folder: Path, encoder: str | None, journal: RepairJournal) -> Settings:
    """The settings from `library.json`, else from its copy, else from the tables. Raises NewerLibrary, BadInput."""
    for file in (folder / SETTINGS, folder / TABLES / SETTINGS):
        with suppress(NotALibrary):
            settings = read_settings(file)
            if file.parent != folder:
                journal.note_mended("library.json, from its copy")
            return settings
    if encoder is None and not any((folder / TABLES).glob("vectors.starter-raw*")):
        raise BadInput(f"nothing in {folder} says which encoder it was made with: name it with --encoder")
    journal.note_mended("library.json, from the tables")
    return Settings(encoder or "starter")


__all__ = ["AddReport", "Hit", "Hits", "Library", "Session"]
