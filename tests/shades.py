"""Encoders for tests of several in one library: colours, turned by chance, so that no two of them fit each other.

Tests put this folder on the path and name them `shades:Warm`, as parts of another package, so that programs which they
start find them too. Each finds the same pictures for the same words, and nothing but chance with another one's vectors.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from viewfinder.encoders.base import Encoded
from viewfinder.testing import RAW_WIDTH, ColourEncoder

Array = np.ndarray[Any, np.dtype[Any]]


class Shade:
    """`ColourEncoder` with all vectors turned; `seed` says how, `label` is another beginning of its version."""

    calibration = None
    vocabulary = None
    seed, width = 0, RAW_WIDTH
    label = ""

    def __init__(self) -> None:
        self._colours = ColourEncoder()
        self.name = f"shades:{type(self).__name__}"
        self.version = self.raw_version = self.sentences_version = f"{self.label or type(self).__name__}-{self.seed}"
        self.fit = self._colours.fit
        turned_dd, _ = np.linalg.qr(np.random.default_rng(self.seed).standard_normal((self.width, self.width)))
        self._turn_rd = turned_dd[:RAW_WIDTH].astype(np.float32)

    def pictures(self, batch: Sequence[Array], *, regions: bool = False) -> Encoded:
        """Turned colours."""
        seen = self._colours.pictures(batch, regions=regions)
        turned_bd = self._colours.project(seen.global_bd) @ self._turn_rd
        return Encoded(turned_bd.astype(np.float32), seen.regions_brd)

    def project(self, raw_nd: Array) -> Array:
        """The raw vectors at unit length."""
        return self._colours.project(np.asarray(raw_nd, np.float32) @ self._turn_rd.T) @ self._turn_rd

    def words(self, texts: Sequence[str]) -> Array:
        """Turned words."""
        return np.asarray(self._colours.words(texts) @ self._turn_rd, np.float32)

    sentences = words

    def region_boxes(self, width: int, height: int) -> Array:
        """A grid."""
        return self._colours.region_boxes(width, height)

    def background(self, pictures_nd: Array) -> Array:
        """None."""
        return np.zeros(len(pictures_nd), np.float32)


class Warm(Shade):
    """One of 48 numbers."""

    seed = 1


class Cold(Shade):
    """Another one of 48 numbers."""

    seed = 2


class Wide(Shade):
    """One of 64 numbers."""

    seed, width = 3, 64


class Replaced(Shade):
    """A model whose files are replaced: its seed is what the file $SHADE_SEED holds."""

    def __init__(self) -> None:
        self.seed = int(Path(os.environ["SHADE_SEED"]).read_text(encoding="utf-8"))
        super().__init__()
