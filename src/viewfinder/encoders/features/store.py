"""The vectors of a data set's pictures, and which row is which picture's.

What lies in a folder of features: a manifest, and arrays that are mapped into memory.

Where the vectors of a data set are kept, and who may write there.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from jaxtyping import Float16, Float32, Int

from viewfinder.errors import BadInput, DiskFull, EncoderMismatch, LibraryBusy, UnknownName
from viewfinder.index.names import to_file_name

IMAGES = "images"
"""The folder of a data set in which its pictures lie, if it has one of that name."""


@dataclass(frozen=True, order=True)
class PictureFile:
    """A picture file as it was read: its key, size in bytes and time of change."""

    key: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, order=True)
class DroppedPicture:
    """A file that has no row, and why."""

    source: PictureFile
    reason: str


@dataclass(frozen=True, eq=False)
class Features:
    """Vectors of the pictures of a data set, memory-mapped: row i of each array is the picture `keys[i]`.

    Attributes:
        dataset: the folder of the data set.
        keys: sorted POSIX paths relative to it.
        raw_nd: what the encoder gives of a whole picture; `Encoder.project` takes it to the space of words.
        regions_nre: its regions (a grid of 6 x 6, row by row), None unless they were asked for.
        raw_version: the encoder's; vectors of another version cannot be compared with these.
        dropped: files that did not become a picture.
        folder: where the vectors lie.
        boxes_nr4: where a detector's regions lie, (left, top, right, bottom) in pixels; None: a grid (see `Encoder`).
    """

    dataset: Path
    keys: tuple[str, ...]
    raw_nd: Float32[np.ndarray, "n d"]
    regions_nre: Float16[np.ndarray, "n r e"] | None
    raw_version: str
    dropped: tuple[DroppedPicture, ...]
    folder: Path
    boxes_nr4: Float32[np.ndarray, "n r 4"] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def row_of(self, name: str | Path) -> int:
        """The row of a picture by its key (with or without "images/"), its file name, or that without suffix.

        Any end of a key will do: "b/1.jpg", "1.jpg", "b/1", "1". A `Path` into the data set means the file there.

        Raises:
            UnknownName: no picture is called that.
            BadInput: several are.
        """
        key = self._key(name) if isinstance(name, Path) else name
        rows = self._by_key.get(key) or self._by_end.get(key) or self._by_stem.get(key) or []
        if len(rows) == 1:
            return rows[0]
        if rows:
            some = ", ".join(self.keys[row] for row in rows[:3])
            raise BadInput(f"{name} may be {len(rows)} pictures of {self.dataset} ({some}): write more of the path")
        why = next((f" ({bad.reason})" for bad in self.dropped if bad.source.key == key), "")
        raise UnknownName(f"{name}: there are no features of such a picture in {self.dataset}{why}")

    def rows(self, names: Iterable[str | Path]) -> Int[np.ndarray, " m"]:
        """Rows of pictures, an index into the arrays; errors as `row_of`, for the first name that has none."""
        return np.fromiter((self.row_of(name) for name in names), np.intp)

    def _key(self, path: Path) -> str:
        home, place = self.dataset.absolute(), path.absolute()
        return (place.relative_to(home) if place.is_relative_to(home) else path).as_posix()

    @cached_property
    def _by_key(self) -> dict[str, list[int]]:
        within = {key.removeprefix(f"{IMAGES}/"): [row] for row, key in enumerate(self.keys)}
        return within | {key: [row] for row, key in enumerate(self.keys)}

    @cached_property
    def _by_end(self) -> dict[str, list[int]]:
        return _rows_by_end(self.keys)

    @cached_property
    def _by_stem(self) -> dict[str, list[int]]:
        return _rows_by_end([key.removesuffix(PurePosixPath(key).suffix) for key in self.keys])


def _rows_by_end(names: Sequence[str]) -> dict[str, list[int]]:
    """Rows by every end of a name: "a/b/1.jpg", "b/1.jpg" and "1.jpg"."""
    found: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        parts = name.split("/")
        for start in range(len(parts)):
            found.setdefault("/".join(parts[start:]), []).append(row)
    return found


MANIFEST = "manifest.json"
FORMAT = 1


@dataclass(frozen=True)
class ArrayFile:
    """An .npy file beside the manifest, and what must be in it."""

    file: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Manifest:
    """What is there: row i is the picture `sources[i]`."""

    raw_version: str
    sources: tuple[PictureFile, ...]
    dropped: tuple[DroppedPicture, ...]
    raw: ArrayFile
    regions: ArrayFile | None
    boxes: ArrayFile | None = None


def read_manifest(folder: Path, raw_version: str) -> Manifest | None:
    """What an earlier call left, None if there is nothing yet.

    Raises:
        BadInput: the manifest is damaged.
        EncoderMismatch: another encoder made these features.
    """
    file = folder / MANIFEST
    if not file.is_file():
        return None
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        made_by, version = data["raw_version"], data["format"]
        if version == FORMAT and made_by == raw_version:
            return Manifest(
                made_by,
                tuple(PictureFile(*item) for item in data["pictures"]),
                tuple(DroppedPicture(PictureFile(*item), reason) for *item, reason in data["dropped"]),
                _array(data["global"]),
                _array(data["regions"]) if data["regions"] else None,
                _array(data["boxes"]) if data.get("boxes") else None,
            )
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{file}: damaged ({error!r:.80}); {repair_advice(folder)}") from error
    if made_by != raw_version:
        raise EncoderMismatch(f"{folder}: these are features of {made_by}, not {raw_version}; name another --out")
    raise BadInput(f"{file}: written by another version of viewfinder (format {version}); {repair_advice(folder)}")


def _array(data: dict[str, Any]) -> ArrayFile:
    return ArrayFile(str(data["file"]), tuple(map(int, data["shape"])), str(data["dtype"]))


def repair_advice(folder: Path) -> str:
    """What to do about damage, as the end of a message."""
    return f"delete {folder} and repeat the command"


def map_array(folder: Path, array: ArrayFile) -> np.ndarray:
    """An array of the folder, mapped into memory.

    Raises:
        BadInput: it is missing, cut off, or not what the manifest says.
    """
    file = folder / array.file
    try:
        values: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{file}: missing or damaged ({error}); {repair_advice(folder)}") from error
    if (values.shape, values.dtype) != (array.shape, np.dtype(array.dtype)):
        raise BadInput(
            f"{file}: holds {values.dtype} {values.shape}, but {MANIFEST} says {array.dtype} {array.shape}; "
            + repair_advice(folder)
        )
    return values


def manifest_json(manifest: Manifest, encoder: str) -> str:
    """What `read_manifest` reads; `encoder` is for people."""
    notes = {
        "format": FORMAT,
        "encoder": encoder,
        "raw_version": manifest.raw_version,
        "global": asdict(manifest.raw),
        "regions": None if manifest.regions is None else asdict(manifest.regions),
        "boxes": None if manifest.boxes is None else asdict(manifest.boxes),
        "dropped": [(*astuple(bad.source), bad.reason) for bad in manifest.dropped],
        "pictures": [astuple(source) for source in manifest.sources],
    }
    return json.dumps(notes, ensure_ascii=False)


def write_whole(file: Path, parts: Iterable[bytes]) -> None:
    """The whole file or none of it, whatever happens meanwhile."""
    unfinished = file.with_name(f".{file.name}.new")
    with unfinished.open("wb") as stream:
        for part in parts:
            stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(file)


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
