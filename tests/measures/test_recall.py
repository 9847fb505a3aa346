from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.measures import expected_recall_at, ranks, recall_at


def test_recall_at_k_counts_the_ranks_below_k() -> None:
    assert recall_at(2, [0, 1, 2, 8]) == 2 / 4  # ranks are 0-based: 0 and 1, of four queries
    assert recall_at(3, [0, 1, 2, 8]) == 3 / 4
    assert recall_at(1, np.array([0, 1, 2, 8])) == 1 / 4


def test_an_expected_rank_is_compared_as_it_stands() -> None:
    assert recall_at(1, [0.5, 1.5]) == 1 / 2


def test_a_tie_across_the_border_counts_as_a_fraction() -> None:
    # First query: places 1, 2, 3, of which 1 is below 2. Second: place 0 for sure. Third: never.
    assert expected_recall_at(2, [1, 0, 2], [3, 0, 5]) == pytest.approx((1 / 3 + 1 + 0) / 3)


def test_constant_scores_give_the_recall_of_chance() -> None:
    scores_qn, targets_q = np.zeros((1, 10)), np.array([7])
    best_q, worst_q = (ranks(scores_qn, targets_q, "optimistic"), ranks(scores_qn, targets_q, "pessimistic"))
    assert expected_recall_at(5, best_q, worst_q) == 5 / 10


@settings(deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.integers(1, 6))
def test_expected_recall_is_the_mean_over_all_orders_of_equals(scores: list[int], k: int) -> None:
    scores_1n, target_1 = np.array([scores], dtype=np.float64), np.array([0])
    orders = [sorted(order, key=lambda row: -scores[row]) for order in permutations(range(len(scores)))]
    expected = np.mean([order.index(0) < k for order in orders])
    best, worst = (ranks(scores_1n, target_1, "optimistic"), ranks(scores_1n, target_1, "pessimistic"))
    assert expected_recall_at(k, best, worst) == pytest.approx(expected)


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.integers(1, 30))
def test_recall_is_the_mean_of_single_queries(places: list[int], k: int) -> None:
    assert recall_at(k, places) == pytest.approx(sum(recall_at(k, [place]) for place in places) / len(places))


def test_depths_and_ranks_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="k=0, but at least the first place"):
        recall_at(0, [1])
    with pytest.raises(ValueError, match="no ranks"):
        recall_at(1, [])
    with pytest.raises(ValueError, match="same queries"):
        expected_recall_at(1, [3], [1])
    with pytest.raises(ValueError, match="same queries"):
        expected_recall_at(1, [1, 1], [1])
