"""`network.MaiNetwork` without torch: pictures in batches, and talks one turn at a time.

Texts that are read together are of one length, so that there is nothing to look away from. Names of arrays are those of
the torch modules; tests compare the two.

Axes: b pictures or talks, t tokens, l places of a text, s = t + l, w of these that are wanted, i tokens of a picture, z
numbers of one, x numbers that are read of a whole vector, r regions, y numbers that are read of one, h numbers of a
token, n heads, v numbers of a head, d numbers of a query, k vectors of a picture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.retrievers.blocks.forward import Arrays, linear, unit
from viewfinder.retrievers.mai.memory_forward import Carried, after
from viewfinder.retrievers.mai.memory_forward import tokens as begun
from viewfinder.retrievers.mai.settings import Model

AT_ONCE = 32
"""Pictures that are read together: what one layer makes of them (2 MB at the width of `lab`) stays in the cache."""

REGIONS_AT_ONCE = 64
"""Pictures whose regions are held in single precision at a time."""

NORM_EPS, QFORMER_EPS = 1e-5, 1e-12
"""What norms add to a variance: torch's own, and those of the Q-Former."""


class Looks(NamedTuple):
    """`images.Looks`: pictures as they are read, before anything that trains."""

    whole_bx: Float32[np.ndarray, "b x"]
    regions_bry: Float32[np.ndarray, "b r y"]

    def at(self, rows: Sequence[int]) -> Looks:
        """Those of some pictures."""
        return Looks(self.whole_bx[list(rows)], self.regions_bry[list(rows)])

    def mixed(self, other: Looks) -> Looks:
        """The mean of two pictures each."""
        return Looks(*((one + two) / 2 for one, two in zip(self, other, strict=True)))


def looks(
    arrays: Arrays,
    settings: Model,
    whole_bg: Float[np.ndarray, "b g"],
    regions_bre: Float[np.ndarray, "b r e"] | None,
) -> Looks:
    """`images.ImageTokens.looks`; of zeros (nothing is seen) zeros."""
    whole_bx = regions_bry = np.zeros((len(whole_bg), 0), np.float32)
    if settings.image != "regions":
        whole_bx = _input(arrays, "images.whole_input", whole_bg)
    if settings.image == "whole":
        return Looks(whole_bx, regions_bry[:, None])
    assert regions_bre is not None
    parts = [regions_bre[at : at + REGIONS_AT_ONCE] for at in range(0, len(regions_bre), REGIONS_AT_ONCE)]
    found = [_input(arrays, "images.region_input", part_bre) for part_bre in parts or [regions_bre]]
    return Looks(whole_bx, np.concatenate(found))


def nothing(arrays: Arrays, settings: Model, regions: int) -> Looks:
    """What is read where nothing is seen: a picture of zeros."""
    whole = 0 if settings.image == "regions" else arrays["images.whole.weight"].shape[1]
    width = 0 if settings.image == "whole" else arrays["images.regions.weight"].shape[1]
    return Looks(np.zeros((1, whole), np.float32), np.zeros((1, regions if width else 1, width), np.float32))


def _input(arrays: Arrays, name: str, raw: Float[np.ndarray, "*b g"]) -> Float32[np.ndarray, "*b x"]:
    """`networks.looking.PictureInput`."""
    there = (raw != 0).any(axis=-1, keepdims=True)
    standard = (np.asarray(raw, np.float32) - arrays[f"{name}.mean"]) / arrays[f"{name}.deviation"]
    components = arrays.get(f"{name}.components")
    found = standard if components is None else _rows(standard) @ components
    return np.asarray(found.reshape(*raw.shape[:-1], -1) * there, np.float32)


def image_tokens(arrays: Arrays, settings: Model, seen: Looks) -> Float32[np.ndarray, "b i z"]:
    """`images.ImageTokens`: those of the whole, then the regions'."""
    parts = []
    if settings.image != "regions":
        whole = linear(arrays, "images.whole", seen.whole_bx)
        parts.append(whole.reshape(len(whole), settings.whole_tokens, settings.read_width))
    if settings.image != "whole":
        parts.append(linear(arrays, "images.regions", seen.regions_bry))
    return normed(arrays, "images.norm", np.concatenate(parts, axis=1), NORM_EPS)


# -- the Q-Former


def read(
    arrays: Arrays,
    settings: Model,
    tokens_bth: Float32[np.ndarray, "b t h"],
    text_blh: Float32[np.ndarray, "b l h"],
    image_biz: Float32[np.ndarray, "b i z"] | None,
    wanted: range,
) -> Float32[np.ndarray, "b w h"]:
    """`MaiNetwork.read`: the places that are wanted, tokens before text, after all layers; others are not finished."""
    places_bsh = normed(arrays, "qformer.layernorm", np.concatenate([tokens_bth, text_blh], axis=1), QFORMER_EPS)
    for at in range(settings.layers):
        asked = wanted if at == settings.layers - 1 else range(places_bsh.shape[1])
        places_bsh = _layer(arrays, settings, at, places_bsh, tokens_bth.shape[1], image_biz, asked)
    return places_bsh


def _layer(
    arrays: Arrays,
    settings: Model,
    at: int,
    places_bsh: Float32[np.ndarray, "b s h"],
    tokens: int,
    image_biz: Float32[np.ndarray, "b i z"] | None,
    wanted: range,
) -> Float32[np.ndarray, "b w h"]:
    """`qformer.SkippingLayer`: without a picture all places go through the layers for text."""
    name = f"qformer.encoder.layer.{at}"
    asked_bwh = places_bsh[:, wanted.start : wanted.stop]
    found_bwh = _attended(arrays, f"{name}.attention", settings.heads, asked_bwh, places_bsh)
    if image_biz is None:
        return _fed(arrays, name, "", found_bwh)
    looking = max(0, min(wanted.stop, tokens) - wanted.start)
    tokens_bth, text_blh = found_bwh[:, :looking], found_bwh[:, looking:]
    if at % settings.cross_every == 0:
        tokens_bth = _attended(arrays, f"{name}.crossattention", settings.heads, tokens_bth, image_biz)
    fed = [_fed(arrays, name, "_query", tokens_bth), _fed(arrays, name, "", text_blh)]
    return np.concatenate(fed, axis=1)


def _attended(
    arrays: Arrays,
    name: str,
    heads: int,
    asked_bwh: Float32[np.ndarray, "b w h"],
    seen_bsz: Float32[np.ndarray, "b s z"],
) -> Float32[np.ndarray, "b w h"]:
    """`Blip2QFormerAttention`: what each place gathers from all that is seen, added to it."""
    query_bnwv = _by_head(linear_of_rows(arrays, f"{name}.attention.query", asked_bwh), heads)
    key_bnsv, value_bnsv = (
        _by_head(linear_of_rows(arrays, f"{name}.attention.{part}", seen_bsz), heads) for part in ("key", "value")
    )
    shares_bnws = query_bnwv @ key_bnsv.swapaxes(2, 3)
    shares_bnws *= np.float32(1 / math.sqrt(query_bnwv.shape[-1]))
    shares_bnws -= shares_bnws.max(axis=-1, keepdims=True)
    np.exp(shares_bnws, out=shares_bnws)
    shares_bnws /= shares_bnws.sum(axis=-1, keepdims=True)
    gathered_bwh = (shares_bnws @ value_bnsv).swapaxes(1, 2).reshape(asked_bwh.shape)
    found_bwh = linear_of_rows(arrays, f"{name}.output.dense", gathered_bwh) + asked_bwh
    return normed(arrays, f"{name}.output.LayerNorm", found_bwh, QFORMER_EPS)


def _fed(arrays: Arrays, name: str, kind: str, places_bwh: Float32[np.ndarray, "b w h"]) -> np.ndarray:
    """`Blip2QFormerIntermediate` and `Blip2QFormerOutput`; `kind`: "_query" those of tokens that look at a picture."""
    inner = gelu(linear_of_rows(arrays, f"{name}.intermediate{kind}.dense", places_bwh))
    found_bwh = linear_of_rows(arrays, f"{name}.output{kind}.dense", inner) + places_bwh
    return normed(arrays, f"{name}.output{kind}.LayerNorm", found_bwh, QFORMER_EPS)


# -- talks


class Said(NamedTuple):
    """A turn as the network reads it; texts are their places at the width of the Q-Former.

    Attributes:
        seen: the one picture that it is said of, zeros where there is none.
        caption_lh: what was written about it.
        modification_lh: what is said.
        recalled: earlier pictures that are to be read again, and texts about them: a text with or without a picture.
    """

    seen: Looks
    caption_lh: Float32[np.ndarray, "l h"]
    modification_lh: Float32[np.ndarray, "l h"]
    recalled: tuple[tuple[Looks | None, Float32[np.ndarray, "_l h"]], ...] = ()


def step(arrays: Arrays, settings: Model, carried: Carried, said: Said) -> tuple[Carried, Float32[np.ndarray, " d"]]:
    """`wiring.converse`, one turn of one talk: what is carried after it, and the query; `carried` stays as it is."""
    begin_qh = begun(arrays, settings, carried, np.asarray(arrays["learned"], np.float32))
    image_1iz = image_tokens(arrays, settings, said.seen)
    if settings.stages == "two":
        tokens_qh, _ = _fused(arrays, settings, begin_qh, said.caption_lh, image_1iz)
        carried = after(arrays, settings, carried, tokens_qh)
        for seen, text_lh in said.recalled:
            again_1iz = None if seen is None else image_tokens(arrays, settings, seen)
            tokens_qh, _ = _fused(arrays, settings, tokens_qh, text_lh, again_1iz)
        fused = _fused(arrays, settings, tokens_qh, said.modification_lh, None)
    else:
        fused = _fused(arrays, settings, begin_qh, said.modification_lh, image_1iz)
        carried = after(arrays, settings, carried, fused[0])
        if settings.stages == "sprc":
            fused = _fused(arrays, settings, fused[0], said.modification_lh, None)
    return carried, query(arrays, settings, *fused)


def _fused(
    arrays: Arrays,
    settings: Model,
    tokens_th: Float32[np.ndarray, "t h"],
    text_lh: Float32[np.ndarray, "l h"],
    image_1iz: Float32[np.ndarray, "1 i z"] | None,
) -> tuple[Float32[np.ndarray, "t h"], Float32[np.ndarray, " h"]]:
    """The tokens of one talk after a text was read, and the state at its beginning."""
    count = len(tokens_th)
    [found_wh] = read(arrays, settings, tokens_th[None], text_lh[None], image_1iz, range(count + 1))
    return found_wh[:count], found_wh[count]


def query(
    arrays: Arrays, settings: Model, tokens_th: Float32[np.ndarray, "t h"], first_h: Float32[np.ndarray, " h"]
) -> Float32[np.ndarray, " d"]:
    """`MaiNetwork.query`: what is looked for, of length 1."""
    if settings.query == "fused":
        first_h = normed(arrays, "fused_norm", linear(arrays, "fused", tokens_th.mean(axis=0)), NORM_EPS)
    return np.asarray(unit(linear(arrays, "text_project", first_h)), np.float32)


# -- pictures


def pictures(
    arrays: Arrays, settings: Model, seen: Looks, captions: Sequence[Float32[np.ndarray, "_l h"]]
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
    arrays: Arrays, settings: Model, seen: Looks, text_blh: Float32[np.ndarray, "b l h"]
) -> Float32[np.ndarray, "b k d"]:
    count = settings.tokens
    wanted = range(count) if settings.stages == "sprc" else range(count, count + 1)
    learned_bth = np.repeat(np.asarray(arrays["learned"], np.float32)[None], len(text_blh), axis=0)
    found_bkh = read(arrays, settings, learned_bth, text_blh, image_tokens(arrays, settings, seen), wanted)
    return np.asarray(unit(linear_of_rows(arrays, "target_project", found_bkh)), np.float32)


# -- small parts


def linear_of_rows(arrays: Arrays, name: str, rows: Float32[np.ndarray, "*b i"]) -> Float32[np.ndarray, "*b o"]:
    """A linear map in one product, whatever the axes before the last."""
    mapped = linear(arrays, name, _rows(rows))
    return np.asarray(mapped.reshape(*rows.shape[:-1], mapped.shape[-1]), np.float32)


def normed(arrays: Arrays, name: str, rows: Float[np.ndarray, "*b h"], eps: float) -> Float32[np.ndarray, "*b h"]:
    """`LayerNorm`."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    centred *= 1 / np.sqrt(variance + np.float32(eps))
    centred *= arrays[f"{name}.weight"]
    centred += arrays[f"{name}.bias"]
    return np.asarray(centred, np.float32)


def gelu(rows: Float32[np.ndarray, "*b h"]) -> Float32[np.ndarray, "*b h"]:
    """x times the chance that a normal number is below x."""
    return np.asarray(rows * (0.5 + 0.5 * erf(rows * np.float32(math.sqrt(0.5)))), np.float32)


def erf(rows: Float32[np.ndarray, "*b h"]) -> Float32[np.ndarray, "*b h"]:
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
