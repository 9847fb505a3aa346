"""Parts of a query that are no plain likeness: words of the vocabulary, words against rivals, vectors for regions."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.encoders.base import Vocabulary
from viewfinder.processors import share_out
from viewfinder.query import Query
from viewfinder.search.kernels import dot_scores, row_products
from viewfinder.store.half_rows import HalfRows

WORD_TEMPERATURE, RIVAL_TEMPERATURE = 0.065, 0.05
"""Temperatures of the softmax over the vocabulary and over rivals, for pictures compared as words describe them."""

IN_CACHE = 256
"""Pictures whose numbers for all words stay in a processor's cache."""

MIN_CONTRAST = -6.0
"""The least log-probability, one picture in 400: below that, a word counts as not holding."""


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


def vocabulary_likeness(
    vectors_nd: Float[np.ndarray, "n d"] | HalfRows, vocabulary: Vocabulary, vector_l: Float[np.ndarray, " l"]
) -> Float32[np.ndarray, " n"]:
    """The products of `vocabulary_vectors` with one such vector, without them: several times faster.

    With h = exp(logits / 2), the product is h . vector / |h|. Logits are below 16, so that nothing overflows.
    """
    halves_ld = np.asarray(vocabulary.vectors_ld, np.float32) / np.float32(2 * WORD_TEMPERATURE)
    vector_l = np.asarray(vector_l, np.float32)
    found_n = np.empty(len(vectors_nd), np.float32)

    def compare(at: int) -> None:
        half_kl = np.asarray(vectors_nd[at : at + IN_CACHE] @ halves_ld.T, np.float32)
        np.exp(half_kl, out=half_kl)
        found_n[at : at + IN_CACHE] = half_kl @ vector_l / np.sqrt(np.einsum("kl,kl->k", half_kl, half_kl))

    share_out(compare, range(0, len(vectors_nd), IN_CACHE))
    return found_n


def contrast_scores(
    vectors_nd: Float[np.ndarray, "n d"] | HalfRows,
    asked_d: Float[np.ndarray, " d"],
    rivals_rd: Float[np.ndarray, "r d"],
    *,
    temperature: float = RIVAL_TEMPERATURE,
    whole_n: Float[np.ndarray, " n"] | None = None,
) -> Float[np.ndarray, " n"]:
    """Log-probability of a word against its rivals for every picture, not below `MIN_CONTRAST`.

    `whole_n`: what `measure_rivals` gives, if it is known.
    """
    if isinstance(vectors_nd, HalfRows):
        parts = [contrast_scores(block, asked_d, rivals_rd, temperature=temperature) for block in vectors_nd.blocks()]
        return np.concatenate([np.empty(0, np.float32), *parts])
    if whole_n is None:
        whole_n = measure_rivals(vectors_nd, rivals_rd, temperature)
    logs_n: Float[np.ndarray, " n"] = dot_scores(vectors_nd, asked_d) / temperature - whole_n
    np.maximum(logs_n, MIN_CONTRAST, out=logs_n)
    return logs_n


def measure_rivals(
    vectors_nd: Float[np.ndarray, "n d"], rivals_rd: Float[np.ndarray, "r d"], temperature: float
) -> Float[np.ndarray, " n"]:
    """The logarithm of the sum over rivals that `contrast_scores` divides by, for every picture."""
    logits_nr = row_products(vectors_nd, rivals_rd) / temperature
    top_n1 = logits_nr.max(axis=1, keepdims=True)
    whole_n: Float[np.ndarray, " n"] = np.log(np.exp(logits_nr - top_n1).sum(axis=1)) + top_n1[:, 0]
    return whole_n


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
