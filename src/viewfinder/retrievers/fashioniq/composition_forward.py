"""`composition.CompositionRetriever` without torch, one talk at a time.

Axes: l words, s numbers of a word, t numbers of a sentence, j numbers of all that is read, h numbers of a picture's
vector and of a query.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.retrievers.fashioniq.forward import FeedbackVectors, numpy_compared
from viewfinder.retrievers.fashioniq.recurrent_forward import numpy_gru_step, numpy_mean_attributes, sigmoid
from viewfinder.retrievers.fashioniq.settings import CompositionModel, Modality
from viewfinder.retrievers.shared.numpy_network import Arrays, numpy_linear


def numpy_begin_composition(arrays: Arrays, settings: CompositionModel) -> tuple[()]:
    """Nothing: a turn is read alone."""
    return ()


def numpy_step_composition(
    arrays: Arrays, settings: CompositionModel, state: tuple[()], said: FeedbackVectors
) -> tuple[tuple[()], Float32[np.ndarray, " h"]]:
    """The query of one turn, whatever was said before it."""
    read = {modality: _read(arrays, settings, modality, said) for modality in settings.modalities}
    joined_j = np.concatenate(list(read.values()))
    query_h = numpy_linear(arrays, "joint.2", np.maximum(numpy_linear(arrays, "joint.0", joined_j), 0.0))
    if settings.gate:
        query_h = query_h + sigmoid(numpy_linear(arrays, "gate", joined_j)) * numpy_linear(
            arrays, "through", read["text"]
        )
    return (), numpy_compared(settings, query_h)


def _read(
    arrays: Arrays, settings: CompositionModel, modality: Modality, said: FeedbackVectors
) -> Float[np.ndarray, " w"]:
    """What is read of one modality, in its own width."""
    if modality == "image":
        return np.zeros(settings.width, np.float32) if said.picture_h is None else said.picture_h
    if modality == "attributes":
        return numpy_mean_attributes(arrays, said.attributes[: settings.attributes])
    return numpy_read_sentence(arrays, settings, said.words_ls)


def numpy_read_sentence(
    arrays: Arrays, settings: CompositionModel, words_ls: Float[np.ndarray, "l s"]
) -> Float32[np.ndarray, " t"]:
    """`composition.SentenceReader`."""
    gru = {part: arrays[f"sentence.gru.{part}_l0"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
    read_ls = words_ls[: settings.most_words] if len(words_ls) else np.zeros((1, words_ls.shape[1]), np.float32)
    state_t = np.zeros(settings.text_width, np.float32)
    for input_g in read_ls @ gru["weight_ih"].T + gru["bias_ih"]:
        state_t = numpy_gru_step(input_g, gru["weight_hh"] @ state_t + gru["bias_hh"], state_t)
    return state_t
