"""The contract of an encoder: pixels or words in, vectors of one space out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, UInt8

from viewfinder.errors import BadInput
from viewfinder.pictures import Fit

Pixels = UInt8[np.ndarray, "_height _width 3"]
"""An upright sRGB picture; the underscores let the pictures of one call differ in size."""

REGIONS = 36
"""Regions of a picture: a grid of 6 x 6, row by row."""


def unit_rows(rows_nd: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n d"]:
    """Rows scaled to length 1; a row of zeros stays zeros."""
    lengths_n1 = np.linalg.norm(rows_nd, axis=-1, keepdims=True)
    return np.asarray(rows_nd / np.maximum(lengths_n1, 1e-12))


@dataclass(frozen=True)
class Encoded:
    """A batch of pictures as an encoder sees them: always `global_bd`, and regions when asked for."""

    global_bd: Float[np.ndarray, "b d"]
    regions_brd: Float[np.ndarray, "b r e"] | None = None


@dataclass(frozen=True, eq=False)
class Calibration:
    """The meaning of a conversation's scores: two logistic curves, whose features `search/verdicts.py` computes.

    Attributes:
        here: weights of the chance that what was said is in a collection at all, the bias last.
        match: weights of the chance that a picture is what was said.
        nothing_below: the chances of being here below which the answer is "nothing like that here": for fragments, and
            for sentences.
        expected: weights, the bias last, of the usual score of a picture for a text with this vector about it.
        familiar: for each word stem, log10 of the share of captions that have it.
        is_own: whether the curves were fitted on the very collection that is searched (`tune`). Curves of elsewhere do
            not travel: a library then has a scale of its own (`search/own_scale.py`).
    """

    here: tuple[float, ...]
    match: tuple[float, ...]
    nothing_below: tuple[float, float]
    expected: Float[np.ndarray, " weights"]
    familiar: Mapping[str, float] = field(default_factory=dict)
    is_own: bool = True


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words that an encoder knows well, with their unit vectors: pictures are compared by what these say of them."""

    words: tuple[str, ...]
    vectors_ld: Float[np.ndarray, "l d"]


@runtime_checkable
class Encoder(Protocol):
    """Pixels and words to vectors.

    A picture is stored as its *raw* vector; `project` maps raw vectors into the space in which they are compared with
    words, so that no picture must be read again for a better alignment.
    """

    @property
    def name(self) -> str:
        """The name of the model: "starter", a hub name or a folder."""

    @property
    def version(self) -> str:
        """Identifies the numbers that `project` and `words` give: the name of the space."""

    @property
    def raw_version(self) -> str:
        """Identifies the numbers that `pictures` gives; equal to `version` if `project` changes nothing."""

    @property
    def fit(self) -> Fit:
        """The size and shape in which pictures are decoded for this encoder."""

    @property
    def calibration(self) -> Calibration | None:
        """The meaning of scores, if it was measured."""

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words in which pictures can be described; None if none were learnt."""

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        """Raw vectors of upright pictures of any sizes (fixed small batches inside)."""

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """Maps raw vectors into the shared space: unit length, comparable with `words` by dot product."""

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Unit vectors of texts in the shared space."""

    @property
    def sentences_version(self) -> str:
        """Identifies the numbers that `sentences` gives."""

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """Unit sentence vectors that no head has changed: systems are trained on them."""

    def region_boxes(self, width: int, height: int) -> Float[np.ndarray, "r 4"]:
        """Boxes (x0, y0, x1, y1) of a picture's regions, in its upright pixels."""

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The likeness of each picture to any text at all; zeros if that is not known: libraries measure it."""


def grid_boxes(width: int, height: int, side: int = 6) -> Float[np.ndarray, "r 4"]:
    """Boxes (x0, y0, x1, y1) in upright pixels of the regions of a side x side grid, row by row.

    >>> grid_boxes(600, 300)[7]
    array([100.,  50., 200., 100.], dtype=float32)
    """
    xs = np.linspace(0, width, side + 1, dtype=np.float32)
    ys = np.linspace(0, height, side + 1, dtype=np.float32)
    boxes = [(xs[c], ys[r], xs[c + 1], ys[r + 1]) for r in range(side) for c in range(side)]
    return np.array(boxes, dtype=np.float32)


MAX_NAME_LENGTH = 200


def to_file_name(name: str) -> str:
    """A name that every file system and Lance accept; other characters become `_` and two hex digits per byte.

    Capitals are written that way too, because some file systems do not distinguish them from small letters.

    Raises:
        BadInput: the name is empty, or too long for a file.

    >>> to_file_name("starter-1+tune-3f2a")
    'starter-1_2btune-3f2a'
    """
    encoded = re.sub(
        r"[^a-z0-9.-]",
        lambda other: "".join(f"_{byte:02x}" for byte in other[0].encode("utf-8", "surrogatepass")),
        name,
    )
    if not 0 < len(encoded) <= MAX_NAME_LENGTH:
        raise BadInput(f"{name[:60]!r} cannot name a space: use 1 to {MAX_NAME_LENGTH} letters and digits")
    return encoded
