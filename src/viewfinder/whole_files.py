"""Files that are written whole or not at all: beside their place first, then renamed."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PART = ".part"
"""Ends the name of a file that is being written, or that a killed process has left so; a dot begins it."""


@contextmanager
def replace_file(path: Path, *, lasting: bool = False) -> Iterator[Path]:
    """Gives a file to write, which takes the place of `path` at the end of the `with` block.

    Readers see the earlier file until then, and for good if the block fails. `lasting`: at the end the new one is on
    the disk, and no power cut takes it back.
    """
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}{PART}")
    try:
        yield beside
        if lasting:
            sync(beside)
        beside.replace(path)
        if lasting:
            sync(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def write_file(path: Path, content: bytes | str, *, lasting: bool = False) -> None:
    """Replaces a file, as `replace_file` does; a text is written in UTF-8, its line ends as they are."""
    with replace_file(path, lasting=lasting) as beside:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)


def keep_file(path: Path, content: bytes) -> None:
    """Replaces a file, as `write_file` does, in folders that are made where they are not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    if sys.platform == "win32" and path.is_dir():  # which opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def mark_file(file: str | Path) -> tuple[int, int]:
    """A mark that changes when a file is replaced; (0, 0) while there is none. 5 us."""
    try:
        status = os.stat(file)  # noqa: PTH116 (every turn asks, and joining paths would take longer)
    except (FileNotFoundError, NotADirectoryError):
        return 0, 0
    return status.st_ino, status.st_mtime_ns
