"""Which large files were found to be as they were written, so that opening a library need not read all of them again.

Whoever has compared the checksums of such a file leaves a note beside it:

    NAME.checked    what the file was then (inode, size, time of change), and its checksums

Who finds the file and its checksums as the note says uses it at once, and reads it once more in the background, one
file after the other: a disk may have lost bytes and changed no time. If it did, the note goes, and `list_damaged`
tells, so that what was opened is opened anew: then all is read, and the damage is found as where there is no note.

Lance's files are noted in a list of their table instead (`checksums`).
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from viewfinder.whole_files import write_file

NOTED_FROM = 8 << 20
"""Smaller files are read each time, which takes four milliseconds."""

WAITS_S = 5.0
"""The background waits for so long: what was opened is first looked at."""

Mark = tuple[int, int, int]

_checked: set[tuple[Mark, tuple[int, ...]]] = set()
_asked: set[int] = set()
_damaged: list[Path] = []
_waiting: deque[tuple[Path, Mark, tuple[int, ...], Callable[[], bool]]] = deque()
_lock = threading.Lock()
_reader: list[threading.Thread] = []


def was_checked(file: Path, checksums: Sequence[int], check: Callable[[], bool]) -> bool:
    """Whether a file with these checksums is as it was when somebody compared them.

    If that was another process, `check` is called in the background: it reads the file and returns whether it is whole.
    Raises OSError.
    """
    mark, said = mark_status(file.stat()), tuple(checksums)
    if (mark, said) in _checked:
        return True
    if mark[1] < NOTED_FROM or not _has_note(file, mark, said):
        return False
    read_later(file, mark, said, check)
    return True


def read_later(file: Path, mark: Mark, checksums: Sequence[int], check: Callable[[], bool]) -> None:
    """Calls `check` in the background: it reads a file that is used already, and returns whether it is whole."""
    with _lock:
        if mark[0] not in _asked:  # once, also where rows are appended every minute
            _asked.add(mark[0])
            _waiting.append((file, mark, tuple(checksums), check))
            _start_reading()


def note_checked(file: Path, checksums: Sequence[int]) -> None:
    """Notes that the checksums of a file were compared just now, or computed of what it holds. Raises OSError."""
    mark, said = mark_status(file.stat()), tuple(checksums)
    _checked.add((mark, said))
    if mark[1] >= NOTED_FROM and not _has_note(file, mark, said):
        with suppress(OSError):  # a folder that cannot be written to: it is read each time
            write_file(_note(file), json.dumps({"file": mark, "checksums": said}))
            _note(file).chmod(file.stat().st_mode & 0o777)  # for those who may read the file


def copy_note(before: Path, file: Path) -> None:
    """Takes over what is noted of a file for a link to it. Raises OSError."""
    with suppress(FileNotFoundError):
        shutil.copyfile(_note(before), _note(file))


def list_damaged() -> Sequence[Path]:
    """The files that the background found damaged, in the order in which it did."""
    return _damaged


def check_waiting() -> None:
    """Reads the files that wait to be read."""
    while True:
        with _lock:
            if not _waiting:
                _reader.clear()
                return
            file, mark, said, check = _waiting.popleft()
        with suppress(OSError):  # gone, or replaced: whoever opens it next checks it
            is_whole = check()
            if mark_status(file.stat()) != mark:
                continue
            if is_whole:
                _checked.add((mark, said))
            else:
                _note(file).unlink(missing_ok=True)
                _damaged.append(file)


def _start_reading() -> None:
    """Starts the thread that reads files, unless it is there; the caller holds the lock."""
    if not _reader:

        def read() -> None:
            threading.Event().wait(WAITS_S)
            check_waiting()

        _reader.append(threading.Thread(target=read, name="checksums", daemon=True))
        _reader[0].start()


def mark_status(status: os.stat_result) -> Mark:
    """What tells whether a file was replaced or written to since."""
    return status.st_ino, status.st_size, status.st_mtime_ns


def _has_note(file: Path, mark: Mark, said: tuple[int, ...]) -> bool:
    with suppress(OSError, ValueError, KeyError, TypeError):
        noted = json.loads(_note(file).read_bytes())
        return (tuple(noted["file"]), tuple(noted["checksums"])) == (mark, said)
    return False


def _note(file: Path) -> Path:
    return file.with_name(f"{file.name}.checked")
