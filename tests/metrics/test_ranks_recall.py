from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.metrics import expected_hits, recall_at, target_ranks


def test_recall_at_k_counts_the_ranks_below_k() -> None:
    assert recall_at(2, [0, 1, 2, 8]) == 2 / 4  # ranks are 0-based: 0 and 1, of four queries
    assert recall_at(3, [0, 1, 2, 8]) == 3 / 4
    assert recall_at(1, np.array([0, 1, 2, 8])) == 1 / 4


def test_an_expected_rank_is_compared_as_it_stands() -> None:
    assert recall_at(1, [0.5, 1.5]) == 1 / 2


def test_a_tie_across_the_border_counts_as_a_fraction() -> None:
    # First query: places 1, 2, 3, of which 1 is below 2. Second: place 0 for sure. Third: never.
    assert expected_hits(2, np.array([1, 0, 2]), np.array([3, 0, 5])).tolist() == pytest.approx([1 / 3, 1, 0])


def test_chances_keep_the_shape_and_the_gaps_of_a_table() -> None:
    # Places 1 to 4: of these 1 and 2 are below 3. Place 0 for sure. The second talk has no second round.
    best_st, worst_st = np.array([[1, 0], [5, np.nan]]), np.array([[4, 0], [5, np.nan]])
    assert expected_hits(3, best_st, worst_st).ravel().tolist() == pytest.approx([2 / 4, 1, 0, np.nan], nan_ok=True)


def test_constant_scores_give_the_recall_of_chance() -> None:
    scores_qn, targets_q = np.zeros((1, 10)), np.array([7])
    best_q, worst_q = (
        target_ranks(scores_qn, targets_q, "optimistic"),
        target_ranks(scores_qn, targets_q, "pessimistic"),
    )
    assert expected_hits(5, best_q, worst_q).tolist() == [5 / 10]


@settings(deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.integers(1, 6))
def test_expected_recall_is_the_mean_over_all_orders_of_equals(scores: list[int], k: int) -> None:
    scores_1n, target_1 = np.array([scores], dtype=np.float64), np.array([0])
    orders = [sorted(order, key=lambda row: -scores[row]) for order in permutations(range(len(scores)))]
    expected = np.mean([order.index(0) < k for order in orders])
    best, worst = (target_ranks(scores_1n, target_1, "optimistic"), target_ranks(scores_1n, target_1, "pessimistic"))
    assert expected_hits(k, best, worst).tolist() == pytest.approx([expected])


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.integers(1, 30))
def test_recall_is_the_mean_of_single_queries(places: list[int], k: int) -> None:
    assert recall_at(k, places) == pytest.approx(sum(recall_at(k, [place]) for place in places) / len(places))


def test_depths_and_ranks_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="k=0, but at least the first place"):
        recall_at(0, [1])
    with pytest.raises(ValueError, match="no ranks"):
        recall_at(1, [])
    with pytest.raises(ValueError, match="k=0, but at least the first place"):
        expected_hits(0, np.array([1]), np.array([1]))


def mean_recall(ranks_q: np.ndarray, depths: tuple[int, ...] = (1, 5, 10, 20)) -> float:
    return float(np.mean([recall_at(k, ranks_q) for k in depths]))


def ranks_of(percents: list[float], depths: tuple[int, ...]) -> np.ndarray:
    """Ranks of 10,000 queries whose R@k are these, to the second decimal."""
    counts = np.diff([0, *(round(percent * 100) for percent in percents), 10_000])
    return np.repeat([*(k - 1 for k in depths), 10**6], counts)


@pytest.mark.parametrize(
    ("subtasks", "printed"),
    [
        ([[27.38, 52.48, 63.50], [35.54, 61.16, 71.57], [37.90, 64.22, 74.06]], 54.20),  # ChatSearcher
        ([[15.94, 36.76, 48.60], [12.56, 29.65, 39.65], [14.36, 32.58, 42.80]], 30.32),  # FROMAGe
        ([[15.84, 34.46, 45.10], [14.15, 30.60, 39.56], [12.69, 27.19, 35.80]], 28.38),  # CLIP-t
        ([[12.33, 26.81, 35.15], [13.18, 28.56, 37.07]], 25.52),  # CLIP-ti: no text subtask
        ([[9.65, 20.96, 28.05], [9.65, 20.96, 28.05]], 19.55),  # CLIP-i
    ],
)
def test_the_averages_that_chatsearch_prints_recompute(subtasks: list[list[float]], printed: float) -> None:
    depths = (1, 5, 10)
    means = [mean_recall(ranks_of(percents, depths), depths) for percents in subtasks]
    assert 100 * np.mean(means) == pytest.approx(printed, abs=0.0051)


@pytest.mark.parametrize(
    ("percents", "printed"), [([51.51, 74.67, 80.66, 86.52], 73.34), ([28.94, 58.89, 70.42, 81.50], 59.94)]
)
def test_the_means_that_fashionmt_prints_recompute(percents: list[float], printed: float) -> None:
    assert 100 * mean_recall(ranks_of(percents, (1, 5, 10, 20))) == pytest.approx(printed, abs=0.0051)


def test_the_overall_mean_of_fashionmt_is_that_of_its_eight_recalls() -> None:
    combination, rollback = [51.51, 74.67, 80.66, 86.52], [28.94, 58.89, 70.42, 81.50]
    means = [mean_recall(ranks_of(percents, (1, 5, 10, 20))) for percents in (combination, rollback)]
    assert 100 * np.mean(means) == pytest.approx(66.64, abs=0.0051)
