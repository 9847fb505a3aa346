"""A library: a folder on disk that holds what is known about a collection, and searches it.

<library>/library.json   format, encoders, the active space and the one before it; a copy lies with the tables
          tables/        the store of record (Lance)
          snapshots/     what searching maps into memory; a cache
          heads/         heads tuned on the user's own captions
          approximate/   a cache: what large collections are searched with
          thumbnails/    a cache
          repair/        while a repair is not done (see `store.repair_journal`)
          features/      a cache: vectors as `evaluate` and `train` read them (see `evaluation.pictures`)

What a search does without is imported where it is called: adding (`store/ingest.py`), forgetting (`store/removal.py`),
`store/verification.py`, `store/repair.py`, and `tuning`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from viewfinder.conversation import Conversation, PictureId
from viewfinder.encoders import Encoder, load_encoder, name_encoder
from viewfinder.errors import (
    BadInput,
    EncoderMismatch,
    LibraryError,
    NotALibrary,
    UnknownName,
    check_path,
    check_text,
    check_type,
)
from viewfinder.own_commands import write_command
from viewfinder.pictures import BadFile
from viewfinder.questioners import QuestionerChoice
from viewfinder.retrievers import Retriever, RetrieverClass, load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hit, Hits
from viewfinder.search.index_files import read_card
from viewfinder.search.library_index import LibraryIndex
from viewfinder.search.listing import order_by_date
from viewfinder.search.raw_vectors import Companion, RawVectors
from viewfinder.session.session import Picture, Session, id_of
from viewfinder.stopping import is_stop_asked
from viewfinder.store.loaded_encoders import LoadedEncoders
from viewfinder.store.objects import PULLING, URL_FILE
from viewfinder.store.places import find_bucket, place_name
from viewfinder.store.regions import StoredVectors
from viewfinder.store.reports import AddReport, FillReport, Progress, RepairReport
from viewfinder.store.rows import (
    Failure,
    PictureRow,
    describe_pictures,
    list_fact_names,
    to_frame,
    to_values,
)
from viewfinder.store.settings import (
    FORMAT_WITH_FACTS,
    LIBRARY_FORMAT,
    SETTINGS,
    STARTER,
    KeptEncoder,
    Settings,
    read_settings,
    write_settings,
)
from viewfinder.store.snapshot import Snapshot, read_generation
from viewfinder.store.snapshot_files import find_snapshot, load_snapshot
from viewfinder.store.spaces import (
    SpaceHead,
    accepts,
    build_space,
    complete_space,
    find_lacking,
    has_space,
    save_head,
)
from viewfinder.store.store import Store
from viewfinder.store.tables import TABLES, check_repaired, explain_damage
from viewfinder.whole_files import PART, mark_file

if TYPE_CHECKING:
    from viewfinder.search.indexed_pictures import IndexedPictures
    from viewfinder.session.session import OwnImage
    from viewfinder.store.describing import DescribeReport, Teller
    from viewfinder.store.descriptions import Rows
    from viewfinder.store.encoder_keeper import EncoderInfo, EncoderKeeper
    from viewfinder.store.ingest import Embedder
    from viewfinder.store.removal import Pruned
    from viewfinder.store.showing import ShownPicture
    from viewfinder.tuning import TuneReport


class Library:
    """Pictures, encoder and store in one folder; `viewfinder.open` makes one.

    `len(library)` counts its pictures, and iterating yields them (`PictureRow`), by id. It need not be closed;
    `with` or `close` frees its memory at once. What is pickled is its place: another process opens it there.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self._settings_mark = (0, 0)  # of the file read last; none so far
        self._bucket = find_bucket(folder)
        self._closed = False
        self._store: Store | None = None
        self._encoders = LoadedEncoders(folder, load_encoder)
        self._raw_vectors: dict[str, StoredVectors] = {}
        self._shown: _Shown | None = None
        self._taken: dict[str, set[str]] = {}  # versions that a library which cannot be written takes for its spaces
        self._index = LibraryIndex(folder)
        self.left_out: tuple[BadFile, ...] = ()
        """Pictures that the last `prepare` could not process: one file of each, and the reason."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases pictures and encoder. Open sessions go on until they next access the library."""
        self._closed = True
        self._store = self._shown = None
        self._encoders, self._raw_vectors = LoadedEncoders(self.folder, load_encoder), {}
        self._index = LibraryIndex(self.folder)

    def __len__(self) -> int:
        """The number of pictures now."""
        return len(self.gallery()) if self.space is not None else 0

    def __bool__(self) -> bool:
        """Always true: a library without pictures is a library."""
        return True

    def __repr__(self) -> str:
        return f"<Library {place_name(self.folder)}>"

    def __reduce__(self) -> tuple[Callable[..., Library], tuple[Path]]:
        return partial(Library.open, create=False), (self.folder.absolute(),)

    def __iter__(self) -> Iterator[PictureRow]:
        """The pictures, by id: where they lie, and what is known about them."""
        return (row for row in self.store.rows() if row.files)

    def __getitem__(self, picture: Picture) -> PictureRow:
        """One picture, by its id (or a result): what is known about it now. Raises UnknownName: there is none."""
        row = self._find_row(picture)
        if row is None:
            raise UnknownName(f"no picture in this library has the id {id_of(picture)!r}; ids are what `find` prints")
        return row

    def __contains__(self, picture: object) -> bool:
        """Whether it has a picture, by its id, its row or a result."""
        return isinstance(picture, Picture) and self._find_row(picture) is not None

    def _find_row(self, picture: Picture) -> PictureRow | None:
        return next((row for row in self.store.rows_of([id_of(picture)]) if row.files), None)

    @staticmethod
    def open(folder: Path, *, encoder: str | None = None, create: bool = True) -> Library:
        """Opens the library in `folder`, or creates it there if `create` allows.

        Raises:
            NotALibrary: the folder holds something else, or nothing and `create` is False.
            DamagedLibrary: there are tables but no library.json, or it is half repaired.
            NewerLibrary: it was written by a later viewfinder.
            EncoderMismatch: it is searched with another encoder than the one asked for.
        """
        if (bucket := find_bucket(folder)) is not None:
            bucket.refresh()
        check_repaired(folder)
        file = folder / SETTINGS
        if file.exists():
            settings = read_settings(file)
            if encoder is not None and settings.encoder not in (encoder, name_encoder(encoder)):
                raise EncoderMismatch(
                    f"{place_name(folder)} was made with the encoder {settings.encoder!r}, not {encoder!r}: "
                    f"leave --encoder out, or `viewfinder add --encoder {encoder}` adds it beside"
                )
            return Library(folder, settings)
        if any((folder / TABLES).glob("vectors.*")):
            raise explain_damage(folder, "library.json is missing")
        if not create:
            make = write_command("add FOLDER", place_name(folder))
            raise NotALibrary(f"there is no library in {place_name(folder)}: make one with `{make}`")
        interrupted = {"tables", "writing.lock", URL_FILE, PULLING}  # what an interrupted creation leaves
        if folder.exists() and not (
            folder.is_dir() and all(it.name in interrupted or it.name.endswith(PART) for it in folder.iterdir())
        ):
            raise NotALibrary(f"{folder} holds other files: choose a new or empty folder for the library")
        settings = Settings(STARTER if encoder is None else name_encoder(encoder))
        loaded = load_encoder(settings.encoder)  # a misspelt name is reported before anything is written
        with Store.create(folder).writing():
            if file.exists():  # another process created it at the same time
                return Library.open(folder, encoder=encoder)
            library = Library(folder, settings)
            library._encoders.take(settings.active, loaded)
            library._save_settings(settings)
            library._encoder_keeper.describe_active(loaded)
        return library

    # -- pictures

    def add(
        self,
        *paths: str | Path,
        captions: str | Path | Rows | None = None,
        catalogue: str | Path | Rows | None = None,
        key: str | Sequence[str] | None = None,
        dry_run: bool = False,
        workers: int | None = None,
        follow_links: bool = True,
        include: Sequence[str] = (),
        embedder: Embedder | None = None,
        leave_out: Sequence[str] | None = None,
        encoder: str | None = None,
        without_starter: bool = False,
        progress: Progress | None = None,
        note: Callable[[AddReport], None] = lambda report: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> AddReport:
        """Adds folders and files; never removes anything outside them. Two processes take turns.

        `captions` and `catalogue` are tables (CSV, JSON, JSON lines or Parquet), or rows of one's own: mappings of
        columns to values. Captions may also be a file, or the folder, of a published set (`data.captions`). The column
        whose values are names of pictures tells which picture a row is about; `key` names it, or several. A table that
        is about no picture is refused before anything is added. A catalogue's columns take the place of what they said
        of a picture before. What is acknowledged stays, whatever happens afterwards; adding the same again resumes
        where it stopped. `follow_links` concerns links inside the folders; links that are not followed are skipped and
        reported. `include` are patterns as `.gitignore` has them, from each folder on: they take what is otherwise left
        out on purpose (hidden files, trash, previews of other programs), but for what a `.viewfinderignore` says.
        `embedder` reads and embeds in place of this process, for example a cluster (`viewfinder.cluster`);
        with one, paths may also be URLs of object storage. `note` is called with the current report before the first
        batch and after each one.
        `leave_out` names facts of the files (`viewfinder.pictures.facts.model.NAMES`) that are not to be kept, from now
        on and of what is below the paths; `["none"]` keeps them all, None leaves this setting as it is.
        `encoder` names the one with which the library is to be searched from then on: its vectors of all pictures are
        made beside those there are, and once it lacks none the library switches to it (`use_encoder` switches back).
        New pictures get vectors of all encoders of the library. Beside another encoder than the starter the raw
        vectors of the starter are kept, for the systems that read them; `without_starter` leaves them out from now on.

        Raises BadInput: there is no such path, fact or encoder, or a table is damaged. EncoderMismatch: the model of
        the library's encoder was replaced by another one.
        """
        from viewfinder.store.adding import add_pictures, check_workers, plan_add, read_adding
        from viewfinder.store.adding_note import note_adding

        check_workers(workers, are_here=embedder is None)
        adding = read_adding(
            self.store, paths, captions=captions, catalogue=catalogue, key=key, follow_links=follow_links,
            include=include, leave_out=leave_out, encoder=encoder, may_be_away=embedder is not None or dry_run,
        )  # fmt: skip
        if dry_run:
            return plan_add(self.store, self.settings, self.encoder, adding)
        self._encoders.load_networks(self.settings, adding.wanted)  # it takes seconds, not to pass under the lock
        with self.store.writing(), note_adding(self.folder, adding.roots) as notes:
            self._refresh_settings()
            self._take_facts(adding.leave_out)

            def told(report: AddReport) -> None:
                notes.take(report)
                note(report)

            if without_starter and not self.settings.without_starter:
                self._save_settings(replace(self.settings, without_starter=True))
            report = add_pictures(
                self._encoder_keeper, adding, workers=workers, embedder=embedder, progress=progress, note=told,
                should_stop=lambda: should_stop() or is_stop_asked(),
            )  # fmt: skip
        if self.settings.space is not None:
            with suppress(EncoderMismatch):  # its model was replaced, and the one that is wanted lacks pictures
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
            BadInput: captions or columns are not texts.
        """
        check_type("captions", captions, list, tuple, type(None))
        check_type("attributes", attributes, Mapping, type(None))
        for caption in captions or ():
            check_text("a caption", caption)
        for name, value in (attributes or {}).items():
            for text in (name, *to_values(value)):
                check_text("a value or name of attributes", text)
        with self.store.writing():
            self._refresh_settings()
            row = self[picture]
            if captions is not None:
                row = replace(row, captions=tuple(dict.fromkeys(filter(None, map(str.strip, captions)))))
            told = {name: to_values(value) for name, value in (attributes or {}).items()}
            row = replace(row, attributes={name: it for name, it in {**row.attributes, **told}.items() if it})
            self.store.replace([row])
        return row

    def describe_by(
        self,
        teller: Teller,
        *,
        where: Mapping[str, str] | None = None,
        limit: int | None = None,
        redo: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
        note: Callable[[DescribeReport], None] = lambda report: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> DescribeReport:
        """Has a machine say what is in the pictures: a `ModelTeller`, or a `TextTeller`, of `store.describing`.

        Of those that meet `where` the newest first, `limit` at most, without those that were described so before unless
        `redo`. What is said is kept in batches, as facts with their source. A dry run asks about three pictures, keeps
        nothing and says what all would take.

        Raises BadInput: a limit below 1, or nothing to describe in this library; UnknownName: as `find`.
        """
        from viewfinder.store.describing import Describing, Teller

        check_type("teller", teller, Teller)
        if limit is not None and limit < 1:
            raise BadInput(f"limit: {limit} pictures are asked for, give 1 or more")
        snapshot = self.gallery().snapshot
        ids = [snapshot.ids[row] for row in order_by_date(snapshot, where or {})]
        known = {row.id: row for row in self if redo or teller.lacks(row)}

        def make_room() -> None:
            self._refresh_settings()
            if self.settings.format < LIBRARY_FORMAT:
                self._take_facts(None)
                self._save_settings(replace(self.settings, format=LIBRARY_FORMAT))

        describing = Describing(self.store, teller, leave_out=self.settings.leave_out, make_room=make_room)
        rows = [known[name] for name in ids if name in known][:limit]
        report = describing.run(
            rows, dry_run=dry_run, progress=progress, note=note, should_stop=lambda: should_stop() or is_stop_asked()
        )
        self.gallery()
        return report

    def show(self, picture: Picture | Path) -> ShownPicture:
        """All that is known of a picture, and from where: by its id (a result, a row), or by the path of a file.

        Of a file that is not in the library, what it says itself.

        Raises:
            UnknownName: there is neither such a file nor such a picture.
            BadInput: the file is no picture, or cannot be read.
        """
        from viewfinder.store.showing import show_picture

        check_type("picture", picture, str, Path, Hit, PictureRow)
        return show_picture(self.store, picture if isinstance(picture, str | Path) else id_of(picture))

    def prune(self, *, dry_run: bool = False, force: bool = False) -> Pruned:
        """Forgets files that are gone, and pictures of which no file is left; returns those pictures' ids.

        Raises BadInput, unless `force`: nothing is left of a folder that was added, or half of all pictures are gone.
        A dry run says so in the `refused` of what it returns.
        """
        from viewfinder.store.removal import prune_pictures

        with self.store.writing():
            self._refresh_settings()
            return prune_pictures(self.store, self.settings.roots, dry_run=dry_run, force=force)

    def remove(self, *pictures: Picture | Path, dry_run: bool = False) -> list[PictureId]:
        """Forgets pictures: results, rows, ids, or all files at or below paths; returns those of which no file is left.

        Your files stay where they are, and adding them again takes them in again. Only copies that the library keeps
        itself are deleted: small ones, those of what a server was sent, and those in a bucket.

        Raises UnknownName: the library knows nothing of one of them; then all stay.
        """
        from viewfinder.store.removal import Selection, remove_pictures

        with self.store.writing():
            self._refresh_settings()
            meant = Selection.of(self.store, [it.id if isinstance(it, Hit) else it for it in pictures])
            gone = remove_pictures(self.store, meant, dry_run=dry_run)
            if not dry_run:
                roots = tuple(it for it in self.settings.roots if not meant.covers(it))
                self._save_settings(replace(self.settings, roots=roots))
        return gone

    def failures(self) -> list[Failure]:
        """The files in quarantine, with the reasons."""
        return self.store.failures()

    def verify(self) -> list[str]:
        """Everything that is not as it should be, one line each; an empty list means that all is well."""
        from viewfinder.store.verification import find_problems

        return find_problems(self.store, self.settings, lambda: self.encoder)

    @staticmethod
    def repair(folder: Path, *, encoder: str | None = None, progress: Progress | None = None) -> RepairReport:
        """Repairs a damaged library: tables, vectors from files, spaces from vectors, `library.json`, snapshots.

        `encoder` names the encoder if nothing else does. An undamaged library stays as it is, except for its snapshots.
        A repair that was interrupted, by a kill too, goes on with the next one, whose report tells of both; until then
        the library cannot be opened.

        Raises:
            NotALibrary: there are no tables. BadInput: nothing says with which encoder it was made.
        """
        from viewfinder.store.repair import repair_library

        named = None if encoder is None else name_encoder(encoder)
        return repair_library(folder, named, lambda settings: Library(folder, settings).encoder, progress)

    def status(self) -> dict[str, Any]:
        """Counts, spaces and encoder, for people and programs."""
        rows = self.store.rows()
        return {
            "library": place_name(self.folder),
            "pictures": sum(bool(row.files) for row in rows),
            "files": sum(len(row.files) for row in rows),
            "missing": sum(self.store.has_lost(file.path) for row in rows for file in row.files),
            "with_captions": sum(bool(row.captions) for row in rows),
            "with_regions": len(self.store.pictures_with_regions()),
            "catalogue_columns": sorted({name for row in rows for name in row.attributes}),
            "facts_of_files": list_fact_names(rows),
            "facts_left_out": list(self.settings.leave_out),
            "failures": len(self.store.failures()),
            "encoder": self.settings.encoder,
            "encoders": [self.settings.encoder, *(one.encoder for one in self.settings.others)],
            "space": self.space,
            "spaces": self.store.spaces(),
            "tuned": self.settings.head is not None,
            "index": None if self.space is None else read_card(self.folder, self.space),
            "labels_by_encoder": self._list_own_labels(),
        }

    def _list_own_labels(self) -> list[str]:
        """The facets of photographs whose labels the encoder's own words tell; the starter's tell none."""
        space = self.space
        if space is None or self.settings.encoder == "starter":
            return []
        from viewfinder.session.labels import read_own_labels

        snapshot = find_snapshot(self.folder, space)
        return [] if snapshot is None else read_own_labels(snapshot)

    def to_arrow(self) -> Any:
        """The pictures as an Arrow table, by id: facts, captions, and one column per catalogue column."""
        return describe_pictures(list(self))

    def to_pandas(self) -> Any:
        """`to_arrow` as a pandas DataFrame. Raises ViewfinderError: pandas is not installed."""
        return to_frame(self.to_arrow())

    @property
    def store(self) -> Store:
        """The store of record."""
        self._check_open()
        if (store := self._store) is None:
            store = self._store = Store.open(self.folder)
        return store

    # -- searching

    def find(
        self,
        text: str = "",
        n: int = 10,
        *,
        like: Picture | OwnImage | None = None,
        where: Mapping[str, str] | None = None,
        without: str = "",
        fold: bool = True,
        fields: Sequence[str] = (),
        sort: str = "",
    ) -> Hits:
        """One search: words, an image, what to leave out, and catalogue columns to filter by.

        `like`: a picture of the library (a result, a row, an id), or one of your own: a file, what a file holds, a PIL
        image, or an array of uint8 (h, w, 3), (h, w, 4) or (h, w). A text is an id where there is no such file.
        `fold`: the best picture of each product (as a catalogue tells them) and of each burst is a result, and
        `Hit.others` has the others.

        With `where` alone: the pictures that meet it, the newest first, those without a date last.

        `fields`: columns of which each hit has the picture's values (`Hit.fields`). `sort`: a column, such as "price",
        "-price" (the highest first) or "date", by which those of the results are ordered that are likely or may be
        what was meant, at most 1,000; all others follow as they rank.
        """
        from viewfinder.session.finding import find_pictures

        return find_pictures(
            self, text, n, like=like, where=where, without=without, fold=fold, fields=fields, sort=sort
        )

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
        gallery = self.gallery()
        self._index_soon(gallery)
        pictures = _PreparedPictures(self, found, gallery)
        return Session(
            pictures, found, questioner, n=n, where=where, conversation=conversation, picture_bias=picture_bias
        )

    def prepare(self, retriever: Retriever[Any], progress: Progress | None = None) -> FillReport:
        """Makes the regions of the pictures, if the retriever reads them and no earlier one needed them.

        This takes as long as adding the pictures did. What is made is kept, and the next call resumes from there; it
        tries again the pictures that were left out because their files could not be read. Raises EncoderMismatch.
        """
        from viewfinder.retrievers.replies import check_reads

        filled, reads = FillReport(), check_reads(retriever)
        gallery = self.gallery()
        raw: RawVectors | None = gallery.raw
        if (space := reads.space) is not None:
            raw = gallery.need_raw(space)
        if isinstance(raw, StoredVectors) and reads.uses_regions_of(lambda: gallery.collection):
            filled = raw.fill(gallery.snapshot, progress)
            raw.has_regions(self.gallery().snapshot)  # kept for the next conversation
        self.left_out = filled.left_out
        return filled

    def gallery(self) -> Gallery:
        """The pictures as they are now; the same object until the library changes.

        Raises:
            BadInput: there are none yet.
            EncoderMismatch: the encoder is not the one that made their vectors.
        """
        self._check_open()
        self._refresh_settings()
        while True:
            settings, shown = self.settings, self._shown  # read once: another thread may replace them
            if shown is not None and shown.settings is settings and self._is_newest(shown.gallery.snapshot):
                return shown.gallery
            try:
                if shown is None or shown.settings is not settings:
                    self._check_encoder(settings)
                    settings = self.settings
                space = self._find_space(settings)
                if space is None:
                    add = write_command("add FOLDER", place_name(self.folder))
                    raise BadInput(f"{place_name(self.folder)} holds no pictures yet: add some with `{add}`")
                shown = _Shown(settings, self._make_gallery(settings, load_snapshot(self.folder, space)))
                self._shown = shown
            except (LibraryError, UnknownName):  # another process may have switched, and forgotten what was active
                self._refresh_settings()
                if self.settings == settings:
                    raise
            else:
                return shown.gallery

    def _is_newest(self, snapshot: Snapshot) -> bool:
        return snapshot.generation == read_generation(self.folder, snapshot.space) and not snapshot.is_damaged

    def gallery_of(self, snapshot: Snapshot) -> Gallery:
        """A present or earlier snapshot of the active space, seen through the encoder. Raises EncoderMismatch."""
        return self._make_gallery(self.settings, snapshot)

    def _make_gallery(self, settings: Settings, snapshot: Snapshot) -> Gallery:
        """A snapshot seen through the encoder of these settings: the one place where they meet."""
        kept = settings.active
        encoder = self._encoders.load(kept)
        if encoder.version != snapshot.space and not self._takes(kept, snapshot.space, encoder):
            from viewfinder.store.kept_encoders import Sameness, explain_mismatch

            raise explain_mismatch(replace(kept, raw=None, space=snapshot.space), encoder, Sameness.OTHER)
        raw = self._find_raw_vectors(encoder.raw_version, lambda: encoder)
        gallery = Gallery(snapshot, encoder, raw, match_words=True)
        gallery.encoder_name = settings.encoder
        gallery.companion = self._find_companion(settings, encoder, snapshot)
        gallery.indexed = self._find_index(snapshot)
        return gallery

    def _takes(self, kept: KeptEncoder, space: str, encoder: Encoder) -> bool:
        """Whether a space, of another name than the encoder's version, was found to be of it."""
        return (space == kept.space and accepts(kept, encoder)) or encoder.version in self._taken.get(space, ())

    def _find_companion(self, settings: Settings, encoder: Encoder, snapshot: Snapshot) -> Companion | None:
        """The starter beside another encoder, if its raw vectors are of all these pictures."""
        kept = next((one for one in settings.others if one.encoder == STARTER and one.raw is not None), None)
        if kept is None or kept.raw is None or kept.raw == encoder.raw_version:
            return None
        raw = self._find_raw_vectors(kept.raw, lambda: self._encoders.load(kept))
        return Companion(raw, lambda: self._encoders.load(kept)) if raw.is_of_all(snapshot) else None

    def build_index(self, report: Callable[[str], None] = lambda line: None) -> bool:
        """Makes or grows the index with which a large collection is searched; returns whether there was anything to do.

        This takes a minute for a million pictures; meanwhile searches scan all pictures. `add` on the command line does
        it, so does `serve`, and a conversation starts it in the background. `report` is told the progress.
        """
        gallery = self.gallery()
        if not self._index.build(gallery, report):
            return False
        gallery.indexed = self._find_index(gallery.snapshot)
        return True

    @property
    def encoder(self) -> Encoder:
        """The encoder this library is searched with, and its tuned head if it has one."""
        self._check_open()
        return self._encoders.load(self.settings.active)

    def _find_raw_vectors(self, version: str, load: Callable[[], Encoder]) -> StoredVectors:
        """The raw vectors of this version, which no head changes; `load`: the encoder that makes them."""
        raw = self._raw_vectors.get(version)
        if raw is None:
            raw = self._raw_vectors[version] = StoredVectors(self.store, version, load)
        return raw

    # -- spaces

    @property
    def space(self) -> str | None:
        """The active space; None while there are no pictures."""
        return self._find_space(self.settings)

    def _find_space(self, settings: Settings) -> str | None:
        if settings.space is None:
            encoder = self._encoders.load(settings.active)
            if has_space(self.store, encoder):  # `add` died before it was recorded
                return encoder.version
        return settings.space

    def encoders(self) -> list[EncoderInfo]:
        """The encoders of the library, the one it is searched with first."""
        self._refresh_settings()
        return self._encoder_keeper.describe_all()

    def use_encoder(self, name: str, *, progress: Progress | None = None) -> None:
        """Switches to another encoder of the library, in one atomic step; vectors that it lacks are made first.

        Open sessions go on with it at their next turn. `add(encoder=...)` adds an encoder that the library has not.

        Raises:
            UnknownName: the library has no such encoder.
            EncoderMismatch: its model was replaced by another one.
            LibraryError: it lacks pictures whose files are not there; the library stays as it is.
        """
        check_type("name", name, str)
        with self.store.writing():
            self._refresh_settings()
            self._encoder_keeper.use(name, progress=progress)
        if self.settings.space is not None:
            self.gallery()

    def forget_encoder(self, name: str) -> str:
        """Forgets one of the encoders that the library is not searched with, and its vectors; returns its name.

        Raises:
            UnknownName: the library has no such encoder. BadInput: it is searched with it.
        """
        check_type("name", name, str)
        with self.store.writing():
            self._refresh_settings()
            return self._encoder_keeper.forget(name)

    def move_encoder(self, name: str, place: str | Path) -> str:
        """Says where an encoder's model lies now: a folder, or a name on the hub; returns its new name.

        Raises:
            UnknownName: the library has no such encoder. EncoderMismatch: another model lies there; nothing is changed.
        """
        check_type("name", name, str)
        check_type("place", place, str, Path)
        with self.store.writing():
            self._refresh_settings()
            return self._encoder_keeper.move(name, str(place))

    def tune(
        self,
        *,
        captions: str | Path | None = None,
        catalogue: str | Path | None = None,
        key: str | Sequence[str] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> TuneReport:
        """Learns how words match these pictures, from captions or a catalogue; see `viewfinder.tuning.tune`.

        `key` as for `add`. `report` is told the progress, one line at a time; `switch_back` returns to the previous
        space.

        Raises BadInput: neither table, or too few pictures in them.
        """
        if captions is None and catalogue is None:
            raise BadInput("tune needs a table: captions=CSV or catalogue=CSV")
        tables = {"captions": captions, "catalogue": catalogue}
        from viewfinder.tuning.collection import tune

        given = {name: check_path(name, table) for name, table in tables.items() if table is not None}
        return tune(self, **given, key=key, report=report)

    def use_head(self, head: SpaceHead | None) -> None:
        """Builds a space for a head of the encoder beside the present one, from stored raw vectors; switches to it.

        None is the encoder's own.
        """
        file = None if head is None else save_head(self.folder, head)
        encoder = self._encoders.load(replace(self.settings.active, head=file))
        if encoder.version != encoder.raw_version:
            build_space(self.store, encoder)
        self.switch(encoder.version, file)
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
            if lacking := find_lacking(self.store, space):
                encoder = self._encoders.load(replace(self.settings.active, head=head))
                complete_space(self.store, space, encoder, lacking)
            current = self.settings
            previous = None if current.space is None else (current.space, current.head)
            self._save_settings(replace(current, space=space, head=head, previous=previous))

    # -- inside

    @property
    def _encoder_keeper(self) -> EncoderKeeper:
        """What adds, switches and forgets encoders; searching does without."""
        from viewfinder.store.encoder_keeper import EncoderKeeper

        return EncoderKeeper(_KeptEncoders(self))

    def _check_open(self) -> None:
        if self._closed:
            raise LibraryError(f"{self.folder} was closed: open it again with viewfinder.open")

    def _find_index(self, snapshot: Snapshot) -> IndexedPictures | None:
        return self._index.find(snapshot)

    def _index_soon(self, gallery: Gallery) -> None:
        """Starts to make the index in the background if it is due; no turn waits for it."""
        self._index.build_soon(gallery, self.build_index)

    def _take_facts(self, leave_out: tuple[str, ...] | None) -> None:
        """Makes room for facts in a library of an earlier viewfinder, and keeps what is to be left out.

        The format first: an earlier viewfinder then says that it cannot read the library, whatever comes after.
        """
        settings = replace(self.settings, format=max(self.settings.format, FORMAT_WITH_FACTS))
        if leave_out is not None:
            settings = replace(settings, leave_out=leave_out)
        if settings != self.settings:
            self._save_settings(settings)
        self.store.make_room_for_facts()

    def _check_encoder(self, settings: Settings) -> None:
        """Makes sure that the encoder is the one of the active space, and records what a new version of it is.

        Raises EncoderMismatch.
        """
        kept, encoder = settings.active, self._encoders.load(settings.active)
        if accepts(kept, encoder) or encoder.version in self._taken.get(kept.space or "", ()):
            return
        try:
            with self.store.writing():
                self._refresh_settings()
                self._encoder_keeper.check_active(self.encoder)
        except EncoderMismatch:
            raise
        except (LibraryError, OSError):  # it may only be read, or somebody else writes
            from viewfinder.store.kept_encoders import Sameness, compare_encoder

            sameness = compare_encoder(self.store, kept, encoder, self._reads_alike)
            if sameness is not Sameness.RECOGNISED or kept.space is None:
                raise
            self._taken.setdefault(kept.space, set()).add(encoder.version)

    def _reads_alike(self, kept: KeptEncoder, encoder: Encoder) -> bool | None:
        """Whether an encoder reads words as the kept one did, which an earlier viewfinder kept beside a snapshot."""
        from viewfinder.store.kept_encoders import reads_words_alike

        if kept.said or kept.space is None:
            return reads_words_alike(kept, encoder)
        from viewfinder.search.recognition import reads_sayings_alike

        return reads_sayings_alike(self.folder, kept.space, encoder)

    def _refresh_settings(self) -> None:
        """Another process may have switched spaces, which changes no table; checking the file takes 5 us."""
        if self._bucket is not None:
            self._bucket.refresh()
        check_repaired(self.folder)
        mark = self._mark_settings()  # before the file is read: if it is replaced in between, it is read again
        if mark in (self._settings_mark, (0, 0)):
            return
        fresh = read_settings(self.folder / SETTINGS)
        if fresh != self.settings:
            self._take_settings(fresh)
        self._settings_mark = mark

    def _save_settings(self, settings: Settings) -> None:
        write_settings(self.folder, settings)
        self._encoders.keep_pinned(settings)
        self._take_settings(settings)
        self._settings_mark = self._mark_settings()

    def _take_settings(self, settings: Settings) -> None:
        """Goes on with other settings; encoders that these do not name are let go."""
        self._encoders.keep_named(settings)
        self.settings, self._shown = settings, None

    def _mark_settings(self) -> tuple[int, int]:
        return mark_file(f"{self.folder}/{SETTINGS}")


@dataclass(frozen=True)
class _Shown:
    """A gallery, and the settings with which it was made."""

    settings: Settings
    gallery: Gallery


@dataclass(frozen=True)
class _KeptEncoders:
    """A library, for the keeper of its encoders."""

    library: Library

    @property
    def store(self) -> Store:
        return self.library.store

    @property
    def settings(self) -> Settings:
        return self.library.settings

    def save(self, settings: Settings) -> None:
        self.library._save_settings(settings)

    def load(self, kept: KeptEncoder) -> Encoder:
        return self.library._encoders.load(kept)

    def reads_alike(self, kept: KeptEncoder, encoder: Encoder) -> bool | None:
        return self.library._reads_alike(kept, encoder)


@dataclass
class _PreparedPictures:
    """The pictures of a library for one retriever, prepared again before a turn if pictures were added."""

    library: Library
    retriever: Retriever[Any]
    last: Gallery

    def gallery(self) -> Gallery:
        if self.library.gallery() is not self.last:
            self.library.prepare(self.retriever)
            self.last = self.library.gallery()
        return self.last


__all__ = ["AddReport", "Hit", "Hits", "Library", "Session"]
