from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from viewfinder.metrics import rank_bounds, score_bounds
from viewfinder.metrics import ranks as module

WHOLE = st.integers(-2, 2).map(float)  # products of small whole numbers are exact, so ties are ties
SCORES = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, np.inf, np.nan])


def slow_bounds(scores: list[float], target: int, excluded: set[int], tie: float = 0) -> tuple[int, int]:
    """Look at every other picture: does it come before the target, beside it, or after it?"""
    if target in excluded:
        return len(scores) - 1, len(scores) - 1
    above = beside = 0
    for row, score in enumerate(scores):
        if row == target or row in excluded:
            continue
        own = scores[target]
        if np.isnan(own) or np.isnan(score):
            above += int(not np.isnan(score))
            beside += int(np.isnan(own) and np.isnan(score))
        elif score == own or abs(score - own) <= tie:
            beside += 1
        else:
            above += int(score > own)
    return above, above + beside


def test_a_target_stands_below_what_is_above_and_beside_what_is_equal() -> None:
    queries_qd = np.array([[1.0, 0], [0, 1]])
    gallery_nd = np.array([[3.0, 1], [2, 1], [2, 5], [1, 1]])  # scores 3 2 2 1, and 1 1 5 1
    best_q, worst_q = rank_bounds(queries_qd, gallery_nd, np.array([1, 3]))
    assert best_q.tolist() == [1, 1]  # only 3 is above 2; only 5 is above 1
    assert worst_q.tolist() == [2, 3]  # and one more 2; and two more 1


def test_a_bias_is_added_by_its_weight() -> None:
    queries_qd, gallery_nd = np.ones((2, 1)), np.array([[5.0], [4], [3]])
    bias_n, weight_q = np.array([0.0, 2, 4]), np.array([1.0, -1])
    # weight 1: 5, 6, 7, weight -1: 5, 2, -1
    found = rank_bounds(queries_qd, gallery_nd, np.array([0, 0]), bias_n=bias_n, bias_weight_q=weight_q)
    assert [rank_q.tolist() for rank_q in found] == [[2, 0], [2, 0]]
    unweighted, _ = rank_bounds(queries_qd, gallery_nd, np.array([0, 0]), bias_n=bias_n)
    assert unweighted.tolist() == [2, 2]


def test_euclidean_distance_is_a_bias() -> None:
    random = np.random.default_rng(1)
    queries_qd, gallery_nd = random.normal(size=(20, 3)), random.normal(size=(30, 3))
    targets_q = random.integers(0, 30, 20)
    squares_qn = ((queries_qd[:, None] - gallery_nd[None]) ** 2).sum(axis=-1)
    best_q, worst_q = rank_bounds(queries_qd, gallery_nd, targets_q, bias_n=-(gallery_nd**2).sum(axis=1) / 2)
    nearer_q = (squares_qn < squares_qn[np.arange(20), targets_q][:, None]).sum(axis=1)
    assert best_q.tolist() == worst_q.tolist() == nearer_q.tolist()


def test_excluded_pictures_come_after_all_others() -> None:
    scores_qn = np.array([[0.9, 0.7, 0.5, 0.5, 0.1]] * 3)
    excluded = [np.array([0, 3]), np.array([2, 0, 2]), np.array([], dtype=np.int64)]
    best_q, worst_q = score_bounds(scores_qn, np.array([2, 2, 2]), excluded=excluded)
    assert best_q.tolist() == [1, 4, 2]  # behind 0.7; itself excluded, so last; behind 0.9 and 0.7
    assert worst_q.tolist() == [1, 4, 3]


def test_scores_within_the_tie_are_equal() -> None:
    scores_qn = np.array([[0.500001, 0.5, 0.499999, 0.52]], dtype=np.float32)
    found = [np.ravel(score_bounds(scores_qn, np.array([1]), tie=tie)).tolist() for tie in (0.0, 1e-5, 0.1)]
    assert found == [[2, 2], [1, 3], [0, 3]]


def test_equal_float32_vectors_tie_wherever_they_stand() -> None:
    gallery_nd = np.random.default_rng(2).standard_normal((997, 64), dtype=np.float32)
    gallery_nd /= np.linalg.norm(gallery_nd, axis=1, keepdims=True)
    gallery_nd[[3, 500, 996]] = gallery_nd[17]
    best_q, worst_q = rank_bounds(gallery_nd[[17, 3]], gallery_nd, np.array([996, 17]), tie=1e-6)
    assert (best_q.tolist(), worst_q.tolist()) == ([0, 0], [3, 3])


@settings(deadline=None)
@given(st.lists(st.lists(SCORES, min_size=6, max_size=6), min_size=1, max_size=5), st.data())
def test_bounds_are_those_counted_picture_by_picture(rows: list[list[float]], data: st.DataObject) -> None:
    pictures = st.integers(0, 5)
    targets_q = np.array([data.draw(pictures) for _ in rows])
    excluded = [data.draw(st.lists(pictures, max_size=3)) for _ in rows]
    arrays_e = [np.array(rows_e, dtype=np.int64) for rows_e in excluded]
    best_q, worst_q = score_bounds(np.array(rows), targets_q, excluded=arrays_e, tie=0.5)
    slow = [slow_bounds(*one, 0.5) for one in zip(rows, targets_q.tolist(), map(set, excluded), strict=True)]
    assert list(zip(best_q.tolist(), worst_q.tolist(), strict=True)) == slow


@settings(deadline=None)
@given(
    arrays(np.float32, (7, 3), elements=WHOLE), arrays(np.float32, (9, 3), elements=WHOLE), st.integers(1, 4), st.data()
)
def test_blocks_of_products_give_what_the_whole_matrix_gives(
    queries_qd: np.ndarray, gallery_nd: np.ndarray, at_once: int, data: st.DataObject
) -> None:
    targets_q = np.array(data.draw(st.lists(st.integers(0, 8), min_size=7, max_size=7)))
    bias_n, weight_q = np.arange(9, dtype=np.float32), np.array([0, 1, -1, 2, 0, 1, -2], dtype=np.float32)
    excluded = [np.array([query, 8]) for query in range(7)]
    whole = score_bounds(queries_qd @ gallery_nd.T + weight_q[:, None] * bias_n, targets_q, excluded=excluded)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_QUERIES", at_once)
        patch.setattr(module, "MIN_QUERIES", 1)
        blocks = rank_bounds(
            queries_qd, gallery_nd, targets_q, bias_n=bias_n, bias_weight_q=weight_q, excluded=excluded
        )
    assert [part.tolist() for part in blocks] == [part.tolist() for part in whole]


def test_half_precision_vectors_are_multiplied_in_float32() -> None:
    gallery_nd = np.array([[1000.0], [1000.5], [1001]], dtype=np.float16)
    queries_qd = np.array([[2001.0]], dtype=np.float16)  # 2001 x 1000.5 overflows float16
    best_q, worst_q = rank_bounds(queries_qd, gallery_nd, np.array([1]))
    assert (best_q.tolist(), worst_q.tolist()) == ([1], [1])


def test_the_scores_are_never_held_whole() -> None:
    queries_qd, gallery_nd = np.ones((6000, 2), np.float32), np.ones((20_000, 2), np.float32)
    tracemalloc.start()
    best_q, worst_q = rank_bounds(queries_qd, gallery_nd, np.zeros(6000, dtype=np.int64))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert best_q.max() == 0
    assert worst_q.min() == 19_999
    assert peak < 6000 * 20_000 * 4 / 4  # a quarter of the matrix, which has 480 MB


def least_seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def test_ranking_costs_little_more_than_the_product() -> None:
    random = np.random.default_rng(3)
    queries_qd = random.standard_normal((256, 256), dtype=np.float32)
    gallery_nd = random.standard_normal((20_000, 256), dtype=np.float32)
    targets_q = random.integers(0, 20_000, 256)
    scores_qn = np.empty((256, 20_000), np.float32)
    ways: list[Callable[[], object]] = [
        lambda: np.matmul(queries_qd, gallery_nd.T, out=scores_qn),
        lambda: rank_bounds(queries_qd, gallery_nd, targets_q),
    ]
    bare, ranked = np.min([[least_seconds(way) for way in ways] for _ in range(9)], axis=0)
    assert ranked < 4 * bare  # 1.2 on a quiet machine: benchmarks/ranks.py; a sort would take 100


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"targets_q": np.array([0, 3])}, "target 3 of query 1: there are pictures 0 to 2"),
        ({"targets_q": np.array([-1, 0])}, "target -1 of query 0"),
        ({"tie": -0.1}, "tie=-0.1"),
        ({"excluded": [np.array([0])]}, "1 lists of excluded pictures for 2 queries"),
        ({"excluded": [np.array([0]), np.array([-1])]}, "excluded pictures of query 1: there are pictures 0 to 2"),
        ({"bias_weight_q": np.ones(2)}, "nothing to weigh"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict[str, object], said: str) -> None:
    given_: dict[str, object] = {
        "queries_qd": np.ones((2, 4)),
        "gallery_nd": np.ones((3, 4)),
        "targets_q": np.array([0, 1]),
    }
    call: Callable[..., object] = rank_bounds
    with pytest.raises(ValueError, match=said):
        call(**(given_ | changed))


def test_no_queries_have_no_bounds() -> None:
    best_q, worst_q = rank_bounds(np.ones((0, 2)), np.ones((3, 2)), np.zeros(0, dtype=np.int64))
    assert best_q.shape == worst_q.shape == (0,)
