from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test as scipy_permutation_test

from viewfinder.metrics import intervals as module
from viewfinder.metrics import permutation_test


def test_three_sessions_have_eight_choices_of_signs() -> None:
    # Differences 1, 2, 4: only +++ and --- are as far from 0 as 7.
    assert permutation_test([1, 2, 4], [0, 0, 0]) == 2 / 8
    # Differences 1, 2, -4 sum to -1: as far or farther are all but none, for the least distance is 1.
    assert permutation_test([1, 2, 0], [0, 0, 4]) == 8 / 8
    # Differences -1, 2, 4 sum to 5: 7 and 5, each with both signs.
    assert permutation_test([0, 2, 4], [1, 0, 0]) == 4 / 8


def test_sessions_that_are_equal_change_nothing() -> None:
    assert permutation_test([1, 2, 4, 5, 5], [0, 0, 0, 5, 5]) == permutation_test([1, 2, 4], [0, 0, 0])
    assert permutation_test([3, 3], [3, 3]) == 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
def test_few_sessions_are_counted_choice_by_choice(differences: list[int]) -> None:
    sums = [abs(sum(signed)) for signed in product(*[(one, -one) for one in differences])]
    expected = np.mean([one >= abs(sum(differences)) for one in sums])
    assert permutation_test(differences, [0] * len(differences)) == pytest.approx(expected)


def test_tenths_that_tie_but_for_rounding_are_ties() -> None:
    # 0.1 + 0.2 - 0.3 is not quite 0 in floats; all eight choices are at least as far from 0 as that.
    assert permutation_test([0.1, 0.2, 0.0], [0.0, 0.0, 0.3]) == 1


def test_drawn_signs_come_near_the_exact_share() -> None:
    random = np.random.default_rng(0)
    first_s, second_s = random.normal(0.5, 1, 12), random.normal(0, 1, 12)
    exact = permutation_test(first_s, second_s)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_EXACT", 0)
        drawn = permutation_test(first_s, second_s, resamples=20_000)
    assert drawn == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 20_000) ** 0.5 + 1 / 20_000)


def test_scipy_counts_the_same() -> None:
    random = np.random.default_rng(4)
    first_s, second_s = random.integers(0, 9, 10).astype(float), random.integers(0, 9, 10).astype(float)
    theirs = scipy_permutation_test((first_s, second_s), lambda a, b: np.mean(a - b), permutation_type="samples")
    assert permutation_test(first_s, second_s) == pytest.approx(theirs.pvalue)


def test_p_is_never_zero_and_the_seed_repeats_it() -> None:
    first_s, second_s = np.ones(400), np.zeros(400)
    assert permutation_test(first_s, second_s, resamples=99) == 1 / 100
    random = np.random.default_rng(5)
    noise_s = random.normal(0.05, 1, 400)
    assert permutation_test(noise_s, second_s, seed=1) == permutation_test(noise_s, second_s, seed=1)
    assert permutation_test(noise_s, second_s, seed=1) != permutation_test(noise_s, second_s, seed=2)


def test_equal_systems_are_found_different_as_often_as_the_level_says() -> None:
    random = np.random.default_rng(6)
    found = [permutation_test(random.normal(size=30), random.normal(size=30), resamples=400) for _ in range(400)]
    assert 0.02 <= np.mean(np.array(found) < 0.05) <= 0.08


@pytest.mark.parametrize(("first", "second"), [([1, 2], [1]), ([], []), ([1.0, np.nan], [1.0, 2.0])])
def test_sessions_that_cannot_be_paired_are_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="the same ones are needed"):
        permutation_test(first, second)
