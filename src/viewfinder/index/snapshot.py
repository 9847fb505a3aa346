"""What searching reads: one space of a library as memory-mapped files, rows in id order.

    <library>/snapshots/<generation and space, hashed>/matrix.npy      float32 (n d)
                                                       pictures.arrow  paths, facts, captions, attributes
                                                       columns.json, column-*.npy, column-*.json
                                                       <derived>.npy   what callers computed from the snapshot

A snapshot is a cache of the store of record, rebuilt when the tables change, and where a file is damaged: each is
sealed (see `checksums`). While it is fresh, Lance is not even
imported (that alone takes 2 s). Building goes into a folder of its own that is renamed when complete; of two processes
that build at once, one throws its copy away. Where nothing can be written, a snapshot lives in memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32

from viewfinder.encoders.base import to_file_name
from viewfinder.errors import LibraryError
from viewfinder.index.checksums import map_sealed, seal_file
from viewfinder.index.rows import (
    AttributeColumn,
    PictureRow,
    StoredColumns,
    build_columns,
    find_column,
    pictures_from_arrow,
    save_columns,
    split_date,
    unpack_text,
)
from viewfinder.index.store import Store
from viewfinder.index.tables import FILLED, PICTURES, SPACES, TABLES, VERSIONS, missing_library, private_files

FORMAT = 2
"""Raised when the files of a snapshot change their meaning: older ones are then rebuilt."""

KEEP_S = 600.0
"""Snapshots of earlier generations stay this long after they were last opened."""

CAPTURED = "captured"
"""A fact that can be filtered by, though it is not offered: most days have one picture."""

_BUILDING = ".building-"
_NEWEST_FIRST = 2**64 - 1
"""Lance names version v of a table `<2**64 - 1 - v>.manifest`, in 20 digits (before 2024: `<v>.manifest`)."""


class Snapshot:
    """Pictures of one space that exist and have a vector, in id order: row i is picture `ids[i]`."""

    def __init__(
        self,
        matrix_nd: Float32[np.ndarray, "n d"],
        table: Any,
        columns: Mapping[str, AttributeColumn],
        *,
        space: str,
        generation: str,
        folder: Path | None,
    ) -> None:
        self.matrix_nd = matrix_nd
        self.ids: tuple[str, ...] = tuple(table["id"].to_pylist())
        self.space = space
        self.generation = generation
        self.folder = folder
        self._table = table
        self._columns = columns
        self._derived: dict[str, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def row_of(self, picture_id: str) -> int | None:
        """The row of a picture, None where there is no such picture."""
        return self.rows_of([picture_id])[0]

    def rows_of(self, ids: Iterable[str]) -> list[int | None]:
        """The rows of pictures, None for each that is not here."""
        rows = ((picture, bisect_left(self.ids, picture)) for picture in ids)
        return [row if row < len(self.ids) and self.ids[row] == picture else None for picture, row in rows]

    def paths(self, row: int) -> tuple[str, ...]:
        """The files that hold the picture."""
        return self._paths.at(row)

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

    def captions(self, row: int) -> tuple[str, ...]:
        """What people wrote about the picture."""
        return self._captions.at(row)

    @cached_property
    def has_captions(self) -> bool:
        """Whether anybody wrote about any of the pictures."""
        return len(self._captions) > 0

    def attributes(self, row: int) -> dict[str, tuple[str, ...]]:
        """What the catalogue says of the picture."""
        stored = json.loads(self._table["attributes"][row].as_py())
        return {name: tuple(values) for name, values in stored.items()}

    def columns(self) -> tuple[str, ...]:
        """Names of the catalogue's columns, then of those that facts fill: format, year, month ..."""
        return tuple(self._columns)

    def column(self, name: str) -> AttributeColumn:
        """A column by name; capitals do not matter. Raises UnknownName: there is none; the message lists them.

        `captured`, the day a photograph was taken, can be filtered by; it is not among the `columns`.
        """
        found = find_column([*self._columns, CAPTURED], name)
        if found == CAPTURED and found not in self._columns:
            return self._days
        try:
            return self._columns[found]
        except (OSError, ValueError):  # damaged, or a later process removed the folder; what is mapped is still whole
            self._columns = build_columns(pictures_from_arrow(self._table))
            return self._columns[found]

    @cached_property
    def _days(self) -> AttributeColumn:
        stored = self._table[CAPTURED].to_pylist()
        return AttributeColumn.of(CAPTURED, [(unpack_text(at)[:10].replace(":", "-"),) if at else () for at in stored])

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
        """The pictures that meet all conditions, as `AttributeColumn.mask` reads them.

        Raises:
            UnknownName: no such column, or nothing there that meets the condition.
        """
        allowed_n = np.ones(len(self), dtype=bool)
        for name, value in conditions.items():
            allowed_n &= self.column(name).mask(value)
        return allowed_n

    def derived(self, name: str, compute: Callable[[Snapshot], np.ndarray]) -> np.ndarray:
        """An array computed from this snapshot, once: the next process finds it beside the snapshot.

        `name` must say everything the result depends on besides the snapshot (an encoder's version, say).
        """
        if name in self._derived:
            return self._derived[name]
        file = None if self.folder is None else self.folder / f"derived-{to_file_name(name)}.npy"
        # Absent, damaged, cut short by a crash of the machine, or removed in between: computed again.
        with suppress(OSError, ValueError):
            if file is not None and file.is_file():
                self._derived[name] = _map_array(file)
        if name not in self._derived:
            self._derived[name] = np.ascontiguousarray(compute(self))
            if file is not None:
                beside = file.with_name(f"{_BUILDING}{os.getpid()}-{uuid.uuid4().hex[:8]}.npy")
                try:  # written beside and renamed, so that nobody reads half a file; where that fails, nothing is kept
                    with private_files(file.parents[2]):
                        np.save(beside, self._derived[name])
                        seal_file(beside)
                        beside.replace(file)
                except OSError:
                    with suppress(OSError):  # of a disk that may only be read
                        beside.unlink(missing_ok=True)
        return self._derived[name]


def read_generation(folder: Path, space: str) -> str:
    """Which state of the tables a snapshot of this space must show; changes with every write. 0.1 ms.

    The vectors' own table is left out: each write to it is followed by one to `pictures` or `spaces`. Regions count
    once a filling is done: what is derived from them lies with the snapshot. Raises NotALibrary, DamagedLibrary.
    """
    marks = [_newest_version(folder / TABLES / VERSIONS.format(table)) for table in (PICTURES, SPACES)]
    if None in marks:
        raise missing_library(folder)
    return f"{FORMAT}:{':'.join(map(str, marks))}:{read_filled_mark(folder)}:{space}"


def read_filled_mark(folder: Path) -> str:
    """Changes with every `RegionTable.announce`; 0.02 ms."""
    try:
        return (folder / TABLES / FILLED).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "0"


def _folder_name(mark: str) -> str:
    """`<tables>-<space>`, hashed: snapshots of one state of the tables share the first half."""
    *tables, space = mark.split(":", 4)
    texts = (":".join(tables), space)
    halves = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8) for text in texts)
    return "-".join(half.hexdigest() for half in halves)


def load_snapshot(folder: Path, space: str) -> Snapshot:
    """The present snapshot of a space, mapped or built. Raises NotALibrary, UnknownName, LibraryError."""
    mark = read_generation(folder, space)
    home = folder / "snapshots" / _folder_name(mark)
    try:
        return _open(home, space, mark)
    except (OSError, ValueError, KeyError):
        pass  # absent, damaged, or cut short by a crash of the machine
    try:
        table, rows, matrix_nd = _read_store(folder, space)
    except LibraryError:
        if read_generation(folder, space) == mark:
            raise
        return load_snapshot(folder, space)  # a writer replaced the tables under our eyes
    try:
        _write(home, table, rows, matrix_nd)
        _remove_old(home)
        return _open(home, space, mark)
    except (OSError, ValueError, KeyError):  # read-only, full, or swept away by another process
        return Snapshot(matrix_nd, table, build_columns(rows), space=space, generation=mark, folder=None)


def load_built_snapshot(folder: Path, mark: str) -> Snapshot | None:
    """The snapshot of this generation, now or as it was; None where there is none (any more)."""
    try:
        return _open(folder / "snapshots" / _folder_name(mark), mark.split(":", 4)[4], mark)
    except (OSError, ValueError, KeyError):
        return None


def _newest_version(versions: Path) -> str | None:
    """A mark that changes with every commit to a table, from the names of its manifests."""
    try:
        names = [entry.name for entry in os.scandir(versions)]
    except OSError:
        return None
    stems = [name.removesuffix(".manifest") for name in names if name.endswith(".manifest")]
    if not stems:
        return None
    if all(stem.isdigit() for stem in stems):
        return str(max(_NEWEST_FIRST - int(stem) if len(stem) == 20 else int(stem) for stem in stems))
    # A naming scheme we do not know: any change to the listing counts as a new version.
    return hashlib.blake2b("\n".join(sorted(stems)).encode(), digest_size=8).hexdigest()


def _read_store(folder: Path, space: str) -> tuple[Any, list[PictureRow], Float32[np.ndarray, "n d"]]:
    """Pictures that have files, and a vector in this space: an Arrow table, rows, and the vectors, by id."""
    store = Store.open(folder)
    ids, vectors_nd = store.read_vectors(space)
    table = store.arrow()
    rows = pictures_from_arrow(table)
    place = {row.id: position for position, row in enumerate(rows) if row.files}
    kept = [position for position, name in enumerate(ids) if name in place]
    order = np.array([place[ids[position]] for position in kept], dtype=np.int64)
    matrix_nd = np.asarray(vectors_nd[kept], dtype=np.float32)
    return table.take(order).combine_chunks(), [rows[position] for position in order], matrix_nd


def _write(home: Path, table: Any, rows: Sequence[PictureRow], matrix_nd: Float32[np.ndarray, "n d"]) -> None:
    """Writes a snapshot's files into a folder of their own and renames it to `home`."""
    with private_files(home.parents[1]):
        _write_files(home, table, rows, matrix_nd)


def _write_files(home: Path, table: Any, rows: Sequence[PictureRow], matrix_nd: Float32[np.ndarray, "n d"]) -> None:
    import pyarrow as pa

    building = home.parent / f"{_BUILDING}{os.getpid()}-{uuid.uuid4().hex[:8]}"
    building.mkdir(parents=True)
    try:
        np.save(building / "matrix.npy", matrix_nd)
        save_columns(building, build_columns(rows))
        with pa.OSFile(str(building / "pictures.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        for name in ("matrix.npy", "pictures.arrow"):
            seal_file(building / name)
        try:
            building.rename(home)
        except OSError:  # another process was first: its snapshot (readable or else removed) wins
            if not home.is_dir():
                raise
            try:
                _open(home, "", "")
            except (OSError, ValueError, KeyError):
                shutil.rmtree(home, ignore_errors=True)
                building.rename(home)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _open(home: Path, space: str, mark: str) -> Snapshot:
    if not home.is_dir():
        raise FileNotFoundError(home)
    import pyarrow as pa

    matrix_nd = _map_array(home / "matrix.npy")
    table = pa.ipc.open_file(pa.py_buffer(map_sealed(home / "pictures.arrow"))).read_all()
    if len(matrix_nd) != table.num_rows:
        raise ValueError(f"{home}: {len(matrix_nd)} vectors for {table.num_rows} pictures")
    with suppress(OSError):
        os.utime(home)  # still in use: `_remove_old` spares it
    return Snapshot(matrix_nd, table, StoredColumns(home), space=space, generation=mark, folder=home)


def _remove_old(home: Path) -> None:
    """Removes snapshots of other states of the tables not opened for `KEEP_S`, and those whose builder was killed."""
    tables = home.name.split("-")[0]
    for other in home.parent.iterdir():
        is_old = not other.name.startswith(tables) and time.time() - other.stat().st_mtime > KEEP_S
        if is_old or _is_abandoned(other.name):
            shutil.rmtree(other, ignore_errors=True)
    for file in home.iterdir():
        if _is_abandoned(file.name):
            file.unlink(missing_ok=True)


def _is_abandoned(name: str) -> bool:
    """Whether it was being built by a process that is no more."""
    if not name.startswith(_BUILDING):
        return False
    import psutil

    number = name.removeprefix(_BUILDING).partition("-")[0]
    return number.isdigit() and not psutil.pid_exists(int(number))


def _map_array(path: Path) -> np.ndarray:
    """The array in a sealed file, mapped; an empty one (which cannot be mapped) is read. Raises OSError, ValueError."""
    map_sealed(path)
    try:
        mapped = np.load(path, mmap_mode="r")
    except ValueError:
        mapped = np.load(path)
    return np.asarray(mapped.view(np.ndarray))


class TextLists:
    """A column of lists of packed texts, for who reads rows one by one: several times faster than Arrow's own rows."""

    def __init__(self, column: Any, field: str | None = None) -> None:
        """`field`: of lists of structs, the one that holds the texts."""
        lists = column.combine_chunks()
        lists = lists.chunk(0) if hasattr(lists, "num_chunks") else lists
        self._ends = lists.offsets.to_numpy()
        self._texts = lists.values if field is None else lists.values.field(field)

    def __len__(self) -> int:
        """The texts of all rows."""
        return int(self._ends[-1] - self._ends[0])

    def at(self, row: int) -> tuple[str, ...]:
        """The texts of a row."""
        texts = [self._texts[place].as_py() for place in range(int(self._ends[row]), int(self._ends[row + 1]))]
        return tuple([unpack_text(text) if text.startswith('"') else text for text in texts])
