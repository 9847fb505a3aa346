"""`network.SentenceDialogueEncoder` without torch, one dialogue at a time.

Axes: l tokens of the transformer (a summary, the caption, the rounds), h heads, w width, d width of the space of
pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.encoders.base import unit_rows
from viewfinder.retrievers.chatir.settings import ModelSettings
from viewfinder.retrievers.shared.numpy_network import (
    Arrays,
    by_head,
    numpy_attend,
    numpy_layer_norm,
    numpy_linear,
)

BEFORE_ROUNDS = 2
"""How many tokens precede those of the rounds: the summary and the caption."""

NORM_EPS = 1e-5
"""The epsilon of torch's LayerNorm."""

Token = Float32[np.ndarray, " w"]


def encode_dialogue(
    arrays: Arrays, settings: ModelSettings, caption: Token | None, rounds: Sequence[Token]
) -> Float32[np.ndarray, " d"]:
    """The unit vector of a dialogue: the token of its caption, if it has one, and of at most `settings.rounds` rounds.

    A token is the output of `feed_forward` "caption" on the caption's sentence vector, or of "round" on those of
    question and answer side by side.
    """
    tokens = {} if caption is None else {1: caption}
    tokens |= dict(enumerate(rounds, start=BEFORE_ROUNDS))
    places_l = [0, *tokens]
    tokens_lw = np.stack([np.zeros_like(arrays["positions"][0]), *tokens.values()]) + arrays["positions"][places_l]
    for number in range(settings.layers):
        tokens_lw = transformer_block(arrays, f"blocks.{number}", tokens_lw, settings.heads)
    pooled_w = tokens_lw[0] if settings.pooling == "first" else tokens_lw.mean(axis=0)
    pooled_w = numpy_layer_norm(arrays, "last", pooled_w, NORM_EPS)
    return np.asarray(unit_rows(numpy_linear(arrays, "out", pooled_w)), np.float32)


def transformer_block(
    arrays: Arrays, name: str, tokens_lw: Float[np.ndarray, "l w"], heads: int
) -> Float[np.ndarray, "l w"]:
    """`network.TransformerBlock`: every token attends to all tokens, then goes through the two layers."""
    rows_lw = numpy_layer_norm(arrays, f"{name}.before_attention", tokens_lw, NORM_EPS)
    query_hlv, key_hlv, value_hlv = (
        by_head(numpy_linear(arrays, f"{name}.{part}", rows_lw), heads) for part in ("query", "key", "value")
    )
    seen_lw = numpy_attend(query_hlv, key_hlv, value_hlv)
    tokens_lw = tokens_lw + numpy_linear(arrays, f"{name}.attended", seen_lw)
    rows_lw = numpy_layer_norm(arrays, f"{name}.before_layers", tokens_lw, NORM_EPS)
    return np.asarray(tokens_lw + feed_forward(arrays, f"{name}.layers", rows_lw))


def feed_forward(arrays: Arrays, name: str, rows: Float[np.ndarray, "*n i"]) -> Float[np.ndarray, "*n o"]:
    """`network.FeedForward`: a GELU, by tanh, between two linear maps."""
    inner = numpy_linear(arrays, f"{name}.inner", rows)
    gelu = 0.5 * inner * (1 + np.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner * inner * inner)))
    return numpy_linear(arrays, f"{name}.outer", gelu)
