"""Which part of a picture answers which words: overlapping crops are compared with the words, like whole pictures.

Works with every encoder, also for pictures without regions. A picture's crops are encoded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import PictureId
from viewfinder.encoders.base import Pixels, grid_boxes
from viewfinder.encoders.measured_scale import BOX_CROPS, measure_contrast
from viewfinder.encoders.scale import BACKGROUND_SHARE
from viewfinder.errors import PictureError
from viewfinder.pictures import AtMost, decode_one
from viewfinder.search.gallery import Gallery
from viewfinder.store.snapshot import Snapshot

GRID_SIDE = 6
"""Regions along a side of a picture: the grid of the encoders' own regions."""

CROPS, SHARE = 5, 0.3
"""5 x 5 crops of 0.3 of a side each. On 80 photos of COCO the strongest region lies within a box of the thing named in
39 % (11 % by chance); with halves of a side in 25 %, with thirds in 37 %, and smaller crops miss scenes and people.
"""

CROP_SHARPNESS = 15.0
"""A crop more similar to the words by 0.07 weighs e times as much; what is nowhere in a picture lights up nothing."""

MAX_BRIGHTER = 4.0
"""The likeness of crops is multiplied by no more than this many times what that of whole pictures is."""

_MAX_SIDE = 768


@dataclass(frozen=True, eq=False)
class Grounding:
    """Boxes (x0, y0, x1, y1) as shares of width and height, row by row; per text one weight per box, sum 1."""

    boxes_r4: Float32[np.ndarray, "r 4"]
    weights_tr: Float32[np.ndarray, "t r"]


class Grounder:
    """Finds what answers words; the crops of the latest pictures are kept, up to `max_bytes`."""

    def __init__(self, max_bytes: int = 64 << 20) -> None:
        self._crops = ByteCache(max_bytes)

    def ground(self, gallery: Gallery, picture: PictureId, texts: Sequence[str]) -> Grounding:
        """How much each region of a picture answers each text. Raises UnknownName; PictureError: its files are gone."""
        encoder, key = gallery.encoder, (gallery.encoder.version, picture)
        crops_cd: Float[np.ndarray, "c d"] | None = self._crops.get(key)
        if crops_cd is None:
            pixels = _decode_first(gallery.snapshot, gallery.row(picture))
            crops_cd = encoder.project(encoder.pictures(cut_boxes(pixels, crop_boxes())).global_bd)
            self._crops.put(key, crops_cd)
        likeness_tc = encoder.words(texts) @ crops_cd.T
        if gallery.measures.scale.is_of_box:
            likeness_tc = likeness_tc - encoder.background(crops_cd)
        else:
            most = MAX_BRIGHTER * gallery.measures.scale.words
            likeness_tc = compare_crops(likeness_tc, crops_cd, gallery.measures.sayings_bd, most=most)
        return Grounding(grid_boxes(1, 1, GRID_SIDE), spread_to_regions(likeness_tc))

    def has_crops(self, gallery: Gallery, picture: PictureId) -> bool:
        """Whether `ground` would answer at once: the picture's crops are known."""
        return self._crops.get((gallery.encoder.version, picture)) is not None


GROUNDER = Grounder()
"""The process's only cache."""


def crop_boxes() -> Float32[np.ndarray, "c 4"]:
    """The boxes of the crops, as shares of width and height, row by row, each overlapping the next.

    >>> crop_boxes()[1].round(3)
    array([0.175, 0.   , 0.475, 0.3  ], dtype=float32)
    """
    starts = np.linspace(0, 1 - SHARE, CROPS)
    return np.array([(x, y, x + SHARE, y + SHARE) for y in starts for x in starts], np.float32)


def cut_boxes(pixels: Pixels, boxes_r4: Float32[np.ndarray, "r 4"]) -> list[Pixels]:
    """The parts of a picture in boxes that are given as shares of width and height, each at least one pixel."""
    height, width, _ = pixels.shape
    edges_r4 = boxes_r4 * np.array([width, height] * 2)
    first_r2 = np.minimum(edges_r4[:, :2].astype(int), [width - 1, height - 1])
    after_r2 = np.maximum(np.rint(edges_r4[:, 2:]).astype(int), first_r2 + 1)
    return [pixels[y0:y1, x0:x1] for (x0, y0), (x1, y1) in zip(first_r2.tolist(), after_r2.tolist(), strict=True)]


def compare_crops(
    likeness_tc: Float[np.ndarray, "t c"],
    crops_cd: Float[np.ndarray, "c d"],
    sayings_bd: Float[np.ndarray, "b d"],
    *,
    most: float,
) -> Float[np.ndarray, "t c"]:
    """How well texts fit the crops of a picture, less what fits them anyway, on the scale of the box.

    The unit is how far the crops of this very picture differ in their likeness to the median saying: so what is nowhere
    in it lights up no more than that. Differences are multiplied by `most` at most: a grey wall has none that count.
    """
    apart = measure_contrast(crops_cd, sayings_bd)
    factor = most if apart * most < BOX_CROPS else BOX_CROPS / apart
    anyway_c = sayings_bd.mean(axis=0) @ crops_cd.T
    return np.asarray((likeness_tc - np.float32(BACKGROUND_SHARE) * anyway_c) * factor)


def spread_to_regions(likeness_tc: Float[np.ndarray, "t c"]) -> Float32[np.ndarray, "t r"]:
    """From crops to regions: a region has the mean weight of its crops, weighted by how much it fills of them."""
    weights_tc = np.exp(CROP_SHARPNESS * (likeness_tc - likeness_tc.max(axis=1, keepdims=True)))
    # which share of each region each crop covers
    crops_c14, regions_1r4 = crop_boxes()[:, None], grid_boxes(1, 1, GRID_SIDE)[None]
    low_crx = np.maximum(crops_c14[..., :2], regions_1r4[..., :2])
    high_crx = np.minimum(crops_c14[..., 2:], regions_1r4[..., 2:])
    cover_cr: Float[np.ndarray, "c r"] = np.clip(high_crx - low_crx, 0, None).prod(axis=2) * GRID_SIDE**2
    weights_tr = weights_tc @ cover_cr / cover_cr.sum(axis=0)
    return np.asarray(weights_tr / weights_tr.sum(axis=1, keepdims=True), np.float32)


def _decode_first(snapshot: Snapshot, row: int) -> Pixels:
    """The picture of a row, from the first of its files that still holds it."""
    picture, pixel_hash = snapshot.ids[row], snapshot.pixel_hash(row)
    for path in snapshot.files_there(row):
        if path.is_file():
            with suppress(PictureError):
                read = decode_one(path, AtMost(_MAX_SIDE))
                if read.is_picture(picture, pixel_hash):
                    return read.pixels
    raise PictureError(f"no file is the picture {picture} any more, or can be read: add it again")
