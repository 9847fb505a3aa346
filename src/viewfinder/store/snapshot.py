"""Snapshots, read by searches: pictures of one space of a library, one row each, mapped from disk (`snapshot_files`).

`read_generation` names the state of the tables that a snapshot must show.
"""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from jaxtyping import Bool, Float32, Int64

from viewfinder.encoders.base import to_file_name
from viewfinder.errors import UnknownName
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.pixel_hashes import split_pixel_hash
from viewfinder.store.checked_files import list_damaged
from viewfinder.store.checksums import list_versions
from viewfinder.store.chosen import ChosenPictures
from viewfinder.store.growing_arrays import extend_rows, map_rows, save_rows
from viewfinder.store.half_rows import HalfRows, take_rows
from viewfinder.store.packed_ids import PackedIds
from viewfinder.store.places import find_files
from viewfinder.store.rows import (
    CAPTURED,
    FILE,
    KNOWN,
    UNDER,
    AttributeColumn,
    PictureRow,
    build_columns,
    find_column,
    list_file_names,
    pictures_from_arrow,
    split_date,
    to_utf8,
    unpack_text,
)
from viewfinder.store.tables import FILLED, PICTURES, SPACES, TABLES, VERSIONS, explain_missing, private_files

DERIVED, BY_ROW, BY_BLOCK, BY_SAMPLE = "derived-", "by-row-", "block-", "sample-"
"""Prefixes of files of arrays computed from a snapshot: as a whole, with one row per picture, from one block, or as an
estimate from a sample."""


class Snapshot:
    """Pictures of one space that exist and have a vector: row i is picture `ids[i]`.

    The first `ordered` rows are in the order of their ids; pictures added since follow them. `block_ends` are the rows
    at which the files of pictures end: first those in order, then what was added, of which small files are joined.
    """

    def __init__(
        self,
        matrix_nd: Float32[np.ndarray, "n d"] | HalfRows,
        table: Any,
        columns: Mapping[str, AttributeColumn],
        *,
        space: str,
        generation: str,
        folder: Path | None,
        ordered: int | None = None,
        block_ends: Sequence[int] | None = None,
        file_columns: Collection[str] | None = None,
    ) -> None:
        """`file_columns`: the names of the `columns` that files fill, if they are known without reading these."""
        self.matrix_nd = matrix_nd
        self.ids = PackedIds(table["id"])
        self.ordered = len(self.ids) if ordered is None else ordered
        self.block_ends = (len(self.ids),) if block_ends is None else tuple(block_ends)
        self.space = space
        self.generation = generation
        self.folder = folder
        self._table = table
        self._columns = columns
        self._file_columns = file_columns
        self._derived: dict[str, np.ndarray] = {}
        self._damaged_before = len(list_damaged())
        self._empty_columns: dict[str, AttributeColumn] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_damaged(self) -> bool:
        """Whether a file of it, since it was opened, was found to be another than was written: open it anew."""
        return any(file.parent == self.folder for file in list_damaged()[self._damaged_before :])

    def row_of(self, picture_id: str) -> int | None:
        """The row of a picture; None if there is no such picture."""
        return self.rows_of([picture_id])[0]

    def rows_of(self, ids: Iterable[str]) -> list[int | None]:
        """The rows of pictures, None for each that is not here."""
        rows = ((picture, bisect_left(self.ids, picture, hi=self.ordered)) for picture in ids)
        return [
            row if row < self.ordered and self.ids[row] == picture else self._added_rows.get(picture)
            for picture, row in rows
        ]

    @cached_property
    def ids_to_order(self) -> Sequence[str] | None:
        """The ids, if rows are not in their order; they are then needed to break ties by id."""
        return None if self.ordered == len(self) else self.ids

    @cached_property
    def _added_rows(self) -> dict[str, int]:
        return {picture: row for row, picture in enumerate(self.ids[self.ordered :], start=self.ordered)}

    def paths(self, row: int) -> tuple[str, ...]:
        """The files that hold the picture."""
        return self._paths.at(row)

    def files_there(self, row: int) -> Iterator[Path]:
        """The files of the picture that are here, then the one in the library's bucket (see `find_files`)."""
        if self.folder is None:
            return (path for path in map(Path, self.paths(row)) if path.is_file())
        return find_files(self.folder.parents[1], self.ids[row], self.paths(row))

    def paths_of(self, rows: Sequence[int]) -> list[tuple[str, ...]]:
        """`paths` of several pictures."""
        return [self._paths.at(row) for row in rows]

    def size(self, row: int) -> tuple[int, int]:
        """Width and height in upright pixels."""
        return int(self._sizes[0][row]), int(self._sizes[1][row])

    def facts(self, row: int) -> dict[str, Any]:
        """Width, height, format, bytes, captured, year, month, camera, folder; None where unknown."""
        names = ("width", "height", "format", "bytes", "captured", "camera")
        facts = {name: self._table[name][row].as_py() for name in names}
        texts = {name: facts[name] and unpack_text(facts[name]) for name in ("captured", "camera")}
        year, month = split_date(texts["captured"])
        return facts | texts | {"year": year, "month": month, "folder": Path(self.paths(row)[0]).parent.name}

    def moments(self, rows: Sequence[int]) -> list[str]:
        """When photographs were taken: ISO 8601, as exact as it is known; "" where it is not."""
        stored = self._table[CAPTURED].take(np.asarray(rows, np.int64)).to_pylist()
        return [unpack_text(moment) if moment else "" for moment in stored]

    def has_moments(self) -> bool:
        """Whether it is known of any picture when it was taken. Lists no days: they cost a first search its time."""
        return bool(self._table[CAPTURED].null_count < len(self))

    @cached_property
    def rows_by_date(self) -> Int64[np.ndarray, " n"]:
        """All rows, the newest photograph first; those without a date last."""
        moments = self.moments(range(len(self)))
        # Reversed, equals still keep their order.
        return np.array(sorted(range(len(self)), key=moments.__getitem__, reverse=True), np.int64)

    def read_changes(self) -> Int64[np.ndarray, " n"]:
        """When the file of each picture was changed last, as it was when it was read: nanoseconds since 1970."""
        changed: list[np.ndarray] = []
        for lists in self._table["files"].chunks:
            starts_l = lists.offsets.to_numpy()
            times = lists.values.field("mtime_ns").to_numpy()
            if len(starts_l) > 1:
                changed.append(np.maximum.reduceat(times[: starts_l[-1]], starts_l[:-1]))
        return np.concatenate(changed) if changed else np.zeros(0, np.int64)

    def captions(self, row: int) -> tuple[str, ...]:
        """Texts that people wrote about the picture."""
        return self._captions.at(row)

    @cached_property
    def has_captions(self) -> bool:
        """Whether any of the pictures has captions."""
        return len(self._captions) > 0

    def attributes(self, row: int) -> dict[str, tuple[str, ...]]:
        """The picture's values in the catalogue, by column."""
        stored = json.loads(self._table["attributes"][row].as_py())
        return {name: tuple(values) for name, values in stored.items()}

    def known(self, row: int) -> tuple[Fact, ...]:
        """What the picture's files and their sidecars say of it, each with its source (`PictureRow.known`)."""
        return pictures_from_arrow(self._table.slice(row, 1))[0].known

    def records(self, rows: Sequence[int]) -> list[PictureRow]:
        """All that the tables have of pictures."""
        return pictures_from_arrow(self._table.take(np.asarray(rows, np.int64)))

    def pixel_hash(self, row: int) -> str:
        """The hash of the picture's data without metadata, and its orientation; "" if it is not known."""
        return self._table["pixels"][row].as_py() or ""

    def row_with_pixels(self, pixel_hash: str) -> int | None:
        """The first row of a picture of the same data without metadata, turned or not; None: there is none."""
        import pyarrow.compute as pc

        if not (data := split_pixel_hash(pixel_hash)[0]):
            return None
        row = pc.index(pc.starts_with(self._table["pixels"], f"{data}/"), True).as_py()
        return None if row < 0 else int(row)

    def columns(self) -> tuple[str, ...]:
        """Names of the catalogue's columns, then of those made from facts: format, year, month ..."""
        return tuple(self._columns)

    @cached_property
    def file_columns(self) -> frozenset[str]:
        """Names of those of the `columns` that files fill, not the catalogue."""
        if self._file_columns is not None:
            return frozenset(self._file_columns)
        return frozenset(name for name, column in self._columns.items() if column.of_files)

    def column(self, name: str) -> AttributeColumn:
        """A column by name; capitals do not matter. Raises UnknownName: there is none; the message lists them.

        `captured`, the day a photograph was taken, `file`, the name of a file, and `under`, a folder with all in it (a
        path in the tree of folders, `2008/Italy`), can be used as filters; they are not among the `columns`. Nor is
        what no file tells: such a column is empty.
        """
        try:
            found = find_column([*self._columns, CAPTURED], name)
        except UnknownName:
            hidden = name.strip().casefold()
            if hidden not in (FILE, UNDER, *KNOWN):
                raise
            if hidden == UNDER:
                return self._folders
            return self._names if hidden == FILE else self._make_empty(hidden)
        if found == CAPTURED and found not in self._columns:
            return self._days
        try:
            return self._columns[found]
        except (OSError, ValueError):  # damaged, or a later process removed the folder; what is mapped stays intact
            self._columns = build_columns(self._table)
            return self._columns[found]

    def _make_empty(self, name: str) -> AttributeColumn:
        """A column of no values: every sentence that names a place asks for some."""
        if name not in self._empty_columns:
            self._empty_columns[name] = AttributeColumn(
                name, (), np.zeros(len(self) + 1, np.int64), np.zeros(0, np.int32)
            )
        return self._empty_columns[name]

    @cached_property
    def _days(self) -> AttributeColumn:
        # Moments are many, days few: each is read once.
        stored = self._table[CAPTURED].combine_chunks().dictionary_encode(null_encoding="encode")
        days = [unpack_text(at)[:10].replace(":", "-") if at else "" for at in stored.dictionary.to_pylist()]
        place: dict[str, int] = {}
        row_to_day = np.array([place.setdefault(day, len(place)) for day in days], np.int64)[stored.indices.to_numpy()]
        column = AttributeColumn.of(CAPTURED, [(day,) for day in place]).take(row_to_day)
        return replace(column, of_files=True)

    @cached_property
    def _names(self) -> AttributeColumn:
        return replace(AttributeColumn.of(FILE, list_file_names(self._table["files"])), of_files=True)

    @cached_property
    def _folders(self) -> AttributeColumn:
        from viewfinder.store.folder_trees import name_folders

        lying = [[os.path.split(path)[0] for path in self._paths.at(row)] for row in range(len(self))]
        named = name_folders(dict.fromkeys(folder for some in lying for folder in some))
        values = [[to_utf8(name) for folder in some for name in named[folder]] for some in lying]
        return replace(AttributeColumn.of(UNDER, values), of_files=True)

    @cached_property
    def all_columns(self) -> tuple[AttributeColumn, ...]:
        """All of them, in the order of `columns`."""
        return tuple(self.column(name) for name in self.columns())

    @cached_property
    def _paths(self) -> TextLists:
        return TextLists(self._table["files"], "path")

    @cached_property
    def _captions(self) -> TextLists:
        return TextLists(self._table["captions"])

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        return self._table["width"].to_numpy(), self._table["height"].to_numpy()

    def where(self, conditions: Mapping[str, str]) -> Bool[np.ndarray, " n"]:
        """The pictures that meet all conditions, as `AttributeColumn.mask` reads them, or that are `ChosenPictures`.

        Raises:
            UnknownName: no such column, or nothing meets the condition.
        """
        allowed_n = np.ones(len(self), dtype=bool)
        for name, value in conditions.items():
            if isinstance(value, ChosenPictures):
                allowed_n &= self.mask_chosen(value)
            else:
                allowed_n &= self.column(name).mask(value)
        return allowed_n

    def mask_chosen(self, condition: ChosenPictures) -> Bool[np.ndarray, " n"]:
        """Whether each picture is one of those; ids of pictures that are not here do no harm."""
        mask_n = np.zeros(len(self), dtype=bool)
        mask_n[[row for row in self.rows_of(condition.list_ids()) if row is not None]] = True
        return mask_n

    def derived(
        self,
        name: str,
        compute: Callable[[Snapshot], np.ndarray],
        *,
        by_row: bool = False,
        by_sample: bool = False,
    ) -> np.ndarray:
        """An array computed once from this snapshot: the next process finds it beside the snapshot.

        `name` must say everything the result depends on besides the snapshot (an encoder's version, say). `by_row`: it
        has one row per picture, which depends on that picture alone; a snapshot that grew then computes it only for the
        new ones. `by_sample`: it is estimated from a sample if pictures are many; a snapshot that grew by one in a
        hundred has that of the smaller one.
        """
        if name not in self._derived:
            stem = self._locate_derived(BY_ROW if by_row else BY_SAMPLE if by_sample else DERIVED, name)
            known = _read_derived(stem)
            if known is None or (by_row and len(known) > len(self)):
                known = self._keep_derived(stem, compute(self))
            elif by_row and len(known) < len(self):
                known = self._keep_derived(stem, compute(self.after(len(known))), known)
            self._derived[name] = known
        return self._derived[name]

    def derived_of_texts(self, name: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """An array like that of `derived` that depends on no picture: an earlier snapshot's is taken over."""

        def take_over(_: Snapshot) -> np.ndarray:
            folders = () if self.folder is None else self.folder.parent.glob("*/")
            kept = (_read_derived(folder / f"{DERIVED}{to_file_name(name)}") for folder in folders)
            found = next((known for known in kept if known is not None), None)
            return compute() if found is None else np.array(found)

        return self.derived(name, take_over)

    def kept(self, name: str) -> np.ndarray | None:
        """An array that `derived` keeps under this name for the whole snapshot; None: it was not computed yet."""
        known = self._derived.get(name)
        return _read_derived(self._locate_derived(DERIVED, name)) if known is None else known

    def derived_by_block(self, name: str, compute: Callable[[Snapshot], np.ndarray]) -> list[tuple[int, np.ndarray]]:
        """An array like that of `derived` for each block of pictures alone, with the block's first row.

        `compute` is given the pictures of a block as a snapshot of their own; after growth, only those of new blocks.
        """
        found = []
        for first, end in pairwise((0, *self.block_ends)):
            key, stem = f"{first}-{end}-{name}", self._locate_derived(f"{BY_BLOCK}{first}-{end}-", name)
            if (known := self._derived.get(key)) is None and (known := _read_derived(stem)) is None:
                known = self._keep_derived(stem, compute(self._take_block(first, end)))
            self._derived[key] = known
            found.append((first, known))
        return found

    def _locate_derived(self, prefix: str, name: str) -> Path | None:
        """The place of a derived array; None: it is in memory alone."""
        return None if self.folder is None else self.folder / f"{prefix}{to_file_name(name)}"

    def _keep_derived(self, stem: Path | None, rows: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """Writes an array beside the snapshot, or appends its new rows, and maps it; else keeps it in memory."""
        rows = np.ascontiguousarray(rows)
        if stem is not None:
            with suppress(OSError, ValueError), hold_snapshots(stem.parents[2]):
                if before is None:
                    save_rows(stem, rows)
                elif len(map_rows(stem)) == len(before):  # otherwise another process was first
                    extend_rows(stem, rows)
                return map_rows(stem)
        return rows if before is None else np.concatenate([before, rows])

    def after(self, row: int) -> Snapshot:
        """The pictures from this row on, without columns, in memory."""
        table, mark = self._table.slice(row), self.generation
        rows_nd = take_rows(self.matrix_nd, slice(row, None))
        return Snapshot(rows_nd, table, {}, space=self.space, generation=mark, folder=None, ordered=0)

    def _take_block(self, first: int, end: int) -> Snapshot:
        """The pictures of these rows, in memory."""
        if (first, end) == (0, len(self)):
            return self
        table = self._table.slice(first, end - first)
        return Snapshot(
            take_rows(self.matrix_nd, slice(first, end)), table, build_columns(table), space=self.space,
            generation=self.generation, folder=None, ordered=0,
        )  # fmt: skip


def _read_derived(stem: Path | None) -> np.ndarray | None:
    """An array beside a snapshot; None if it is absent, damaged, or cut short by a crash of the machine."""
    with suppress(OSError, ValueError):
        return None if stem is None else map_rows(stem)
    return None


@contextmanager
def hold_snapshots(folder: Path) -> Iterator[None]:
    """Locks the files of a library's snapshots, to append to them. Raises OSError: not possible within a minute."""
    if not folder.is_dir():  # moved away: FileLock would make it anew
        raise FileNotFoundError(folder)
    with private_files(folder), FileLock(folder / "snapshots.lock", timeout=60.0):
        yield


class TextLists:
    """A column of lists of packed texts, for reading rows one by one: several times faster than Arrow's own rows."""

    def __init__(self, column: Any, field: str | None = None) -> None:
        """`field`: of lists of structs, the one that holds the texts."""
        self._pieces = []
        for lists in column.chunks:
            texts = lists.values if field is None else lists.values.field(field)
            _, ends, content = texts.buffers()
            kind = np.int64 if "large" in str(texts.type) else np.int32
            ends_t = np.frombuffer(ends or b"", kind)[texts.offset : texts.offset + len(texts) + 1]
            self._pieces.append((lists.offsets.to_numpy(), ends_t, memoryview(content or b"")))
        self._first = np.cumsum([0, *(len(starts_l) - 1 for starts_l, _, _ in self._pieces)]).tolist()

    def __len__(self) -> int:
        """The texts of all rows."""
        return sum(int(starts_l[-1] - starts_l[0]) for starts_l, _, _ in self._pieces)

    def at(self, row: int) -> tuple[str, ...]:
        """The texts of a row."""
        piece = bisect_right(self._first, row) - 1
        (starts_l, ends_t, content), own = self._pieces[piece], row - self._first[piece]
        first, last = starts_l[own : own + 2].tolist()
        ends = ends_t[first : last + 1].tolist()
        found = [str(content[start:end], "utf-8") for start, end in pairwise(ends)]
        return tuple([unpack_text(text) if text.startswith('"') else text for text in found])


# -- which state of the tables a snapshot shows

SNAPSHOT_FORMAT = 6
"""Increased when the meaning of a snapshot's files changes: older ones are then rebuilt."""

_NEWEST_FIRST = 2**64 - 1
"""Lance names version v of a table `<2**64 - 1 - v>.manifest`, in 20 digits (before 2024: `<v>.manifest`)."""


def read_generation(folder: Path, space: str) -> str:
    """The state of the tables that a snapshot of this space must show; changes with every write. 0.1 ms.

    Regions count once a filling is done, because what is derived from them lies with the snapshot. Raises NotALibrary,
    DamagedLibrary.
    """
    state = read_state(folder)
    if state is None:
        raise explain_missing(folder)
    return f"{SNAPSHOT_FORMAT}:{state}:{read_filled_mark(folder)}:{space}"


def read_filled_mark(folder: Path) -> str:
    """Changes with every `RegionTable.announce`; 0.02 ms."""
    try:
        with open(f"{folder}/{TABLES}/{FILLED}", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return "0"


def find_newest_version(folder: Path, table: str) -> str | None:
    """A mark that changes with every commit to a library's table, from the names of its manifests; None: no table."""
    try:
        # Every turn asks for it, and joining paths would take longer than reading the folder.
        names = os.listdir(f"{folder}/{TABLES}/{VERSIONS.format(table)}")  # noqa: PTH208
    except OSError:
        return None
    return _mark_newest(names)


def find_last_written_version(folder: Path, table: str) -> str | None:
    """`find_newest_version` of a table that may be damaged: that version may be in the list of checksums only."""
    found = [path.name for path in (folder / TABLES / VERSIONS.format(table)).glob("*.manifest")]
    return _mark_newest([*found, *list_versions(folder / TABLES / f"{table}.lance")])


def _mark_newest(names: Iterable[str]) -> str | None:
    stems = {name.removesuffix(".manifest") for name in names if name.endswith(".manifest")}
    if not stems:
        return None
    if all(stem.isdigit() for stem in stems):
        return str(max(_NEWEST_FIRST - int(stem) if len(stem) == 20 else int(stem) for stem in stems))
    # An unknown naming scheme: any change to the listing counts as a new version.
    return hashlib.blake2b("\n".join(sorted(stems)).encode(), digest_size=8).hexdigest()


def read_state(folder: Path) -> str | None:
    """Changes with every commit that readers can see; None: there is no library.

    The tables of vectors are left out: each write to one is followed by one to `pictures` or `spaces`.
    """
    marks = [find_newest_version(folder, table) for table in (PICTURES, SPACES)]
    return None if None in marks else ":".join(map(str, marks))
