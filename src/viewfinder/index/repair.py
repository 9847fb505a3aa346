"""Repair of damaged tables: what can still be read is kept, and how many rows are lost is reported.

Lance does not notice a flipped bit, so the checksums decide: a damaged manifest is removed, and the version before it
counts; rows of a damaged data file are lost, all others are written as a new version of the table, in one commit. A
kill in between leaves the table no worse than it was.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viewfinder.errors import DiskFull, LibraryError
from viewfinder.index.checksums import find_damage, forget_checksums, record_checksums
from viewfinder.index.rows import PictureRow, pictures_from_arrow
from viewfinder.index.snapshot_files import read_tables
from viewfinder.index.tables import FAILURES, PICTURES, SPACES, TABLES, Tables, table_schema

READ = 4096
"""Rows of a fragment that are read at once."""

ASIDE = ".damaged"
_FRUITLESS = 64


@dataclass
class TablesRepair:
    """What was damaged, and what is lost: rows by table, None if nothing says how many there were.

    Tables that are `reverted` are as they were before the last write.
    """

    damaged: list[str] = field(default_factory=list)
    lost: dict[str, int | None] = field(default_factory=dict)
    reverted: set[str] = field(default_factory=set)


def repair_tables(folder: Path) -> TablesRepair:
    """Makes every table of a library readable again; the caller holds it for writing. Raises as `Store`'s writes."""
    report, tables = TablesRepair(), Tables(folder)
    for name in sorted(path.stem for path in (folder / TABLES).glob("*.lance")):
        with tables.guarded():
            _repair_table(tables, name, report)
    for name in (SPACES, FAILURES, PICTURES):
        if not tables.has(name):
            with tables.guarded():
                report.lost.setdefault(name, None)
                tables.connection.drop_table(name, ignore_missing=True)
                tables.make(name, table_schema(name))
    if report.lost.keys() & {SPACES}:
        with tables.guarded():
            _register_spaces(tables)
    tables.record()
    return report


def rows_of_snapshots(folder: Path) -> Iterator[PictureRow]:
    """The pictures that snapshots know, those of the latest first; a picture may appear twice."""
    homes = sorted((folder / "snapshots").glob("*-*"), key=lambda home: home.stat().st_mtime, reverse=True)
    for home in homes:
        with suppress(OSError, ValueError):
            for table in read_tables(home):
                yield from pictures_from_arrow(table)


def set_database_aside(folder: Path) -> str:
    """Moves a server's damaged database aside, so that a new one is begun; returns what is lost, or nothing."""
    import sqlite3
    from contextlib import closing

    file = folder / "server" / "server.sqlite3"
    lock = Path(f"{file}.lock")
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
            if database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
                return ""
        where = f"it is {file.name}{ASIDE} now"
    except sqlite3.OperationalError:  # there is none, or it cannot be opened
        if file.exists() or not lock.exists():
            return ""
        where = "it is gone"
    except sqlite3.DatabaseError:
        where = f"it is {file.name}{ASIDE} now"
    for each in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
        if each.exists():
            each.replace(f"{each}{ASIDE}")
    lock.unlink(missing_ok=True)
    return f"the server's database, with its conversations and tokens: {where}, and the next server begins a new one"


def _repair_table(tables: Tables, name: str, report: TablesRepair) -> None:
    path = tables.path(name)
    damaged = find_damage(path, everything=True)
    report.damaged += [f"{TABLES}/{path.name}/{file}" for file in damaged]
    is_whole = not any(file.startswith(("data/", "_deletions/", "_versions/")) for file in damaged)
    manifests = {file for file in damaged if file.startswith("_versions/")}
    if manifests and min(manifests) <= min((f"_versions/{file.name}" for file in _manifests(path)), default="~"):
        report.reverted.add(name)
    if damaged:
        (path / "_versions" / "latest_version_hint.json").unlink(missing_ok=True)
    for file in damaged:
        place = path / file
        if file.startswith(("data/", "_deletions/")):  # its rows must not be read by mistake
            place.replace(f"{place}{ASIDE}")
        else:
            place.unlink(missing_ok=True)
    if damaged:
        forget_checksums(path)
    table = _open_latest(tables, name, report)
    if table is None:
        report.lost[name] = None
        shutil.rmtree(path, ignore_errors=True)
        return
    if is_whole and _is_readable(tables, name):
        record_checksums(path)
        return
    _rewrite(tables, name, table, report)


def _manifests(path: Path) -> list[Path]:
    """The manifests of a table, newest first: their names count down."""
    return sorted((path / "_versions").glob("*.manifest"))


def _open_latest(tables: Tables, name: str, report: TablesRepair) -> Any:
    """The newest version with a valid manifest; newer ones are removed. None: there is none."""
    while tables.has(name):
        try:
            with tables.guarded():
                table = tables.connection.open_table(name)
                table.schema  # noqa: B018 (a manifest may open and still be invalid)
                return table
        except DiskFull:
            raise
        except LibraryError:
            _manifests(tables.path(name))[0].unlink()
            report.reverted.add(name)
            (tables.path(name) / "_versions" / "latest_version_hint.json").unlink(missing_ok=True)
    return None


def _is_readable(tables: Tables, name: str) -> bool:
    try:
        with tables.guarded():
            key = tables.connection.open_table(name).schema.names[0]
            tables.column(name, key, checked=False)
            if name in (PICTURES, SPACES, FAILURES):
                tables.connection.open_table(name).to_arrow()
    except LibraryError:
        return False
    return True


def _rewrite(tables: Tables, name: str, table: Any, report: TablesRepair) -> None:
    """Writes what can be read of a table as its next version."""
    import pyarrow as pa

    kept = list(_readable_rows(tables, table))
    rows = pa.concat_tables(kept) if kept else table.schema.empty_table()
    expected = None
    with suppress(LibraryError), tables.guarded():
        expected = int(table.count_rows())
    report.lost[name] = None if expected is None else max(expected - len(rows), 0)
    new = tables.connection.create_table(name, data=rows.cast(table.schema), mode="overwrite")
    new.optimize()
    for file in tables.path(name).rglob(f"*{ASIDE}"):
        file.unlink()
    forget_checksums(tables.path(name))
    record_checksums(tables.path(name))


def _readable_rows(tables: Tables, table: Any) -> Iterator[Any]:
    """The rows of fragments whose files are undamaged. Lance numbers a row by its fragment and its place in it."""
    fragments, fruitless, number = _count_fragments(tables, table), 0, 0
    while fragments and fruitless < _FRUITLESS * fragments:
        found = False
        for start in range(0, 1 << 32, READ):
            try:
                with tables.guarded():
                    some = table.take_row_ids([(number << 32) + start + at for at in range(READ)]).to_arrow()
            except LibraryError:
                found = True
                break
            if not some.num_rows:
                break
            found = True
            yield some
        fragments, fruitless, number = fragments - found, fruitless + (not found), number + 1


def _count_fragments(tables: Tables, table: Any) -> int:
    with suppress(LibraryError), tables.guarded():
        return int(table.stats()["fragment_stats"]["num_fragments"])
    return 1 << 16


def _register_spaces(tables: Tables) -> None:
    """Registers the existing tables of vectors as spaces, named after their files."""
    import pyarrow as pa

    found = {}
    for path in sorted((tables.folder / TABLES).glob("vectors.*.lance"), key=lambda path: path.stat().st_mtime):
        if tables.has(path.stem):
            coded = path.stem.removeprefix("vectors.").removesuffix("_v2")
            pieces = re.split("_([0-9a-f]{2})", coded)
            space = b"".join(bytes.fromhex(one) if at % 2 else one.encode() for at, one in enumerate(pieces)).decode()
            width = tables.connection.open_table(path.stem).schema.field("vector").type.list_size
            found[space] = {"space": space, "table": path.stem, "width": width}
    rows = pa.Table.from_pylist(list(found.values()), schema=table_schema(SPACES))
    tables.change(SPACES)
    tables.connection.create_table(SPACES, data=rows, mode="overwrite")
