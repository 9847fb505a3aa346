"""What all Lance tables of a library share: where they lie, how they are read and cleared, errors as one line."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from viewfinder.errors import DiskFull, LibraryBusy, LibraryError

TABLES = "tables"

BATCH = 500
"""Names in one SQL filter."""


class Tables:
    """The tables of one library folder, by name. Cheap to make; Lance is imported when one is opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def connection(self) -> Any:
        """Lance's handle of the folder of tables."""
        import lancedb

        return lancedb.connect(self.folder / TABLES)

    def open(self, name: str) -> Any:
        """A table's newest version: opened each time (2 ms), so that other processes' writes are seen."""
        return self.connection.open_table(name)

    def make(self, name: str, schema: Any) -> None:
        """An empty table, unless there is one; one whose making was interrupted is made again."""
        if not self.has(name):
            self.connection.create_table(name, schema=schema)

    def has(self, name: str) -> bool:
        """Whether the table has a first version (a writer may have been killed before it)."""
        return any(versions_path(self.folder, name).glob("*.manifest"))

    def column(self, name: str, column: str) -> list[str]:
        """One column of texts, in no order."""
        found = self.open(name).search().select([column]).limit(None).to_arrow()
        return list(found[column].to_pylist())

    def delete_where(self, name: str, column: str, values: Sequence[str]) -> None:
        """Removes the rows that have one of these values."""
        for clause in sql_clauses(column, values):
            self.open(name).delete(clause)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Errors of Lance and of the disk, as one line for a user."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise translate_error(error, self.folder) from error
        except ValueError as error:
            if "was not found" in str(error) or "LanceError" in str(error):
                raise translate_error(error, self.folder) from error
            raise


@contextmanager
def hold_lock(lock: FileLock, folder: Path, timeout: float, busy: str) -> Iterator[None]:
    """Holds a lock of a library, as often as one likes; `busy` says what another process does that has it.

    Raises:
        LibraryBusy: it still has it after `timeout` seconds.
    """
    try:
        lock.acquire(timeout=timeout)
    except Timeout:
        raise LibraryBusy(
            f"another process is {busy} and did not finish within {timeout:g} s: wait for it, then try again"
        ) from None
    except OSError as error:
        raise translate_error(error, folder) from error
    try:
        yield
    finally:
        lock.release()


def versions_path(folder: Path, name: str) -> Path:
    """Where Lance keeps the manifests of a table: one file a version."""
    return folder / TABLES / f"{name}.lance" / "_versions"


def translate_error(error: Exception, folder: Path) -> LibraryError:
    """What to tell a user about an error of Lance, of Arrow, or of the operating system."""
    text = " ".join(str(error).split())
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if full or "no space left" in text.lower() or "os error 28" in text or "disk quota" in text.lower():
        return DiskFull(f"the disk is full at {folder}: free some space and try again; nothing acknowledged is lost")
    return LibraryError(f"the library in {folder} cannot be read or written: {text[:300]}")


def check_ids(ids: Sequence[str]) -> None:
    """Raises ValueError where an id comes twice."""
    if len(set(ids)) < len(ids):
        twice = sorted(name for name in set(ids) if list(ids).count(name) > 1)
        raise ValueError(f"picture {twice[0]!r} comes twice in one batch")


def sql_clauses(column: str, values: Sequence[str]) -> Iterator[str]:
    """SQL filters `column IN (...)`, `BATCH` values at a time."""
    for start in range(0, len(values), BATCH):
        literals = ", ".join("'" + value.replace("'", "''") + "'" for value in values[start : start + BATCH])
        yield f"{column} IN ({literals})"
