"""`mio` without torch, for one talk: which tokens of several turns are kept.

Axes: t tokens, h numbers of a token, k tokens that are kept.

`memory` without torch, for one talk: what is carried from turn to turn, and with which tokens a turn begins.

Names of arrays are those of the network's `memory`. Axes: t learned tokens, q tokens that a turn begins with, h numbers
of one, m slots of a memory, g numbers of a cell's gates.

`network.MaiNetwork` without torch: pictures in batches, and talks one turn at a time.

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
from jaxtyping import Float, Float32, Int

from viewfinder.retrievers.mai.settings import WHOLE_TOKENS, Iteration, Model
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


def numpy_select_tokens(
    tokens_th: Float[np.ndarray, "t h"], count: int, settings: Iteration
) -> Float32[np.ndarray, "k h"]:
    """The `count` tokens that stand for all, in their order."""
    return np.asarray(tokens_th[numpy_choose_places(tokens_th, count, settings)], np.float32)


def numpy_choose_places(tokens_th: Float[np.ndarray, "t h"], count: int, settings: Iteration) -> Int[np.ndarray, " k"]:
    """`mio.chosen`: the places of the kept tokens, in rising order; ties to earlier ones."""
    apart_tt = numpy_token_distances(tokens_th)
    if settings.density == "tcformer":
        apart_tt /= np.float32(tokens_th.shape[1] ** 0.5)
    density_t = numpy_token_log_densities(apart_tt, settings)
    peaks_t = numpy_peak_distances(apart_tt, density_t, settings)
    lowest = np.finfo(np.float32).min
    score_t = np.where(peaks_t > 0, density_t + np.log(np.maximum(peaks_t, np.finfo(np.float32).tiny)), lowest)
    dropped = min(int(settings.drop * len(tokens_th)), len(tokens_th) - count)
    if dropped > 0:
        score_t[(-density_t).argsort(kind="stable")[-dropped:]] = -np.inf
    return np.sort((-score_t).argsort(kind="stable")[:count])


def numpy_token_distances(tokens_th: Float[np.ndarray, "t h"]) -> Float32[np.ndarray, "t t"]:
    """`mio.distances`: how far apart any two tokens are."""
    tokens_th = np.asarray(tokens_th, np.float32)
    tokens_th = tokens_th - tokens_th.mean(axis=0)
    square_t = np.square(tokens_th).sum(axis=1)
    square_tt = square_t[:, None] + square_t - 2 * (tokens_th @ tokens_th.T)
    np.fill_diagonal(square_tt, 0.0)
    return np.asarray(np.sqrt(np.maximum(square_tt, 0)))


def numpy_token_log_densities(apart_tt: Float[np.ndarray, "t t"], settings: Iteration) -> Float[np.ndarray, " t"]:
    """`mio.log_densities`: minus the mean squared distance to the nearest neighbours."""
    itself = int(settings.density == "paper")
    last = min(settings.neighbours + itself, len(apart_tt))
    near_tk = np.sort(apart_tt, axis=1)[:, itself:last]
    return np.asarray(-np.square(near_tk).mean(axis=1))


def numpy_peak_distances(
    apart_tt: Float[np.ndarray, "t t"], density_t: Float[np.ndarray, " t"], settings: Iteration
) -> Float[np.ndarray, " t"]:
    """`mio.peaks`: the distance of each token that makes it a peak."""
    place_t = np.arange(len(apart_tt))
    if settings.distance == "nearest":
        return np.asarray(np.where(place_t[:, None] == place_t, np.inf, apart_tt).min(axis=1))
    denser_tt = density_t > density_t[:, None]
    denser_tt |= (density_t == density_t[:, None]) & (place_t < place_t[:, None])
    nearest_t = np.where(denser_tt, apart_tt, np.inf).min(axis=1)
    return np.asarray(np.where(np.isinf(nearest_t), apart_tt.max(axis=1), nearest_t))


CarriedTokens = tuple[np.ndarray, ...]
"""What a memory carries, in single precision: () before the first turn, and where nothing is carried; of "lstm" output
and cell; of all others one array."""

NOTHING_CARRIED: CarriedTokens = ()
"""Before the first turn."""

LEAST = np.float32(1e-8)
"""What the length of a vector is at least when cosines are taken, as torch does."""


def carried_bytes(carried: CarriedTokens) -> int:
    """How large a state is."""
    return sum(part.nbytes for part in carried)


def numpy_turn_tokens(
    arrays: Arrays, settings: Model, carried: CarriedTokens, learned_th: Float32[np.ndarray, "t h"]
) -> Float32[np.ndarray, "q h"]:
    """What a turn begins with: the learned tokens, and what the memory makes of them."""
    if not carried:
        return learned_th
    match settings.memory:
        case "none":
            return learned_th
        case "concatenation":
            return np.concatenate([learned_th, carried[0]])
        case "lstm" | "gru":
            return np.asarray(learned_th + carried[0])
        case "ntm":
            return np.asarray(learned_th + _read(arrays, carried[0], learned_th))
        case "mio":
            return np.asarray(carried[0])


def numpy_update_memory(
    arrays: Arrays, settings: Model, carried: CarriedTokens, tokens_qh: Float32[np.ndarray, "q h"]
) -> CarriedTokens:
    """What is carried after a turn that ended with these tokens; `carried` stays as it is."""
    match settings.memory:
        case "none":
            return ()
        case "concatenation":
            earlier = len(carried[0]) if carried else 0
            return (np.concatenate([*carried, tokens_qh[: len(tokens_qh) - earlier]]),)
        case "lstm":
            return _lstm(arrays, carried, tokens_qh)
        case "gru":
            return (_gru(arrays, carried, tokens_qh),)
        case "ntm":
            return (_written(arrays, carried[0] if carried else arrays["memory.slots"], tokens_qh),)
        case "mio":
            both = np.concatenate([*carried, tokens_qh])
            return (numpy_select_tokens(both, settings.tokens, settings.iteration) if carried else both,)


def _gates(
    arrays: Arrays, inputs_th: Float32[np.ndarray, "t h"], hidden_th: Float32[np.ndarray, "t h"]
) -> tuple[Float32[np.ndarray, "t g"], Float32[np.ndarray, "t g"]]:
    """What the gates of a cell have of the input, and of the state before."""
    from_input_tg = inputs_th @ arrays["memory.cell.weight_ih"].T + arrays["memory.cell.bias_ih"]
    from_state_tg = hidden_th @ arrays["memory.cell.weight_hh"].T + arrays["memory.cell.bias_hh"]
    return from_input_tg, from_state_tg


def _lstm(arrays: Arrays, carried: CarriedTokens, inputs_th: Float32[np.ndarray, "t h"]) -> CarriedTokens:
    """A step of `LSTMCell`: output and cell."""
    hidden_th, cell_th = carried or (np.zeros_like(inputs_th), np.zeros_like(inputs_th))
    from_input_tg, from_state_tg = _gates(arrays, inputs_th, hidden_th)
    let_in, forget, new, let_out = np.split(from_input_tg + from_state_tg, 4, axis=1)
    cell_th = _sigmoid(forget) * cell_th + _sigmoid(let_in) * np.tanh(new)
    return _sigmoid(let_out) * np.tanh(cell_th), cell_th


def _gru(arrays: Arrays, carried: CarriedTokens, inputs_th: Float32[np.ndarray, "t h"]) -> Float32[np.ndarray, "t h"]:
    """A step of `GRUCell`."""
    hidden_th = carried[0] if carried else np.zeros_like(inputs_th)
    from_input_tg, from_state_tg = _gates(arrays, inputs_th, hidden_th)
    reset_in, keep_in, new_in = np.split(from_input_tg, 3, axis=1)
    reset_by, keep_by, new_by = np.split(from_state_tg, 3, axis=1)
    keep = _sigmoid(keep_in + keep_by)
    return np.asarray((1 - keep) * np.tanh(new_in + _sigmoid(reset_in + reset_by) * new_by) + keep * hidden_th)


def _read(
    arrays: Arrays, memory_mh: Float32[np.ndarray, "m h"], learned_th: Float32[np.ndarray, "t h"]
) -> Float32[np.ndarray, "t h"]:
    """What each token reads of a memory of slots."""
    keys = numpy_linear(arrays, "memory.read", learned_th)
    shares_tm = numpy_address_slots(memory_mh, keys[:, :-1], keys[:, -1:])
    return np.asarray(numpy_linear(arrays, "memory.out", shares_tm @ memory_mh), np.float32)


def _written(
    arrays: Arrays, memory_mh: Float32[np.ndarray, "m h"], tokens_qh: Float32[np.ndarray, "q h"]
) -> Float32[np.ndarray, "m h"]:
    """A memory of slots after the mean of a turn's tokens was written."""
    width = tokens_qh.shape[1]
    parts = numpy_linear(arrays, "memory.write", tokens_qh.mean(axis=0, keepdims=True))
    key_1h, erase_1h, add_1h, strength_11 = np.split(parts, [width, 2 * width, 3 * width], axis=1)
    shares_m1 = numpy_address_slots(memory_mh, key_1h, strength_11).T
    return np.asarray(memory_mh * (1 - shares_m1 * _sigmoid(erase_1h)) + shares_m1 * np.tanh(add_1h), np.float32)


def numpy_address_slots(
    memory_mh: Float32[np.ndarray, "m h"], key_th: Float32[np.ndarray, "t h"], strength_t1: Float32[np.ndarray, "t 1"]
) -> Float32[np.ndarray, "t m"]:
    """`memory.addressed`: how much each key looks at each slot."""
    likeness_tm = _unit(key_th) @ _unit(memory_mh).T
    logits_tm = (1 + np.logaddexp(0, strength_t1)) * likeness_tm
    shares_tm = np.exp(logits_tm - logits_tm.max(axis=1, keepdims=True))
    return np.asarray(shares_tm / shares_tm.sum(axis=1, keepdims=True), np.float32)


def _unit(rows_nh: Float32[np.ndarray, "n h"]) -> Float32[np.ndarray, "n h"]:
    return np.asarray(rows_nh / np.maximum(np.linalg.norm(rows_nh, axis=1, keepdims=True), LEAST))


def _sigmoid(rows: Float32[np.ndarray, "*n"]) -> Float32[np.ndarray, "*n"]:
    return np.asarray(1 / (1 + np.exp(-rows)), np.float32)


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
