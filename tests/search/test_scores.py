"""The kernels against slow, obvious code."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float32

from viewfinder.encoders.base import Vocabulary
from viewfinder.search.kernels import dot_scores, top_k
from viewfinder.search.parts import vocabulary_likeness, vocabulary_vectors

Array = Float32[np.ndarray, "..."]

SCORES = st.sampled_from([-math.inf, -1.0, 0.0, 0.25, 0.5, 1.0, math.inf, math.nan])


def unit(seed: int, *shape: int) -> Array:
    vectors = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


@given(st.lists(st.tuples(SCORES, st.booleans()), max_size=30), st.integers(0, 40))
def test_top_k_is_the_head_of_the_sorted_list(pictures: list[tuple[float, bool]], k: int) -> None:
    def place(row: int) -> tuple[bool, float, int]:
        score = pictures[row][0]
        return math.isnan(score), 0.0 if math.isnan(score) else -score, row

    expected = sorted((row for row, (_, allowed) in enumerate(pictures) if allowed), key=place)[:k]
    scores_n = np.array([score for score, _ in pictures], dtype=np.float32)
    allowed_n = np.array([allowed for _, allowed in pictures], dtype=bool)
    assert top_k(scores_n, k, allowed_n=allowed_n).tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_top_k_without_a_filter_sorts_thousands_of_pictures_with_many_ties(seed: int) -> None:
    scores_n = np.random.default_rng(seed).integers(0, 50, 3000).astype(np.float32)
    expected = sorted(range(3000), key=lambda row: (-scores_n[row], row))[:200]
    assert top_k(scores_n, 200).tolist() == expected


def test_top_k_refuses_a_negative_k() -> None:
    with pytest.raises(ValueError, match="k=-1"):
        top_k(np.zeros(3, dtype=np.float32), -1)


def test_dot_scores_are_sums_of_products_for_one_query_and_for_several() -> None:
    matrix_nd, queries_md = unit(0, 40, 7), unit(1, 3, 7)
    slow_mn = [[sum(a * b for a, b in zip(row, q, strict=True)) for row in matrix_nd] for q in queries_md]
    np.testing.assert_allclose(dot_scores(matrix_nd, queries_md), slow_mn, atol=1e-6)
    np.testing.assert_allclose(dot_scores(matrix_nd, queries_md[0]), slow_mn[0], atol=1e-6)


def test_dot_scores_take_half_precision_and_answer_in_single() -> None:
    matrix_nd, query_d = unit(0, 40, 7).astype(np.float16), unit(1, 7)
    scores_n = dot_scores(matrix_nd, query_d)
    assert scores_n.dtype == np.float32
    np.testing.assert_allclose(scores_n, matrix_nd.astype(np.float64) @ query_d, atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from([0.0, 0.01, 0.5]))
def test_top_k_of_thousands_is_the_head_of_the_sorted_list(seed: int, k: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    scores_n = rng.integers(0, 300, 2000).astype(np.float32)
    scores_n[rng.random(2000) < missing / 10] = np.nan
    scores_n[rng.random(2000) < missing] = -np.inf
    allowed_n = rng.random(2000) < 0.5
    kept = np.flatnonzero(allowed_n)
    expected = kept[np.argsort(-scores_n[kept], kind="stable")][:k].tolist()
    assert top_k(scores_n, k, allowed_n=allowed_n).tolist() == expected


def test_likeness_in_words_is_that_of_the_chances_of_all_words() -> None:
    vocabulary = Vocabulary(tuple(f"word {at}" for at in range(90)), unit(1, 90, 32))
    pictures_nd = np.concatenate([unit(2, 597, 32), vocabulary.vectors_ld[:3]])  # the last are all one word
    vector_l = vocabulary_vectors(pictures_nd[:1], vocabulary)[0]
    expected_n = vocabulary_vectors(pictures_nd, vocabulary) @ vector_l
    np.testing.assert_allclose(vocabulary_likeness(pictures_nd, vocabulary, vector_l), expected_n, atol=2e-6)
    assert len(vocabulary_likeness(pictures_nd[:0], vocabulary, vector_l)) == 0
