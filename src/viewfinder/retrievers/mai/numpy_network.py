"""MAI's network without torch: pictures in batches, and conversations one turn at a time.

The twin of `network` and `memory`: arrays are named as in the torch modules, and tests compare the numbers. Texts that
are read together have one length, so nothing is masked.

Axes: b pictures or conversations, t tokens, q tokens that a turn begins with, l places of a text, w of the tokens and
places that are wanted, i tokens of a picture, z width of one, x the width read of a whole vector, r regions, y the
width read of one, h width of a token, m slots of a memory, d width of a query, k vectors of a picture (or tokens that
MIO keeps).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.encoders.base import unit_rows
from viewfinder.retrievers.mai.settings import WHOLE_TOKENS, Iteration, Model
from viewfinder.retrievers.shared import numpy_network as shared

MAX_PICTURES_AT_ONCE = 32
"""How many pictures are read together: one layer's output (2 MB at the width of `lab`) stays in the cache."""

REGIONS_AT_ONCE = 64
"""How many pictures' regions are held in single precision at a time."""

NORM_EPS = 1e-5
"""The epsilon of torch's norms, except those of the Q-Former."""

MIN_LENGTH = np.float32(1e-8)
"""The least length of a vector when cosines are taken, as in torch."""

CarriedTokens = tuple[np.ndarray, ...]
"""The tokens that a memory carries, in single precision: () before the first turn, and if nothing is carried; for
"lstm" output and cell; for all others one array."""

NOTHING_CARRIED: CarriedTokens = ()
"""Before the first turn."""

# -- pictures


class NumpyComponents(NamedTuple):
    """`inputs.PictureComponents`: pictures as they are read, before anything that trains."""

    whole_bx: Float32[np.ndarray, "b x"]
    regions_bry: Float32[np.ndarray, "b r y"]

    def blend(self, other: NumpyComponents) -> NumpyComponents:
        """The mean of two pictures each."""
        return NumpyComponents(*((one + two) / 2 for one, two in zip(self, other, strict=True)))


def numpy_components(
    arrays: shared.Arrays,
    settings: Model,
    whole_bg: Float[np.ndarray, "b g"],
    regions_bre: Float[np.ndarray, "b r e"] | None,
) -> NumpyComponents:
    """`inputs.ImageTokens.components`; zeros (nothing is seen) stay zeros."""
    whole_bx = regions_bry = np.zeros((len(whole_bg), 0), np.float32)
    if settings.image != "regions":
        whole_bx = shared.numpy_picture_input(arrays, "images.whole_input", whole_bg)
    if settings.image == "whole":
        return NumpyComponents(whole_bx, regions_bry[:, None])
    assert regions_bre is not None
    parts = [regions_bre[at : at + REGIONS_AT_ONCE] for at in range(0, len(regions_bre), REGIONS_AT_ONCE)]
    found = [shared.numpy_picture_input(arrays, "images.region_input", part_bre) for part_bre in parts or [regions_bre]]
    return NumpyComponents(whole_bx, np.concatenate(found))


def blank_components(arrays: shared.Arrays, settings: Model, regions: int) -> NumpyComponents:
    """A picture of zeros, read where none is seen."""
    whole = 0 if settings.image == "regions" else arrays["images.whole.weight"].shape[1]
    width = 0 if settings.image == "whole" else arrays["images.regions.weight"].shape[1]
    return NumpyComponents(np.zeros((1, whole), np.float32), np.zeros((1, regions if width else 1, width), np.float32))


def numpy_image_tokens(arrays: shared.Arrays, settings: Model, seen: NumpyComponents) -> Float32[np.ndarray, "b i z"]:
    """`inputs.ImageTokens`: tokens of the whole, then the regions'."""
    parts = []
    if settings.image != "regions":
        whole = shared.numpy_linear(arrays, "images.whole", seen.whole_bx)
        parts.append(whole.reshape(len(whole), WHOLE_TOKENS, settings.read_width))
    if settings.image != "whole":
        parts.append(shared.numpy_linear(arrays, "images.regions", seen.regions_bry))
    return shared.numpy_layer_norm(arrays, "images.norm", np.concatenate(parts, axis=1), NORM_EPS)


def numpy_fuse(
    arrays: shared.Arrays,
    settings: Model,
    tokens_bth: Float32[np.ndarray, "b t h"],
    text_blh: Float32[np.ndarray, "b l h"],
    image_biz: Float32[np.ndarray, "b i z"] | None,
    wanted: range,
) -> Float32[np.ndarray, "b w h"]:
    """`MaiNetwork.fuse`: the wanted places, as in `numpy_qformer`."""
    shape = shared.QFormerShape("qformer", settings.layers, settings.heads, settings.cross_every)
    return shared.numpy_qformer(arrays, shape, tokens_bth, text_blh, image_biz, wanted)


def numpy_encode_pictures(
    arrays: shared.Arrays, settings: Model, seen: NumpyComponents, captions: Sequence[Float32[np.ndarray, "_l h"]]
) -> Float32[np.ndarray, "b k d"]:
    """`MaiNetwork.encode_pictures`, given the places of their captions; captions of one length are read together."""
    if settings.targets == "official":
        captions = [caption_lh[:0] for caption_lh in captions]
    by_length: dict[int, list[int]] = {}
    for row, caption_lh in enumerate(captions):
        by_length.setdefault(len(caption_lh), []).append(row)
    count = settings.tokens
    wanted = range(count) if settings.stages == "sprc" else range(count, count + 1)
    found_bkd = np.zeros((len(captions), len(wanted), settings.projection), np.float32)
    for rows in by_length.values():
        for some in (rows[at : at + MAX_PICTURES_AT_ONCE] for at in range(0, len(rows), MAX_PICTURES_AT_ONCE)):
            image_biz = numpy_image_tokens(arrays, settings, NumpyComponents(*(part[some] for part in seen)))
            learned_bth = np.repeat(np.asarray(arrays["learned"], np.float32)[None], len(some), axis=0)
            text_blh = np.stack([captions[row] for row in some])
            found_bkh = numpy_fuse(arrays, settings, learned_bth, text_blh, image_biz, wanted)
            found_bkd[some] = unit_rows(shared.numpy_linear(arrays, "target_project", found_bkh))
    return found_bkd


# -- turns


class ModificationInput(NamedTuple):
    """A turn as the network reads it; texts are given as their places at the width of the Q-Former.

    Attributes:
        seen: the one picture that it is about, zeros if there is none; `caption_lh` is its caption.
        recalled: earlier pictures to read again, and texts about them: a text with or without a picture.
    """

    seen: NumpyComponents
    caption_lh: Float32[np.ndarray, "l h"]
    modification_lh: Float32[np.ndarray, "l h"]
    recalled: tuple[tuple[NumpyComponents | None, Float32[np.ndarray, "_l h"]], ...] = ()


def numpy_encode_turn(
    arrays: shared.Arrays, settings: Model, carried: CarriedTokens, said: ModificationInput
) -> tuple[CarriedTokens, Float32[np.ndarray, " d"]]:
    """`network.encode_dialogues`, one turn: what is carried after it, and the query; `carried` stays as it is."""

    def fuse(
        tokens_th: Float32[np.ndarray, "t h"],
        text_lh: Float32[np.ndarray, "l h"],
        image_1iz: Float32[np.ndarray, "1 i z"] | None,
    ) -> tuple[Float32[np.ndarray, "t h"], Float32[np.ndarray, " h"]]:
        """The tokens after reading a text, and the state at its beginning."""
        count = len(tokens_th)
        [found_wh] = numpy_fuse(arrays, settings, tokens_th[None], text_lh[None], image_1iz, range(count + 1))
        return found_wh[:count], found_wh[count]

    learned_th = np.asarray(arrays["learned"], np.float32)
    tokens_qh = begin_qh = numpy_turn_tokens(arrays, settings, carried, learned_th)
    image_1iz = numpy_image_tokens(arrays, settings, said.seen)
    if settings.two_stages:
        tokens_qh, _ = fuse(begin_qh, said.caption_lh, image_1iz)  # BSA
        if settings.stages == "two":
            carried = numpy_update_memory(arrays, settings, carried, tokens_qh)
        if said.recalled and settings.combination != "seen":
            fc = settings.combination == "official_fc"
            tokens_qh = begin_qh if fc else numpy_turn_tokens(arrays, settings, carried, learned_th)
        for seen, text_lh in said.recalled:
            again_1iz = None if seen is None else numpy_image_tokens(arrays, settings, seen)
            tokens_qh, _ = fuse(tokens_qh, text_lh, again_1iz)
    if settings.stages == "two":
        tokens_qh, first_h = fuse(tokens_qh, said.modification_lh, None)  # MSA
    else:
        tokens_qh, first_h = fuse(tokens_qh, said.modification_lh, image_1iz)
        carried = numpy_update_memory(arrays, settings, carried, tokens_qh)
        if settings.stages == "sprc":
            tokens_qh, first_h = fuse(tokens_qh, said.modification_lh, None)
    if settings.query == "fused":
        mean_h = shared.numpy_linear(arrays, "fused", tokens_qh.mean(axis=0))
        first_h = shared.numpy_layer_norm(arrays, "fused_norm", mean_h, NORM_EPS)
    return carried, np.asarray(unit_rows(shared.numpy_linear(arrays, "text_project", first_h)), np.float32)


# -- what is carried from turn to turn


def numpy_turn_tokens(
    arrays: shared.Arrays, settings: Model, carried: CarriedTokens, learned_th: Float32[np.ndarray, "t h"]
) -> Float32[np.ndarray, "q h"]:
    """`memory.Memory.tokens`: the learned tokens, as the memory changes them."""
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
            keys = shared.numpy_linear(arrays, "memory.read", learned_th)
            read_th = numpy_address_slots(carried[0], keys[:, :-1], keys[:, -1:]) @ carried[0]
            return np.asarray(learned_th + shared.numpy_linear(arrays, "memory.out", read_th), np.float32)
        case "mio":
            return np.asarray(carried[0])


def numpy_update_memory(
    arrays: shared.Arrays, settings: Model, carried: CarriedTokens, tokens_qh: Float32[np.ndarray, "q h"]
) -> CarriedTokens:
    """`memory.Memory.after`: what is carried after a turn that ended with these tokens."""
    match settings.memory:
        case "none":
            return ()
        case "concatenation":
            earlier = len(carried[0]) if carried else 0
            return (np.concatenate([*carried, tokens_qh[: len(tokens_qh) - earlier]]),)
        case "lstm" | "gru":
            return _step_cell(arrays, carried, tokens_qh, lstm=settings.memory == "lstm")
        case "ntm":
            return (_write_slots(arrays, carried[0] if carried else arrays["memory.slots"], tokens_qh),)
        case "mio":
            both = np.concatenate([*carried, tokens_qh])
            return (numpy_select_tokens(both, settings.tokens, settings.iteration) if carried else both,)


def _step_cell(
    arrays: shared.Arrays, carried: CarriedTokens, inputs_th: Float32[np.ndarray, "t h"], *, lstm: bool
) -> CarriedTokens:
    """A step of `LSTMCell` (output and cell) or of `GRUCell`, for each place of a token."""
    hidden_th = carried[0] if carried else np.zeros_like(inputs_th)
    from_input_tg = inputs_th @ arrays["memory.cell.weight_ih"].T + arrays["memory.cell.bias_ih"]
    from_state_tg = hidden_th @ arrays["memory.cell.weight_hh"].T + arrays["memory.cell.bias_hh"]
    if not lstm:
        return (shared.numpy_gru_step(from_input_tg, from_state_tg, hidden_th),)
    let_in, forget, new, let_out = np.split(from_input_tg + from_state_tg, 4, axis=1)
    before_th = carried[1] if carried else np.zeros_like(inputs_th)
    cell_th = shared.numpy_sigmoid(forget) * before_th + shared.numpy_sigmoid(let_in) * np.tanh(new)
    return np.asarray(shared.numpy_sigmoid(let_out) * np.tanh(cell_th), np.float32), np.asarray(cell_th, np.float32)


def _write_slots(
    arrays: shared.Arrays, memory_mh: Float32[np.ndarray, "m h"], tokens_qh: Float32[np.ndarray, "q h"]
) -> Float32[np.ndarray, "m h"]:
    """A memory of slots after writing the mean of a turn's tokens."""
    width = tokens_qh.shape[1]
    parts = shared.numpy_linear(arrays, "memory.write", tokens_qh.mean(axis=0, keepdims=True))
    key_1h, erase_1h, add_1h, strength_11 = np.split(parts, [width, 2 * width, 3 * width], axis=1)
    shares_m1 = numpy_address_slots(memory_mh, key_1h, strength_11).T
    kept_mh = memory_mh * (1 - shares_m1 * shared.numpy_sigmoid(erase_1h))
    return np.asarray(kept_mh + shares_m1 * np.tanh(add_1h), np.float32)


def numpy_address_slots(
    memory_mh: Float32[np.ndarray, "m h"], key_th: Float32[np.ndarray, "t h"], strength_t1: Float32[np.ndarray, "t 1"]
) -> Float32[np.ndarray, "t m"]:
    """`memory.address_slots`: how much each key looks at each slot."""
    key_unit_th, memory_unit_mh = (
        rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), MIN_LENGTH) for rows in (key_th, memory_mh)
    )
    return shared.softmax(np.asarray((1 + np.logaddexp(0, strength_t1)) * (key_unit_th @ memory_unit_mh.T), np.float32))


# -- MIO


def numpy_select_tokens(
    tokens_th: Float[np.ndarray, "t h"], count: int, settings: Iteration
) -> Float32[np.ndarray, "k h"]:
    """`memory.select_tokens`: the `count` tokens that stand for all, in their order."""
    return np.asarray(tokens_th[numpy_choose_places(tokens_th, count, settings)], np.float32)


def numpy_choose_places(tokens_th: Float[np.ndarray, "t h"], count: int, settings: Iteration) -> Int[np.ndarray, " k"]:
    """`memory.choose_places`: the places of the tokens of the highest score (Eq. 3), in rising order."""
    tokens_th = np.asarray(tokens_th, np.float32)
    tokens_th = tokens_th - tokens_th.mean(axis=0)
    square_t = np.square(tokens_th).sum(axis=1)
    square_tt = square_t[:, None] + square_t - 2 * (tokens_th @ tokens_th.T)
    np.fill_diagonal(square_tt, 0.0)
    apart_tt = np.sqrt(np.maximum(square_tt, 0))
    itself = int(settings.density == "paper")
    if not itself:
        apart_tt /= np.float32(tokens_th.shape[1] ** 0.5)
    near_tk = np.sort(apart_tt, axis=1)[:, itself : min(settings.neighbours + itself, len(apart_tt))]
    density_t = -np.square(near_tk).mean(axis=1)  # the logarithm of Eq. 2
    peak_t, least = numpy_peak_distances(apart_tt, density_t, settings), np.finfo(np.float32)
    score_t = np.where(peak_t > 0, density_t + np.log(np.maximum(peak_t, least.tiny)), least.min)
    dropped = min(int(settings.drop * len(tokens_th)), len(tokens_th) - count)
    if dropped > 0:
        score_t[(-density_t).argsort(kind="stable")[-dropped:]] = -np.inf
    return np.sort((-score_t).argsort(kind="stable")[:count])


def numpy_peak_distances(
    apart_tt: Float[np.ndarray, "t t"], density_t: Float[np.ndarray, " t"], settings: Iteration
) -> Float[np.ndarray, " t"]:
    """`memory.peak_distances`: dist(v) of Eq. 3."""
    place_t = np.arange(len(apart_tt))
    if settings.distance == "nearest":
        return np.asarray(np.where(place_t[:, None] == place_t, np.inf, apart_tt).min(axis=1))
    denser_tt = density_t > density_t[:, None]
    denser_tt |= (density_t == density_t[:, None]) & (place_t < place_t[:, None])
    nearest_t = np.where(denser_tt, apart_tt, np.inf).min(axis=1)
    return np.asarray(np.where(np.isinf(nearest_t), apart_tt.max(axis=1), nearest_t))
