from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.measures import expected_recall_at, recall_at, subset_bounds


def test_the_rank_counts_the_subset_without_the_reference() -> None:
    scores_qn = np.array([[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]])
    # Of 0.8, 0.7, 0.6, 0.4 the reference 0.8 is taken out: above 0.6 there is 0.7 alone.
    best_q, worst_q = subset_bounds(scores_qn, np.array([3]), np.array([1]), [np.array([5, 1, 3, 2])])
    assert (best_q.tolist(), worst_q.tolist()) == ([1], [1])
    assert (recall_at(1, worst_q), recall_at(2, worst_q)) == (0, 1)


def test_chance_is_one_in_five_of_six_as_the_reference_is_out() -> None:
    scores_qn, subset = np.zeros((1, 40)), np.arange(10, 16)
    bounds = subset_bounds(scores_qn, np.array([12]), np.array([10]), [subset])
    assert [expected_recall_at(k, *bounds) for k in (1, 2, 3)] == pytest.approx([1 / 5, 2 / 5, 3 / 5])


@settings(deadline=None)
@given(st.lists(st.integers(0, 3).map(float), min_size=8, max_size=8), st.permutations(range(8)))
def test_it_is_the_place_in_the_sorted_rest_of_the_subset(scores: list[float], order: list[int]) -> None:
    reference, target, *others = order[:6]
    best_q, worst_q = subset_bounds(
        np.array([scores]), np.array([target]), np.array([reference]), [np.array(sorted(order[:6]))]
    )
    better = [row for row in others if scores[row] > scores[target]]
    equal = [row for row in others if scores[row] == scores[target]]
    assert (best_q[0], worst_q[0]) == (len(better), len(better) + len(equal))


@pytest.mark.parametrize(("target", "reference"), [(4, 0), (0, 0)])
def test_a_target_that_cannot_be_found_is_refused(target: int, reference: int) -> None:
    with pytest.raises(ValueError, match=f"target {target} of query 0: it must be in its subset"):
        subset_bounds(np.zeros((1, 5)), np.array([target]), np.array([reference]), [np.array([0, 1, 2])])


def test_a_query_without_a_subset_is_refused() -> None:
    with pytest.raises(ValueError, match="0 subsets for 1 queries"):
        subset_bounds(np.zeros((1, 5)), np.array([1]), np.array([0]), [])
