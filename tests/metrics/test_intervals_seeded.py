"""Tests over seeds and sessions, and Holm's correction, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from viewfinder.metrics import correct_holm, seeded_test


def test_one_seed_is_the_t_test_of_its_sessions() -> None:
    values = [1.0, 0.0, 0.0, 1.0, -1.0, 1.0]
    assert seeded_test(np.array([values]))[0] == pytest.approx(ttest_1samp(values, 0, alternative="greater").pvalue)
    assert seeded_test(np.array([values]))[1] == pytest.approx(ttest_1samp(values, 0, alternative="less").pvalue)


def test_seeds_and_sessions_both_count_as_drawn() -> None:
    # Means of seeds 1, 2, 6: variance 7, over 3 seeds 7/3. Means of sessions 2, 4: variance 2, over 2 sessions 1.
    values_es = np.array([[0.0, 2.0], [1.0, 3.0], [5.0, 7.0]])
    freedom = (7 / 3 + 1) ** 2 / ((7 / 3) ** 2 / 2 + 1**2 / 1)
    assert seeded_test(values_es)[0] == pytest.approx(t.sf(3 / (10 / 3) ** 0.5, freedom))


def test_many_sessions_do_not_make_up_for_seeds_that_disagree() -> None:
    # Seeds find +1, +2 and +9 in each of a thousand sessions: certain, if the seeds were all there are.
    values_es = np.repeat([[1.0], [2.0], [9.0]], 1000, axis=1)
    assert seeded_test(values_es)[0] == pytest.approx(ttest_1samp([1, 2, 9], 0, alternative="greater").pvalue)
    assert seeded_test(values_es)[0] > 0.05


def test_a_difference_that_never_varies_needs_no_test() -> None:
    assert seeded_test(np.zeros((3, 5))) == (1.0, 1.0)
    assert seeded_test(np.ones((3, 5))) == (0.0, 1.0)


def test_a_true_null_is_rejected_about_as_often_as_it_should() -> None:
    # Seeds vary by 0.3, sessions and what seeds do to single sessions by 1: seeds count most.
    random = np.random.default_rng(0)
    draws = [
        random.normal(0, 0.3, (3, 1)) + random.normal(0, 1, (1, 200)) + random.normal(0, 1, (3, 200))
        for _ in range(400)
    ]
    assert 0.02 < np.mean([min(seeded_test(draw)) < 0.025 for draw in draws]) < 0.1


def test_a_session_alone_cannot_be_tested() -> None:
    with pytest.raises(ValueError, match="at least two sessions"):
        seeded_test(np.ones((3, 1)))


def test_holm_counts_the_smallest_most_often() -> None:
    assert correct_holm([0.01, 0.04, 0.03]) == pytest.approx(
        [0.03, 0.06, 0.06]
    )  # 3 x .01; 2 x .03; 1 x .04, not below .06
    assert correct_holm([0.5, 0.9]) == [1.0, 1.0]
    assert correct_holm([]) == []
