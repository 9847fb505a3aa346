from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.metrics import mean_reciprocal_rank


def test_the_reciprocal_counts_places_from_one() -> None:
    assert mean_reciprocal_rank([0, 1, 4]) == pytest.approx((1 / 1 + 1 / 2 + 1 / 5) / 3)
    assert mean_reciprocal_rank([0, 0]) == 1


def test_an_expected_rank_gives_the_reciprocal_of_the_mean_place() -> None:
    assert mean_reciprocal_rank([0.5]) == 1 / (0.5 + 1)


@settings(deadline=None)
@given(st.lists(st.integers(0, 100), min_size=1, max_size=20), st.integers(1, 50))
def test_moving_targets_down_lowers_it(places: list[int], steps: int) -> None:
    lower = mean_reciprocal_rank([place + steps for place in places])
    assert 0 < lower < mean_reciprocal_rank(places) <= 1


def test_no_ranks_have_no_reciprocal() -> None:
    with pytest.raises(ValueError, match="no ranks"):
        mean_reciprocal_rank([])
