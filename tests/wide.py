"""An encoder of another width than the starter's, of other regions and of other sentences: 512 numbers each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import Calibration, Encoded, Pixels, Vocabulary, grid_boxes, unit_rows
from viewfinder.pictures import Fit
from viewfinder.testing import ColourEncoder

WIDTH = 512


class WideColours:
    """Mean colours turned into 512 numbers, at unit length."""

    name = "tests.wide:WideColours"
    version = raw_version = "wide-1"
    sentences_version = "wide-said-1"
    calibration: Calibration | None = None
    vocabulary: Vocabulary | None = None

    def __init__(self) -> None:
        self._colours = ColourEncoder()
        self.fit: Fit = self._colours.fit
        drawn = np.random.default_rng(512)
        turned = np.linalg.qr(drawn.standard_normal((WIDTH, WIDTH)))[0].astype(np.float32)
        self._turned_ge, self._regions_ce = turned[:48], turned[48:51]

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        """Vectors of pictures, and of a grid of 6 x 6 in them."""
        seen = self._colours.pictures(batch, regions=regions)
        whole_bd = self.project(seen.global_bd @ self._turned_ge)
        return Encoded(whole_bd, None if seen.regions_brd is None else seen.regions_brd @ self._regions_ce)

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """The vectors at unit length."""
        return unit_rows(np.asarray(raw_nd, np.float32))

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """The vectors of pictures in the named colours."""
        return self.project(self._colours.words(texts) @ self._turned_ge)

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """As `words`."""
        return self.words(texts)

    def region_boxes(self, width: int, height: int) -> Float[np.ndarray, "r 4"]:
        """A grid of 6 x 6."""
        return grid_boxes(width, height)

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Zeros: it is not known."""
        return np.zeros(len(pictures_nd), np.float32)
