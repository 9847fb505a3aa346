"""The parts of a query as vectors: what is plain likeness is merged into one scan, the rest is scored on its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.encoders.base import Vocabulary
from viewfinder.query import Part, Query
from viewfinder.search.kernels import row_products

WORD_TEMPERATURE, RIVAL_TEMPERATURE = 0.065, 0.05
"""Temperatures of the softmax over the vocabulary and over rivals, for pictures compared as words describe them."""

MIN_CONTRAST = -6.0
"""The least log-probability, one picture in 400: below that, a word counts as not holding."""


@dataclass(frozen=True, eq=False)
class PlainSum:
    """The parts of a query that are plain likeness, merged into one: their weighted mean is a vector too.

    A picture's share of the score is its dot product with `vector_d` (None where there are no such parts) less
    `centred` times its background; `others` are the parts that are not plain.
    """

    vector_d: Float32[np.ndarray, " d"] | None
    centred: float
    others: tuple[Part, ...]


def sum_plain_parts(query: Query) -> PlainSum:
    """A query as one scan, as far as that is possible."""
    weight = positive_weight(query)
    plain = [part for part in query.parts if part.kind in ("words", "picture")]
    vectors = [part.weight * part.factor * part.vector_d for part in plain if part.vector_d is not None]
    return PlainSum(
        vector_d=(np.sum(vectors, axis=0) / weight).astype(np.float32) if vectors else None,
        centred=sum((part.weight * part.factor for part in plain if part.centred), 0.0) / weight,
        others=tuple(part for part in query.parts if part.kind not in ("words", "picture")),
    )


def positive_weight(query: Query) -> float:
    """The divisor of a weighted sum; 1 if nothing is asked for."""
    return sum(part.weight for part in query.parts if part.weight > 0) or 1.0


def vocabulary_vectors(vectors_nd: Float[np.ndarray, "n d"], vocabulary: Vocabulary) -> Float32[np.ndarray, "n l"]:
    """The square root of the chance of every word for every picture.

    The dot product of two such rows is the Bhattacharyya coefficient of what words say about two pictures: 1 if they
    say the same.
    """
    logits_nl = np.asarray(vectors_nd @ vocabulary.vectors_ld.T / WORD_TEMPERATURE, np.float32)
    logits_nl -= logits_nl.max(axis=1, keepdims=True)
    np.exp(logits_nl, out=logits_nl)
    logits_nl /= logits_nl.sum(axis=1, keepdims=True)
    np.sqrt(logits_nl, out=logits_nl)
    return logits_nl


def contrast_scores(
    vectors_nd: Float[np.ndarray, "n d"],
    asked_d: Float[np.ndarray, " d"],
    rivals_rd: Float[np.ndarray, "r d"],
    *,
    temperature: float = RIVAL_TEMPERATURE,
) -> Float[np.ndarray, " n"]:
    """Log-probability of a word against its rivals for every picture, not below `MIN_CONTRAST`."""
    logits_nr = row_products(vectors_nd, rivals_rd) / temperature
    top_n1 = logits_nr.max(axis=1, keepdims=True)
    whole_n = np.log(np.exp(logits_nr - top_n1).sum(axis=1)) + top_n1[:, 0]
    logs_n: Float[np.ndarray, " n"] = vectors_nd @ asked_d / temperature - whole_n
    np.maximum(logs_n, MIN_CONTRAST, out=logs_n)
    return logs_n


def vectors_of_parts(query: Query) -> Float32[np.ndarray, "m d"]:
    """The vectors of a query's parts, all of kind "regions"."""
    vectors = [part.vector_d for part in query.parts if part.kind == "regions" and part.vector_d is not None]
    if len(vectors) != len(query.parts):
        kinds = sorted({part.kind for part in query.parts})
        raise ValueError(f"{query.compare} compares vectors of kind 'regions', and this query has {', '.join(kinds)}")
    return np.stack(vectors).astype(np.float32)


def weights_of_parts(query: Query) -> Float[np.ndarray, " m"]:
    """How much each part counts, adding up to 1; zeros if nothing counts."""
    weights_m = np.array([part.weight for part in query.parts], np.float64)
    return np.asarray(weights_m / (weights_m.sum() or 1.0))
