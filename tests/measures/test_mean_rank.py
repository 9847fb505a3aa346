from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.measures import mean_rank, median_rank


def test_the_mean_rank_is_moved_by_a_lost_target_and_the_median_is_not() -> None:
    assert mean_rank([0, 1, 2, 997]) == (0 + 1 + 2 + 997) / 4
    assert median_rank([0, 1, 2, 997]) == (1 + 2) / 2
    assert median_rank([997, 0, 1]) == 1


def test_halves_of_tied_ranks_are_kept() -> None:
    assert mean_rank([0.5, 2]) == (0.5 + 2) / 2


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30))
def test_means_and_medians_are_those_of_the_standard_library(places: list[int]) -> None:
    assert mean_rank(places) == pytest.approx(statistics.fmean(places))
    assert median_rank(places) == statistics.median(places)


def test_no_ranks_have_no_mean() -> None:
    with pytest.raises(ValueError, match="no ranks"):
        mean_rank([])
    with pytest.raises(ValueError, match="no ranks"):
        median_rank([])
