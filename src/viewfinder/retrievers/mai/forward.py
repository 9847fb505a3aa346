"""`network.MaiNetwork` without torch: pictures in batches, and talks one turn at a time.

Texts that are read together are of one length, so that there is nothing to look away from. Names of arrays are those of
the torch modules; tests compare the two.

Axes: b pictures or talks, t tokens, l places of a text, s = t + l, w of these that are wanted, i tokens of a picture, z
numbers of one, x numbers that are read of a whole vector, r regions, y numbers that are read of one, h numbers of a
token, d numbers of a query, k vectors of a picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.retrievers.mai.memory_forward import CarriedTokens, numpy_turn_tokens, numpy_update_memory
from viewfinder.retrievers.mai.settings import WHOLE_TOKENS, Model
from viewfinder.retrievers.shared import numpy_network
from viewfinder.retrievers.shared.numpy_network import (
    Arrays,
    QFormerShape,
    numpy_layer_norm,
    numpy_linear,
    numpy_linear_rows,
    numpy_picture_input,
    to_unit,
)

AT_ONCE = 32
"""Pictures that are read together: what one layer makes of them (2 MB at the width of `lab`) stays in the cache."""

REGIONS_AT_ONCE = 64
"""Pictures whose regions are held in single precision at a time."""

NORM_EPS = 1e-5
"""What torch's norms add to a variance, but for those of the Q-Former."""


class NumpyComponents(NamedTuple):
    """`images.Looks`: pictures as they are read, before anything that trains."""

    whole_bx: Float32[np.ndarray, "b x"]
    regions_bry: Float32[np.ndarray, "b r y"]

    def at(self, rows: Sequence[int]) -> NumpyComponents:
        """Those of some pictures."""
        return NumpyComponents(self.whole_bx[list(rows)], self.regions_bry[list(rows)])

    def mixed(self, other: NumpyComponents) -> NumpyComponents:
        """The mean of two pictures each."""
        return NumpyComponents(*((one + two) / 2 for one, two in zip(self, other, strict=True)))


def numpy_components(
    arrays: Arrays,
    settings: Model,
    whole_bg: Float[np.ndarray, "b g"],
    regions_bre: Float[np.ndarray, "b r e"] | None,
) -> NumpyComponents:
    """`images.ImageTokens.looks`; of zeros (nothing is seen) zeros."""
    whole_bx = regions_bry = np.zeros((len(whole_bg), 0), np.float32)
    if settings.image != "regions":
        whole_bx = numpy_picture_input(arrays, "images.whole_input", whole_bg)
    if settings.image == "whole":
        return NumpyComponents(whole_bx, regions_bry[:, None])
    assert regions_bre is not None
    parts = [regions_bre[at : at + REGIONS_AT_ONCE] for at in range(0, len(regions_bre), REGIONS_AT_ONCE)]
    found = [numpy_picture_input(arrays, "images.region_input", part_bre) for part_bre in parts or [regions_bre]]
    return NumpyComponents(whole_bx, np.concatenate(found))


def blank_components(arrays: Arrays, settings: Model, regions: int) -> NumpyComponents:
    """What is read where nothing is seen: a picture of zeros."""
    whole = 0 if settings.image == "regions" else arrays["images.whole.weight"].shape[1]
    width = 0 if settings.image == "whole" else arrays["images.regions.weight"].shape[1]
    return NumpyComponents(np.zeros((1, whole), np.float32), np.zeros((1, regions if width else 1, width), np.float32))


def numpy_image_tokens(arrays: Arrays, settings: Model, seen: NumpyComponents) -> Float32[np.ndarray, "b i z"]:
    """`images.ImageTokens`: those of the whole, then the regions'."""
    parts = []
    if settings.image != "regions":
        whole = numpy_linear(arrays, "images.whole", seen.whole_bx)
        parts.append(whole.reshape(len(whole), WHOLE_TOKENS, settings.read_width))
    if settings.image != "whole":
        parts.append(numpy_linear(arrays, "images.regions", seen.regions_bry))
    return numpy_layer_norm(arrays, "images.norm", np.concatenate(parts, axis=1), NORM_EPS)


def numpy_fuse(
    arrays: Arrays,
    settings: Model,
    tokens_bth: Float32[np.ndarray, "b t h"],
    text_blh: Float32[np.ndarray, "b l h"],
    image_biz: Float32[np.ndarray, "b i z"] | None,
    wanted: range,
) -> Float32[np.ndarray, "b w h"]:
    """`MaiNetwork.read`: the places that are wanted, as `qformer_forward.read`."""
    former = QFormerShape("qformer", settings.layers, settings.heads, settings.cross_every)
    return numpy_network.numpy_qformer(arrays, former, tokens_bth, text_blh, image_biz, wanted)


# -- talks


class ModificationInput(NamedTuple):
    """A turn as the network reads it; texts are their places at the width of the Q-Former.

    Attributes:
        seen: the one picture that it is said of, zeros where there is none.
        caption_lh: what was written about it.
        modification_lh: what is said.
        recalled: earlier pictures that are to be read again, and texts about them: a text with or without a picture.
    """

    seen: NumpyComponents
    caption_lh: Float32[np.ndarray, "l h"]
    modification_lh: Float32[np.ndarray, "l h"]
    recalled: tuple[tuple[NumpyComponents | None, Float32[np.ndarray, "_l h"]], ...] = ()


def numpy_encode_turn(
    arrays: Arrays, settings: Model, carried: CarriedTokens, said: ModificationInput
) -> tuple[CarriedTokens, Float32[np.ndarray, " d"]]:
    """`wiring.converse`, one turn of one talk: what is carried after it, and the query; `carried` stays as it is."""
    begin_qh = numpy_turn_tokens(arrays, settings, carried, np.asarray(arrays["learned"], np.float32))
    image_1iz = numpy_image_tokens(arrays, settings, said.seen)
    if settings.stages == "two":
        tokens_qh, _ = _fused(arrays, settings, begin_qh, said.caption_lh, image_1iz)
        carried = numpy_update_memory(arrays, settings, carried, tokens_qh)
        for seen, text_lh in said.recalled:
            again_1iz = None if seen is None else numpy_image_tokens(arrays, settings, seen)
            tokens_qh, _ = _fused(arrays, settings, tokens_qh, text_lh, again_1iz)
        fused = _fused(arrays, settings, tokens_qh, said.modification_lh, None)
    else:
        fused = _fused(arrays, settings, begin_qh, said.modification_lh, image_1iz)
        carried = numpy_update_memory(arrays, settings, carried, fused[0])
        if settings.stages == "sprc":
            fused = _fused(arrays, settings, fused[0], said.modification_lh, None)
    return carried, numpy_query(arrays, settings, *fused)


def _fused(
    arrays: Arrays,
    settings: Model,
    tokens_th: Float32[np.ndarray, "t h"],
    text_lh: Float32[np.ndarray, "l h"],
    image_1iz: Float32[np.ndarray, "1 i z"] | None,
) -> tuple[Float32[np.ndarray, "t h"], Float32[np.ndarray, " h"]]:
    """The tokens of one talk after a text was read, and the state at its beginning."""
    count = len(tokens_th)
    [found_wh] = numpy_fuse(arrays, settings, tokens_th[None], text_lh[None], image_1iz, range(count + 1))
    return found_wh[:count], found_wh[count]


def numpy_query(
    arrays: Arrays, settings: Model, tokens_th: Float32[np.ndarray, "t h"], first_h: Float32[np.ndarray, " h"]
) -> Float32[np.ndarray, " d"]:
    """`MaiNetwork.query`: what is looked for, of length 1."""
    if settings.query == "fused":
        first_h = numpy_layer_norm(
            arrays, "fused_norm", numpy_linear(arrays, "fused", tokens_th.mean(axis=0)), NORM_EPS
        )
    return np.asarray(to_unit(numpy_linear(arrays, "text_project", first_h)), np.float32)


# -- pictures


def numpy_encode_pictures(
    arrays: Arrays, settings: Model, seen: NumpyComponents, captions: Sequence[Float32[np.ndarray, "_l h"]]
) -> Float32[np.ndarray, "b k d"]:
    """`MaiNetwork.pictures`, with the places of a caption for each; those that are as long are read together."""
    by_length: dict[int, list[int]] = {}
    for row, caption_lh in enumerate(captions):
        by_length.setdefault(len(caption_lh), []).append(row)
    vectors = settings.tokens if settings.stages == "sprc" else 1
    found_bkd = np.zeros((len(captions), vectors, settings.projection), np.float32)
    for rows in by_length.values():
        for some in (rows[at : at + AT_ONCE] for at in range(0, len(rows), AT_ONCE)):
            text_blh = np.stack([captions[row] for row in some])
            found_bkd[some] = _pictures(arrays, settings, seen.at(some), text_blh)
    return found_bkd


def _pictures(
    arrays: Arrays, settings: Model, seen: NumpyComponents, text_blh: Float32[np.ndarray, "b l h"]
) -> Float32[np.ndarray, "b k d"]:
    count = settings.tokens
    wanted = range(count) if settings.stages == "sprc" else range(count, count + 1)
    learned_bth = np.repeat(np.asarray(arrays["learned"], np.float32)[None], len(text_blh), axis=0)
    found_bkh = numpy_fuse(arrays, settings, learned_bth, text_blh, numpy_image_tokens(arrays, settings, seen), wanted)
    return np.asarray(to_unit(numpy_linear_rows(arrays, "target_project", found_bkh)), np.float32)
