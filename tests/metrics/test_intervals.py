from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.metrics import Interval, bootstrap_interval, difference_interval, median_interval, seeded_interval
from viewfinder.metrics import intervals as module


def test_two_sessions_have_three_possible_means() -> None:
    # Drawn twice from 0 and 1 the mean is 0, 1/2, 1 with chances 1/4, 1/2, 1/4: the middle 95 % reaches both ends.
    assert bootstrap_interval([0, 1]) == Interval(mean=0.5, low=0.0, high=1.0)


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
        patch.setattr(module, "MAX_DRAWN_AT_ONCE", at_once)
        found = bootstrap_interval(values, resamples=resamples, seed=2)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


@pytest.mark.parametrize(("values", "said"), [([], "0 sessions"), ([1, np.nan], "only finite values")])
def test_what_has_no_interval_is_refused(values: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bootstrap_interval(values)
    with pytest.raises(ValueError, match=said):
        median_interval(values)


def test_the_difference_is_that_of_the_same_sessions() -> None:
    # Session by session the first is better by 1; apart, the two would overlap widely.
    first_s, second_s = [1, 11, 101, 1001], [0, 10, 100, 1000]
    assert difference_interval(first_s, second_s) == Interval(1.0, 1.0, 1.0)
    assert difference_interval(second_s, first_s) == Interval(-1.0, -1.0, -1.0)
    with pytest.raises(ValueError, match="4 and 1 sessions"):
        difference_interval(first_s, [1])


def test_the_median_of_three_sessions_has_three_values() -> None:
    # Drawn three times from 0, 1, 9 the median is 0 if 0 comes at least twice: 7 of 27; 9 likewise; else 1.
    assert median_interval([0, 1, 9]) == Interval(1.0, 0.0, 9.0)


def test_one_seed_is_the_plain_interval() -> None:
    values_s = np.random.default_rng(3).normal(size=40)
    assert seeded_interval(values_s[None], seed=5) == bootstrap_interval(values_s, seed=5)


def test_two_seeds_of_one_session_have_three_possible_means() -> None:
    # Drawn twice from the seeds' 0 and 1: mean 0, 1/2, 1 with chances 1/4, 1/2, 1/4.
    values_es = np.array([[0.0], [1.0]])
    assert seeded_interval(values_es) == Interval(0.5, 0.0, 1.0)


def test_seeds_and_sessions_are_both_drawn() -> None:
    # The mean of the two seeds is 0, 1/2 or 1, with chances 1/4, 1/2, 1/4; that of the sessions lies around it. The
    # lowest 2.5 % are the lowest tenth of those around 0, which ends 1.28 deviations below it.
    seeds_e, sessions_s = np.array([0.0, 1.0]), np.arange(30) / 10
    found = seeded_interval(seeds_e[:, None] + sessions_s, resamples=20_000)
    assert (found.high - found.low) / 2 == pytest.approx(0.5 + 1.28 * (sessions_s.var() / 30) ** 0.5, rel=0.05)


def test_equal_seeds_leave_the_doubt_of_the_sessions_alone() -> None:
    values_s = np.random.default_rng(4).normal(size=50)
    plain, seeded = bootstrap_interval(values_s), seeded_interval(np.stack([values_s] * 3))
    assert (seeded.low, seeded.high) == pytest.approx((plain.low, plain.high), abs=0.02)
