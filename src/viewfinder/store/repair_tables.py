"""Repair of damaged tables: what can still be read is kept, and how many rows are lost is reported.

Lance does not notice a flipped bit, so the checksums decide: a damaged manifest is removed, and the version before it
counts; rows of a damaged data file are lost, all others are written as a new version of the table. Rows of pictures
that are lost come back from snapshots. All this happens to a copy, which takes the place of the tables when it is
complete (`repair_journal`): a kill at any moment loses nothing.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from viewfinder.errors import DiskFull, LibraryError
from viewfinder.store.checksums import find_damage, forget_checksums, record_checksums
from viewfinder.store.repair_journal import RepairJournal, mend_copy
from viewfinder.store.rows import PictureRow
from viewfinder.store.snapshot_rows import SnapshotRows, read_snapshot_rows
from viewfinder.store.store import WRITE_PATIENCE_S, Store
from viewfinder.store.tables import FAILURES, PICTURES, SPACES, TABLES, Tables, hold_lock, table_schema

MAX_FRAGMENT_ROWS = 4096
"""Rows of a fragment that are read at once."""

_FRUITLESS = 64
_VECTORS = "vectors."


def repair_tables(folder: Path, journal: RepairJournal) -> None:
    """Makes every table of a library readable again, and puts back the pictures' rows that snapshots know.

    The caller holds the library for writing. What is found goes into the journal. Raises as `Store`'s writes; then the
    library is as it was.
    """
    tables = Tables(folder)
    with tables.translating_errors():
        names = sorted(path.stem for path in (folder / TABLES).glob("*.lance"))
        damaged = {name: find_damage(tables.path(name), everything=True) for name in names}
        if _are_sound(tables, damaged):
            for name in names:
                record_checksums(tables.path(name))
            return
        # A snapshot's state is a number of the table's versions, which a mended table gives again.
        known = [SnapshotRows(it.rows) if journal.lost_rows else it for it in read_snapshot_rows(folder)]
        filling = hold_lock(
            FileLock(folder / "filling.lock"), folder, WRITE_PATIENCE_S, f"reading regions of pictures for {folder}"
        )
        with filling, mend_copy(folder, journal) as copy:
            try:
                _mend_tables(Tables(copy), damaged, journal)
                _put_rows_back(Store(copy), known, journal)
            except LibraryError as error:
                raise type(error)(str(error).replace(str(copy), str(folder))) from error


def _are_sound(tables: Tables, damaged: Mapping[str, Sequence[str]]) -> bool:
    """Whether there is nothing to do: all can be read, and every vector has its picture."""
    if any(damaged.values()) or not {SPACES, FAILURES, PICTURES} <= damaged.keys():
        return False
    if not all(tables.has(name) and _is_readable(tables, name) for name in damaged):
        return False
    store = Store(tables.folder)
    try:
        return not store.vectors_without_picture()
    except LibraryError:  # a space without its table
        return False


def _mend_tables(tables: Tables, damaged: Mapping[str, Sequence[str]], journal: RepairJournal) -> None:
    """Mends each table, and makes those that are missing."""
    for name, files in damaged.items():
        with tables.translating_errors():
            _mend_table(tables, name, files, journal)
    for name in (SPACES, FAILURES, PICTURES):
        if not tables.has(name):
            with tables.translating_errors():
                journal.lost_rows.setdefault(name, None)
                tables.connection.drop_table(name, ignore_missing=True)
                tables.make(name, table_schema(name))
    with tables.translating_errors():
        if SPACES in journal.lost_rows:
            _register_spaces(tables)
        _forget_missing_spaces(tables, journal)
    if journal.lost_rows.get(FAILURES, 0) != 0 or FAILURES in journal.reverted:
        journal.note_mended("the list of failures: the next `viewfinder add` looks at those files again")
    tables.record()


def _put_rows_back(store: Store, snapshots: Sequence[SnapshotRows], journal: RepairJournal) -> None:
    """Restores lost rows of pictures: all that the last snapshot shows, or those that vectors show not to be forgotten.

    Vectors of which no picture is known are removed: nothing can be done with them.
    """
    lost, is_reverted = journal.lost_rows.get(PICTURES, 0), PICTURES in journal.reverted
    there = {row.id: row for row in store.rows()}
    orphans = store.vectors_without_picture()
    back, seen, old = list[PictureRow](), set[str](), 0
    for snapshot in snapshots:
        counts = snapshot.are_present and (lost != 0 or is_reverted)
        new = [row for row in snapshot.rows if row.id not in seen]
        seen.update(row.id for row in new)
        wanted = [row for row in new if (row != there.get(row.id) if counts else row.id in orphans)]
        old += 0 if snapshot.are_present else len(wanted)
        back += wanted
    store.add(back, {})
    if back:
        journal.note_mended(f"{len(back):,} pictures' files, captions and catalogue rows, from a snapshot")
    if old:
        journal.note_lost(
            f"what was changed of {old:,} of these pictures after that snapshot was made, if anything was: "
            "`viewfinder add` their folders again, with --captions and --catalogue where these are missing"
        )
    is_complete = any(snapshot.are_all for snapshot in snapshots)
    if is_reverted and not is_complete:
        journal.note_lost(
            "what was last changed of the pictures: `viewfinder add` their folders again, with --captions and "
            "--catalogue where these are missing"
        )
    added = {row.id for row in back} - there.keys()
    without = orphans - added
    gone = max(len(without), (lost or 0) - len(added))
    again = "`viewfinder add` their folders again, with --captions and --catalogue where there were any"
    if gone and (lost != 0 or is_reverted):
        journal.note_lost(f"files, captions and catalogue rows of {gone:,} pictures: {again}")
    elif gone:
        journal.note_lost(
            f"what {gone:,} vectors were made from (an `add` that was cut short leaves such, and so do lost pictures): "
            + again
        )
    elif lost is None and not is_complete and any(name.startswith(_VECTORS) for name in journal.lost_rows):
        journal.note_lost(f"pictures, and nothing says how many: {again}")
    store.delete(sorted(without))


def _mend_table(tables: Tables, name: str, damaged: Sequence[str], journal: RepairJournal) -> None:
    path = tables.path(name)
    journal.note_damaged([f"{TABLES}/{path.name}/{file}" for file in damaged])
    is_whole = not any(file.startswith(("data/", "_deletions/", "_versions/")) for file in damaged)
    manifests = {file for file in damaged if file.startswith("_versions/")}
    if manifests and min(manifests) <= min((f"_versions/{file.name}" for file in _list_manifests(path)), default="~"):
        journal.reverted.add(name)
    if damaged:
        (path / "_versions" / "latest_version_hint.json").unlink(missing_ok=True)
    for file in damaged:
        (path / file).unlink(missing_ok=True)  # a damaged file's rows must not be read by mistake
    if damaged:
        forget_checksums(path)
    table = _open_latest(tables, name, journal)
    if table is None:
        _note_lost_rows(journal, name, None)
        shutil.rmtree(path, ignore_errors=True)
        return
    if is_whole and _is_readable(tables, name):
        record_checksums(path)
        return
    _rewrite_table(tables, name, table, journal)


def _note_lost_rows(journal: RepairJournal, name: str, rows: int | None) -> None:
    """Adds to what earlier attempts have counted."""
    before = journal.lost_rows.get(name, 0)
    journal.lost_rows[name] = None if rows is None or before is None else before + rows


def _list_manifests(path: Path) -> list[Path]:
    """The manifests of a table, newest first: their names count down."""
    return sorted((path / "_versions").glob("*.manifest"))


def _open_latest(tables: Tables, name: str, journal: RepairJournal) -> Any:
    """The newest version with a valid manifest; newer ones are removed. None: there is none."""
    while tables.has(name):
        try:
            with tables.translating_errors():
                table = tables.connection.open_table(name)
                table.schema  # noqa: B018 (a manifest may open and still be invalid)
                return table
        except DiskFull:
            raise
        except LibraryError:
            _list_manifests(tables.path(name))[0].unlink()
            journal.reverted.add(name)
            (tables.path(name) / "_versions" / "latest_version_hint.json").unlink(missing_ok=True)
    return None


def _is_readable(tables: Tables, name: str) -> bool:
    try:
        with tables.translating_errors():
            key = tables.connection.open_table(name).schema.names[0]
            tables.column(name, key, checked=False)
            if name in (PICTURES, SPACES, FAILURES):
                tables.connection.open_table(name).to_arrow()
    except LibraryError:
        return False
    return True


def _rewrite_table(tables: Tables, name: str, table: Any, journal: RepairJournal) -> None:
    """Writes what can be read of a table as its next version."""
    import pyarrow as pa

    kept = list(_read_sound_rows(tables, table))
    rows = pa.concat_tables(kept) if kept else table.schema.empty_table()
    expected = None
    with suppress(LibraryError), tables.translating_errors():
        expected = int(table.count_rows())
    _note_lost_rows(journal, name, None if expected is None else max(expected - len(rows), 0))
    new = tables.connection.create_table(name, data=rows.cast(table.schema), mode="overwrite")
    new.optimize()
    forget_checksums(tables.path(name))
    record_checksums(tables.path(name))


def _read_sound_rows(tables: Tables, table: Any) -> Iterator[Any]:
    """The rows of fragments whose files are undamaged. Lance numbers a row by its fragment and its place in it."""
    fragments, fruitless, number = _count_fragments(tables, table), 0, 0
    while fragments and fruitless < _FRUITLESS * fragments:
        found = False
        for start in range(0, 1 << 32, MAX_FRAGMENT_ROWS):
            try:
                with tables.translating_errors():
                    first = (number << 32) + start
                    some = table.take_row_ids(list(range(first, first + MAX_FRAGMENT_ROWS))).to_arrow()
            except LibraryError:
                found = True
                break
            if not some.num_rows:
                break
            found = True
            yield some
        fragments, fruitless, number = fragments - found, fruitless + (not found), number + 1


def _count_fragments(tables: Tables, table: Any) -> int:
    with suppress(LibraryError), tables.translating_errors():
        return int(table.stats()["fragment_stats"]["num_fragments"])
    return 1 << 16


def _register_spaces(tables: Tables) -> None:
    """Registers the existing tables of vectors as spaces, named after their files; of two, the one that holds more."""
    import pyarrow as pa

    found: dict[str, dict[str, Any]] = {}
    sizes: dict[str, int] = {}
    for path in sorted((tables.folder / TABLES).glob(f"{_VECTORS}*.lance")):
        if tables.has(path.stem):
            coded = path.stem.removeprefix(_VECTORS).removesuffix("_v2")
            pieces = re.split("_([0-9a-f]{2})", coded)
            space = b"".join(bytes.fromhex(one) if at % 2 else one.encode() for at, one in enumerate(pieces)).decode()
            table = tables.connection.open_table(path.stem)
            if (size := int(table.count_rows())) > sizes.get(space, -1):
                width = table.schema.field("vector").type.list_size
                sizes[space], found[space] = size, {"space": space, "table": path.stem, "width": width}
    rows = pa.Table.from_pylist(list(found.values()), schema=table_schema(SPACES))
    tables.change(SPACES)
    tables.connection.create_table(SPACES, data=rows, mode="overwrite")


def _forget_missing_spaces(tables: Tables, journal: RepairJournal) -> None:
    """Takes spaces off the list that have lost their tables: their vectors are made anew."""
    for item in tables.connection.open_table(SPACES).to_arrow().to_pylist():
        if not tables.has(item["table"]):
            _note_lost_rows(journal, item["table"], None)
            tables.delete_where(SPACES, "space", [item["space"]])
