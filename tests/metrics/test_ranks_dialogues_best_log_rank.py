from __future__ import annotations

from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from viewfinder.metrics import best_log_rank_integral

RANKS_ST = arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(2, 6)), elements=st.integers(0, 50))


def test_it_is_the_area_under_the_best_log_rank_over_its_length() -> None:
    # Places 8, 4, 6, 1: the best so far are 8, 4, 4, 1.
    first = ((log(8) + log(4)) / 2 + (log(4) + log(4)) / 2 + (log(4) + log(1)) / 2) / 3
    second = (log(2) + log(2)) / 2  # place 2 throughout
    ranks_st = np.array([[7, 3, 5, 0], [1, 1, 1, 1]])
    assert best_log_rank_integral(ranks_st).tolist() == pytest.approx([first, second])
    assert best_log_rank_integral(ranks_st).mean() == pytest.approx((first + second) / 2)


def test_eleven_rounds_have_ten_trapezoids() -> None:
    ranks_1t = np.array([[99, *[0] * 10]])  # (ln 100 + ln 1) / 2, then nine times 0
    assert best_log_rank_integral(ranks_1t).tolist() == pytest.approx([log(100) / 2 / 10])


def test_a_target_that_is_first_throughout_scores_nothing() -> None:
    assert best_log_rank_integral(np.zeros((2, 3))).tolist() == [0, 0]


@settings(deadline=None)
@given(RANKS_ST)
def test_it_is_that_of_trapezoids_drawn_one_by_one(ranks_st: np.ndarray) -> None:
    slow = []
    for row in ranks_st.tolist():
        best = [log(min(row[: t + 1]) + 1) for t in range(len(row))]
        slow.append(sum((a + b) / 2 for a, b in pairwise(best)) / (len(row) - 1))
    assert best_log_rank_integral(ranks_st).tolist() == pytest.approx(slow)


def test_a_single_round_has_no_area() -> None:
    with pytest.raises(ValueError, match="needs two"):
        best_log_rank_integral(np.array([[3]]))
