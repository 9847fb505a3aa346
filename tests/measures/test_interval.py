from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.measures import Interval, bootstrap_interval
from viewfinder.measures import interval as module


def test_two_sessions_have_three_possible_means() -> None:
    # Drawn twice from 0 and 1 the mean is 0, 1/2, 1 with chances 1/4, 1/2, 1/4: the middle 95 % reaches both
    # ends, the middle 40 % (from 30 % to 70 %) is 1/2 alone.
    assert bootstrap_interval([0, 1]) == Interval(mean=0.5, low=0.0, high=1.0)
    assert bootstrap_interval([0, 1], level=0.4) == Interval(mean=0.5, low=0.5, high=0.5)


def test_equal_sessions_leave_no_doubt() -> None:
    assert bootstrap_interval([3, 3, 3]) == Interval(3.0, 3.0, 3.0)


def test_a_share_of_many_sessions_has_the_width_of_the_normal_law() -> None:
    hits_s = np.arange(1000) < 300
    found = bootstrap_interval(hits_s.astype(int))
    half = 1.96 * (0.3 * 0.7 / 1000) ** 0.5  # the standard error of a share of 0.3
    assert (found.low, found.high) == pytest.approx((0.3 - half, 0.3 + half), abs=0.002)


def test_the_interval_holds_the_true_mean_about_19_times_in_20() -> None:
    random = np.random.default_rng(5)
    found = [bootstrap_interval(random.normal(7, 2, 60), resamples=500, seed=i) for i in range(300)]
    assert 0.91 <= np.mean([one.low <= 7 <= one.high for one in found]) <= 0.98


def test_the_same_seed_gives_the_same_ends_and_another_seed_others() -> None:
    values_s = np.random.default_rng(1).normal(size=50)
    assert bootstrap_interval(values_s, seed=3) == bootstrap_interval(values_s, seed=3)
    assert bootstrap_interval(values_s, seed=3) != bootstrap_interval(values_s, seed=4)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 40))
def test_drawing_in_parts_changes_nothing(values: list[int], at_once: int) -> None:
    random, resamples = np.random.default_rng(2), 50
    means = [np.mean([values[random.integers(0, len(values))] for _ in values]) for _ in range(resamples)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DRAWN_AT_ONCE", at_once)
        found = bootstrap_interval(values, resamples=resamples, seed=2)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


@pytest.mark.parametrize(
    ("values", "level", "said"),
    [([], 0.95, "0 sessions"), ([1, np.nan], 0.95, "only finite values"), ([1, 2], 95.0, "level=95")],
)
def test_what_has_no_interval_is_refused(values: list[float], level: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bootstrap_interval(values, level=level)
