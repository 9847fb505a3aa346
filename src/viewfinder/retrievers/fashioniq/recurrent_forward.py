"""`recurrent.RecurrentRetriever` without torch, one talk at a time.

Axes: l words, s numbers of a word, c channels and p places that a filter sees, f filters, h numbers of a picture's
vector, of the state and of a query.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.retrievers.fashioniq.forward import FeedbackVectors, numpy_compared
from viewfinder.retrievers.fashioniq.settings import RecurrentModel
from viewfinder.retrievers.shared.numpy_network import Arrays

NORM_EPS = 1e-5
"""Of torch's norm over a batch."""

State = Float32[np.ndarray, " h"]


def numpy_begin_recurrent(arrays: Arrays, settings: RecurrentModel) -> State:
    """Zeros."""
    return np.zeros(settings.width, np.float32)


def numpy_step_recurrent(
    arrays: Arrays, settings: RecurrentModel, state: State, said: FeedbackVectors
) -> tuple[State, Float32[np.ndarray, " h"]]:
    """The state after one more turn, and the query in it."""
    said_h = numpy_convolve_sentence(arrays, settings, said.words_ls)
    if said.picture_h is not None:
        said_h = said_h + said.picture_h
    if settings.attributes:
        said_h = said_h + numpy_mean_attributes(arrays, said.attributes[: settings.attributes])
    input_h = arrays["joint.weight"] @ said_h
    state_h = numpy_gru_step(arrays["cell.weight_ih"] @ input_h, arrays["cell.weight_hh"] @ state, state)
    return state_h, numpy_compared(settings, arrays["head.weight"] @ state_h)


def numpy_convolve_sentence(
    arrays: Arrays, settings: RecurrentModel, words_ls: Float[np.ndarray, "l s"]
) -> Float[np.ndarray, " h"]:
    """`recurrent.SentenceFilters`."""
    rows_ls = np.zeros((settings.most_words, words_ls.shape[1]), np.float32)
    read_ls = words_ls[: settings.most_words]
    rows_ls[: len(read_ls)] = read_ls
    seen_cp = rows_ls.T if settings.slides_over == "words" else rows_ls
    first_fc, second_fc = np.moveaxis(arrays["sentence.filters.weight"], -1, 0)
    strongest_f = (first_fc @ seen_cp[:, :-1] + second_fc @ seen_cp[:, 1:]).max(axis=1) + arrays[
        "sentence.filters.bias"
    ]
    norm = {part: arrays[f"sentence.norm.{part}"] for part in ("running_mean", "running_var", "weight", "bias")}
    scaled_f = (strongest_f - norm["running_mean"]) / np.sqrt(norm["running_var"] + NORM_EPS)
    return np.asarray(arrays["sentence.out.weight"] @ (scaled_f * norm["weight"] + norm["bias"]))


def numpy_gru_step(from_input_g: Float[np.ndarray, " g"], from_state_g: Float[np.ndarray, " g"], state: State) -> State:
    """The state of a GRU after one more input; torch's three maps of the input, and of the state, one after another."""
    reset_in, keep_in, new_in = np.split(from_input_g, 3)
    reset_by, keep_by, new_by = np.split(from_state_g, 3)
    keep_h = sigmoid(keep_in + keep_by)
    new_h = np.tanh(new_in + sigmoid(reset_in + reset_by) * new_by)
    return np.asarray((1 - keep_h) * new_h + keep_h * state, np.float32)


def sigmoid(rows: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """1 / (1 + e^-x)."""
    return np.asarray(1 / (1 + np.exp(-rows)))


def numpy_mean_attributes(arrays: Arrays, attributes: Sequence[int]) -> Float32[np.ndarray, " h"]:
    """`recurrent.mean_of`."""
    vectors_ah = arrays["attribute.weight"][list(attributes)]
    return np.asarray(vectors_ah.sum(axis=0) / max(1, len(attributes)), np.float32)
