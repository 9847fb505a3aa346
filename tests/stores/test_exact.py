"""The kernels against slow, obvious code."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float32

from viewfinder.stores import exact
from viewfinder.stores.exact import RegionBlock, dot_scores, late_interaction, late_interaction_top, top_k

Array = Float32[np.ndarray, "..."]

SCORES = st.sampled_from([-math.inf, -1.0, 0.0, 0.25, 0.5, 1.0, math.inf, math.nan])


def unit(seed: int, *shape: int) -> Array:
    vectors = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def slow_late_interaction(regions_nrd: Array, queries_md: Array, temperature: float = 9.0) -> np.ndarray:
    """s_i of each picture and query vector (n m), in plain Python, as systems.md 1.2 writes it."""
    scores_nm = np.empty((len(regions_nrd), len(queries_md)))
    for n, regions in enumerate(regions_nrd.tolist()):
        for m, query in enumerate(queries_md.tolist()):
            cosines = [sum(a * b for a, b in zip(query, region, strict=True)) for region in regions]
            weights = [math.exp(temperature * cosine) for cosine in cosines]
            scores_nm[n, m] = sum(w * c for w, c in zip(weights, cosines, strict=True)) / sum(weights)
    return scores_nm


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


@pytest.mark.parametrize(("n", "r", "d", "m"), [(1, 1, 4, 1), (7, 36, 8, 6), (30, 5, 16, 2)])
def test_late_interaction_is_drill_downs_sum(n: int, r: int, d: int, m: int) -> None:
    regions_nrd, queries_md = unit(n, n, r, d), unit(m, m, d)
    expected_n = slow_late_interaction(regions_nrd, queries_md).mean(axis=1)
    np.testing.assert_allclose(late_interaction(RegionBlock.of(regions_nrd), queries_md), expected_n, atol=1e-6)


def test_late_interaction_over_several_chunks_is_that_of_one_picture_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exact, "CHUNK", 8)
    regions_nrd, queries_md = unit(0, 21, 6, 8), unit(1, 3, 8)
    singly = [late_interaction(RegionBlock.of(picture[None]), queries_md)[0] for picture in regions_nrd]
    np.testing.assert_allclose(late_interaction(RegionBlock.of(regions_nrd), queries_md), singly, atol=1e-6)


def test_weights_choose_the_slots_that_count() -> None:
    regions_nrd, queries_md = unit(0, 9, 6, 8), unit(1, 3, 8)
    slow_nm = slow_late_interaction(regions_nrd, queries_md)
    block = RegionBlock.of(regions_nrd)
    written = late_interaction(block, queries_md, weights_m=np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(written, slow_nm[:, :2].mean(axis=1), atol=1e-6)
    uneven = late_interaction(block, queries_md, weights_m=np.array([3.0, 0.0, 1.0]))
    np.testing.assert_allclose(uneven, (3 * slow_nm[:, 0] + slow_nm[:, 2]) / 4, atol=1e-6)


def test_the_temperature_is_multiplied() -> None:
    regions_nrd = np.array([[[1.0, 0.0], [0.0, 1.0]]], dtype=np.float32)  # cosines 1 and 0
    query = np.array([[1.0, 0.0]], dtype=np.float32)
    score = late_interaction(RegionBlock.of(regions_nrd), query, temperature=9.0)[0]
    assert score == pytest.approx(math.exp(9) / (math.exp(9) + 1), abs=1e-6)


def test_long_vectors_do_not_overflow_the_softmax() -> None:
    regions_nrd, queries_md = 40 * unit(0, 5, 6, 8), 40 * unit(1, 2, 8)
    scores_n = late_interaction(RegionBlock.of(regions_nrd), queries_md)
    best_n = np.einsum("nrd,md->nmr", regions_nrd, queries_md).max(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(scores_n, best_n, rtol=1e-3)  # so sharp a softmax is the maximum


@pytest.mark.parametrize("weights", [np.zeros(2), np.array([1.0, -1.0])])
def test_weights_that_add_up_to_nothing_are_refused(weights: np.ndarray) -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        late_interaction(RegionBlock.of(unit(0, 3, 2, 4)), unit(1, 2, 4), weights_m=weights)


def test_no_query_vector_is_refused() -> None:
    with pytest.raises(ValueError, match="0 query vectors"):
        late_interaction(RegionBlock.of(unit(0, 3, 2, 4)), np.empty((0, 4), dtype=np.float32))


@pytest.mark.parametrize("seed", range(3))
def test_the_8_bit_pass_loses_none_of_the_best_ten(seed: int) -> None:
    block, queries_md = RegionBlock.of(unit(seed, 3000, 12, 64)), unit(seed + 50, 6, 64)
    scores_n = late_interaction(block, queries_md)
    rows, scores = late_interaction_top(block, queries_md, 10)
    assert rows.tolist() == top_k(scores_n, 10).tolist()
    np.testing.assert_allclose(scores, scores_n[rows], atol=1e-6)


def test_8_bit_scores_are_close_to_the_exact_ones_for_any_length_of_vectors() -> None:
    block, queries_md = RegionBlock.of(0.01 * unit(0, 50, 12, 64)), 3 * unit(1, 6, 64)
    coarse_n = exact._coarse_scores(block, queries_md, 9.0, None)
    np.testing.assert_allclose(coarse_n, late_interaction(block, queries_md), atol=0.02 * 0.03)


def test_the_8_bit_product_does_not_overflow_at_the_largest_numbers() -> None:
    block = RegionBlock.of(np.ones((4, 2, 64), dtype=np.float32))
    coarse_n = exact._coarse_scores(block, np.ones((1, 64), dtype=np.float32), 1.0, None)
    np.testing.assert_allclose(coarse_n, 64.0, rtol=0.01)


def test_the_8_bit_search_keeps_to_allowed_pictures_and_fills_k() -> None:
    block, queries_md = RegionBlock.of(unit(0, 300, 6, 16)), unit(1, 2, 16)
    allowed_n = np.arange(300) % 60 == 0  # five pictures
    rows, _ = late_interaction_top(block, queries_md, 10, allowed_n=allowed_n)
    assert rows.tolist() == top_k(late_interaction(block, queries_md), 10, allowed_n=allowed_n).tolist()
    assert len(rows) == 5


def test_an_empty_collection_has_no_best_pictures() -> None:
    block = RegionBlock.of(np.empty((0, 6, 16), dtype=np.float32))
    rows, scores = late_interaction_top(block, unit(1, 2, 16), 10)
    assert rows.tolist() == [] and scores.tolist() == []
