"""Snapshots on disk: built from the tables, grown as pictures are added, removed when they are no longer opened.

    <library>/snapshots/<generation and space, hashed>/matrix.rows, .json      vectors (n d), of many in float16
                                                       pictures-*.arrow        paths, facts, captions, attributes
                                                       columns.json            their numbers, and which files fill
                                                       column-*                what can be filtered and asked by
                                                       by-row-*, block-*, ...  what callers computed from it

A snapshot is a cache of the store of record. It is rebuilt when the tables change, or when a file is damaged: each is
sealed (see `checksums`). While it is fresh, Lance is not even imported (that alone takes 2 s). It is built in a folder
of its own that is renamed when complete; if two processes build at once, one discards its copy. If nothing can be
written, a snapshot lives in memory.

If since an earlier one only pictures were added, and not many (`GROWS_FROM`, `MAX_ADDED_SHARE`), a snapshot shares the
files of that one and appends the new pictures, so that adding a thousand pictures costs as much as a thousand.

Columns, those of the catalogue first, are written once, grown with the snapshot, and each read on first use: its values
in the order in which they came (`.values.json`, sealed), and `.codes`, `.offsets` as in `AttributeColumn`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float16, Float32, Int64, Shaped

from viewfinder.errors import LibraryError
from viewfinder.store.checked_files import copy_note
from viewfinder.store.checksums import map_sealed, seal, seal_file
from viewfinder.store.growing_arrays import (
    count_rows,
    extend_rows,
    fill_rows,
    find_rows_file,
    link_rows,
    map_rows,
    read_type,
    release_rows,
    save_rows,
)
from viewfinder.store.half_rows import HalfRows, as_vectors, find_kept_type
from viewfinder.store.packed_ids import PackedIds
from viewfinder.store.rows import FACTS, KNOWN, AttributeColumn, build_columns, stream_columns
from viewfinder.store.snapshot import BY_BLOCK, BY_ROW, BY_SAMPLE, Snapshot, hold_snapshots, read_generation
from viewfinder.store.store import Store
from viewfinder.store.tables import private_files, read_growth

KEEP_S = 600.0
"""Snapshots of earlier generations are kept this long after they were last opened."""

GROWS_FROM = 20_000
"""From this many pictures on a snapshot grows; fewer are rewritten in the time that checking takes."""

MAX_ADDED_SHARE = 0.25
"""The share of added pictures to those in order: beyond it everything is rewritten."""

MAX_ADDED_SINCE = 10_000
"""Pictures added since the earlier snapshot: more are read faster with all others than one by one."""

SAMPLED_FROM, MAX_ADDED_TO_SAMPLED = 200_000, 0.01
"""From so many pictures on, and as long as no larger share of them was added, what is estimated from a sample stays."""

MATRIX, TABLE = "matrix", "pictures-{}.arrow"
GENERATION = "generation"
"""The file that says which state of the tables a snapshot shows: its folder's name is a hash of that."""

SPOOL = "spool"
SPOOLED_FROM = 500_000
"""The folder of files that are needed while a snapshot is built, and from how many pictures on there are any."""

RELEASED_EVERY = 256
"""Batches of vectors after which those that were written need not stay in this process's memory."""

_BUILDING = ".building-"


def name_snapshot(mark: str) -> str:
    """`<tables>-<space>`, hashed: snapshots of one state of the tables share the first half."""
    *tables, space = mark.split(":", 4)
    texts = (":".join(tables), space)
    halves = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8) for text in texts)
    return "-".join(half.hexdigest() for half in halves)


def find_snapshot(folder: Path, space: str) -> Snapshot | None:
    """The present snapshot of a space if a search has already made it; nothing is written."""
    with suppress(OSError, ValueError, KeyError, LibraryError):
        mark = read_generation(folder, space)
        return _open_snapshot(folder / "snapshots" / name_snapshot(mark), space, mark)
    return None


def load_snapshot(folder: Path, space: str) -> Snapshot:
    """The present snapshot of a space, mapped or built. Raises NotALibrary, UnknownName, LibraryError."""
    mark = read_generation(folder, space)
    home = folder / "snapshots" / name_snapshot(mark)
    try:
        return _open_snapshot(home, space, mark)
    except (OSError, ValueError, KeyError):
        pass  # absent, damaged, or cut short by a crash of the machine
    with suppress(OSError, ValueError, KeyError, LibraryError):  # else all of it is read
        if _grow_snapshot(folder, space, mark):
            _remove_old(home)
            return _open_snapshot(home, space, mark)
    try:
        try:
            _write_snapshot(home, Store.open(folder), space, mark)
            _remove_old(home)
            return _open_snapshot(home, space, mark)
        except (OSError, ValueError, KeyError):  # read-only, full, or swept away by another process
            table, matrix_nd = _read_store(folder, space)
            return Snapshot(matrix_nd, table, build_columns(table), space=space, generation=mark, folder=None)
    except LibraryError:
        if read_generation(folder, space) == mark:
            raise
        return load_snapshot(folder, space)  # a writer replaced the tables meanwhile


def load_built_snapshot(folder: Path, mark: str) -> Snapshot | None:
    """The snapshot of this generation, present or earlier; None if there is none (any more)."""
    try:
        return _open_snapshot(folder / "snapshots" / name_snapshot(mark), mark.split(":", 4)[4], mark)
    except (OSError, ValueError, KeyError):
        return None


def _read_store(folder: Path, space: str) -> tuple[Any, Float32[np.ndarray, "n d"] | HalfRows]:
    """Pictures that have files and a vector in this space: an Arrow table and the vectors, by id."""
    store = Store.open(folder)
    ids, vectors_nd = store.read_vectors(space)
    table = store.arrow()
    has_files = table["files"].combine_chunks().value_lengths().to_numpy() > 0
    place = {name: row for row, name in enumerate(table["id"].to_pylist()) if has_files[row]}
    kept = [position for position, name in enumerate(ids) if name in place]
    order = np.array([place[ids[position]] for position in kept], dtype=np.int64)
    vectors_kd = vectors_nd[kept].astype(find_kept_type(len(kept)))
    return table.take(order).combine_chunks(), as_vectors(vectors_kd)


def _write_snapshot(home: Path, store: Store, space: str, mark: str) -> None:
    """Writes a snapshot's files; vectors are copied a few at a time, so that they need not fit into memory."""
    with _build_beside(home) as folder:
        spool = folder / SPOOL
        spool.mkdir()
        table = _write_matrix(folder, store, space)
        save_columns(folder, stream_columns(table))
        _write_table(folder, 0, table)
        _write_generation(folder, mark)
        del table  # some systems do not remove what is mapped
        shutil.rmtree(spool)


def _write_matrix(folder: Path, store: Store, space: str) -> Any:
    """Writes the vectors of pictures that have files and a vector in this space, by id; returns these in Arrow."""
    width = store.find_width(space)
    table = _read_pictures(store, folder / SPOOL)  # before the vectors, which were written first
    counts = [np.zeros(0, np.int32), *(files.value_lengths().to_numpy() for files in table["files"].chunks)]
    rows_n = np.flatnonzero(np.concatenate(counts) > 0)
    ids_n = PackedIds(table["id"]).encode()[rows_n]
    order_n = np.argsort(ids_n, kind="stable")
    rows_n, ids_n = rows_n[order_n], ids_n[order_n]
    has_vector_n = np.zeros(len(ids_n), bool)
    for batch in store.stream_vector_ids(space):
        has_vector_n[_find_places(ids_n, batch)[0]] = True
    rows_n, ids_n = rows_n[has_vector_n], ids_n[has_vector_n]
    is_filled_n = np.zeros(len(ids_n), bool)

    def fill(matrix_nd: Float[np.ndarray, "n d"]) -> None:
        for number, batch in enumerate(store.stream_vectors(space)):
            places_k, known_b = _find_places(ids_n, batch)
            matrix_nd[places_k] = batch["vector"].flatten().to_numpy().reshape(-1, width)[known_b]
            is_filled_n[places_k] = True
            if number % RELEASED_EVERY == 0:
                release_rows(matrix_nd)

    fill_rows(folder / MATRIX, (len(ids_n), width), find_kept_type(len(ids_n)), fill)
    if not is_filled_n.all():
        raise LibraryError(f"{store.folder}: {space} was changed while it was read")
    return _arrange(table, rows_n, folder / SPOOL)


def _read_pictures(store: Store, spool: Path) -> Any:
    """The table of pictures; a large one is copied into a file in this folder, and mapped."""
    if store.count() < SPOOLED_FROM:
        return store.arrow()
    return _spool(spool / "pictures.arrow", store.stream_pictures())


def _arrange(table: Any, rows_n: Int64[np.ndarray, " n"], spool: Path) -> Any:
    """These rows of a table, in one piece; of a large one a column is in memory at a time, and the result is mapped."""
    import pyarrow as pa

    if len(rows_n) < SPOOLED_FROM:
        return table.take(rows_n).combine_chunks()
    columns = {
        name: _spool(spool / f"{number}.arrow", (pa.table({name: table[name].take(rows_n)}).combine_chunks(),))[name]
        for number, name in enumerate(table.schema.names)
    }
    return pa.table(columns, schema=table.schema)


def _spool(file: Path, pieces: Iterable[Any]) -> Any:
    """Pieces of a table as one, in a file that is mapped; there is at least one piece."""
    import pyarrow as pa

    with ExitStack() as opened:
        writer = None
        for piece in pieces:
            if writer is None:
                sink = opened.enter_context(pa.OSFile(str(file), "wb"))
                writer = opened.enter_context(pa.ipc.new_file(sink, piece.schema))
            writer.write_table(piece)
    return pa.ipc.open_file(pa.memory_map(str(file))).read_all()


def _find_places(ids_n: Shaped[np.ndarray, " n"], batch: Any) -> tuple[Int64[np.ndarray, " k"], Bool[np.ndarray, " b"]]:
    """Where the ids of a batch stand among sorted ones, those that do, and which these are."""
    import pyarrow as pa

    ids_b = PackedIds(pa.chunked_array([batch["id"]])).encode()
    if not len(ids_n):
        return np.empty(0, np.int64), np.zeros(len(ids_b), bool)
    places_b = np.minimum(np.searchsorted(ids_n, ids_b), len(ids_n) - 1)
    known_b = ids_n[places_b] == ids_b
    return np.asarray(places_b[known_b], np.int64), known_b


@contextmanager
def _build_beside(home: Path) -> Iterator[Path]:
    """A temporary folder, which is renamed to `home` at the end of the `with` block."""
    with private_files(home.parents[1]):
        folder = home.parent / f"{_BUILDING}{os.getpid()}-{uuid.uuid4().hex[:8]}"
        home.parent.mkdir(exist_ok=True)  # without parents: a library that was moved away is not begun anew
        folder.mkdir()
        try:
            yield folder
            try:
                folder.rename(home)
            except OSError:  # another process was first: its snapshot wins (readable, or removed)
                if not home.is_dir():
                    raise
                try:
                    _open_snapshot(home, "", "")
                except (OSError, ValueError, KeyError):
                    shutil.rmtree(home, ignore_errors=True)
                    folder.rename(home)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _write_table(folder: Path, number: int, table: Any) -> None:
    import pyarrow as pa

    file = folder / TABLE.format(number)
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    seal_file(file)


def _write_generation(folder: Path, mark: str) -> None:
    (folder / GENERATION).write_bytes(seal(mark.encode("utf-8", "surrogatepass")))


def read_tables(home: Path) -> list[Any]:
    """The pieces of a snapshot's table of pictures, mapped. Raises OSError, ValueError: damaged."""
    import pyarrow as pa

    count = len(list(home.glob(TABLE.format("*"))))
    files = [home / TABLE.format(number) for number in range(count)]
    return [pa.ipc.open_file(pa.py_buffer(map_sealed(file))).read_all() for file in files]


def _open_snapshot(home: Path, space: str, mark: str) -> Snapshot:
    if not home.is_dir():
        raise FileNotFoundError(home)
    import pyarrow as pa

    matrix_nd = as_vectors(map_rows(home / MATRIX), find_rows_file(home / MATRIX))
    tables = read_tables(home)
    table = pa.concat_tables(tables)
    if len(matrix_nd) != table.num_rows:
        raise ValueError(f"{home}: {len(matrix_nd)} vectors for {table.num_rows} pictures")
    with suppress(OSError):
        os.utime(home)  # still in use: `_remove_old` spares it
    ordered = count_rows(home / MATRIX)[0]
    block_ends = np.cumsum([piece.num_rows for piece in tables]).tolist()
    columns = StoredColumns(home)
    return Snapshot(
        matrix_nd, table, columns, space=space, generation=mark, folder=home, ordered=ordered, block_ends=block_ends,
        file_columns=columns.of_files,
    )  # fmt: skip


# -- growing


def _grow_snapshot(folder: Path, space: str, mark: str) -> bool:
    """Grows a snapshot from one of an earlier state, if only pictures were added since, and few."""
    home = folder / "snapshots" / name_snapshot(mark)
    with hold_snapshots(folder):
        if home.is_dir():
            return True
        found = _find_earlier(folder, mark)
        if found is None:
            return False
        before, names = found
        counts = count_rows(before / MATRIX)
        if counts[0] < GROWS_FROM or sum(counts[1:]) + len(names) > counts[0] * MAX_ADDED_SHARE:
            return False
        known = StoredColumns(before)
        table, vectors_md = Store(folder).read_added(space, names)
        columns = build_columns(table)
        if not can_grow(known, columns):
            return False
        with _build_beside(home) as building:
            _link_and_extend(before, building, table, vectors_md)
            grow_columns(before, building, columns, sum(counts))
            _write_generation(building, mark)
        return True


def _find_earlier(folder: Path, mark: str) -> tuple[Path, list[str]] | None:
    """The latest snapshot from which this generation differs only by added pictures, and their ids."""
    number, pictures, spaces, filled, space = mark.split(":", 4)
    growth, state, names = read_growth(folder), f"{pictures}:{spaces}", list[str]()
    while state in growth and len(names) <= MAX_ADDED_SINCE:
        state, added = growth[state]
        names += added
        home = folder / "snapshots" / name_snapshot(f"{number}:{state}:{filled}:{space}")
        if home.is_dir():
            return (home, names) if len(names) <= MAX_ADDED_SINCE else None
    return None


def _link_and_extend(before: Path, folder: Path, table: Any, vectors_md: Float16[np.ndarray, "m d"]) -> None:
    """Links the earlier files and appends rows; arrays derived from them are completed when asked for."""
    import pyarrow as pa

    link_rows(before / MATRIX, folder / MATRIX)
    extend_rows(folder / MATRIX, vectors_md.astype(read_type(before / MATRIX)))
    first, *added = count_rows(folder / MATRIX)
    is_alike = first >= SAMPLED_FROM and sum(added) <= first * MAX_ADDED_TO_SAMPLED
    for kind in (BY_ROW, *([BY_SAMPLE] if is_alike else [])):
        for file in before.glob(f"{kind}*.json"):
            link_rows(file.with_suffix(""), folder / file.stem)
    tables = read_tables(before)
    # Small pieces are joined with the new one, so that there are few, and each picture is written a few times at most.
    while len(tables) > 1 and tables[-1].num_rows <= table.num_rows:
        table = pa.concat_tables([tables.pop(), table])
    kept = sum(piece.num_rows for piece in tables)
    for file in before.glob(f"{BY_BLOCK}*.json"):
        if int(file.stem.split("-")[2]) <= kept:
            link_rows(file.with_suffix(""), folder / file.stem)
    for number in range(len(tables)):
        name = TABLE.format(number)
        try:
            os.link(before / name, folder / name)
        except OSError:
            shutil.copyfile(before / name, folder / name)
        copy_note(before / name, folder / name)
    _write_table(folder, len(tables), table)


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
    """Whether the process that was building it no longer exists."""
    if not name.startswith(_BUILDING):
        return False
    import psutil

    number = name.removeprefix(_BUILDING).partition("-")[0]
    return number.isdigit() and not psutil.pid_exists(int(number))


COLUMN_LIST = "columns.json"


class StoredColumns(Mapping[str, AttributeColumn]):
    """Columns of a snapshot's folder. Raises OSError, ValueError: damaged."""

    def __init__(self, folder: Path) -> None:
        numbers, self.of_files = _read_list(folder)
        # All are mapped now: another process may rewrite the folder and number them differently.
        self._parts = {name: _read_parts(folder, number) for name, number in numbers.items()}
        self._read: dict[str, AttributeColumn] = {}

    def __getitem__(self, name: str) -> AttributeColumn:
        if name not in self._read:
            values, offsets, codes = self._parts[name]
            stored = AttributeColumn(name, _parse_values(values), offsets, codes, of_files=name in self.of_files)
            self._read[name] = stored.sort_by_frequency()
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def save_columns(folder: Path, columns: Iterable[AttributeColumn]) -> None:
    """Writes columns into a folder, one after the other. Raises OSError."""
    numbers, of_files = dict[str, int](), list[str]()
    for number, column in enumerate(columns):
        _save_column(folder, number, column)
        numbers[column.name] = number
        if column.of_files:
            of_files.append(column.name)
    _write_list(folder, numbers, of_files)


def can_grow(before: StoredColumns, added: Mapping[str, AttributeColumn]) -> bool:
    """Whether columns of pictures and of added pictures can be joined.

    They cannot if the catalogue has a column with the name of a fact, which it replaces for all pictures.
    """
    names = [*before, *added]
    of_files = {column.name for column in added.values() if column.of_files}
    is_alike = all((name in before.of_files) == (name in of_files) for name in {*before} & {*added})
    is_clear = len({name.casefold() for name in names}) == len(set(names))
    return is_clear and is_alike and {*FACTS} <= before.of_files & of_files


def grow_columns(before: Path, folder: Path, added: Mapping[str, AttributeColumn], count: int) -> None:
    """Appends the columns of added pictures (`added`) to those of `before`, where `can_grow` allows.

    `count`: how many pictures there were before. Raises OSError, ValueError: damaged.
    """
    known, of_files = _read_list(before)
    of_files |= {column.name for column in added.values() if column.of_files}
    names = {*known, *added}
    order = [*sorted(names - of_files), *(name for name in (*FACTS, *KNOWN) if name in of_files)]
    unseen = [name for name in order if name not in known]
    numbers = {name: known[name] if name in known else len(known) + unseen.index(name) for name in order}
    more = len(next(iter(added.values())))
    for name, number in numbers.items():
        column = added.get(name) or AttributeColumn.of(name, [()] * more)
        if name in known:
            _grow_column(before, folder, number, column)
        else:
            offsets = np.concatenate([np.zeros(count, np.int64), column.offsets])
            _save_column(folder, number, AttributeColumn(name, column.values, offsets, column.codes))
    _write_list(folder, numbers, sorted(of_files))


def _grow_column(before: Path, folder: Path, number: int, added: AttributeColumn) -> None:
    values, offsets, _ = _read_parts(before, number)
    code = {value: at for at, value in enumerate(_parse_values(values))}
    code |= {value: len(code) + at for at, value in enumerate(value for value in added.values if value not in code)}
    codes = np.array([code[value] for value in added.values], np.int32)[added.codes]
    for part, rows in (("codes", codes), ("offsets", added.offsets[1:] + offsets[-1])):
        link_rows(before / f"column-{number}.{part}", folder / f"column-{number}.{part}")
        extend_rows(folder / f"column-{number}.{part}", rows)
    _write_values(folder, number, tuple(code))


def _save_column(folder: Path, number: int, column: AttributeColumn) -> None:
    save_rows(folder / f"column-{number}.offsets", column.offsets)
    save_rows(folder / f"column-{number}.codes", column.codes)
    _write_values(folder, number, column.values)


def _write_values(folder: Path, number: int, values: tuple[str, ...]) -> None:
    (folder / f"column-{number}.values.json").write_bytes(seal(json.dumps(values).encode()))


def _write_list(folder: Path, numbers: Mapping[str, int], of_files: Sequence[str]) -> None:
    listed = {"numbers": numbers, "of_files": of_files}
    (folder / COLUMN_LIST).write_bytes(seal(json.dumps(listed).encode()))


def _read_list(folder: Path) -> tuple[dict[str, int], frozenset[str]]:
    """The number of each column, and the names of those that files fill."""
    listed = json.loads(bytes(map_sealed(folder / COLUMN_LIST)))
    return dict(listed["numbers"]), frozenset(listed["of_files"])


def _read_parts(folder: Path, number: int) -> tuple[memoryview, np.ndarray, np.ndarray]:
    stem = f"column-{number}"
    values = map_sealed(folder / f"{stem}.values.json")
    return values, map_rows(folder / f"{stem}.offsets"), map_rows(folder / f"{stem}.codes")


def _parse_values(values: memoryview) -> tuple[str, ...]:
    return tuple(json.loads(bytes(values)))
