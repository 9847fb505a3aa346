"""`network.SentenceChatIR` without torch, one talk at a time: a piece of the talk is encoded once, when it is said.

Axes: l tokens of the transformer (a summary, the caption, the rounds), h heads, w width, s numbers of a sentence
vector, d numbers in the space of pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.retrievers.chatir.settings import ModelSettings
from viewfinder.retrievers.shared.forward import Arrays, numpy_linear, to_unit

BEFORE_ROUNDS = 2
"""Tokens before those of the rounds: the summary and the caption."""

Token = Float32[np.ndarray, " w"]


def encode_caption(arrays: Arrays, caption_s: Float[np.ndarray, " s"]) -> Token:
    """What the transformer reads of a caption, but for its place."""
    return np.asarray(feed_forward(arrays, "caption", caption_s), np.float32)


def encode_round(arrays: Arrays, question_s: Float[np.ndarray, " s"], answer_s: Float[np.ndarray, " s"]) -> Token:
    """What the transformer reads of a round, but for its place; zeros stand for a question that was not asked."""
    return np.asarray(feed_forward(arrays, "round", np.concatenate([question_s, answer_s])), np.float32)


def encode_dialogue(
    arrays: Arrays, settings: ModelSettings, caption: Token | None, rounds: Sequence[Token]
) -> Float32[np.ndarray, " d"]:
    """The unit vector of a talk whose tokens are these: the caption, if there is one, and at most `settings.rounds`."""
    known = {} if caption is None else {1: caption}
    known |= dict(enumerate(rounds, start=BEFORE_ROUNDS))
    places_l = [0, *known]
    tokens_lw = np.stack([np.zeros_like(arrays["positions"][0]), *known.values()]) + arrays["positions"][places_l]
    for number in range(settings.layers):
        tokens_lw = transformer_block(arrays, f"blocks.{number}", tokens_lw, settings.heads)
    pooled_w = tokens_lw[0] if settings.pooling == "first" else tokens_lw.mean(axis=0)
    return np.asarray(to_unit(numpy_linear(arrays, "out", layer_norm(arrays, "last", pooled_w))), np.float32)


def transformer_block(
    arrays: Arrays, name: str, tokens_lw: Float[np.ndarray, "l w"], heads: int
) -> Float[np.ndarray, "l w"]:
    """`network.Block`."""
    tokens_lw = tokens_lw + _attended(arrays, name, layer_norm(arrays, f"{name}.before_attention", tokens_lw), heads)
    more_lw = feed_forward(arrays, f"{name}.layers", layer_norm(arrays, f"{name}.before_layers", tokens_lw))
    return np.asarray(tokens_lw + more_lw)


def _attended(arrays: Arrays, name: str, rows_lw: Float[np.ndarray, "l w"], heads: int) -> Float[np.ndarray, "l w"]:
    """Every token looks at all of them."""
    tokens, width = rows_lw.shape
    query_hlv, key_hlv, value_hlv = (
        numpy_linear(arrays, f"{name}.{part}", rows_lw).reshape(tokens, heads, -1).transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    logits_hll = query_hlv @ key_hlv.transpose(0, 2, 1) / math.sqrt(width // heads)
    shares_hll = np.exp(logits_hll - logits_hll.max(axis=-1, keepdims=True))
    shares_hll /= shares_hll.sum(axis=-1, keepdims=True)
    seen_lw = (shares_hll @ value_hlv).transpose(1, 0, 2).reshape(tokens, width)
    return numpy_linear(arrays, f"{name}.attended", seen_lw)


def feed_forward(arrays: Arrays, name: str, rows: Float[np.ndarray, "*n i"]) -> Float[np.ndarray, "*n o"]:
    """`network.TwoLayers`: a GELU, by tanh, between two linear maps."""
    inner = numpy_linear(arrays, f"{name}.inner", rows)
    gelu = 0.5 * inner * (1 + np.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner * inner * inner)))
    return numpy_linear(arrays, f"{name}.outer", gelu)


def layer_norm(arrays: Arrays, name: str, rows: Float[np.ndarray, "*n w"]) -> Float[np.ndarray, "*n w"]:
    """LayerNorm."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + 1e-5)
    return np.asarray(scaled * arrays[f"{name}.weight"] + arrays[f"{name}.bias"])
