"""`network.TransformerRetriever` without torch, one talk at a time; and what all networks are told of a turn.

Where the history is "incremental", keys and values of earlier tokens are kept, and a turn costs its own tokens; a
"whole" one is encoded again with every turn. Axes: l words, or tokens so far, t tokens of a turn, n heads, v numbers of
a head, s numbers of a word, h numbers of a token, of a picture's vector and of a query.

`recurrent.RecurrentRetriever` without torch, one talk at a time.

Axes: l words, s numbers of a word, c channels and p places that a filter sees, f filters, h numbers of a picture's
vector, of the state and of a query.

`composition.CompositionRetriever` without torch, one talk at a time.

Axes: l words, s numbers of a word, t numbers of a sentence, j numbers of all that is read, h numbers of a picture's
vector and of a query.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.retrievers.fashioniq.settings import (
    CompositionModel,
    FeedbackReading,
    Modality,
    RecurrentModel,
    TransformerModel,
)
from viewfinder.retrievers.shared.numpy_network import Arrays, numpy_linear, to_unit

NORM_EPS = 1e-6


@dataclass(frozen=True, eq=False)
class FeedbackVectors:
    """A turn as networks read it.

    Attributes:
        words_ls: vectors of its words.
        attributes: numbers of the picture's attributes: k + 1 for label k.
        picture_h: what `look` makes of the picture; None where none was shown.
    """

    words_ls: Float32[np.ndarray, "l s"]
    attributes: tuple[int, ...] = ()
    picture_h: Float32[np.ndarray, " h"] | None = None


@dataclass(frozen=True, eq=False)
class NumpyKeysValues:
    """Keys and values of the tokens so far, in one layer."""

    keys_nlv: Float32[np.ndarray, "n l v"]
    values_nlv: Float32[np.ndarray, "n l v"]


@dataclass(frozen=True, eq=False)
class NumpyHistory:
    """A talk so far: `tokens_lh` of a whole history; `seen`, by layer, and `summed_h` of an incremental one."""

    turns: int
    count: int
    tokens_lh: Float32[np.ndarray, "l h"]
    seen: tuple[NumpyKeysValues, ...]
    summed_h: Float32[np.ndarray, " h"]


def numpy_pictures(
    arrays: Arrays, settings: FeedbackReading, raw_ng: Float[np.ndarray, "n g"]
) -> Float32[np.ndarray, "n h"]:
    """`look.Look`: pictures as vectors."""
    read_nx = np.asarray(raw_ng, np.float32)
    if settings.image != "raw":
        there_n1 = (read_nx != 0).any(axis=1, keepdims=True)
        read_nx = (read_nx - arrays["looks.input.mean"]) / arrays["looks.input.deviation"] * there_n1
    if settings.image == "whitened":
        read_nx = read_nx @ arrays["looks.input.components"]
    projected_nh = read_nx @ arrays["looks.project.weight"].T
    found_nh = to_unit(projected_nh) if settings.compare == "cosine" else numpy_norm(arrays, "looks.norm", projected_nh)
    return np.asarray(found_nh, np.float32)


def numpy_compared(settings: FeedbackReading, query_h: Float[np.ndarray, " h"]) -> Float32[np.ndarray, " h"]:
    """`look.Look.compared`: a query as it is compared with pictures."""
    return np.asarray(to_unit(query_h) if settings.compare == "cosine" else query_h, np.float32)


def numpy_begin_transformer(arrays: Arrays, settings: TransformerModel) -> NumpyHistory:
    """A talk in which nothing was said."""
    width = settings.width
    return NumpyHistory(0, 0, np.zeros((0, width), np.float32), (), np.zeros(width, np.float32))


def numpy_step_transformer(
    arrays: Arrays, settings: TransformerModel, state: NumpyHistory, said: FeedbackVectors
) -> tuple[NumpyHistory, Float32[np.ndarray, " h"]]:
    """The talk after one more turn, and its query; `state` stays as it is."""
    tokens_th = tokens(arrays, settings, state.turns, said)
    count = state.count + len(tokens_th)
    if settings.history == "whole":
        tokens_lh = np.concatenate([state.tokens_lh, tokens_th])
        summed_h = numpy_encode_tokens(arrays, settings, tokens_lh, ())[0].sum(axis=0)
        after = replace(state, turns=state.turns + 1, count=count, tokens_lh=tokens_lh)
    else:
        encoded_th, seen = numpy_encode_tokens(arrays, settings, tokens_th, state.seen)
        summed_h = np.asarray(state.summed_h + encoded_th.sum(axis=0), np.float32)
        after = replace(state, turns=state.turns + 1, count=count, seen=seen, summed_h=summed_h)
    return after, numpy_compared(settings, numpy_linear(arrays, "head", np.maximum(summed_h / count, 0)))


def tokens(arrays: Arrays, settings: TransformerModel, turn: int, said: FeedbackVectors) -> Float32[np.ndarray, "t h"]:
    """The tokens of turn 0, 1, ... that are read; with a padding mask, only those of something."""
    parts = _parts(arrays, settings, said)
    place = turn * sum(most for most, _ in parts)
    found: list[Float[np.ndarray, "t h"]] = []
    places: list[int] = []
    for kind, (most, rows_th) in enumerate(parts):
        found.append(rows_th + arrays["modalities"][kind] if settings.modality_embeddings else rows_th)
        places += range(place, place + len(rows_th))
        place += most
    tokens_th = np.concatenate(found)
    if settings.turn_embeddings:
        tokens_th = tokens_th + arrays["turns"][min(turn, settings.rounds - 1)]
    tokens_th = tokens_th * math.sqrt(settings.width)
    if settings.positions != "none":
        tokens_th = tokens_th + numpy_sinusoid(places, settings.width, published=settings.positions == "published")
    return np.asarray(tokens_th, np.float32)


def _parts(
    arrays: Arrays, settings: TransformerModel, said: FeedbackVectors
) -> list[tuple[int, Float[np.ndarray, "t h"]]]:
    """Separator, words, attributes and picture, as `network` numbers them: how many places each has, and its tokens."""
    words_ls = said.words_ls[: settings.most_words]
    numbers = list(said.attributes[: settings.attributes])
    pictures_th = np.zeros((0, settings.width), np.float32) if said.picture_h is None else said.picture_h[None]
    if not settings.padding_mask:
        words_ls = np.pad(words_ls, ((0, settings.most_words - len(words_ls)), (0, 0)))
        numbers += [0] * (settings.attributes - len(numbers))
        pictures_th = np.pad(pictures_th, ((0, 1 - len(pictures_th)), (0, 0)))
    attributes_th = np.zeros((0, settings.width), np.float32)
    if settings.attributes:
        attributes_th = numpy_norm(arrays, "attribute_norm", arrays["attribute.weight"][numbers])
    return [
        (int(settings.separator), arrays["word_norm.bias"][None][: int(settings.separator)]),
        (settings.most_words, numpy_norm(arrays, "word_norm", numpy_linear(arrays, "word", words_ls))),
        (settings.attributes, attributes_th),
        (1, pictures_th),
    ]


def numpy_encode_tokens(
    arrays: Arrays, settings: TransformerModel, tokens_th: Float[np.ndarray, "t h"], earlier: Sequence[NumpyKeysValues]
) -> tuple[Float[np.ndarray, "t h"], tuple[NumpyKeysValues, ...]]:
    """`networks.transformer.Encoder`: tokens that also look at earlier ones; by layer, what later ones may look at."""
    kept = []
    for at in range(settings.layers):
        name = f"encoder.layers.{at}"
        normed_th = numpy_norm(arrays, f"{name}.before_attention", tokens_th)
        seen = _seen(arrays, f"{name}.attention", normed_th, settings.heads, earlier[at] if earlier else None)
        tokens_th = tokens_th + _attended(arrays, f"{name}.attention", normed_th, seen)
        inner = numpy_linear(arrays, f"{name}.layers.inner", numpy_norm(arrays, f"{name}.before_layers", tokens_th))
        tokens_th = tokens_th + numpy_linear(arrays, f"{name}.layers.outer", np.maximum(inner, 0))
        kept.append(seen)
    return numpy_norm(arrays, "encoder.last", tokens_th), tuple(kept)


def _seen(
    arrays: Arrays, name: str, tokens_th: Float[np.ndarray, "t h"], heads: int, earlier: NumpyKeysValues | None
) -> NumpyKeysValues:
    """Keys and values of these tokens, after earlier ones."""
    keys_nlv, values_nlv = (
        by_head(numpy_linear(arrays, f"{name}.{part}", tokens_th), heads) for part in ("key", "value")
    )
    if earlier is None:
        return NumpyKeysValues(keys_nlv, values_nlv)
    return NumpyKeysValues(
        np.concatenate([earlier.keys_nlv, keys_nlv], axis=1), np.concatenate([earlier.values_nlv, values_nlv], axis=1)
    )


def _attended(
    arrays: Arrays, name: str, tokens_th: Float[np.ndarray, "t h"], seen: NumpyKeysValues
) -> Float[np.ndarray, "t h"]:
    """What each token gathers from all that is seen."""
    heads, _, width = seen.keys_nlv.shape
    query_ntv = by_head(numpy_linear(arrays, f"{name}.query", tokens_th), heads)
    logits_ntl = query_ntv @ seen.keys_nlv.transpose(0, 2, 1) / math.sqrt(width)
    shares_ntl = np.exp(logits_ntl - logits_ntl.max(axis=-1, keepdims=True))
    shares_ntl /= shares_ntl.sum(axis=-1, keepdims=True)
    gathered_tnv = (shares_ntl @ seen.values_nlv).transpose(1, 0, 2)
    return numpy_linear(arrays, f"{name}.out", gathered_tnv.reshape(len(tokens_th), -1))


def by_head(rows_lh: Float[np.ndarray, "l h"], heads: int) -> Float32[np.ndarray, "n l v"]:
    """The numbers of each head apart."""
    return np.asarray(rows_lh.reshape(len(rows_lh), heads, -1).transpose(1, 0, 2), np.float32)


def numpy_norm(arrays: Arrays, name: str, rows: Float[np.ndarray, "*n h"]) -> Float[np.ndarray, "*n h"]:
    """`networks.transformer.Norm`."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(np.square(centred).sum(axis=-1, keepdims=True) / (rows.shape[-1] - 1))
    return np.asarray(arrays[f"{name}.alpha"] * centred / (deviation + NORM_EPS) + arrays[f"{name}.bias"])


def numpy_sinusoid(places: Sequence[int], width: int, *, published: bool) -> Float32[np.ndarray, "t h"]:
    """`networks.transformer.sinusoid` at some places."""
    number_h = np.arange(width)
    exponent_h = 2 * number_h if published else number_h - number_h % 2
    angle_th = np.asarray(places, np.float64)[:, None] * 10000.0 ** (-exponent_h / width)
    return np.where(number_h % 2 == 0, np.sin(angle_th), np.cos(angle_th)).astype(np.float32)


BATCH_NORM_EPS = 1e-5
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
    scaled_f = (strongest_f - norm["running_mean"]) / np.sqrt(norm["running_var"] + BATCH_NORM_EPS)
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
