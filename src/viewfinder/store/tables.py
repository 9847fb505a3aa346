"""The Lance tables of a library: where they lie, how they are read and cleared, their errors in one line, their
vectors.

Also how work is cut into batches that are committed, which limits what a crash can cost.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from functools import cached_property, reduce
from itertools import islice
from operator import or_
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from filelock import FileLock, Timeout
from jaxtyping import Float, Float16

from viewfinder.errors import (
    BadInput,
    DamagedLibrary,
    DiskFull,
    LibraryBusy,
    LibraryError,
    NotALibrary,
    PartFailed,
    is_text,
)
from viewfinder.own_commands import write_command
from viewfinder.plugins import find_fault
from viewfinder.store.checksums import find_damage, forget_checksums, record_checksums
from viewfinder.store.lance import import_lancedb
from viewfinder.store.places import find_bucket

TABLES = "tables"
PICTURES, SPACES, FAILURES = "pictures", "spaces", "failures"

VERSIONS = "{}.lance/_versions"
"""Lance's folder of the manifests of a table: one file per version."""

REGIONS_PREFIX = "regions."
"""Prefix of the names of tables of regions."""

FILLED = "regions.filled"
"""The file that says which version of which such table was the last complete filling."""

GROWTH = "growth.jsonl"
"""The file that says which pictures were added between two states of the tables that differ in nothing else."""

GROWTH_BYTES = 8_000_000
"""Beyond this size it is started anew: a reader so far behind reads everything."""

REPAIR, REPORT = "repair", "report.json"
"""The folder of a repair in a library, and its journal in it (see `repair_journal`)."""

MAX_VALUES_A_FILTER = 500
"""Names in one SQL filter."""

STREAM_ROWS = 4096
"""Rows in a batch of a stream."""


class Tables:
    """The tables of one library folder, by name. Cheap to make; Lance is imported when one is opened.

    The tables of a library in a bucket lie there, and `folder` has the names of their versions (see `bucket`).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bucket = find_bucket(folder)
        if self.bucket is None:
            check_place(folder)
        self._changed: set[str] = set()

    @cached_property
    def connection(self) -> Any:
        """Lance's handle of the folder of tables."""
        check_descriptors()
        if self.bucket is not None:
            return self.bucket.connect(TABLES)
        return import_lancedb().connect(self.folder / TABLES)

    def path(self, name: str) -> Path:
        """The folder of a table."""
        return self.folder / TABLES / f"{name}.lance"

    def open(self, name: str) -> Any:
        """Opens a table's newest version, anew each time (2 ms), so that other processes' writes are seen.

        Raises DamagedLibrary: files of it are not as they were written; NotALibrary: the whole library is gone.
        """
        self._check_files(name)
        return self.connection.open_table(name)

    def was_filled(self, name: str) -> bool:
        """Whether the table has ever had a row; raises as `open`, and Lance is not imported."""
        self._check_files(name)
        return (self.path(name) / "data").is_dir()

    def _check_files(self, name: str) -> None:
        if self.bucket is None and not (self.folder / TABLES).is_dir():  # its disk is unplugged: Lance would make it
            raise explain_missing(self.folder)
        if damaged := find_damage(self.path(name)):
            raise explain_damage(self.folder, f"{TABLES}/{name}.lance/{damaged[0]} is not as it was written")

    def change(self, name: str) -> Any:
        """Opens a table for a write, which `record` announces to readers; its files are not checked."""
        self._note_change(name)
        return self.connection.open_table(name)

    def _note_change(self, name: str) -> None:
        if self.bucket is not None:
            self.bucket.check_writer()
        self._changed.add(name)

    def record(self) -> None:
        """Lists the checksums of what was written. What a full disk prevents, the next write lists.

        An object store has its own checksums; only the names of what was written there are recorded here.
        """
        if self.bucket is not None and self._changed:
            self._changed.clear()
            self.bucket.pull()
        while self._changed:
            with suppress(OSError):
                record_checksums(self.path(self._changed.pop()))

    def note_growth(self, before: str | None, after: str | None, ids: Sequence[str]) -> None:
        """Records that between two states (`snapshot.read_state`) these pictures were added and nothing else changed.

        This only saves readers time, so it is no error if it cannot be written. Tables in a bucket are left out: others
        may have written there since their state was last read.
        """
        if self.bucket is not None or before == after:
            return
        entry = {"before": before, "after": after, "ids": list(ids)}
        with suppress(OSError):
            file = self.folder / TABLES / GROWTH
            mode = "w" if file.is_file() and file.stat().st_size > GROWTH_BYTES else "a"
            with file.open(mode, encoding="utf-8") as stream:
                stream.write(json.dumps(entry) + "\n")

    def forget_cleared(self, name: str) -> None:
        """Removes from the list of checksums the files that `optimize` has deleted."""
        if self.bucket is None:
            forget_checksums(self.path(name))

    def make(self, name: str, schema: Any) -> None:
        """Makes an empty table unless there is one; an interrupted attempt is made again."""
        if not self.has(name):
            self._note_change(name)
            self.connection.create_table(name, schema=schema)

    def has(self, name: str) -> bool:
        """Whether the table has a first version (a writer may have been killed before it)."""
        return any((self.folder / TABLES / VERSIONS.format(name)).glob("*.manifest"))

    def column(self, name: str, column: str, *, checked: bool = True) -> list[str]:
        """One column of texts, in no order."""
        table = self.open(name) if checked else self.connection.open_table(name)
        found = table.search().select([column]).limit(None).to_arrow()
        return list(found[column].to_pylist())

    def select(self, name: str, column: str, values: Sequence[str]) -> Any:
        """The rows that have one of these values, as an Arrow table."""
        import pyarrow as pa

        table = self.open(name)
        found = [table.search().where(clause).limit(None).to_arrow() for clause in sql_clauses(column, values)]
        return pa.concat_tables(found or [table.schema.empty_table()])

    def select_last(self, name: str, column: str, values: Sequence[str]) -> Any:
        """As `select`, where it is likely that these rows, each of another value, were written last.

        There is no index of values: a filter reads those of all rows, the last rows are found by their number.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        table = self.open(name)
        count = table.count_rows()
        looked_at = min(len(values), count)
        last = table.search().limit(looked_at).offset(count - looked_at).to_arrow()
        found = last.filter(pc.is_in(last[column], value_set=pa.array(values, pa.string())))
        return found if found.num_rows == len(set(values)) else self.select(name, column, values)

    def stream(self, name: str, *columns: str) -> Iterator[Any]:
        """These columns of all rows as Arrow batches, in no order; few of them are in memory at a time."""
        yield from self.open(name).search().select(list(columns)).limit(None).to_batches(STREAM_ROWS)

    def delete_where(self, name: str, column: str, values: Sequence[str]) -> None:
        """Removes the rows that have one of these values."""
        for clause in sql_clauses(column, values):
            self.change(name).delete(clause)

    def list_regions(self) -> list[str]:
        """Names of all tables of regions that can be opened."""
        names = sorted(path.stem for path in (self.folder / TABLES).glob(f"{REGIONS_PREFIX}*.lance"))
        return [name for name in names if self.has(name)]

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Turns errors of Lance, of the disk, and of libraries that read damaged tables into one line for a user."""
        try:
            yield
        except (LibraryError, PartFailed):
            raise
        except BaseException as error:
            if (
                isinstance(error, Exception) and (fault := find_fault(error)) is not None
            ):  # an encoder, from whose vectors a table was to be made
                raise PartFailed(fault) from error
            if isinstance(error, OSError | RuntimeError) or _tells_damage(error):
                raise translate_error(error, self.folder) from error
            raise


def read_growth(folder: Path) -> dict[str, tuple[str, list[str]]]:
    """The records of `note_growth`: for each later state, the earlier one and the pictures added between them."""
    try:
        lines = (folder / TABLES / GROWTH).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):  # the last line may have been cut short
            entry = json.loads(line)
            if entry["before"] != entry["after"]:  # as earlier versions noted it where compacting had nothing to do
                found[str(entry["after"])] = str(entry["before"]), [str(name) for name in entry["ids"]]
    return found


DESCRIPTORS = 64
"""Files that Lance and its dependencies may have open at once."""


def check_descriptors() -> None:
    """Raises LibraryError if this process may open too few files: Lance would panic."""
    if sys.platform == "win32":
        return
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most != resource.RLIM_INFINITY and most < DESCRIPTORS:
        raise LibraryError(f"this process may open {most} files only, {DESCRIPTORS} are needed: raise `ulimit -n`")


def _tells_damage(error: BaseException) -> bool:
    """Whether an error is due to a table's bytes: from Arrow, Lance (a panic is not an `Exception`) or JSON."""
    if isinstance(error, ValueError) and re.search(
        "was not found|LanceError|Schema error|not appear to be a Lance file", str(error)
    ):
        return True
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(error).__mro__}
    return bool(kinds & {"pyarrow.lib.ArrowException", "pyo3_runtime.PanicException", "json.decoder.JSONDecodeError"})


_closed: list[int] = []
_masks, _mask_before = Lock(), [0]


@contextmanager
def private_files(folder: Path) -> Iterator[None]:
    """Files written meanwhile are readable by those who may enter the library's folder: at first only its owner.

    The mask belongs to the process: the first of several threads saves it, the last restores it.
    """

    def change(how: Callable[[int], None]) -> None:
        with _masks:
            if not _closed:
                _mask_before[0] = os.umask(0o077)
            how(closed)
            os.umask(reduce(or_, _closed, _mask_before[0]))

    closed = 0o077 & ~folder.stat().st_mode if folder.is_dir() else 0o077
    change(_closed.append)
    try:
        yield
    finally:
        change(_closed.remove)


@contextmanager
def hold_lock(lock: FileLock, folder: Path, timeout: float, busy: str) -> Iterator[None]:
    """Holds a lock of a library; may be nested. Raises LibraryBusy after `timeout` s: `busy` says with what.

    Raises NotALibrary: the folder is gone.
    """
    if not folder.is_dir():  # moved away: FileLock would make it anew
        raise explain_missing(folder)
    try:
        with private_files(folder):  # the lock is a file
            lock.acquire(timeout=timeout)
    except Timeout:
        raise LibraryBusy(
            f"another process is {busy} and did not finish within {timeout:g} s: wait for it, then try again"
        ) from None
    except OSError as error:
        raise translate_error(error, folder) from error
    try:
        if (bucket := find_bucket(folder)) is None:
            yield
        else:
            with bucket.writing(Path(lock.lock_file).stem, timeout, busy):
                yield
    finally:
        lock.release()


_WRAPPING = re.compile(r".*error(?:\(\w+\))?: |,?\s*\(?/\S*\.rs(?::\d+)*\)?", re.IGNORECASE)
"""The parts of a Lance error that name its kind, and the place in Lance's source."""


def translate_error(error: BaseException, folder: Path) -> LibraryError:
    """The user's error for one of Lance, Arrow, the operating system or an object store."""
    if (bucket := find_bucket(folder)) is not None:
        return bucket.translate_error(error)
    text = _WRAPPING.sub("", " ".join(str(error).split())).replace(f"{folder}/", "")
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT) or re.search("no space left|os error 28|disk quota", text.lower()):
        return DiskFull(f"the disk is full at {folder}: free some space and try again; nothing acknowledged is lost")
    if number not in (None, errno.EIO) or re.search("permission denied|read-only|too many open files", text.lower()):
        return LibraryError(f"the library in {folder} cannot be read or written: {text[:300]}")
    return explain_damage(folder, text[:300])


def explain_damage(folder: Path, what: str) -> DamagedLibrary:
    """The error that says what to do about damage."""
    return DamagedLibrary(f"the library in {folder} is damaged ({what}): mend it with `viewfinder repair {folder}`")


_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


def check_place(folder: Path) -> None:
    """Raises BadInput: Lance opens no tables below a folder with such a name."""
    name = str(folder.absolute())
    if not is_text(name) or _CONTROLS.search(name):
        raise BadInput(
            f"{name!r}: no library can lie there, for a name on the way is not UTF-8, or has line breaks or other "
            "control characters: choose another folder, or rename that one"
        )


def check_repaired(folder: Path) -> None:
    """Raises DamagedLibrary if a repair has begun to change the library, and has not come to its end. 2 us."""
    if is_half_repaired(folder):
        raise explain_half_repair(folder)


def is_half_repaired(folder: Path) -> bool:
    """Whether a repair has begun to change the library, and has not come to its end."""
    return os.path.lexists(f"{folder}/{REPAIR}/{REPORT}")


def explain_half_repair(folder: Path) -> DamagedLibrary:
    """The error that says how to go on with a repair."""
    return DamagedLibrary(
        f"the library in {folder} is half repaired: a repair was interrupted, or is still at work; "
        f"`viewfinder repair {folder}` goes on with it"
    )


def explain_missing(folder: Path) -> LibraryError:
    """The error that says what a library lacks: everything, or its table of pictures."""
    if is_half_repaired(folder):
        return explain_half_repair(folder)
    if any((folder / TABLES).glob("vectors.*")):
        return explain_damage(folder, f"{TABLES}/{PICTURES}.lance is missing")
    make = write_command("add FOLDER", folder)
    return NotALibrary(f"{folder} holds no library: check the path, or make one there with `{make}`")


def check_ids(ids: Sequence[str]) -> None:
    """Raises ValueError if an id appears twice."""
    if twice := sorted(name for name, times in Counter(ids).items() if times > 1):
        raise ValueError(f"picture {twice[0]!r} comes twice in one batch")


def sql_clauses(column: str, values: Sequence[str]) -> Iterator[str]:
    """SQL filters `column IN (...)`, `MAX_VALUES_A_FILTER` values at a time."""
    for some in (values[at : at + MAX_VALUES_A_FILTER] for at in range(0, len(values), MAX_VALUES_A_FILTER)):
        literals = ", ".join("'" + value.replace("'", "''") + "'" for value in some)
        yield f"{column} IN ({literals})"


def table_schema(name: str) -> Any:
    """The Arrow schema of the table `pictures`, `spaces` or `failures`."""
    import pyarrow as pa

    text, number, half = pa.string(), pa.int64(), pa.int32()
    file = [("path", text), ("size", number), ("mtime_ns", number)]
    facts = [
        ("width", half),
        ("height", half),
        ("format", text),
        ("bytes", number),
        ("captured", text),
        ("camera", text),
    ]
    said = [("captions", pa.list_(text)), ("attributes", text)]
    known = [("file", half), ("name", text), ("source", text), ("values", pa.list_(text))]
    # Those of format 2, all empty where an earlier viewfinder wrote last: `stamps` and `facts` are of `files`.
    more = [("pixels", text), ("stamps", pa.list_(number)), ("facts", pa.list_(pa.struct(known)))]
    fields = {
        PICTURES: [("id", text), ("files", pa.list_(pa.struct(file))), *facts, *said, *more],
        SPACES: [("space", text), ("table", text), ("width", half)],
        FAILURES: [*file, ("reason", text)],
    }
    return pa.schema(fields[name])


def vectors_schema(width: int) -> Any:
    """The Arrow schema of a table of vectors of this width."""
    import pyarrow as pa

    return pa.schema([("id", pa.string()), ("vector", pa.list_(pa.float16(), width))])


def vectors_to_arrow(ids: Sequence[str], matrix_nd: Float[np.ndarray, "n d"], width: int) -> Any:
    """Ids and vectors as an Arrow table, in half precision. Raises ValueError: another number, or another width."""
    import pyarrow as pa

    if matrix_nd.shape != (len(ids), width):
        raise ValueError(f"vectors of shape {matrix_nd.shape}, but {len(ids)} pictures of width {width} were expected")
    flat = pa.array(np.ascontiguousarray(matrix_nd, dtype=np.float16).reshape(-1))
    vectors = pa.FixedSizeListArray.from_arrays(flat, width)
    return pa.Table.from_arrays([pa.array(list(ids), pa.string()), vectors], schema=vectors_schema(width))


def vectors_from_arrow(table: Any) -> Float16[np.ndarray, "n d"]:
    """The vectors of an Arrow table, in its order."""
    chunks = [chunk.flatten().to_numpy() for chunk in table["vector"].chunks]
    width = table.schema.field("vector").type.list_size
    return np.concatenate([np.empty(0, np.float16), *chunks]).reshape(-1, width)


class VectorReader:
    """Vectors of one table by id, in any order, a few at a time; always those of its newest version.

    The places of the rows are looked up once per version (some 0.1 s for 10,000 pictures), so keep a reader.
    """

    def __init__(self, tables: Tables, name: str) -> None:
        self._tables, self._name = tables, name
        self._seen: tuple[Any, dict[str, int]] | None = None

    def ids(self) -> Set[str]:
        """The pictures that have a vector here (and perhaps some that no longer exist)."""
        with self._tables.translating_errors():
            _, places = self._open_newest()
        return places.keys()

    def read(self, ids: Sequence[str]) -> Float16[np.ndarray, "n d"]:
        """Vectors of these pictures in the order asked for; zeros for one without."""
        with self._tables.translating_errors():
            self._tables.open(self._name)  # checks for damage
            table, places = self._open_newest()
            found_nd = np.zeros((len(ids), table.schema.field("vector").type.list_size), np.float16)
            known = [row for row, name in enumerate(ids) if name in places]
            if known:
                taken = table.take_row_ids(sorted({places[ids[row]] for row in known})).to_arrow()
                at = {name: row for row, name in enumerate(taken["id"].to_pylist())}  # Lance promises no order
                found_nd[known] = vectors_from_arrow(taken)[[at[ids[row]] for row in known]]
            return found_nd

    def _open_newest(self) -> tuple[Any, dict[str, int]]:
        """The table's newest version, and the places of the pictures' rows in it."""
        table = self._tables.connection.open_table(self._name)
        if self._seen is None or self._seen[0].version != table.version:
            found = table.search().select(["id"]).with_row_id(True).limit(None).to_arrow()
            self._seen = table, dict(zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True))
        return self._seen


Item = TypeVar("Item")

FIRST_BATCH, MAX_BATCH = 16, 256
"""Pictures in the first batch, which somebody may be waiting for, and the most in any batch."""

COMMIT_EVERY_S = 1.5
"""Planned work between two commits, against some 60 ms per commit."""


def pace_batches(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Yields batches of `items`; how long the caller works on one decides the size of the next."""
    size, started = FIRST_BATCH, monotonic()
    while batch := list(islice(items, size)):
        yield batch
        # Assumes the speed of the last one; a large model gets small batches.
        fits = len(batch) * COMMIT_EVERY_S / max(monotonic() - started, 1e-3)
        size = int(min(max(fits, FIRST_BATCH / 2, 1), MAX_BATCH))
        started = monotonic()
