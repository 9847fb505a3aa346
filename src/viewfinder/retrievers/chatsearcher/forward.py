"""`network.ChatSearcherNetwork` without torch: what stands at the places of a talk, and what its states say.

Names of arrays are those of the torch modules; tests compare the two.

Axes: l places, h numbers of a place, p = 1 + t places of a picture (the global token, its slots), g numbers of a raw
vector, r regions, e numbers of a raw one, k texts whose vectors are read, s numbers of one, v pieces that are written,
n pictures, d numbers of the vectors that pictures are found by.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.retrievers.chatsearcher.settings import ModelSettings
from viewfinder.retrievers.shared import qformer_forward
from viewfinder.retrievers.shared.forward import Arrays, numpy_linear, to_unit
from viewfinder.retrievers.shared.qformer_forward import QFormerShape, numpy_layer_norm, numpy_picture_input

TABLE = "language.embed_tokens.weight"
NORM_EPS = 1e-5
"""What torch's norms add to a variance, but for those of the Q-Former and of the language model."""


def embed_picture(
    arrays: Arrays,
    settings: ModelSettings,
    whole_g: Float[np.ndarray, " g"],
    regions_re: Float[np.ndarray, "r e"] | None,
) -> Float32[np.ndarray, "p h"]:
    """A picture as it is read: its global token, then what the perceiver makes of its regions."""
    cls_1h = numpy_linear(arrays, "cls", numpy_picture_input(arrays, "whole_input", whole_g[None]))
    if not settings.tokens:
        return np.asarray(cls_1h, np.float32)
    assert regions_re is not None
    slots_th = numpy_linear(arrays, "slots", perceive_regions(arrays, settings, regions_re))
    return np.concatenate([cls_1h, slots_th]).astype(np.float32)


def perceive_regions(
    arrays: Arrays, settings: ModelSettings, regions_re: Float[np.ndarray, "r e"]
) -> Float32[np.ndarray, "t w"]:
    """`looks.Perceiver` of one picture."""
    regions_1ry = numpy_picture_input(arrays, "region_input", regions_re[None])
    seen_1ry = numpy_layer_norm(arrays, "perceiver.norm", regions_1ry + arrays["perceiver.positions"], NORM_EPS)
    slots_1tw = np.asarray(arrays["perceiver.queries"], np.float32)[None]
    former = QFormerShape(
        "perceiver.qformer", settings.perceiver_layers, settings.perceiver_heads, settings.cross_every
    )
    nothing_1lw = slots_1tw[:, :0]
    found_1tw = qformer_forward.numpy_qformer(arrays, former, slots_1tw, nothing_1lw, seen_1ry, range(settings.tokens))
    return np.asarray(found_1tw[0])


def embed_places(
    arrays: Arrays,
    settings: ModelSettings,
    numbers_l: Int[np.ndarray, " l"],
    pictures: Sequence[Float32[np.ndarray, "p h"]] = (),
    said_ks: Float[np.ndarray, "k s"] | None = None,
) -> Float32[np.ndarray, "l h"]:
    """What stands at every place (`sequence.Codec` says which number is what).

    Args:
        arrays: the network's.
        settings: the network's.
        numbers_l: what stands there.
        pictures: `picture_places` of those that are shown, in order.
        said_ks: the vectors of texts that stand at SAID, in order.
    """
    table_vh = arrays[TABLE]
    cls, said = len(table_vh), len(table_vh) + 1 + settings.tokens
    places_lh = np.asarray(table_vh[np.minimum(numbers_l, cls - 1)], np.float32)
    if pictures:
        places_lh[(numbers_l >= cls) & (numbers_l < said)] = np.concatenate(list(pictures))
    if said_ks is not None:
        places_lh[numbers_l == said] = numpy_linear(arrays, "said", np.asarray(said_ks, np.float32))
    return places_lh


def score_pieces(arrays: Arrays, state_h: Float32[np.ndarray, " h"]) -> Float32[np.ndarray, " v"]:
    """Scores of the piece that comes next: by a head of its own, else by the pieces' own vectors."""
    head_vh = arrays.get("text_head.weight", arrays[TABLE])
    return np.asarray(head_vh @ state_h, np.float32)


def encode_query(arrays: Arrays, state_h: Float32[np.ndarray, " h"]) -> Float32[np.ndarray, " d"]:
    """What is looked for by the state at [IMG], of length 1 (Eq. 2)."""
    return np.asarray(to_unit(arrays["visual_head.weight"] @ state_h), np.float32)


def encode_pictures(arrays: Arrays, whole_ng: Float[np.ndarray, "n g"]) -> Float32[np.ndarray, "n d"]:
    """Pictures as unit vectors (Eq. 2); those of which nothing is known as zeros."""
    return np.asarray(
        to_unit(numpy_picture_input(arrays, "whole_input", whole_ng) @ arrays["queue_head.weight"].T), np.float32
    )
