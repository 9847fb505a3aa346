"""How far an `add` is, for other processes: a note in the library's folder, replaced with each batch.

A server shows it on its page, whoever adds: a job of its own, or somebody at a terminal. The note is taken away at the
end; that of a process that was killed is told by the library's lock, which nobody holds any more.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from viewfinder.store.reports import AddReport
from viewfinder.store.store import WRITING
from viewfinder.store.tables import private_files
from viewfinder.whole_files import write_file

NOTE = "adding.json"

HALF_LIFE_S = 20.0
"""After this much work, what was seen before counts half."""

MAX_AGE_S = 600.0
"""An older note is not believed: no batch takes as long."""

MAX_NAMED = 20
"""Folders and files of which a note has the names."""


JOB: ContextVar[str | None] = ContextVar("job of a server", default=None)
"""The job of a server that adds; it is in the notes, so that one that ends after its batch is not taken for another."""


class Eta:
    """Is told the progress now and then; times in seconds, of any one clock."""

    def __init__(self) -> None:
        self._items, self._seconds = 0.0, 0.0  # seen so far, the older the less they count
        self._last: tuple[int, float] | None = None
        self._total = 0

    def note(self, done: int, total: int, at: float) -> None:
        """The first note only starts the clock: what came before it was preparation."""
        if self._last is not None:
            before, since = self._last
            spent = max(at - since, 1e-3)
            kept = 0.5 ** (spent / HALF_LIFE_S)
            self._items = self._items * kept + max(done - before, 0)
            self._seconds = self._seconds * kept + spent
        self._last, self._total = (done, at), total

    def left_s(self, at: float) -> float | None:
        """Seconds that are left; None while the speed is not known."""
        if self._last is None or not self._items:
            return None
        done, since = self._last
        return max((self._total - done) * self._seconds / self._items - (at - since), 0.0)


@dataclass(frozen=True)
class AddingNote:
    """How far an `add` is.

    Attributes:
        names: the last names of what is added.
        found: files found; None while they are being looked for.
        done: files that are dealt with, `failed` among them; the pictures of the others can be found.
        failed: files that could not be read.
        left_s: seconds that it would still take at `at`; None while the speed is not known.
        at: when this was written (seconds since 1970).
        job: the id of the server's job that adds; None for somebody at a terminal, or a program.
    """

    names: Sequence[str]
    found: int | None = None
    done: int = 0
    failed: int = 0
    left_s: float | None = None
    at: float = 0.0
    job: str | None = None

    def estimate_left_s(self) -> float | None:
        """Seconds that it will still take from now."""
        return None if self.left_s is None else max(self.left_s - max(time.time() - self.at, 0.0), 0.0)


class AddingNotes:
    """Writes the notes of one `add`."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._folder, self._eta = folder, Eta()
        self._note = AddingNote(list(names)[:MAX_NAMED], job=JOB.get())
        self._write(self._note)

    def take(self, report: AddReport) -> None:
        """What has been done by now."""
        done = sum((report.added, report.changed, report.moved, report.unchanged, report.duplicates))
        done += report.quarantined
        now = time.monotonic()
        self._eta.note(done, report.found, now)
        left_s = self._eta.left_s(now)
        self._write(replace(self._note, found=report.found, done=done, failed=report.quarantined, left_s=left_s))

    def _write(self, note: AddingNote) -> None:
        """Keeps a note; that it cannot be kept holds nothing up."""
        with suppress(OSError), private_files(self._folder):
            write_file(self._folder / NOTE, json.dumps(asdict(replace(note, at=time.time()))))


@contextmanager
def note_adding(folder: Path, roots: Sequence[Path]) -> Iterator[AddingNotes]:
    """Keeps notes of an `add` while it holds the library for writing."""
    try:
        yield AddingNotes(folder, [root.name or str(root) for root in roots])
    finally:
        with suppress(OSError):
            (folder / NOTE).unlink(missing_ok=True)


def read_adding_note(folder: Path) -> AddingNote | None:
    """How far the `add` is that runs now, in any process of this machine; None if there is none."""
    try:
        kept = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        note = AddingNote(**kept)
        if not 0 <= time.time() - note.at < MAX_AGE_S:
            return None
    except (OSError, ValueError, TypeError):
        return None
    return note if _is_held(folder) else None


def _is_held(folder: Path) -> bool:
    """Whether some process writes to the library."""
    lock = FileLock(folder / WRITING)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:  # of a library that may only be read, this is not known
        return True
    lock.release()
    return False
