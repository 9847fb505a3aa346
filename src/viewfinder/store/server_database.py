"""The database that a server keeps in a library, where it cannot be read any more: noticed, and moved aside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

ASIDE = ".damaged"
_DATABASE = "the server's database, with its conversations and tokens"


def find_database_damage(folder: Path) -> str:
    """The loss of a server's damaged database as a line for people; "" if it is sound, or there is none."""
    file = _locate_database(folder)
    aside = f"{_DATABASE}: it is {file.name}{_find_suffix(file)} now, and the next server begins a new one"
    if file.exists() and not file.stat().st_size and Path(f"{file}.lock").exists():
        return aside  # emptied; only to open it would delete its log
    try:
        # A URI needs an absolute path.
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return "" if database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",) else aside
    except sqlite3.OperationalError:  # there is none, or it cannot be opened
        if file.exists() or not Path(f"{file}.lock").exists():
            return ""
        return f"{_DATABASE}: it is gone, and the next server begins a new one"
    except sqlite3.DatabaseError:
        return aside


def set_database_aside(folder: Path) -> None:
    """Moves a server's damaged database aside, so that a new one is begun; may be repeated after a kill."""
    file = _locate_database(folder)
    suffix = _find_suffix(file)
    # The log last: the database without it would look whole, and be of an earlier day.
    for each in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
        if each.exists():
            each.replace(f"{each}{suffix}")
    Path(f"{file}.lock").unlink(missing_ok=True)


def _locate_database(folder: Path) -> Path:
    return folder / "server" / "server.sqlite3"


def _find_suffix(file: Path) -> str:
    """The end of the name of a database that lies aside, so that no earlier one is overwritten."""
    number, suffix = 1, ASIDE
    while Path(f"{file}{suffix}").exists():
        number, before = number + 1, suffix
        suffix = f"{ASIDE}-{number}"
        if not file.exists() and not Path(f"{file}-wal{before}").exists():
            return before  # its log, which a killed repair has left
    return suffix
