"""The store of record: Lance tables inside a library folder.

    <library>/tables/pictures.lance            one row per picture; a picture exists when its row is here
    <library>/tables/vectors.<space>.lance     id and float16 vector, one table per space
    <library>/tables/spaces.lance              which vector tables may be read; the active space has all pictures
    <library>/tables/failures.lance            files that could not become pictures
    <library>/tables/regions.<raw>.lance       region vectors, as far as needed so far (see `raw_vectors`)
    <library>/writing.lock                     held by the one process that writes

Each commit to a table is atomic. Vectors are written first, the pictures' rows last in one commit: that commit is the
acknowledgement. All that a killed writer leaves behind are vectors without a picture, which are never read; the next
`compact` removes them. Readers need no lock: they read the pictures first and keep those that have vectors, so they see
only complete pictures while another process writes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from jaxtyping import Float, Float16

from viewfinder.encoders.base import to_file_name
from viewfinder.errors import UnknownName
from viewfinder.store.checksums import find_damage
from viewfinder.store.objects import is_gone
from viewfinder.store.packed_ids import PackedIds
from viewfinder.store.places import place_name
from viewfinder.store.rows import (
    Failure,
    PictureRow,
    complete_table,
    failures_from_arrow,
    failures_to_arrow,
    pack_text,
    pictures_from_arrow,
    pictures_to_arrow,
)
from viewfinder.store.snapshot import read_state
from viewfinder.store.tables import (
    FAILURES,
    PICTURES,
    REGIONS_PREFIX,
    SPACES,
    TABLES,
    Tables,
    VectorReader,
    check_ids,
    explain_missing,
    hold_lock,
    private_files,
    table_schema,
    vectors_from_arrow,
    vectors_schema,
    vectors_to_arrow,
)

WRITE_PATIENCE_S = 60.0
"""The time for which a write waits until another process has finished writing, unless told otherwise."""

WRITING = "writing.lock"
"""The lock that a process holds while it writes to a library."""

KEEP_VERSIONS = timedelta(minutes=30)
"""Readers may hold a version this long; `compact` leaves younger ones alone."""


class Store:
    """The pictures, vectors and failures of one library folder. Cheap to make; opens tables on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tables = Tables(folder)
        self._lock = FileLock(folder / WRITING)

    @staticmethod
    def create(folder: Path) -> Store:
        """Makes an empty store in `folder`, or completes an interrupted attempt. Raises DiskFull, LibraryError."""
        store = Store(folder)
        with store._tables.translating_errors():
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # a user who may write there need not own it
                folder.chmod(0o700)
        with store._hold_to_write():
            for name in (SPACES, FAILURES, PICTURES):  # `open` looks for the last one
                store._tables.make(name, table_schema(name))
        return store

    @staticmethod
    def open(folder: Path) -> Store:
        """Opens the store in `folder`. Raises NotALibrary: there is none; DamagedLibrary."""
        if not Tables(folder).has(PICTURES):
            raise explain_missing(folder)
        return Store(folder)

    def writing(self, timeout: float = WRITE_PATIENCE_S) -> AbstractContextManager[None]:
        """Holds the library for writing, as every write does; may be nested. Raises LibraryBusy after `timeout` s."""
        return hold_lock(self._lock, self.folder, timeout, f"writing to {place_name(self.folder)}")

    def reopen(self) -> None:
        """Forgets what is open: the tables were replaced."""
        self._tables = Tables(self.folder)

    # -- pictures

    def add(
        self,
        rows: Sequence[PictureRow],
        vectors: Mapping[str, Float[np.ndarray, "n _"]],
        changed: Sequence[PictureRow] = (),
    ) -> None:
        """Adds pictures with their vectors in each space, acknowledged when this returns; known ids are replaced.

        `changed` are rows of pictures whose vectors stay, which are replaced in the same commit: a file that one
        picture has lost to another is never of both, nor of none.

        Raises ValueError: an id twice, other vectors than rows, another width; DiskFull, LibraryBusy, LibraryError.
        """
        ids = [row.id for row in rows]
        check_ids([*ids, *(row.id for row in changed)])
        if not ids:
            return
        with self._hold_to_write():
            before = read_state(self.folder)
            for space, matrix_nd in vectors.items():
                self._add_vectors(space, ids, matrix_nd)
            if not self._merge_rows(PICTURES, "id", self._fit_rows([*rows, *changed])).num_updated_rows:
                self._tables.note_growth(before, read_state(self.folder), ids)

    def add_vectors(self, space: str, ids: Sequence[str], matrix_nd: Float[np.ndarray, "n d"]) -> None:
        """Adds vectors in a space that is not searched, or puts them in the place of others.

        The pictures may follow (`add`), or be there already. Raises as `add`.
        """
        check_ids(ids)
        if not ids:
            return
        with self._hold_to_write():
            before, is_new = read_state(self.folder), space not in self._read_spaces()
            self._add_vectors(space, ids, matrix_nd)
            if is_new:  # the other spaces are as they were
                self._tables.note_growth(before, read_state(self.folder), ())

    def announce_vectors(self, space: str, *, is_searched: bool = False) -> None:
        """Tells readers that a space has got vectors of pictures that were there before."""
        with self._hold_to_write():
            if space in (spaces := self._read_spaces()):
                before = read_state(self.folder)
                self._register_space(space, *spaces[space])
                if not is_searched:  # what is searched is as it was
                    self._tables.note_growth(before, read_state(self.folder), ())

    def name_alike(self, space: str, other: str) -> None:
        """Gives the vectors of a space a second name. Raises UnknownName: there is no such space.

        A space that has the name already, and lacks pictures that this one has, goes.
        """
        with self._hold_to_write():
            self._find_table(space)
            table, width = self._read_spaces()[space]
            before, replaced = read_state(self.folder), self._read_spaces().get(other)
            self._register_space(other, table, width)
            if replaced is None:
                self._tables.note_growth(before, read_state(self.folder), ())
            elif replaced[0] != table:
                self._tables.connection.drop_table(replaced[0], ignore_missing=True)

    def forget_spaces(self, spaces: Iterable[str]) -> None:
        """Deletes spaces, and the regions that lie beside raw vectors of these names; unknown names do no harm.

        Vectors that have another name as well stay under that one.
        """
        names = list(spaces)
        with self._hold_to_write():
            known = self._read_spaces()
            gone = {known[name][0] for name in names if name in known}
            self._tables.delete_where(SPACES, "space", names)
            gone -= {table for table, _ in self._read_spaces().values()}
            regions = {f"{REGIONS_PREFIX}{to_file_name(name)}" for name in names}
            for table in sorted(gone | regions.intersection(self._tables.list_regions())):
                self._tables.connection.drop_table(table, ignore_missing=True)

    def keep_originals(self, files: Mapping[str, Path]) -> None:
        """If the tables lie in a bucket, uploads the pictures' files too: a path here means nothing elsewhere."""
        if self._tables.bucket is not None:
            self._tables.bucket.keep_originals(files)

    def replace(self, rows: Sequence[PictureRow]) -> None:
        """Replaces files, captions or attributes of pictures whose vectors stay; unknown ids are not added."""
        check_ids([row.id for row in rows])
        if not rows:
            return
        with self._hold_to_write():
            table = self._tables.change(PICTURES)
            table.merge_insert("id").when_matched_update_all().execute(self._fit_rows(rows))

    def has_facts(self) -> bool:
        """Whether the table of pictures has columns for facts, as those of an earlier viewfinder have not."""
        with self._tables.translating_errors():
            return set(table_schema(PICTURES).names) <= set(self._tables.open(PICTURES).schema.names)

    def make_room_for_facts(self) -> None:
        """Gives the table of pictures of an earlier viewfinder the columns that it lacks, empty."""
        if self.has_facts():
            return
        with self._hold_to_write():
            table = self._tables.change(PICTURES)
            there = set(table.schema.names)
            table.add_columns([column for column in table_schema(PICTURES) if column.name not in there])

    def forget_vectors(self, ids: Sequence[str], kept: Container[str]) -> None:
        """Deletes vectors and regions of pictures that look another way now, but for those in the spaces `kept`."""
        with self._hold_to_write():
            spaces = self._read_spaces()
            renewed = {table for space, (table, _) in spaces.items() if space in kept}
            tables = sorted({table for table, _ in spaces.values()} - renewed)
            for table in (*tables, *self._tables.list_regions()):
                self._tables.delete_where(table, "id", ids)

    def delete(self, ids: Iterable[str]) -> None:
        """Deletes pictures, their vectors in all spaces, and their regions; unknown ids do no harm."""
        names = list(ids)
        with self._hold_to_write():
            for table in (PICTURES, *self._list_vector_tables()):
                self._tables.delete_where(table, "id", names)

    def rows(self) -> list[PictureRow]:
        """All pictures in id order."""
        with self._tables.translating_errors():
            return sorted(pictures_from_arrow(self.arrow()), key=lambda row: row.id)

    def rows_of(self, ids: Sequence[str]) -> list[PictureRow]:
        """Those of these pictures that there are, in no order."""
        with self._tables.translating_errors():
            # Packed: a user's path is asked for as an id first, and may be no valid unicode.
            return pictures_from_arrow(self._tables.select(PICTURES, "id", list(map(pack_text, ids))))

    def find_picture_at(self, path: str) -> str | None:
        """The id of the picture of which this is a file; None: there is none."""
        import pyarrow.compute as pc

        for batch in self.stream_files():
            paths = pc.struct_field(pc.list_flatten(batch["files"]), "path")
            place = pc.index(paths, pack_text(path)).as_py()
            if place >= 0:
                return str(batch["id"][pc.list_parent_indices(batch["files"])[place].as_py()].as_py())
        return None

    def stream_files(self) -> Iterator[Any]:
        """The columns `id`, `files`, `pixels` and `stamps` of all pictures, as Arrow batches in no order.

        The last two are missing from a table of an earlier viewfinder.
        """
        with self._tables.translating_errors():
            there = self._tables.open(PICTURES).schema.names
            columns = [name for name in ("id", "files", "pixels", "stamps") if name in there]
            yield from self._tables.stream(PICTURES, *columns)

    def arrow(self) -> Any:
        """All pictures as an Arrow table (`tables.table_schema`), in no order."""
        with self._tables.translating_errors():
            return complete_table(self._tables.open(PICTURES).to_arrow())

    def stream_pictures(self) -> Iterator[Any]:
        """The table of `arrow`, a few rows after others."""
        import pyarrow as pa

        with self._tables.translating_errors():
            there = self._tables.open(PICTURES).schema.names
            for batch in self._tables.stream(PICTURES, *there):
                yield complete_table(pa.Table.from_batches([batch])).select(table_schema(PICTURES).names)

    def ids(self) -> list[str]:
        """Ids of all pictures, sorted."""
        with self._tables.translating_errors():
            return sorted(self._tables.column(PICTURES, "id"))

    def has_lost(self, path: str) -> bool:
        """Whether a picture's file no longer exists; a library in a bucket has copies of them all."""
        return self._tables.bucket is None and is_gone(path)

    def count(self) -> int:
        """The number of pictures, with those of which no file is left."""
        with self._tables.translating_errors():
            return int(self._tables.open(PICTURES).count_rows())

    def is_empty(self) -> bool:
        """Whether there is no picture."""
        return not self.count()

    # -- failures

    def quarantine(self, failures: Sequence[Failure]) -> None:
        """Records files that could not become pictures; a file's last reason counts."""
        if not failures:
            return
        latest = list({failure.path: failure for failure in failures}.values())
        with self._hold_to_write():
            self._merge_rows(FAILURES, "path", failures_to_arrow(latest))

    def failures(self) -> list[Failure]:
        """All files in quarantine, by path."""
        with self._tables.translating_errors():
            if not self._tables.was_filled(FAILURES):
                return []
            return failures_from_arrow(self._tables.open(FAILURES).to_arrow())

    def stream_failures(self) -> Iterator[Failure]:
        """All files in quarantine, in no order, without having them all in memory."""
        with self._tables.translating_errors():
            if self._tables.was_filled(FAILURES):
                for batch in self._tables.stream(FAILURES, *table_schema(FAILURES).names):
                    yield from failures_from_arrow(batch)

    def forget_failures(self, paths: Iterable[str]) -> None:
        """Takes these files out of quarantine."""
        with self._hold_to_write():
            self._tables.delete_where(FAILURES, "path", [pack_text(path) for path in paths])

    # -- spaces

    def spaces(self) -> dict[str, int]:
        """Name and vector width of each complete space."""
        with self._tables.translating_errors():
            return {space: width for space, (_, width) in sorted(self._read_spaces().items())}

    def find_width(self, space: str) -> int:
        """The vector width of a space. Raises UnknownName: no such space."""
        with self._tables.translating_errors():
            self._find_table(space)
            return int(self._read_spaces()[space][1])

    def read_vectors(self, space: str) -> tuple[list[str], Float16[np.ndarray, "n d"]]:
        """Sorted ids and vectors of all pictures that have one in this space. Raises UnknownName: no such space."""
        with self._tables.translating_errors():
            known = set(self._tables.column(PICTURES, "id"))  # read before the vectors, which were written first
            table = self._tables.open(self._find_table(space)).to_arrow()
            ids, matrix_nd = table["id"].to_pylist(), vectors_from_arrow(table)
            order = sorted((row for row, name in enumerate(ids) if name in known), key=ids.__getitem__)
            return [ids[row] for row in order], matrix_nd[order]

    def ids_with_vectors(self, space: str) -> set[str]:
        """The pictures that have a vector in this space; none if there is no such space."""
        with self._tables.translating_errors():
            known = set(self._tables.column(PICTURES, "id"))
            spaces = self._read_spaces()
            return known.intersection(self._tables.column(spaces[space][0], "id")) if space in spaces else set()

    def stream_vector_ids(self, space: str) -> Iterator[Any]:
        """The column `id` of a space, as Arrow batches in no order; also ids of which no picture was acknowledged."""
        with self._tables.translating_errors():
            if space in (spaces := self._read_spaces()):
                yield from self._tables.stream(spaces[space][0], "id")

    def stream_vectors(self, space: str) -> Iterator[Any]:
        """The columns `id` and `vector` of a space, as Arrow batches in no order; ids as in `stream_vector_ids`.

        Raises UnknownName: no such space.
        """
        with self._tables.translating_errors():
            yield from self._tables.stream(self._find_table(space), "id", "vector")

    def find_lacking(self, space: str) -> list[str]:
        """The ids of the pictures that have no vector in a space. Raises UnknownName: no such space."""
        import pyarrow as pa

        def read_ids(name: str) -> np.ndarray:
            batches = [batch["id"] for batch in self._tables.stream(name, "id")]
            return PackedIds(pa.chunked_array(batches, pa.string())).encode()

        with self._tables.translating_errors():
            lacking_n = np.setdiff1d(read_ids(PICTURES), read_ids(self._find_table(space)))
            return [picture.decode() for picture in lacking_n.tolist()]

    def vectors_without_picture(self) -> set[str]:
        """Ids that have a vector in a complete space, and no picture; also a batch that is just being added."""
        with self._tables.translating_errors():
            found = {name for table, _ in self._read_spaces().values() for name in self._tables.column(table, "id")}
            return found.difference(self._tables.column(PICTURES, "id"))  # read last, as it is written last

    def find_damage(self) -> list[str]:
        """All files of the tables that are not as they were written."""
        paths = sorted((self.folder / TABLES).glob("*.lance"))
        return [f"{TABLES}/{path.name}/{file}" for path in paths for file in find_damage(path, everything=True)]

    def read_added(self, space: str, ids: Sequence[str]) -> tuple[Any, Float16[np.ndarray, "n d"]]:
        """Those of these pictures that have files and a vector in this space, by id: an Arrow table, and the vectors.

        Raises UnknownName: no such space.
        """
        with self._tables.translating_errors():
            table, known = (self._tables.select_last(name, "id", ids) for name in (PICTURES, self._find_table(space)))
        place = {name: row for row, name in enumerate(known["id"].to_pylist())}
        kept = [
            row
            for row, (name, files) in enumerate(zip(table["id"].to_pylist(), table["files"].to_pylist(), strict=True))
            if files and name in place
        ]
        kept.sort(key=table["id"].to_pylist().__getitem__)
        chosen = complete_table(table.take(kept))
        return chosen, vectors_from_arrow(known)[[place[name] for name in chosen["id"].to_pylist()]]

    def read_vectors_of(self, space: str, ids: Sequence[str]) -> Float16[np.ndarray, "n d"]:
        """Vectors in the order asked for. Raises UnknownName: no such space, or a picture without a vector in it."""
        reader = self.reader(space)
        if missing := sorted(set(ids) - reader.ids()):
            raise UnknownName(f"picture {missing[0]!r} has no vector in the space {space!r} of {self.folder}")
        return reader.read(ids)

    def reader(self, space: str) -> VectorReader:
        """A reader for the vectors of a space, a few at a time while it exists. Raises UnknownName: no such space."""
        with self._tables.translating_errors():
            return VectorReader(self._tables, self._find_table(space))

    def pictures_with_regions(self) -> set[str]:
        """The pictures that have region vectors, of any version of raw vectors (usually there is one)."""
        with self._tables.translating_errors():
            found = {
                name
                for table in self._tables.list_regions()
                for name in self._tables.column(table, "id", checked=False)
            }
            return found.intersection(self._tables.column(PICTURES, "id"))

    def write_space(self, space: str, batches: Iterable[tuple[Sequence[str], Float[np.ndarray, "b d"]]]) -> None:
        """Builds a whole space beside the others: readers see the old one of that name until it is complete.

        `batches` is consumed while the library is held for writing, and may read from it. Raises ValueError: no
        batch at all, an id twice, or batches of different widths.
        """
        iterator = iter(batches)
        with self._hold_to_write():
            first = next(iterator, None)
            if first is None:
                raise ValueError(f"the space {space!r} needs at least one batch of vectors")
            replaced = self._read_spaces().get(space)
            self._make_space(space, first[1].shape[1], chain([first], iterator))
            if replaced is not None and replaced[0] not in self._list_vector_tables():
                self._tables.connection.drop_table(replaced[0], ignore_missing=True)

    def compact(self, *, keep: timedelta = KEEP_VERSIONS) -> None:
        """Merges the small files of many commits; removes old versions and what killed writers left.

        Versions younger than `keep` stay, because readers in other processes may be using them.
        """
        with self._hold_to_write():
            known = set(self._tables.column(PICTURES, "id"))
            tables = self._list_vector_tables()
            written = {path.stem for path in (self.folder / TABLES).glob("vectors.*.lance")}
            for name in sorted(written.difference(tables)):  # never registered: its writer was killed
                self._tables.connection.drop_table(name, ignore_missing=True)
            for name in tables:
                self._tables.delete_where(name, "id", sorted(set(self._tables.column(name, "id")) - known))
            before = read_state(self.folder)
            for name in (PICTURES, SPACES, FAILURES, *tables):
                self._tables.change(name).optimize(cleanup_older_than=keep)
                self._tables.forget_cleared(name)
            self._tables.note_growth(before, read_state(self.folder), ())  # another version of the same pictures

    # -- inside

    def _merge_rows(self, name: str, key: str, rows: Any) -> Any:
        """Inserts rows, or replaces those of the same key; returns how many were updated and inserted."""
        merge = self._tables.change(name).merge_insert(key)
        return merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def _fit_rows(self, rows: Sequence[PictureRow]) -> Any:
        """Rows as an Arrow table with the columns that the table of pictures has: an older one lacks some."""
        there = self._tables.connection.open_table(PICTURES).schema.names
        return pictures_to_arrow(rows).select([name for name in table_schema(PICTURES).names if name in there])

    def _read_spaces(self) -> dict[str, tuple[str, int]]:
        items = self._tables.open(SPACES).to_arrow().to_pylist()
        return {item["space"]: (item["table"], item["width"]) for item in items}

    def _list_vector_tables(self) -> list[str]:
        # Two names may be of one table.
        return [*dict.fromkeys(name for name, _ in self._read_spaces().values()), *self._tables.list_regions()]

    def _find_table(self, space: str) -> str:
        """The table of a space."""
        spaces = self._read_spaces()
        if space not in spaces:
            listed = ", ".join(sorted(spaces)) or "none yet"
            raise UnknownName(f"{self.folder} has no space called {space!r}; there are: {listed}")
        return spaces[space][0]

    def _add_vectors(self, space: str, ids: Sequence[str], matrix_nd: Float[np.ndarray, "n d"]) -> None:
        if (known := self._read_spaces().get(space)) is None:
            self._make_space(space, matrix_nd.shape[1], [(ids, matrix_nd)])
        else:
            self._merge_rows(known[0], "id", vectors_to_arrow(ids, matrix_nd, known[1]))

    def _make_space(
        self, space: str, width: int, batches: Iterable[tuple[Sequence[str], Float[np.ndarray, "b d"]]]
    ) -> None:
        """Makes a table of vectors, registered when complete; what an interrupted attempt left is dropped."""
        name = f"vectors.{to_file_name(space)}"
        if any(table == name for table, _ in self._read_spaces().values()):
            name += "_v2"  # while the other is in use; `_v` encodes no character
        self._tables.connection.drop_table(name, ignore_missing=True)
        self._tables.connection.create_table(name, schema=vectors_schema(width))
        table = self._tables.change(name)
        seen: set[str] = set()
        for ids, matrix_bd in batches:
            check_ids(ids)
            if not seen.isdisjoint(ids):
                raise ValueError(f"picture {sorted(seen.intersection(ids))[0]!r} comes in two batches")
            seen.update(ids)
            table.add(vectors_to_arrow(ids, matrix_bd, width))
        self._register_space(space, name, width)

    def _register_space(self, space: str, table: str, width: int) -> None:
        """Says that a table holds the vectors of a space, from now on."""
        import pyarrow as pa

        item = {"space": space, "table": table, "width": width}
        self._merge_rows(SPACES, "space", pa.Table.from_pylist([item], schema=table_schema(SPACES)))

    @contextmanager
    def _hold_to_write(self) -> Iterator[None]:
        with self.writing(), self._tables.translating_errors(), private_files(self.folder):
            try:
                yield
            finally:
                self._tables.record()
