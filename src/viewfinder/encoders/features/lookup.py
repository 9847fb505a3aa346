"""The vectors of a data set's pictures, and which row is which picture's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import numpy as np
from jaxtyping import Float16, Float32, Int

from viewfinder.errors import BadInput, UnknownName

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
