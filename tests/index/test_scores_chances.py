"""Chances of scores, and the words for them."""

from __future__ import annotations

import numpy as np
import pytest

from viewfinder.encoders.base import Calibration
from viewfinder.index.scores import LIKELY, MAYBE, ChanceOf, calibrate, judge_matches, judge_result
from viewfinder.retrievers import Part, Query


def test_the_chance_of_a_score_is_the_logistic_curve() -> None:
    chance_of = ChanceOf(mean=0.1, deviation=0.2, score_weight=2.0, outlier_weight=3.0, bias=-4.0)
    # (0.5 - 0.1) / 0.2 = 2 deviations: 2 x 0.5 + 3 x 2 - 4 = 3
    assert chance_of(0.5) == pytest.approx(1 / (1 + np.exp(-3)))


def test_words_for_chances() -> None:
    assert judge_matches((LIKELY, MAYBE, MAYBE - 0.01)) == ["likely", "maybe", "unlikely"]
    assert [judge_result(chance) for chance in (LIKELY, MAYBE, MAYBE - 0.01, None)] == [
        "found",
        "unsure",
        "nothing",
        "nothing",
    ]


def test_regions_and_pictures_are_judged_by_how_far_they_stand_out() -> None:
    known = Calibration(score_weight=10.0, outlier_weight=0.0, bias=0.0)
    total_n = np.array([0.2, 0.2, 0.2, 0.6], np.float32)  # mean 0.3, deviation sqrt(0.03): 0.6 lies 1.732 above it
    for kind in ("regions", "picture"):
        query = Query((Part(kind, 1, "", 1.0, np.ones(2)), Part("words", 2, "", 1.0, np.ones(2))))
        assert calibrate(query, total_n, known)(0.6) == pytest.approx(1 / (1 + np.exp(-(2 * 3**0.5 - 6))), abs=1e-5)
    words = Query((Part("words", 1, "", 1.0, np.ones(2)),))
    assert calibrate(words, total_n, known)(0.6) == pytest.approx(1 / (1 + np.exp(-6)), abs=1e-5)


def test_in_a_collection_of_none_or_of_equal_pictures_nothing_stands_out() -> None:
    query = Query((Part("regions", 1, "", 1.0, np.ones(2)),))
    for total_n in (np.zeros(0, np.float32), np.full(3, 0.4, np.float32)):
        curve = calibrate(query, total_n, None)
        assert judge_matches([curve(curve.mean)]) == ["unlikely"]
