"""Fashion IQ's networks without torch, one conversation at a time; a state of None means that nothing was said.

The twin of `network`: arrays are named as in the torch modules, and tests compare the numbers.

Axes: l words, or tokens so far, t tokens of a turn (of a composition: width of a sentence), n heads (or pictures), v
width of a head, s width of a word, c channels and p positions that a filter sees, f filters, j width of all that a
composition reads, h width of a token, of a state, of a picture's vector and of a query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.encoders.base import unit_rows
from viewfinder.retrievers.fashioniq.settings import (
    ROUNDS,
    CompositionModel,
    FeedbackReading,
    RecurrentModel,
    TransformerModel,
)
from viewfinder.retrievers.shared.numpy_network import (
    Arrays,
    by_head,
    numpy_attend,
    numpy_gru,
    numpy_gru_step,
    numpy_linear,
    numpy_picture_input,
    numpy_sigmoid,
)

NORM_EPS = 1e-6
"""Epsilon of `training.layers.Norm`."""

BATCH_NORM_EPS = 1e-5
"""Epsilon of torch's batch norm."""


@dataclass(frozen=True, eq=False)
class FeedbackVectors:
    """A turn in the form that networks read."""

    words_ls: Float32[np.ndarray, "l s"]  # its word vectors
    attributes: tuple[int, ...] = ()  # the picture's attributes as numbers: k + 1 for label k
    picture_h: Float32[np.ndarray, " h"] | None = None  # the vector of the picture; None where none was shown


def numpy_pictures(
    arrays: Arrays, settings: FeedbackReading, raw_ng: Float[np.ndarray, "n g"]
) -> Float32[np.ndarray, "n h"]:
    """`network.PictureEncoder`: pictures as vectors."""
    read_nx = np.asarray(raw_ng, np.float32)
    if settings.image != "raw":
        read_nx = numpy_picture_input(arrays, "looks.input", read_nx)
    projected_nh = read_nx @ arrays["looks.project.weight"].T
    found_nh = (
        unit_rows(projected_nh) if settings.compare == "cosine" else numpy_norm(arrays, "looks.norm", projected_nh)
    )
    return np.asarray(found_nh, np.float32)


def _compared(settings: FeedbackReading, query_h: Float[np.ndarray, " h"]) -> Float32[np.ndarray, " h"]:
    """`PictureEncoder.normalize_query`: a query in the form that is compared with pictures."""
    return np.asarray(unit_rows(query_h) if settings.compare == "cosine" else query_h, np.float32)


# -- the transformer


KeysValues = tuple[Float32[np.ndarray, "n _ v"], Float32[np.ndarray, "n _ v"]]
"""Keys and values of the tokens so far, in one layer."""


@dataclass(frozen=True, eq=False)
class NumpyHistory:
    """The tokens so far: `tokens_lh` for a whole history; `seen`, by layer, and `summed_h` for an incremental one."""

    turns: int
    count: int
    tokens_lh: Float32[np.ndarray, "l h"]
    seen: tuple[KeysValues, ...]
    summed_h: Float32[np.ndarray, " h"]


def numpy_step_transformer(
    arrays: Arrays, settings: TransformerModel, state: NumpyHistory | None, said: FeedbackVectors
) -> tuple[NumpyHistory, Float32[np.ndarray, " h"]]:
    """`TransformerRetriever.step`. An incremental history encodes only a turn's own tokens, a whole one all again."""
    if state is None:
        width = settings.width
        state = NumpyHistory(0, 0, np.zeros((0, width), np.float32), (), np.zeros(width, np.float32))
    tokens_th = numpy_tokens(arrays, settings, state.turns, said)
    after = replace(state, turns=state.turns + 1, count=state.count + len(tokens_th))
    if settings.history == "whole":
        after = replace(after, tokens_lh=np.concatenate([state.tokens_lh, tokens_th]))
        summed_h = numpy_encode_tokens(arrays, settings, after.tokens_lh, ())[0].sum(axis=0)
    else:
        encoded_th, seen = numpy_encode_tokens(arrays, settings, tokens_th, state.seen)
        summed_h = np.asarray(state.summed_h + encoded_th.sum(axis=0), np.float32)
        after = replace(after, seen=seen, summed_h=summed_h)
    return after, _compared(settings, numpy_linear(arrays, "head", np.maximum(summed_h / after.count, 0)))


def numpy_tokens(
    arrays: Arrays, settings: TransformerModel, turn: int, said: FeedbackVectors
) -> Float32[np.ndarray, "t h"]:
    """`TransformerRetriever.tokens` of turn 0, 1, ...; with a padding mask, without padding."""
    words_ls = np.pad(said.words_ls, ((int(settings.start_token), 0), (0, 0)))[: settings.most_words]
    numbers = list(said.attributes[: settings.attributes])
    pictures_th = np.zeros((0, settings.width), np.float32) if said.picture_h is None else said.picture_h[None]
    if not settings.padding_mask:
        words_ls = np.pad(words_ls, ((0, settings.most_words - len(words_ls)), (0, 0)))
        numbers += [0] * (settings.attributes - len(numbers))
        pictures_th = np.pad(pictures_th, ((0, 1 - len(pictures_th)), (0, 0)))
    attributes_th = np.zeros((0, settings.width), np.float32)
    if settings.attributes:
        attributes_th = numpy_norm(arrays, "attribute_norm", arrays["attribute.weight"][numbers])
    kinds = [  # numbered as in `network`: the positions that each has, and its tokens
        (1, arrays["word_norm.bias"][None]),
        (settings.most_words, numpy_norm(arrays, "word_norm", numpy_linear(arrays, "word", words_ls))),
        (settings.attributes, attributes_th),
        (1, pictures_th),
    ]
    first, places, found = turn * sum(most for most, _ in kinds), list[int](), list[np.ndarray]()
    for kind, (most, rows_th) in enumerate(kinds):
        found.append(rows_th + arrays["modalities"][kind] if settings.modality_embeddings else rows_th)
        places += range(first, first + len(rows_th))
        first += most
    tokens_th = np.concatenate(found)
    if settings.turn_embeddings:
        tokens_th = tokens_th + arrays["turns"][min(turn, ROUNDS - 1)]
    placed_th = numpy_sinusoid(places, settings.width, published=settings.positions == "published")
    return np.asarray(tokens_th * math.sqrt(settings.width) + placed_th, np.float32)


def numpy_encode_tokens(
    arrays: Arrays, settings: TransformerModel, tokens_th: Float[np.ndarray, "t h"], earlier: Sequence[KeysValues]
) -> tuple[Float[np.ndarray, "t h"], tuple[KeysValues, ...]]:
    """`layers.TokenEncoder`: tokens that also attend to earlier ones; and by layer, what later ones may see."""
    kept = []
    for at in range(settings.layers):
        name = f"encoder.layers.{at}"
        normed_th = numpy_norm(arrays, f"{name}.before_attention", tokens_th)
        query_ntv, keys_nlv, values_nlv = (
            np.asarray(by_head(numpy_linear(arrays, f"{name}.attention.{part}", normed_th), settings.heads), np.float32)
            for part in ("query", "key", "value")
        )
        if earlier:
            keys_nlv = np.concatenate([earlier[at][0], keys_nlv], axis=1)
            values_nlv = np.concatenate([earlier[at][1], values_nlv], axis=1)
        gathered_th = numpy_attend(query_ntv, keys_nlv, values_nlv)
        tokens_th = tokens_th + numpy_linear(arrays, f"{name}.attention.out", gathered_th)
        inner = numpy_linear(arrays, f"{name}.layers.inner", numpy_norm(arrays, f"{name}.before_layers", tokens_th))
        tokens_th = tokens_th + numpy_linear(arrays, f"{name}.layers.outer", np.maximum(inner, 0))
        kept.append((keys_nlv, values_nlv))
    return numpy_norm(arrays, "encoder.last", tokens_th), tuple(kept)


def numpy_norm(arrays: Arrays, name: str, rows: Float[np.ndarray, "*n h"]) -> Float[np.ndarray, "*n h"]:
    """`layers.Norm`."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(np.square(centred).sum(axis=-1, keepdims=True) / (rows.shape[-1] - 1))
    return np.asarray(arrays[f"{name}.alpha"] * centred / (deviation + NORM_EPS) + arrays[f"{name}.bias"])


def numpy_sinusoid(places: Sequence[int], width: int, *, published: bool) -> Float32[np.ndarray, "t h"]:
    """`layers.sinusoid_positions` at some positions."""
    number_h = np.arange(width)
    exponent_h = 2 * number_h if published else number_h - number_h % 2
    angle_th = np.asarray(places, np.float64)[:, None] * 10000.0 ** (-exponent_h / width)
    return np.where(number_h % 2 == 0, np.sin(angle_th), np.cos(angle_th)).astype(np.float32)


# -- the RNN


def numpy_step_recurrent(
    arrays: Arrays, settings: RecurrentModel, state: Float32[np.ndarray, " h"] | None, said: FeedbackVectors
) -> tuple[Float32[np.ndarray, " h"], Float32[np.ndarray, " h"]]:
    """`RecurrentRetriever.step`."""
    state_h = np.zeros(settings.width, np.float32) if state is None else state
    said_h = numpy_convolve_sentence(arrays, settings, said.words_ls)
    if said.picture_h is not None:
        said_h = said_h + said.picture_h
    if settings.attributes:
        said_h = said_h + numpy_mean_attributes(arrays, said.attributes[: settings.attributes])
    input_h = arrays["joint.weight"] @ said_h
    state_h = numpy_gru_step(arrays["cell.weight_ih"] @ input_h, arrays["cell.weight_hh"] @ state_h, state_h)
    return state_h, _compared(settings, arrays["head.weight"] @ state_h)


def numpy_convolve_sentence(
    arrays: Arrays, settings: RecurrentModel, words_ls: Float[np.ndarray, "l s"]
) -> Float[np.ndarray, " h"]:
    """`network.SentenceConvolution`."""
    rows_ls = np.zeros((settings.most_words, words_ls.shape[1]), np.float32)
    read_ls = words_ls[: settings.most_words]
    rows_ls[: len(read_ls)] = read_ls
    seen_cp = rows_ls.T if settings.slides_over == "words" else rows_ls
    first_fc, second_fc = np.moveaxis(arrays["sentence.filters.weight"], -1, 0)
    strongest_f = (first_fc @ seen_cp[:, :-1] + second_fc @ seen_cp[:, 1:]).max(axis=1)
    strongest_f = strongest_f + arrays["sentence.filters.bias"]
    norm = {part: arrays[f"sentence.norm.{part}"] for part in ("running_mean", "running_var", "weight", "bias")}
    scaled_f = (strongest_f - norm["running_mean"]) / np.sqrt(norm["running_var"] + BATCH_NORM_EPS)
    return np.asarray(arrays["sentence.out.weight"] @ (scaled_f * norm["weight"] + norm["bias"]))


def numpy_mean_attributes(arrays: Arrays, attributes: Sequence[int]) -> Float32[np.ndarray, " h"]:
    """`network.mean_attributes`."""
    vectors_ah = arrays["attribute.weight"][list(attributes)]
    return np.asarray(vectors_ah.sum(axis=0) / max(1, len(attributes)), np.float32)


# -- single turns


def numpy_step_composition(
    arrays: Arrays, settings: CompositionModel, state: None, said: FeedbackVectors
) -> tuple[None, Float32[np.ndarray, " h"]]:
    """`CompositionRetriever.step`: the query of one turn, whatever was said before it."""
    read: dict[str, np.ndarray] = {}
    for modality in settings.modalities:
        if modality == "image":
            read[modality] = np.zeros(settings.width, np.float32) if said.picture_h is None else said.picture_h
        elif modality == "attributes":
            read[modality] = numpy_mean_attributes(arrays, said.attributes[: settings.attributes])
        else:
            words_ls = said.words_ls[: settings.most_words]
            # Without any word, one of zeros is read, as in `network.SentenceGru`.
            read[modality] = numpy_gru(
                arrays, "sentence.gru", words_ls if len(words_ls) else np.zeros((1, words_ls.shape[1]))
            )
    joined_j = np.concatenate(list(read.values()))
    query_h = numpy_linear(arrays, "joint.2", np.maximum(numpy_linear(arrays, "joint.0", joined_j), 0.0))
    if settings.gate:
        gate_h = numpy_sigmoid(numpy_linear(arrays, "gate", joined_j))
        query_h = query_h + gate_h * numpy_linear(arrays, "through", read["text"])
    return None, _compared(settings, query_h)


NUMPY_NETWORKS: dict[str, tuple[type[FeedbackReading], Callable[..., tuple[Any, Float32[np.ndarray, " h"]]]]] = {
    "transformer": (TransformerModel, numpy_step_transformer),
    "recurrent": (RecurrentModel, numpy_step_recurrent),
    "composition": (CompositionModel, numpy_step_composition),
}
"""By kind of network: its settings, and the function from a state and one more turn to the next state and query."""
