"""Where the vectors of a data set are kept, and who may write there."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from viewfinder.errors import BadInput, DiskFull, LibraryBusy
from viewfinder.index.names import to_file_name

FOLDER = ".viewfinder-features"


def feature_folders(dataset: Path, raw_version: str) -> list[Path]:
    """Where the files may lie, the preferred place first."""
    from platformdirs import user_cache_path

    name = to_file_name(raw_version)
    mark = hashlib.blake2b(os.fsencode(dataset.resolve()), digest_size=16).hexdigest()
    return [dataset / FOLDER / name, user_cache_path("viewfinder") / "features" / mark / name]


def is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is itself made where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@contextmanager
def claim_folder(folder: Path) -> Iterator[None]:
    """Nobody else computes in `folder` meanwhile; errors of the disk become ours.

    Raises:
        LibraryBusy, DiskFull: as they say; what was acknowledged is kept.
        BadInput: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "writing.lock", blocking=False):
            yield
    except Timeout as error:
        raise LibraryBusy(f"{folder}: another process computes these features; wait for it to finish") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{folder}: the disk is full; make room and repeat the command, it goes on") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise BadInput(f"{folder}: cannot be written ({error.strerror}); name another folder (--out)") from error
        raise
