"""The Q-Former of BLIP-2 (Li et al. 2023), and what networks read of raw vectors, without torch.

Names of arrays are those of transformers' `Blip2QFormerModel`, below a name of the system's own. Texts that are read
together are of one length, so that there is nothing to look away from.

Axes: b pictures or talks, t tokens, l places of a text, s = t + l, w of these that are wanted, i tokens of a picture, z
numbers of one, g numbers of a raw vector, x those that are read of it, h numbers of a token, n heads, v numbers of a
head.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.retrievers.shared.forward import Arrays, numpy_linear

EPS = 1e-12
"""What its norms add to a variance."""


@dataclass(frozen=True)
class QFormerShape:
    """A Q-Former among a network's arrays: below which name, and its sizes.

    Attributes:
        name: of the module.
        layers, heads: of it.
        cross_every: every how manyth layer looks at the picture.
    """

    name: str
    layers: int
    heads: int
    cross_every: int = 1


def numpy_qformer(
    arrays: Arrays,
    former: QFormerShape,
    tokens_bth: Float32[np.ndarray, "b t h"],
    text_blh: Float32[np.ndarray, "b l h"],
    image_biz: Float32[np.ndarray, "b i z"] | None,
    wanted: range,
) -> Float32[np.ndarray, "b w h"]:
    """The places that are wanted, tokens before text, after all layers; others are not finished.

    Without a picture all places go through the layers for text.
    """
    places_bsh = np.concatenate([tokens_bth, text_blh], axis=1)
    places_bsh = numpy_layer_norm(arrays, f"{former.name}.layernorm", places_bsh, EPS)
    for at in range(former.layers):
        asked = wanted if at == former.layers - 1 else range(places_bsh.shape[1])
        places_bsh = _layer(arrays, former, at, places_bsh, tokens_bth.shape[1], image_biz, asked)
    return places_bsh


def _layer(
    arrays: Arrays,
    former: QFormerShape,
    at: int,
    places_bsh: Float32[np.ndarray, "b s h"],
    tokens: int,
    image_biz: Float32[np.ndarray, "b i z"] | None,
    wanted: range,
) -> Float32[np.ndarray, "b w h"]:
    """`Blip2QFormerLayer`; of a Q-Former that reads no text there are no layers for it."""
    name = f"{former.name}.encoder.layer.{at}"
    asked_bwh = places_bsh[:, wanted.start : wanted.stop]
    found_bwh = _attended(arrays, f"{name}.attention", former.heads, asked_bwh, places_bsh)
    if image_biz is None:
        return _fed(arrays, name, "", found_bwh)
    looking = max(0, min(wanted.stop, tokens) - wanted.start)
    tokens_bth, text_blh = found_bwh[:, :looking], found_bwh[:, looking:]
    if at % former.cross_every == 0:
        tokens_bth = _attended(arrays, f"{name}.crossattention", former.heads, tokens_bth, image_biz)
    tokens_bth = _fed(arrays, name, "_query", tokens_bth)
    if not text_blh.shape[1]:
        return tokens_bth
    return np.concatenate([tokens_bth, _fed(arrays, name, "", text_blh)], axis=1)


def _attended(
    arrays: Arrays,
    name: str,
    heads: int,
    asked_bwh: Float32[np.ndarray, "b w h"],
    seen_bsz: Float32[np.ndarray, "b s z"],
) -> Float32[np.ndarray, "b w h"]:
    """`Blip2QFormerAttention`: what each place gathers from all that is seen, added to it."""
    query_bnwv = _by_head(numpy_linear_rows(arrays, f"{name}.attention.query", asked_bwh), heads)
    key_bnsv, value_bnsv = (
        _by_head(numpy_linear_rows(arrays, f"{name}.attention.{part}", seen_bsz), heads) for part in ("key", "value")
    )
    shares_bnws = softmax(query_bnwv @ key_bnsv.swapaxes(2, 3) * np.float32(1 / math.sqrt(query_bnwv.shape[-1])))
    gathered_bwh = (shares_bnws @ value_bnsv).swapaxes(1, 2).reshape(asked_bwh.shape)
    found_bwh = numpy_linear_rows(arrays, f"{name}.output.dense", gathered_bwh) + asked_bwh
    return numpy_layer_norm(arrays, f"{name}.output.LayerNorm", found_bwh, EPS)


def _fed(arrays: Arrays, name: str, kind: str, places_bwh: Float32[np.ndarray, "b w h"]) -> np.ndarray:
    """`Blip2QFormerIntermediate` and `Blip2QFormerOutput`; `kind`: "_query" those of tokens that look at a picture."""
    inner = numpy_gelu(numpy_linear_rows(arrays, f"{name}.intermediate{kind}.dense", places_bwh))
    found_bwh = numpy_linear_rows(arrays, f"{name}.output{kind}.dense", inner) + places_bwh
    return numpy_layer_norm(arrays, f"{name}.output{kind}.LayerNorm", found_bwh, EPS)


def numpy_picture_input(arrays: Arrays, name: str, raw: Float[np.ndarray, "*b g"]) -> Float32[np.ndarray, "*b x"]:
    """`networks.looking.PictureInput`: raw vectors on one scale, or their principal components; of zeros zeros."""
    there = (raw != 0).any(axis=-1, keepdims=True)
    standard = (np.asarray(raw, np.float32) - arrays[f"{name}.mean"]) / arrays[f"{name}.deviation"]
    components = arrays.get(f"{name}.components")
    found = standard if components is None else _rows(standard) @ components
    return np.asarray(found.reshape(*raw.shape[:-1], -1) * there, np.float32)


# -- small parts


def numpy_linear_rows(arrays: Arrays, name: str, rows: Float32[np.ndarray, "*b i"]) -> Float32[np.ndarray, "*b o"]:
    """A linear map in one product, whatever the axes before the last."""
    mapped = numpy_linear(arrays, name, _rows(rows))
    return np.asarray(mapped.reshape(*rows.shape[:-1], mapped.shape[-1]), np.float32)


def softmax(scores: Float32[np.ndarray, "*b s"]) -> Float32[np.ndarray, "*b s"]:
    """Shares that add up to 1, in place of the scores."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def numpy_layer_norm(
    arrays: Arrays, name: str, rows: Float[np.ndarray, "*b h"], eps: float
) -> Float32[np.ndarray, "*b h"]:
    """`LayerNorm`."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    centred *= 1 / np.sqrt(variance + np.float32(eps))
    centred *= arrays[f"{name}.weight"]
    centred += arrays[f"{name}.bias"]
    return np.asarray(centred, np.float32)


def numpy_gelu(rows: Float32[np.ndarray, "*b h"]) -> Float32[np.ndarray, "*b h"]:
    """x times the chance that a normal number is below x."""
    return np.asarray(rows * (0.5 + 0.5 * numpy_erf(rows * np.float32(math.sqrt(0.5)))), np.float32)


def numpy_erf(rows: Float32[np.ndarray, "*b h"]) -> Float32[np.ndarray, "*b h"]:
    """The error function to 5e-7 (Abramowitz and Stegun 1964, 7.1.26, whose own error is 1.5e-7)."""
    size = np.abs(rows)
    share = 1 / (1 + np.float32(0.3275911) * size)
    total = np.full_like(size, 1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        total *= share
        total += np.float32(term)
    total *= share
    total *= np.exp(-np.square(size))
    return np.asarray(np.copysign(1 - total, rows), np.float32)


def _rows(places: Float32[np.ndarray, "*b h"]) -> Float32[np.ndarray, "m h"]:
    return places.reshape(-1, places.shape[-1])


def _by_head(places_bsh: Float32[np.ndarray, "b s h"], heads: int) -> Float32[np.ndarray, "b n s v"]:
    """The numbers of each head apart."""
    return places_bsh.reshape(*places_bsh.shape[:2], heads, places_bsh.shape[2] // heads).swapaxes(1, 2)
