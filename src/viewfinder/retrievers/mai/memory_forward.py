"""`memory` without torch, for one talk: what is carried from turn to turn, and with which tokens a turn begins.

Names of arrays are those of the network's `memory`. Axes: t learned tokens, q tokens that a turn begins with, h numbers
of one, m slots of a memory, g numbers of a cell's gates.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32

from viewfinder.retrievers.mai.mio_forward import numpy_select_tokens
from viewfinder.retrievers.mai.settings import Model
from viewfinder.retrievers.shared.numpy_network import Arrays, numpy_linear

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
