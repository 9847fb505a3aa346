"""Chances of scores where nobody measured what they mean, and the words for chances."""

from __future__ import annotations

import numpy as np
import pytest

from viewfinder.search.verdicts import MIN_LIKELY, MIN_MAYBE, judge_matches, judge_result, outlier_chance


def test_the_chance_of_a_score_is_the_logistic_curve_of_how_far_it_stands_out() -> None:
    total_n = np.array([0.2, 0.2, 0.2, 0.6], np.float32)  # mean 0.3, deviation sqrt(0.03): 0.6 lies 1.732 above it
    chance = outlier_chance(0.6, float(total_n.mean()), float(total_n.std()))
    assert chance == pytest.approx(1 / (1 + np.exp(-(2 * 3**0.5 - 6))), abs=1e-5)
    # (0.5 - 0.1) / 0.2 = 2 deviations: 2 x 2 - 6 = -2
    assert outlier_chance(0.5, mean=0.1, deviation=0.2) == pytest.approx(1 / (1 + np.exp(2)))


def test_words_for_chances() -> None:
    assert judge_matches((MIN_LIKELY, MIN_MAYBE, MIN_MAYBE - 0.01)) == ["likely", "maybe", "unlikely"]
    assert [judge_result(chance) for chance in (MIN_LIKELY, MIN_MAYBE, MIN_MAYBE - 0.01, None)] == [
        "found",
        "unsure",
        "nothing",
        "nothing",
    ]


def test_in_a_collection_of_equal_pictures_nothing_stands_out() -> None:
    assert judge_matches([outlier_chance(0.4, mean=0.4, deviation=0.0)]) == ["unlikely"]
