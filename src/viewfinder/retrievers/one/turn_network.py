"""A network that adds a vector to the composer's query where pictures are picked "but ..."; numpy only.

It has learnt from relative captions, talks and wishes about products of all kinds (benchmarks/network_products.py;
`products.safetensors`). The tokens of a turn are the picture that it names, what it says (what it rules out counts as
its negative), and what the composer makes of all turns so far. A transformer, in which a token sees those of its own
turn and of earlier ones, reads at the last token what is added to the composer's score `s` of a picture with the vector
`x`, in nats:

    e^a s + x . q         q = 10 (sum_m A_m v_m + W h + b)         v: the tokens' own vectors, h: what it knows there

`a` = 0 and `q` = 0 is the composer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float32

from viewfinder.conversation import Like, Show
from viewfinder.query import Part, Query, ResolvedTurn
from viewfinder.retrievers.one.gates import looks_at_earlier
from viewfinder.retrievers.shared.numpy_network import (
    Arrays,
    by_head,
    numpy_attend,
    numpy_gelu,
    numpy_layer_norm,
    numpy_linear,
)
from viewfinder.weights import Weights
from viewfinder.wording.clauses import split_clauses

NAME = "the turn network"
"""As it is shown to people."""

KINDS = ("picked", "but", "unwanted", "composed")
"""What a token holds: a picture, what is said with it, the negative of what is ruled out, and the composer's vector."""

NORM_EPS = 1e-5
"""The epsilon of torch's LayerNorm."""

INPUT_SCALE, QUERY_SCALE = 4.0, 10.0
"""Factors of the tokens' vectors, and of the vector that is added: unit vectors are small numbers."""

Token = tuple[str, Float[np.ndarray, " d"]]
"""A kind and a vector."""

Tokens = tuple[Token, ...]
"""Those of a turn; the composer's is the last."""


@dataclass(frozen=True, eq=False)
class TurnNetwork:
    """The network, and how much its opinion counts.

    Attributes:
        encoder_version: of the encoder whose vectors it reads.
        nats: of its opinion, for every deviation (`query.Opinion`).
    """

    arrays: Arrays
    encoder_version: str
    layers: int
    heads: int
    nats: float

    @classmethod
    def of(cls, weights: Weights) -> TurnNetwork:
        """The network that a file holds."""
        said = weights.card.settings
        return cls(weights.arrays, said["encoder_version"], said["layers"], said["heads"], said["nats"])

    def hear(self, turns: Sequence[Tokens], composed: Query, number: int) -> Query:
        """The composer's query with the vector added that the tokens of some turns say; `number`: of the last turn."""
        gate, added_d = self.read(turns)
        return add_vector(composed, gate, added_d, number)

    def read(self, turns: Sequence[Tokens]) -> tuple[float, Float32[np.ndarray, " d"]]:
        """`a` and `q` after the last of some turns."""
        arrays = self.arrays
        tokens = [token for turn in turns for token in turn]
        turn_l = np.repeat(np.arange(len(turns)), [len(turn) for turn in turns])
        vectors_ld = np.stack([vector_d for _, vector_d in tokens]).astype(np.float32)
        hidden_lw = np.float32(INPUT_SCALE) * numpy_linear(arrays, "vector", vectors_ld)
        hidden_lw = hidden_lw + arrays["kinds"][[KINDS.index(kind) for kind, _ in tokens]]
        hidden_lw = hidden_lw + arrays["turns"][np.minimum(turn_l, len(arrays["turns"]) - 1)]
        later_ll = turn_l[None, :] > turn_l[:, None]
        for number in range(self.layers):
            hidden_lw = self._layer(f"layers.{number}", hidden_lw, later_ll)
        hidden_lw = numpy_layer_norm(arrays, "last", hidden_lw, NORM_EPS)
        last_w = hidden_lw[-1]
        asks_e, answers_le = numpy_linear(arrays, "asks", last_w), numpy_linear(arrays, "answers", hidden_lw)
        weight_l = answers_le @ asks_e / np.float32(math.sqrt(len(asks_e)))
        added_d = np.float32(QUERY_SCALE) * (weight_l @ vectors_ld + numpy_linear(arrays, "own", last_w))
        return float(numpy_linear(arrays, "gate", last_w)[0]), np.asarray(added_d, np.float32)

    def _layer(
        self, name: str, hidden_lw: Float[np.ndarray, "l w"], hides_ll: Bool[np.ndarray, "l l"]
    ) -> Float[np.ndarray, "l w"]:
        """A layer of torch's transformer encoder, norms first."""
        inputs = numpy_linear(
            self.arrays, f"{name}.inputs", numpy_layer_norm(self.arrays, f"{name}.norm1", hidden_lw, NORM_EPS)
        )
        asks, keys, values = (by_head(part, self.heads) for part in np.split(inputs, 3, axis=1))
        seen_lw = numpy_attend(asks, keys, values, hides_ll)
        hidden_lw = hidden_lw + numpy_linear(self.arrays, f"{name}.attended", seen_lw)
        rows_lw = numpy_layer_norm(self.arrays, f"{name}.norm2", hidden_lw, NORM_EPS)
        inner = numpy_gelu(numpy_linear(self.arrays, f"{name}.inner", rows_lw))
        return np.asarray(hidden_lw + numpy_linear(self.arrays, f"{name}.outer", inner))


def list_tokens(turn: ResolvedTurn, composed: Query, before: Sequence[Tokens]) -> Tokens:
    """The tokens of a turn, after those that were read before; none: the turn is none that a network reads.

    A network learns to read pictures that are picked with words, and after one of them also without; no turn that goes
    back to an earlier one.
    """
    said = turn.turn
    if not (isinstance(said, Like | Show) and (said.text or before) and turn.pictures):
        return ()
    if isinstance(said, Like) and looks_at_earlier(said):
        return ()
    composed_d = sum_vectors(composed)
    picked_d = np.mean([picture.vectors["global"] for picture in turn.pictures], axis=0)
    last: Token = ("composed", np.zeros_like(picked_d) if composed_d is None else composed_d)
    return (("picked", picked_d), *_list_said(said.text, turn), last)


def _list_said(words: str, turn: ResolvedTurn) -> list[Token]:
    """The tokens of what is said with a picture; all is encoded at once."""
    if not words:
        return []
    clauses = split_clauses(words)
    wanted = [clauses.wanted] if clauses.wanted else []
    vectors = turn.words([*wanted, *clauses.unwanted])
    said: list[Token] = [("but", vector_d) for vector_d in vectors[: len(wanted)]]
    return said + [("unwanted", -vector_d) for vector_d in vectors[len(wanted) :]]


def sum_vectors(query: Query) -> Float32[np.ndarray, " d"] | None:
    """The weighted mean of the vectors of a query's plain parts; None: it has none."""
    found = [part.weight * part.vector_d for part in query.parts if part.is_plain and part.vector_d is not None]
    return np.asarray(np.sum(found, axis=0) / _positive_weight(query), np.float32) if found else None


def add_vector(query: Query, gate: float, added_d: Float32[np.ndarray, " d"], turn: int) -> Query:
    """A query with a vector added to what its parts say: score times sharpness is e^gate of what it was, + x . added.

    A score is the mean of what the parts give, so the sharpness grows with the weights that it is divided by.
    """
    length = float(np.linalg.norm(added_d))
    if not length:
        return replace(query, sharpness=math.exp(gate) * query.sharpness)
    before, sharpness = _positive_weight(query), math.exp(gate) * query.sharpness
    weight = before * length / sharpness
    part = Part("picture", turn, NAME, weight, added_d / np.float32(length))
    has_positive = any(part.weight > 0 for part in query.parts)
    grown = (before + weight) / before if has_positive else weight
    return replace(query, parts=(*query.parts, part), sharpness=sharpness * grown)


def _positive_weight(query: Query) -> float:
    """What the weighted mean of a query's parts is divided by."""
    return sum(part.weight for part in query.parts if part.weight > 0) or 1.0
