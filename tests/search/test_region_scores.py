"""Late interaction, attention and rank fusion against slow, obvious code."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float32
from onnx import parser

from viewfinder.query import Part, Query, RegionSpace
from viewfinder.search import late_interaction as scores
from viewfinder.search import region_scores
from viewfinder.search.kernels import top_k
from viewfinder.search.late_interaction import late_interaction_near
from viewfinder.search.region_scores import (
    INTEGER_PRODUCT,
    RegionBlock,
    RegionCodes,
    attention_weights,
    late_interaction,
    late_interaction_coarse,
    nearest_group_scores,
    query_vector_scores,
    rank_fusion,
    single_vector_scores,
)

Array = Float32[np.ndarray, "..."]


def unit(seed: int, *shape: int) -> Array:
    vectors = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def slow_attention(regions_kd: Array, query_d: Array, temperature: float = 9.0) -> tuple[list[float], list[float]]:
    """Dot products and softmax of one picture and one query vector, in plain Python, as systems.md 1.2 writes it."""
    cosines = [sum(a * b for a, b in zip(query_d, region, strict=True)) for region in regions_kd.tolist()]
    powers = [math.exp(temperature * cosine) for cosine in cosines]
    return cosines, [power / sum(powers) for power in powers]


def slow_likeness(regions_nrd: Array, queries_md: Array, temperature: float = 9.0) -> np.ndarray:
    """s_i of each query vector and picture (m n)."""
    pairs = [[slow_attention(picture, query, temperature) for picture in regions_nrd] for query in queries_md]
    return np.array([[sum(w * c for c, w in zip(*pair, strict=True)) for pair in row] for row in pairs])


@pytest.mark.parametrize(("n", "r", "d", "m"), [(1, 1, 4, 1), (7, 36, 8, 6), (30, 5, 16, 2)])
def test_likeness_is_drill_downs_sum_and_the_score_its_mean(n: int, r: int, d: int, m: int) -> None:
    regions_nrd, queries_md = unit(n, n, r, d), unit(m, m, d)
    expected_mn, block = slow_likeness(regions_nrd, queries_md), RegionBlock.of(regions_nrd)
    np.testing.assert_allclose(query_vector_scores(block, queries_md), expected_mn, atol=1e-6)
    np.testing.assert_allclose(late_interaction(block, queries_md), expected_mn.mean(axis=0), atol=1e-6)


def test_parts_are_scored_as_one_picture_at_a_time_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_scores, "TILE", 8)
    monkeypatch.setattr(region_scores, "CACHED", 2 * 6 * 3 * 8)  # two tiles at a time
    regions_nrd, queries_md = unit(0, 45, 6, 8), unit(1, 3, 8)
    singly = [late_interaction(RegionBlock.of(picture[None]), queries_md)[0] for picture in regions_nrd]
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        np.testing.assert_allclose(late_interaction(RegionBlock.of(regions_nrd), queries_md), singly, atol=1e-6)


@given(st.integers(1, 200), st.integers(1, 20))
def test_of_one_vector_a_picture_the_score_is_the_bare_product(pictures: int, width: int) -> None:
    rng = np.random.default_rng(pictures)
    regions_n1d = rng.standard_normal((pictures, 1, width), dtype=np.float32)
    query_d = rng.standard_normal(width, dtype=np.float32)
    block = RegionBlock.of(regions_n1d)
    found_n = single_vector_scores(block, query_d)
    np.testing.assert_allclose(found_n, regions_n1d[:, 0] @ query_d, atol=1e-5)
    np.testing.assert_allclose(found_n, late_interaction(block, query_d[None]), atol=1e-5)


def test_a_bare_product_is_of_one_vector_a_picture() -> None:
    block = RegionBlock.of(np.ones((2, 3, 4), np.float32))
    with pytest.raises(ValueError, match="pictures have 3 vectors each"):
        single_vector_scores(block, np.ones(4, np.float32))


@given(st.integers(1, 10), st.integers(1, 40), st.integers(1, 70), st.integers(65, 200))
@settings(max_examples=30)
def test_equal_pictures_score_equally_wherever_they_lie(m: int, r: int, d: int, n: int) -> None:
    block, queries_md = RegionBlock.of(np.repeat(unit(n, 1, r, d), n, axis=0)), unit(m, m, d)
    for scores_n in (late_interaction(block, queries_md), late_interaction_coarse(block.codes, queries_md)):
        assert len(scores_n) == n and len(set(scores_n.tolist())) == 1


def test_many_query_vectors_are_taken_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_scores, "SMALL_PRODUCT", 3 * region_scores.TILE * 8)
    block, queries_md = RegionBlock.of(unit(0, 70, 5, 8)), unit(1, 7, 8)
    singly = [query_vector_scores(block, query[None])[0] for query in queries_md]
    np.testing.assert_allclose(query_vector_scores(block, queries_md), singly, atol=1e-6)


def test_weights_choose_the_slots_that_count() -> None:
    regions_nrd, queries_md = unit(0, 9, 6, 8), unit(1, 3, 8)
    slow_mn = slow_likeness(regions_nrd, queries_md)
    block = RegionBlock.of(regions_nrd)
    written = late_interaction(block, queries_md, weights_m=np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(written, slow_mn[:2].mean(axis=0), atol=1e-6)
    uneven = late_interaction(block, queries_md, weights_m=np.array([3.0, 0.0, 1.0]))
    np.testing.assert_allclose(uneven, (3 * slow_mn[0] + slow_mn[2]) / 4, atol=1e-6)


def test_the_temperature_is_multiplied() -> None:
    regions_nrd = np.array([[[1.0, 0.0], [0.0, 1.0]]], dtype=np.float32)  # cosines 1 and 0
    query = np.array([[1.0, 0.0]], dtype=np.float32)
    score = late_interaction(RegionBlock.of(regions_nrd), query, temperature=9.0)[0]
    assert score == pytest.approx(math.exp(9) / (math.exp(9) + 1), abs=1e-6)


def test_a_missing_region_is_one_that_resembles_nothing() -> None:
    regions_nrd = np.array([[[1.0, 0.0], [0.0, 0.0]]], dtype=np.float32)  # cosines 1 and 0, as Drill-down pads
    score = late_interaction(RegionBlock.of(regions_nrd), np.array([[1.0, 0.0]]), temperature=1.0)[0]
    assert score == pytest.approx(math.e / (math.e + 1), abs=1e-6)


@pytest.mark.parametrize("towards", [1, -1])
def test_long_vectors_do_not_overflow_the_softmax(towards: int) -> None:
    regions_nrd, queries_md = 40 * unit(0, 5, 6, 8), 40 * unit(1, 2, 8)
    regions_nrd = towards * np.abs(regions_nrd)  # exp(9 * 40 * 40) is infinite, its inverse zero
    queries_md = np.abs(queries_md)
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


def test_attention_is_the_softmax_over_a_pictures_regions() -> None:
    regions_krd, queries_md = unit(0, 3, 5, 8), unit(1, 2, 8)
    expected = [[slow_attention(picture, query)[1] for query in queries_md] for picture in regions_krd]
    np.testing.assert_allclose(attention_weights(regions_krd, queries_md), expected, atol=1e-6)
    assert attention_weights(100 * regions_krd, 100 * queries_md).sum(axis=-1) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_8_bit_pass_loses_none_of_the_best_ten(seed: int) -> None:
    block, queries_md = RegionBlock.of(unit(seed, 3000, 12, 64)), unit(seed + 50, 6, 64)
    exact_n, near_n = late_interaction(block, queries_md), late_interaction_near(block, queries_md)
    best = top_k(exact_n, 10)
    assert top_k(near_n, 10).tolist() == best.tolist()
    np.testing.assert_allclose(near_n[best], exact_n[best], atol=1e-6)
    np.testing.assert_allclose(near_n, exact_n, atol=0.01)


@given(st.integers(0, 100), st.floats(0.0, 1.0))
@settings(max_examples=25)
def test_what_is_known_besides_is_in_before_the_best_are_chosen(seed: int, most: float) -> None:
    # Whoever leads by the vectors alone may be far behind with it, and the other way round.
    block, queries_md = RegionBlock.of(unit(seed, 200, 6, 8)), unit(seed + 1, 3, 8)
    prior_n = (most * np.random.default_rng(seed).random(200)).astype(np.float32)
    expected_n = late_interaction(block, queries_md) + prior_n
    near_n = late_interaction_near(block, queries_md, candidates=60, prior_n=prior_n)
    best = top_k(expected_n, 10)
    assert top_k(near_n, 10).tolist() == best.tolist()
    np.testing.assert_allclose(near_n[best], expected_n[best], atol=1e-6)
    np.testing.assert_allclose(near_n, expected_n, atol=0.02)  # what 8 bits cost: see the test of them below


@given(st.integers(0, 100), st.integers(0, 25))
@settings(max_examples=25)
def test_no_other_picture_comes_before_a_candidate(seed: int, candidates: int) -> None:
    block, queries_md = RegionBlock.of(unit(seed, 20, 3, 4)), unit(seed + 1, 2, 4)
    coarse_n = late_interaction_coarse(block.codes, queries_md)
    near_n = late_interaction_near(block, queries_md, candidates=candidates)
    chosen = top_k(coarse_n, candidates)
    assert sorted(top_k(near_n, len(chosen)).tolist()) == sorted(chosen.tolist())
    others = [row for row in range(20) if row not in chosen]
    assert (np.diff(near_n[others][np.argsort(coarse_n[others])]) >= 0).all()


def alike(seed: int, pictures: int) -> Array:
    """Pictures of 24 regions in four kinds each, as photographs have: a sky, a lawn, a wall and a thing."""
    kinds_n4d = np.repeat(unit(seed, pictures, 4, 32), 6, axis=1)
    spread = np.random.default_rng(seed).standard_normal(kinds_n4d.shape, dtype=np.float32)
    vectors = kinds_n4d + 0.08 * spread
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def test_very_many_pictures_are_looked_at_by_groups_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "MAX_UNGROUPED", 2000)
    monkeypatch.setattr(scores, "GROUP_SHARE", 0.1)
    block, queries_md = RegionBlock.of(alike(0, 3000)), unit(7, 3, 32)
    exact_n, near_n = late_interaction(block, queries_md), late_interaction_near(block, queries_md)
    best = top_k(exact_n, 10)
    assert top_k(near_n, 10).tolist() == best.tolist()
    np.testing.assert_allclose(near_n[best], exact_n[best], atol=1e-6)
    first_n, closer = nearest_group_scores(block.groups, queries_md), set(top_k(near_n, 300).tolist())
    assert closer == set(top_k(first_n, 300).tolist())  # no other picture comes before those that were looked at again


def test_an_estimate_is_close_and_of_the_best_as_good_as_8_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "SAMPLED", 200)
    block, queries_md = RegionBlock.of(alike(0, 3000)), unit(7, 3, 32)
    parts = tuple(Part("regions", 1, "what is said", 1.0, query_d) for query_d in queries_md)
    space = RegionSpace("a space", "raw", lambda raw: raw.whole_ng[:, None], 24, 32)
    query = Query(parts, space, "late_interaction")
    exact_n = late_interaction(block, queries_md)
    np.testing.assert_allclose(scores.estimate_late_scores(query, space, block), exact_n, atol=1e-6)
    monkeypatch.setattr(scores, "MAX_EXACT", 2000)  # beyond this, only some are looked at
    about_n = scores.estimate_late_scores(query, space, block)
    best = top_k(exact_n, 10)
    np.testing.assert_allclose(about_n[best], exact_n[best], atol=0.01)
    assert np.corrcoef(about_n, exact_n)[0, 1] > 0.95
    assert abs(about_n.mean() - exact_n.mean()) < 0.1 * exact_n.std()


def test_of_pictures_without_regions_the_estimate_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "MAX_EXACT", 10)
    space = RegionSpace("a space", "raw", lambda raw: raw.whole_ng[:, None], 3, 4)
    query = Query((Part("regions", 1, "what is said", 1.0, unit(0, 4)),), space, "late_interaction")
    assert not scores.estimate_late_scores(query, space, RegionBlock.of(np.zeros((20, 3, 4), np.float32))).any()


def test_by_groups_a_picture_scores_what_its_nearest_mean_is_like() -> None:
    # Two pictures of two means each; the queries are (1, 0) and (0, 1); weights of 3 and 1 are shares of 3/4 and 1/4.
    groups = RegionCodes.of(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.0], [-1.0, 0.0]]], np.float32))
    scores_n = nearest_group_scores(groups, np.eye(2, dtype=np.float32), weights_m=np.array([3.0, 1.0]))
    np.testing.assert_allclose(scores_n, [0.75 * 1 + 0.25 * 1, 0.75 * 0.5 + 0.25 * 0], atol=0.01)


def test_8_bit_scores_are_close_to_the_exact_ones_for_any_length_of_vectors() -> None:
    block, queries_md = RegionBlock.of(0.01 * unit(0, 50, 12, 64)), 3 * unit(1, 6, 64)
    coarse_n = late_interaction_coarse(block.codes, queries_md)
    np.testing.assert_allclose(coarse_n, late_interaction(block, queries_md), atol=0.02 * 0.03)


def test_the_8_bit_product_does_not_overflow_at_the_largest_numbers() -> None:
    block = RegionBlock.of(np.ones((4, 2, 64), dtype=np.float32))
    coarse_n = late_interaction_coarse(block.codes, np.ones((1, 64), dtype=np.float32), temperature=1.0)
    np.testing.assert_allclose(coarse_n, 64.0, rtol=0.01)


def test_an_empty_collection_has_no_scores() -> None:
    block, queries_md = RegionBlock.of(np.empty((0, 6, 16), dtype=np.float32)), unit(1, 2, 16)
    assert query_vector_scores(block, queries_md).shape == (2, 0)
    assert late_interaction_near(block, queries_md).shape == (0,)
    assert rank_fusion(query_vector_scores(block, queries_md)).shape == (0,)


def test_rank_fusion_is_minus_the_mean_rank_as_a_share_of_the_gallery() -> None:
    # Ranks of the first vector 1, 2, 3, of the second 3, 1, 2: means 2, 1.5, 2.5 of three pictures.
    fused_n = rank_fusion(np.array([[0.9, 0.5, 0.1], [0.2, 0.8, 0.3]]))
    np.testing.assert_allclose(fused_n, [-2 / 3, -1.5 / 3, -2.5 / 3])


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5]), min_size=1, max_size=12))
def test_ties_share_the_mean_of_their_ranks(likeness_n: list[float]) -> None:
    better = [sum(other > mine for other in likeness_n) for mine in likeness_n]
    level = [sum(other == mine for other in likeness_n) for mine in likeness_n]
    expected = [-(b + (1 + same) / 2) / len(likeness_n) for b, same in zip(better, level, strict=True)]
    np.testing.assert_allclose(rank_fusion(np.array([likeness_n])), expected, rtol=1e-6)


def test_the_integer_product_is_one_matrix_product_of_bytes() -> None:
    spelt = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]>
        integer_product (uint8[rows, d] regions, int8[d, m] queries) => (int32[rows, m] dots)
        <uint8 zero = {128}> { dots = MatMulInteger (regions, queries, zero) }
    """)
    assert onnx.load(INTEGER_PRODUCT) == spelt
