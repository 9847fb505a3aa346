"""Vectors of pictures on disk: what is in a folder of features, which row belongs to which picture, who may write
there.

A folder has a manifest, and arrays that are mapped into memory.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import numpy as np
from filelock import FileLock, Timeout
from jaxtyping import Float16, Float32, Int

from viewfinder.encoders.base import to_file_name
from viewfinder.errors import BadInput, DiskFull, EncoderMismatch, LibraryBusy, UnknownName
from viewfinder.whole_files import PART, write_file

IMAGES = "images"
"""The folder of a data set's pictures, if it has one of that name."""

Progress = Callable[[int, int], None]
"""Called with the progress: pictures done, pictures to do."""

MAX_ROWS_A_READ = 256
"""Pictures read at a time: with 36 regions of 1280 numbers in half precision, 24 MB."""


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
    """Vectors of pictures, memory-mapped: row i of each array is the picture `keys[i]`. A `raw_vectors.RawVectors`.

    Attributes:
        raw_nd: the encoder's vector of a whole picture; `Encoder.project` maps it into the space of words.
        regions_nre: its regions (a grid of 6 x 6, row by row), None unless they were asked for.
        boxes_nr4: where a detector's regions lie, (left, top, right, bottom) in pixels; None: a grid (see `Encoder`).
    """

    keys: tuple[str, ...]  # sorted POSIX paths relative to the folder `dataset`, or other names
    raw_nd: Float32[np.ndarray, "n d"]
    raw_version: str  # the encoder's; vectors of another version cannot be compared with these
    regions_nre: Float16[np.ndarray, "n r e"] | None = None
    boxes_nr4: Float32[np.ndarray, "n r 4"] | None = None
    dataset: Path = Path()
    dropped: tuple[DroppedPicture, ...] = ()  # files that did not become a picture
    folder: Path = Path()  # where the vectors lie

    def __len__(self) -> int:
        return len(self.keys)

    def find_row(self, name: str | Path) -> int | None:
        """Like `row_of`; None if no picture has that name."""
        try:
            return self.row_of(name)
        except UnknownName:
            return None

    def row_of(self, name: str | Path) -> int:
        """The row of a picture by its key (with or without "images/"), its file name, or its name without suffix.

        Any end of a key works: "b/1.jpg", "1.jpg", "b/1", "1". A `Path` into the data set means the file there.

        Raises:
            UnknownName: no picture has that name.
            BadInput: several are.
        """
        if isinstance(name, Path):
            home, place = self.dataset.absolute(), name.absolute()
            key = (place.relative_to(home) if place.is_relative_to(home) else name).as_posix()
        else:
            key = name
        rows = self._by_key.get(key) or self._by_end.get(key) or self._by_stem.get(key) or []
        if len(rows) == 1:
            return rows[0]
        if rows:
            some = ", ".join(self.keys[row] for row in rows[:3])
            raise BadInput(f"{name} may be {len(rows)} pictures of {self.dataset} ({some}): write more of the path")
        why = next((f" ({bad.reason})" for bad in self.dropped if bad.source.key == key), "")
        raise UnknownName(f"{name}: there are no features of such a picture in {self.dataset}{why}")

    def rows(self, names: Iterable[str | Path]) -> Int[np.ndarray, " m"]:
        """Rows of pictures, an index into the arrays; errors as `row_of`, for the first name without a row."""
        return np.fromiter((self.row_of(name) for name in names), np.intp)

    def batches(
        self, ids: Sequence[str], *, regions: bool
    ) -> Iterator[tuple[Float32[np.ndarray, "b d"], Float16[np.ndarray, "b r e"] | None]]:
        """Raw vectors of pictures by their keys and, if asked for, their regions; BadInput if there are none."""
        if regions and self.regions_nre is None:
            raise BadInput(f"regions of {self.raw_version} are needed, and these pictures have one vector each")
        for start in range(0, len(ids), MAX_ROWS_A_READ):
            rows_b = np.array([self._by_key[key][0] for key in ids[start : start + MAX_ROWS_A_READ]], np.intp)
            regions_bre = self.regions_nre[rows_b] if regions and self.regions_nre is not None else None
            yield np.asarray(self.raw_nd[rows_b], np.float32), regions_bre

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


class DetectedFeatures(Features):
    """Vectors of a detector, which chose the regions itself. See `raw_vectors.Boxed`."""

    def boxes(self, key: str) -> Float32[np.ndarray, "_boxes 4"]:
        """Boxes as shares of width and height; none if the picture itself is not here."""
        from PIL import Image

        if self.boxes_nr4 is None or not (self.dataset / key).is_file():
            return np.zeros((0, 4), np.float32)
        with Image.open(self.dataset / key) as image:
            width, height = image.size
        shares_r4 = self.boxes_nr4[self._by_key[key][0]] / np.array([width, height] * 2, np.float32)
        return np.clip(np.asarray(shares_r4, np.float32), 0.0, 1.0)


def _rows_by_end(names: Sequence[str]) -> dict[str, list[int]]:
    """Rows by every end of a name: "a/b/1.jpg", "b/1.jpg" and "1.jpg"."""
    found: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        parts = name.split("/")
        for start in range(len(parts)):
            found.setdefault("/".join(parts[start:]), []).append(row)
    return found


MANIFEST, WORK_FOLDER = "manifest.json", "work"
FEATURES_FORMAT = 1


@dataclass(frozen=True)
class ArrayFile:
    """An .npy file beside the manifest, and its expected content."""

    file: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class FeaturesManifest:
    """Lists the content: row i is the picture `sources[i]`; `arrays` are those called global, regions and boxes."""

    raw_version: str
    sources: tuple[PictureFile, ...]
    dropped: tuple[DroppedPicture, ...]
    arrays: Mapping[str, ArrayFile]

    def known(self) -> set[PictureFile]:
        """All files that were read, whether they have a row or not."""
        return {*self.sources, *(bad.source for bad in self.dropped)}


def read_manifest(folder: Path, raw_version: str) -> FeaturesManifest | None:
    """The manifest of an earlier call; None if there is none yet.

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
        if version == FEATURES_FORMAT and made_by == raw_version:
            arrays = {"global": data["global"], "regions": data["regions"], "boxes": data.get("boxes")}
            return FeaturesManifest(
                made_by,
                tuple(PictureFile(*item) for item in data["pictures"]),
                tuple(DroppedPicture(PictureFile(*item), reason) for *item, reason in data["dropped"]),
                {
                    name: ArrayFile(str(one["file"]), tuple(map(int, one["shape"])), str(one["dtype"]))
                    for name, one in arrays.items()
                    if one
                },
            )
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{file}: damaged ({error!r:.80}); {repair_advice(folder)}") from error
    if made_by != raw_version:
        raise EncoderMismatch(f"{folder}: these are features of {made_by}, not {raw_version}; name another --out")
    raise BadInput(f"{file}: written by another version of viewfinder (format {version}); {repair_advice(folder)}")


def open_features(folder: Path, dataset: Path, manifest: FeaturesManifest, *, regions: bool) -> Features:
    """The arrays that a manifest lists, mapped into memory."""
    wanted = ("global", "regions", "boxes") if regions else ("global",)
    arrays = {name: map_array(folder, manifest.arrays[name]) for name in wanted if name in manifest.arrays}
    kind = DetectedFeatures if "boxes" in arrays else Features
    return kind(
        keys=tuple(source.key for source in manifest.sources),
        raw_nd=arrays["global"],
        raw_version=manifest.raw_version,
        regions_nre=arrays.get("regions"),
        boxes_nr4=arrays.get("boxes"),
        dataset=dataset,
        dropped=manifest.dropped,
        folder=folder,
    )


def repair_advice(folder: Path) -> str:
    """Advice about damage, as the end of a message."""
    return f"delete {folder} and repeat the command"


def map_array(folder: Path, array: ArrayFile) -> np.ndarray:
    """An array of the folder, mapped; BadInput if it is missing, cut off, or not what the manifest says."""
    file = folder / array.file
    try:
        values: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{file}: missing or damaged ({error}); {repair_advice(folder)}") from error
    if (values.shape, values.dtype) != (array.shape, np.dtype(array.dtype)):
        held = f"{file}: holds {values.dtype} {values.shape}, but {MANIFEST} says {array.dtype} {array.shape}"
        raise BadInput(f"{held}; {repair_advice(folder)}")
    return values


def finish_manifest(folder: Path, manifest: FeaturesManifest, encoder: str) -> FeaturesManifest:
    """Writes the manifest, then removes the work files and the arrays of earlier manifests.

    Processes that have these mapped keep them. `encoder` is for display.
    """
    arrays = {name: asdict(array) for name, array in manifest.arrays.items()}
    notes = {
        "format": FEATURES_FORMAT,
        "encoder": encoder,
        "raw_version": manifest.raw_version,
        **{name: arrays.get(name) for name in ("global", "regions", "boxes")},
        "dropped": [(*astuple(bad.source), bad.reason) for bad in manifest.dropped],
        "pictures": [astuple(source) for source in manifest.sources],
    }
    write_file(folder / MANIFEST, json.dumps(notes, ensure_ascii=False), lasting=True)
    shutil.rmtree(folder / WORK_FOLDER)
    wanted = {array.file for array in manifest.arrays.values()}
    for file in [*folder.glob("*-*.npy"), *folder.glob(f".*{PART}")]:
        if file.name not in wanted:
            file.unlink()
    return manifest


def rows_mark(sources: Sequence[PictureFile]) -> str:
    """Names the arrays of these pictures: other rows get another name, so that mapped arrays are never overwritten."""
    return hashlib.blake2b(repr(tuple(sources)).encode(), digest_size=8).hexdigest()


def npy_header(count: int, shape: tuple[int, ...], dtype: np.dtype) -> bytes:
    """The header of an .npy file of `count` rows: numpy leaves room in it, so that the count may grow."""
    header = io.BytesIO()
    layout = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count, *shape)}
    np.lib.format.write_array_header_1_0(header, layout)
    return header.getvalue()


FOLDER = ".viewfinder-features"


def feature_folders(dataset: Path, raw_version: str) -> list[Path]:
    """Folders in which the files may lie, the preferred one first."""
    from platformdirs import user_cache_path

    name = to_file_name(raw_version)
    mark = hashlib.blake2b(os.fsencode(dataset.resolve()), digest_size=16).hexdigest()
    return [dataset / FOLDER / name, user_cache_path("viewfinder") / "features" / mark / name]


def find_writable_folder(places: Sequence[Path]) -> Path:
    """The first of these folders in which files can be made, creating it if necessary; else the last."""
    for place in places:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            if os.access(place, os.W_OK):
                return place
    return places[-1]


def _remove_unused(lock: Path, made: Sequence[Path]) -> None:
    """Removes folders, the innermost first, if nothing but the lock is in them."""
    with suppress(OSError):  # something is there, so it was for something
        if [*made[0].iterdir()] == [lock]:
            lock.unlink()
        for folder in made:
            folder.rmdir()


@contextmanager
def claim_folder(folder: Path, doing: str = "computes these features", *, lock: str = "") -> Iterator[None]:
    """Keeps others from `doing` the same in `folder` meanwhile; turns errors of the disk into ours.

    The lock is in `folder`, or in its folder `lock`. Where the work fails before it has kept anything, the folders that
    were made for it are taken away again: a misspelt name leaves nothing behind.

    Raises:
        LibraryBusy, DiskFull: as they say; what was acknowledged is kept.
        BadInput: the folder cannot be written.
    """
    home = folder / lock
    made = [place for place in (home, *home.parents) if not place.exists()]
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / "writing.lock", blocking=False):
            try:
                yield
            except BaseException:
                if made:
                    _remove_unused(home / "writing.lock", made)
                raise
    except Timeout as error:
        raise LibraryBusy(f"{folder}: another process {doing}; wait for it to finish") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{folder}: the disk is full; make room and repeat the command, it goes on") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise BadInput(f"{folder}: cannot be written ({error.strerror}); name another folder (--out)") from error
        raise
