"""`network.CombinerNetwork` without torch, one talk at a time. Axes: d numbers of the shared space."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.retrievers.combiner.settings import ModelSettings
from viewfinder.retrievers.shared.forward import Arrays, numpy_linear, numpy_update_cell, to_unit

Row = Float32[np.ndarray, " d"]


def numpy_begin(arrays: Arrays) -> Row:
    """The state before anything was said."""
    return np.zeros_like(arrays["probe"])


def numpy_combine(arrays: Arrays, settings: ModelSettings, state_d: Row, text_d: Row, picture_d: Row) -> Row:
    """`CombinerNetwork.combined`: the query of a turn."""
    joined_j = np.concatenate([_positive(arrays, "text", text_d), _positive(arrays, "picture", picture_d)])
    if settings.memory == "gru":
        joined_j = joined_j + arrays["recall.weight"] @ state_d
    share_1 = 1 / (1 + np.exp(-numpy_linear(arrays, "share_out", _positive(arrays, "share", joined_j))))
    mixed_d = numpy_linear(arrays, "out", _positive(arrays, "mixed", joined_j))
    return np.asarray(to_unit(mixed_d + share_1 * text_d + (1 - share_1) * picture_d), np.float32)


def numpy_update_memory(arrays: Arrays, settings: ModelSettings, state_d: Row, query_d: Row) -> Row:
    """`CombinerNetwork.after`: the state after a turn that came to this query."""
    if settings.memory == "none":
        return state_d
    return np.asarray(numpy_update_cell(arrays, "update", query_d, state_d), np.float32)


def _positive(arrays: Arrays, name: str, rows: Float[np.ndarray, " i"]) -> Float[np.ndarray, " o"]:
    return np.asarray(np.maximum(numpy_linear(arrays, name, rows), 0))
