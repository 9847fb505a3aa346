"""What the rest of the library knows of an encoder: pixels or words in, vectors of one space out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, UInt8

Pixels = UInt8[np.ndarray, "_height _width 3"]
"""An upright sRGB picture; the underscores let the pictures of one call differ in size."""

REGIONS = 36
"""Regions of a picture: a grid of 6 x 6, row by row."""


@dataclass(frozen=True)
class Encoded:
    """A batch of pictures as an encoder sees them: `global_bd` always, regions when asked for."""

    global_bd: Float[np.ndarray, "b d"]
    regions_brd: Float[np.ndarray, "b r e"] | None = None


@runtime_checkable
class Encoder(Protocol):
    """Pixels and words to vectors.

    `name` says which model it is, `version` which numbers it gives: two encoders with equal name and version
    give interchangeable vectors. Stored vectors are *raw*; `head` turns raw vectors into the space in which
    they are compared with words, so that a better head needs no picture to be read again.
    """

    name: str
    version: str
    raw_width: int
    width: int

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        """Raw vectors of upright pictures of any sizes (fixed small batches inside)."""
        ...

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """Raw vectors into the shared space: unit length, comparable with `words` by dot product."""
        ...

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Unit vectors of texts in the shared space."""
        ...


def grid_boxes(width: int, height: int, side: int = 6) -> Float[np.ndarray, "r 4"]:
    """Boxes (x0, y0, x1, y1) in upright pixels of the regions of a side x side grid, row by row.

    >>> grid_boxes(600, 300)[7]
    array([100.,  50., 200., 100.], dtype=float32)
    """
    xs = np.linspace(0, width, side + 1, dtype=np.float32)
    ys = np.linspace(0, height, side + 1, dtype=np.float32)
    boxes = [(xs[c], ys[r], xs[c + 1], ys[r + 1]) for r in range(side) for c in range(side)]
    return np.array(boxes, dtype=np.float32)
