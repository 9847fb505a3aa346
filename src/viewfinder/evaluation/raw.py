"""Raw vectors of a data set's pictures, for systems that make spaces of their own of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float16, Float32

from viewfinder.encoders.features import Features
from viewfinder.errors import BadInput

BATCH = 256
"""Pictures read at a time: with 36 regions of 1280 numbers in half precision, 24 MB."""

Batch = tuple[Float[np.ndarray, "b g"], Float16[np.ndarray, "b r e"] | None]


@dataclass(frozen=True, eq=False)
class MappedVectors:
    """Rows of arrays that are mapped into memory: only what is asked for is read. See `gallery.RawVectors`.

    Attributes:
        raw_version: which numbers these are.
        rows: the row of each picture, by its key.
        raw_ng: the vector of the whole picture.
        regions_nre: its regions; None: they were not asked for, or there are none.
    """

    raw_version: str
    rows: Mapping[str, int]
    raw_ng: Float32[np.ndarray, "n g"]
    regions_nre: Float16[np.ndarray, "n r e"] | None = None

    def batches(self, ids: Sequence[str], *, regions: bool) -> Iterator[Batch]:
        """Raw global vectors of these pictures and, where asked for, their regions, in their order.

        Raises:
            BadInput: regions are asked for, and there are none.
        """
        if regions and self.regions_nre is None:
            raise BadInput(f"regions of {self.raw_version} are needed, and these pictures have one vector each")
        for start in range(0, len(ids), BATCH):
            rows_b = np.array([self.rows[picture] for picture in ids[start : start + BATCH]], np.intp)
            regions_bre = self.regions_nre[rows_b] if regions and self.regions_nre is not None else None
            yield np.asarray(self.raw_ng[rows_b], np.float32), regions_bre


@dataclass(frozen=True, eq=False)
class BoxedVectors(MappedVectors):
    """The same from a detector, which chose the regions itself. See `gallery.Boxed`.

    Attributes:
        pixel_boxes_nr4: where it looked, in pixels of the upright picture.
        files: the picture files, by key; their size makes shares of pixels.
    """

    pixel_boxes_nr4: Float32[np.ndarray, "n r 4"] = field(default_factory=lambda: np.zeros((0, 0, 4), np.float32))
    files: Mapping[str, str] = field(default_factory=dict)

    def boxes(self, picture_id: str) -> Float[np.ndarray, "_boxes 4"]:
        """Boxes as shares of width and height; none where the picture itself is not here."""
        from PIL import Image

        file = self.files.get(picture_id)
        if file is None or not Path(file).is_file():
            return np.zeros((0, 4), np.float32)
        with Image.open(file) as image:
            width, height = image.size
        shares_r4 = self.pixel_boxes_nr4[self.rows[picture_id]] / np.array([width, height] * 2, np.float32)
        return np.clip(np.asarray(shares_r4, np.float32), 0.0, 1.0)


def raw_of(found: Features, files: Mapping[str, str]) -> MappedVectors:
    """The raw vectors that were found of a data set's pictures."""
    rows = {key: row for row, key in enumerate(found.keys)}
    if found.boxes_nr4 is None:
        return MappedVectors(found.raw_version, rows, found.raw_nd, found.regions_nre)
    return BoxedVectors(found.raw_version, rows, found.raw_nd, found.regions_nre, found.boxes_nr4, files)
