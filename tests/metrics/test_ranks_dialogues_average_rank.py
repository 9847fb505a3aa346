from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from viewfinder.metrics import carry_ranks, freeze_ranks, has_hit

RANKS_ST = arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.integers(0, 8))
DIALOGUES_ST = np.array([[30, 4, 50], [12, 11, 10], [2, 20, 0]])


def test_the_running_average_counts_every_dialogue_as_it_goes_on() -> None:
    places = [(31 + 13 + 3) / 3, (5 + 12 + 21) / 3, (51 + 11 + 1) / 3]  # from 1
    assert (carry_ranks(DIALOGUES_ST).mean(axis=0) + 1).tolist() == pytest.approx(places)


def test_the_frozen_average_keeps_the_rank_of_the_first_hit() -> None:
    # The first dialogue stays at 4, its hit; the second never hits; the third stays at 2, though 0 comes later.
    assert freeze_ranks(10, DIALOGUES_ST).tolist() == [[30, 4, 4], [12, 11, 10], [2, 2, 2]]
    places = [(31 + 13 + 3) / 3, (5 + 12 + 3) / 3, (5 + 11 + 3) / 3]
    assert (freeze_ranks(10, DIALOGUES_ST).mean(axis=0) + 1).tolist() == pytest.approx(places)


def test_a_round_that_a_dialogue_does_not_have_leaves_its_target_where_it_was() -> None:
    ranks_st = np.array([[30, np.nan], [10, 0]])
    assert (carry_ranks(ranks_st).mean(axis=0) + 1).tolist() == [(31 + 11) / 2, (31 + 1) / 2]


@settings(deadline=None)
@given(RANKS_ST, st.integers(1, 9))
def test_frozen_ranks_are_those_found_dialogue_by_dialogue(ranks_st: np.ndarray, k: int) -> None:
    for row, kept in zip(ranks_st.tolist(), freeze_ranks(k, ranks_st).tolist(), strict=True):
        end = next((t for t, rank in enumerate(row) if rank < k), len(row) - 1)
        assert kept == row[:end] + [row[end]] * (len(row) - end)


@settings(deadline=None)
@given(RANKS_ST, st.integers(1, 9))
def test_the_frozen_ranks_below_k_are_the_hits(ranks_st: np.ndarray, k: int) -> None:
    assert ((freeze_ranks(k, ranks_st) < k) == has_hit(k, ranks_st)).all()


def test_a_depth_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="k=0"):
        freeze_ranks(0, DIALOGUES_ST)
