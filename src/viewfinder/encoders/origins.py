"""Where an encoder's files lie, and what a library keeps of them: a pin, so that its name means the same tomorrow.

A name alone is no identity: a folder is replaced, a relative path means another folder elsewhere, a name on the hub
gets another commit. A pin has the absolute folder or the commit, and size, time and hash of every file of weights. The
times spare reading: a file whose size and time are as pinned is not hashed again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

HASH_BYTES = 16


@dataclass(frozen=True)
class Origin:
    """The place from which an encoder was loaded.

    Attributes:
        folder: the user's folder that holds it; None: it is of the hub.
        commit: the commit on the hub.
        files: the files of its weights, by the names under which they lie there.
        weights: identifies the weights that were loaded, whatever files hold them; "": its version does not need it.
    """

    folder: Path | None
    commit: str | None
    files: Mapping[str, Path]
    weights: str = ""


@runtime_checkable
class FromFiles(Protocol):
    """An encoder that was loaded from files; those that packages bring along are none."""

    @property
    def origin(self) -> Origin:
        """Where they lie."""
        ...


@dataclass(frozen=True)
class PinnedFile:
    """A file of weights, as it was when it was pinned."""

    name: str
    size: int
    mtime_ns: int
    hash: str


@dataclass(frozen=True)
class Pin:
    """What the name of an encoder stands for: a folder of this machine, or a commit on the hub."""

    folder: str | None = None
    commit: str | None = None
    weights: str = ""
    files: tuple[PinnedFile, ...] = ()

    @staticmethod
    def of(data: Mapping[str, Any]) -> Pin:
        """A pin from its JSON."""
        return Pin(**{**data, "files": tuple(PinnedFile(**file) for file in data["files"])})


def pin_encoder(encoder: object, before: Pin | None = None) -> Pin | None:
    """The pin of an encoder that was loaded from files; None for others. Files that are as `before` are not read."""
    if not isinstance(encoder, FromFiles):
        return None
    origin = encoder.origin
    known = {} if before is None else {file.name: file for file in before.files}
    files = []
    for name, path in sorted(origin.files.items()):
        status = path.stat()
        file = known.get(name)
        if file is None or (file.size, file.mtime_ns) != (status.st_size, status.st_mtime_ns):
            file = PinnedFile(name, status.st_size, status.st_mtime_ns, hash_file(path))
        files.append(file)
    folder = None if origin.folder is None else str(origin.folder.absolute())
    return Pin(folder, origin.commit, origin.weights, tuple(files))


def hash_file(path: Path) -> str:
    """A hash of a file's bytes, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=HASH_BYTES)).hexdigest()


def find_pinned_weights(pin: Pin | None, files: Mapping[str, Path]) -> str:
    """What identifies the weights in these files, if they are those of the pin; "" if they may be others.

    A file of another time but of the same bytes, as after a copy, is the same file.
    """
    if pin is None or not pin.weights or {file.name for file in pin.files} != set(files):
        return ""
    return pin.weights if all(_is_same(file, files[file.name]) for file in pin.files) else ""


def _is_same(file: PinnedFile, path: Path) -> bool:
    status = path.stat()
    if status.st_size != file.size:
        return False
    return status.st_mtime_ns == file.mtime_ns or hash_file(path) == file.hash


def hash_arrays(arrays: Sequence[tuple[str, Any]]) -> str:
    """A hash of named arrays of numbers (contiguous, in numpy), whatever their order."""
    digest = hashlib.blake2b(digest_size=HASH_BYTES)
    for name, array in sorted(arrays, key=lambda item: item[0]):
        part = hashlib.blake2b(array.reshape(-1).view("uint8").data, digest_size=HASH_BYTES)
        digest.update(f"{name}\0{array.dtype}\0{array.shape}\0{part.hexdigest()}\n".encode())
    return digest.hexdigest()
