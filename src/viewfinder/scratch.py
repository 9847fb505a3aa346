"""Folders for what is needed only while a process lives; those of processes that were killed are removed by the next.

Each folder has a file that its process holds locked: the system lets go of a lock however a process ends, so a lock
that can be taken is that of one that is gone.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

SCRATCH_PREFIX = "viewfinder-"
HELD = ".held"


@contextmanager
def scratch_folder(kind: str, home: Path | None = None) -> Iterator[Path]:
    """A new folder that only its owner may read, in `home` (the system's temporary files); removed at the end.

    Those of this kind (a word in their names) whose processes were killed are removed first.
    """
    home = home or Path(tempfile.gettempdir())
    remove_abandoned(kind, home)
    folder, lock = _make_held(kind, home)
    try:
        yield folder
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def _make_held(kind: str, home: Path) -> tuple[Path, FileLock]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{SCRATCH_PREFIX}{kind}-", dir=home))
        lock = FileLock(folder / HELD, thread_local=False)
        with suppress(OSError):
            lock.acquire()
        if lock.is_locked and (folder / HELD).exists():  # else another process took it for abandoned, just before
            return folder, lock
        lock.release()


def remove_abandoned(kind: str, home: Path) -> None:
    """Removes folders of processes that are gone. One without a lock is left: it may be just made."""
    for held in home.glob(f"{SCRATCH_PREFIX}{kind}-*/{HELD}"):
        try:
            with FileLock(held, blocking=False):
                shutil.rmtree(held.parent, ignore_errors=True)
        except (Timeout, OSError):  # in use, or of another user
            continue
