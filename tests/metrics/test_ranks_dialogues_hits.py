from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from viewfinder.metrics import has_hit, recall_at

RANKS_ST = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(0, 8).map(float))


def test_a_dialogue_that_hit_once_stays_a_hit() -> None:
    ranks_st = np.array(
        [
            [30, 4, 50],  # hits at round 1, and is over
            [12, 11, 10],  # rank 10 is the eleventh place: never among the first 10
            [9, 9, 9],  # hits from the caption on
            [99, 40, 0],  # hits at round 2
        ]
    )
    assert has_hit(10, ranks_st).mean(axis=0).tolist() == [1 / 4, 2 / 4, 3 / 4]


def test_a_round_that_a_dialogue_does_not_have_is_no_hit() -> None:
    ranks_st = np.array([[20.0, np.nan, np.nan], [3.0, np.nan, np.nan]])
    assert has_hit(10, ranks_st).tolist() == [[False] * 3, [True] * 3]


@settings(deadline=None)
@given(RANKS_ST, st.integers(1, 9))
def test_hits_are_those_counted_dialogue_by_dialogue(ranks_st: np.ndarray, k: int) -> None:
    sessions, rounds = ranks_st.shape
    counted = [sum(min(row[: t + 1]) < k for row in ranks_st.tolist()) / sessions for t in range(rounds)]
    assert has_hit(k, ranks_st).mean(axis=0).tolist() == pytest.approx(counted)


@settings(deadline=None)
@given(RANKS_ST, st.integers(1, 9))
def test_hits_never_fall_and_begin_as_recall(ranks_st: np.ndarray, k: int) -> None:
    hits_t = has_hit(k, ranks_st).mean(axis=0)
    assert (np.diff(hits_t) >= 0).all()
    assert hits_t[0] == pytest.approx(recall_at(k, ranks_st[:, 0]))


def test_impossible_ranks_are_refused() -> None:
    with pytest.raises(ValueError, match="rank -1"):
        has_hit(10, np.array([[3, -1]]))
    with pytest.raises(ValueError, match="k=0"):
        has_hit(0, np.array([[3]]))
