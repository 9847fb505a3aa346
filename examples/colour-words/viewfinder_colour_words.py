"""An encoder that knows colours: a picture is the shares of eleven colours in it, a text the colours that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from viewfinder.encoders import REGIONS, Encoded, grid_boxes
from viewfinder.pictures import Stretch

COLOURS = {
    "black": (15, 15, 15), "white": (245, 245, 245), "grey": (128, 128, 128), "red": (205, 30, 35),
    "green": (50, 140, 50), "blue": (40, 70, 185), "yellow": (240, 215, 50), "orange": (240, 135, 30),
    "brown": (110, 70, 40), "pink": (240, 150, 180), "purple": (120, 50, 145),
}  # fmt: skip
"""The basic colour terms of English (Berlin and Kay, 1969), each with a typical value in sRGB."""

ALSO = {"gray": "grey", "golden": "yellow", "navy": "blue", "scarlet": "red", "violet": "purple"}
SIDE = 48
"""Pixels of a side that are looked at; regions are a grid of 6 x 6 of them."""


class ColourWords:
    """Vectors of twelve numbers: square roots of the colours' shares, so that a dot product compares two histograms
    (their Bhattacharyya coefficient), and one that is 1 for a text without a colour, which is like no picture."""

    name = "colour-words"
    # No head: what is stored of a picture is what is compared with words.
    version = raw_version = sentences_version = "colour-words-1"
    fit = Stretch(SIDE)
    calibration = None
    vocabulary = None

    def pictures(self, batch: Sequence[np.ndarray], *, regions: bool = False) -> Encoded:
        """The shares of colours in whole pictures (b 12), and if asked for in their regions (b 36 12)."""
        if not len(batch):
            return Encoded(np.zeros((0, len(COLOURS) + 1), np.float32))
        nearest_byx = np.stack([_nearest_colours(pixels) for pixels in batch])
        cell = SIDE // 6
        cells_brp = nearest_byx.reshape(-1, 6, cell, 6, cell).swapaxes(2, 3).reshape(len(batch), REGIONS, cell * cell)
        whole_bd = _shares(nearest_byx.reshape(len(batch), -1))
        return Encoded(whole_bd, _shares(cells_brp) if regions else None)

    def project(self, raw_nd: np.ndarray) -> np.ndarray:
        """The same at unit length: a library keeps what it stores in half precision."""
        lengths_n1 = np.linalg.norm(raw_nd, axis=1, keepdims=True)
        return np.asarray(raw_nd / np.maximum(lengths_n1, 1e-9), np.float32)

    def words(self, texts: Sequence[str]) -> np.ndarray:
        """Equal shares of the colours that a text names (n 12)."""
        vectors_nd = np.zeros((len(texts), len(COLOURS) + 1), np.float32)
        for vector_d, text in zip(vectors_nd, texts, strict=True):
            said = [ALSO.get(word, word) for word in re.findall(r"[a-z]+", text.lower())]
            named = [place for place, colour in enumerate(COLOURS) if colour in said]
            vector_d[named or [-1]] = 1.0
        return self.project(vectors_nd)

    def sentences(self, texts: Sequence[str]) -> np.ndarray:
        """The same: there is no head that could have touched them."""
        return self.words(texts)

    def region_boxes(self, width: int, height: int) -> np.ndarray:
        """A grid of 6 x 6."""
        return grid_boxes(width, height)

    def background(self, pictures_nd: np.ndarray) -> np.ndarray:
        """Zeros: it was not measured how well pictures answer anything at all."""
        return np.zeros(len(pictures_nd), np.float32)


def _nearest_colours(pixels: np.ndarray) -> np.ndarray:
    """Which colour each of 48 x 48 pixels is nearest to."""
    rows, columns = (np.linspace(0, length - 1, SIDE).round().astype(int) for length in pixels.shape[:2])
    seen_yx3 = pixels[rows][:, columns].astype(np.float32)
    distances_yxc = ((seen_yx3[:, :, None] - np.array(list(COLOURS.values()), np.float32)) ** 2).sum(axis=-1)
    return distances_yxc.argmin(axis=-1)


def _shares(nearest: np.ndarray) -> np.ndarray:
    """Square roots of how often each colour is there, over the last axis; and a zero."""
    counts = np.stack([(nearest == place).mean(axis=-1) for place in range(len(COLOURS))], axis=-1)
    return np.sqrt(np.concatenate([counts, np.zeros_like(counts[..., :1])], axis=-1)).astype(np.float32)
