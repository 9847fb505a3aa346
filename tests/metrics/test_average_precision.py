"""mAP@k, against sums that can be followed by hand, and against every order of equal scores."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest

from viewfinder.metrics import average_precision, score_bounds


def at(k: int, *ranks: int) -> float:
    return average_precision(k, np.array(ranks), np.array(ranks))


def test_right_pictures_at_places_1_3_and_10_have_the_precisions_1_and_two_thirds_among_the_first_five() -> None:
    assert at(5, 0, 2, 9) == pytest.approx((1 / 1 + 2 / 3) / 3)
    assert at(10, 0, 2, 9) == pytest.approx((1 / 1 + 2 / 3 + 3 / 10) / 3)


def test_the_divisor_is_the_smaller_of_k_and_the_number_of_right_pictures() -> None:
    seven_first = range(7)
    assert at(5, *seven_first) == 1.0  # five of five places, although two more are right
    assert at(5, 0, 6, 7, 8, 9, 10, 11) == pytest.approx((1 / 1) / 5)
    assert at(5, 1) == pytest.approx(1 / 2)  # one right picture: its reciprocal place


def test_a_right_picture_beyond_k_counts_for_nothing() -> None:
    assert at(5, 5) == 0.0
    assert at(5, 4) == pytest.approx(1 / 5)


def test_the_order_in_which_the_right_pictures_are_named_does_not_matter() -> None:
    assert at(5, 4, 0, 2) == at(5, 0, 2, 4) == pytest.approx((1 / 1 + 2 / 3 + 3 / 5) / 3)


SCORES = [0.9, 0.5, 0.5, 0.5, 0.1]


def _of_every_order(k: int, right: tuple[int, ...]) -> list[float]:
    """AP@k by its definition for all orders of these pictures in which no score rises."""
    found = []
    for order in permutations(range(len(SCORES))):
        if all(SCORES[a] >= SCORES[b] for a, b in pairwise(order)):
            hits = [picture in right for picture in order]
            precisions = [sum(hits[: place + 1]) / (place + 1) for place in range(min(k, len(hits))) if hits[place]]
            found.append(sum(precisions) / min(k, len(right)))
    return found


@pytest.mark.parametrize("right", [(1, 2), (0, 3), (1, 2, 3), (4,), (0, 2, 4), (1,)])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_equal_scores_are_counted_as_the_mean_the_best_or_the_worst_of_their_orders(
    k: int, right: tuple[int, ...]
) -> None:
    bounds = [score_bounds(np.array([SCORES]), np.array([picture])) for picture in right]
    best, worst = (np.array([bound[which][0] for bound in bounds]) for which in (0, 1))
    of_orders = _of_every_order(k, right)
    assert average_precision(k, best, worst) == pytest.approx(sum(of_orders) / len(of_orders))
    assert average_precision(k, best, worst, "optimistic") == pytest.approx(max(of_orders))
    assert average_precision(k, best, worst, "pessimistic") == pytest.approx(min(of_orders))


def test_a_query_without_a_right_picture_has_no_value() -> None:
    with pytest.raises(ValueError, match="without a right picture"):
        at(5)
    with pytest.raises(ValueError, match="k=0"):
        at(0, 1)
    assert math.isnan(average_precision(5, np.array([np.nan]), np.array([np.nan])))
