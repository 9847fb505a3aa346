"""Labels by an encoder's own words: how they are said, standings and curves by hand, and what captions teach."""

from __future__ import annotations

import math

import numpy as np
import pytest

from viewfinder.questioners.photographs import count_mentions, facets, label_columns
from viewfinder.questioners.zero_shot import (
    SAID,
    TEMPLATES,
    LabelCurves,
    choose_facets,
    find_bias,
    fit_curve,
    list_phrases,
    measure_likelihood,
    shipped_curves,
    stand_out,
)

LABELS = sum(len(facet.labels) for facet in facets())


def test_every_label_is_said_but_those_that_say_that_there_is_none() -> None:
    silent = [at for at, said in enumerate(list_phrases()) if not said]
    nobody = [
        label_columns()[facet.name].start + facet.labels.index(facet.otherwise) for facet in facets() if facet.otherwise
    ]
    assert silent == nobody and len(list_phrases()) == LABELS
    assert {facet.name for facet in facets()} <= TEMPLATES.keys()
    assert SAID.keys() <= {(facet.name, label) for facet in facets() for label in facet.labels}


def test_labels_are_understood_as_what_they_are_said_to_be() -> None:
    """The words of captions that name a label name it in its phrases, too, in nine of ten labels."""
    right = [
        count_mentions([phrase])[at] > 0
        for facet in facets()
        for at in range(label_columns()[facet.name].start, label_columns()[facet.name].stop)
        for phrase in list_phrases()[at][:1]
    ]
    assert np.mean(right) > 0.85


def test_a_standing_is_in_deviations_of_the_whole_facet() -> None:
    phrases = [phrase for said in list_phrases() for phrase in said]
    phrases_pd = np.zeros((len(phrases), 2))
    first = phrases.index("a photo taken indoors")
    phrases_pd[first], phrases_pd[first + 1] = (1.0, 0.0), (0.0, 1.0)
    sample_kd = np.array([[0.0, 0.0], [0.2, 0.0], [0.4, 0.0]])
    # Likeness to "indoors": 0, 0.2 and 0.4, mean 0.2, deviation sqrt(0.08 / 3); to "outdoors" always 0. The unit is the
    # root mean square of both: sqrt(0.08 / 6).
    standing_nl = stand_out(sample_kd, phrases_pd, sample_kd)
    columns = label_columns()["indoors"]
    unit = math.sqrt(0.08 / 6)
    np.testing.assert_allclose(standing_nl[:, columns.start], [-0.2 / unit, 0, 0.2 / unit], atol=1e-5)
    np.testing.assert_allclose(standing_nl[:, columns.start + 1], 0, atol=1e-6)


def test_nobody_is_there_as_far_as_all_others_are_not() -> None:
    phrases = [phrase for said in list_phrases() for phrase in said]
    drawn = np.random.default_rng(1)
    phrases_pd, vectors_nd = drawn.standard_normal((len(phrases), 8)), drawn.standard_normal((20, 8))
    standing_nl, who = stand_out(vectors_nd, phrases_pd, vectors_nd), label_columns()["who"]
    np.testing.assert_allclose(standing_nl[:, who.stop - 1], -standing_nl[:, who.start : who.stop - 1].max(axis=1))


def test_a_label_holds_as_often_as_captions_name_it() -> None:
    z_n = np.random.default_rng(0).standard_normal(100_000)
    slopes, shares = np.array([0.5, 2.0]), np.array([0.3, 0.05])
    mean_l = LabelCurves(slopes, find_bias(slopes, shares)).chances(np.stack([z_n, z_n], axis=1)).mean(axis=0)
    np.testing.assert_allclose(mean_l, shares, atol=0.015)


def test_the_curves_that_ship_have_a_number_for_every_label_and_rise() -> None:
    curves = shipped_curves()
    assert curves.slope_l.shape == curves.bias_l.shape == (LABELS,)
    assert (curves.slope_l > 0).all() and np.isfinite(curves.bias_l).all()


def test_captions_teach_slope_and_bias() -> None:
    drawn = np.random.default_rng(0)
    z_n = drawn.standard_normal(20_000)
    holds_n = drawn.random(20_000) < 1 / (1 + np.exp(-(2.0 * z_n - 1.0)))
    assert fit_curve(z_n, holds_n, 1.0, 0.0) == pytest.approx((2.0, -1.0), abs=0.1)
    assert fit_curve(np.zeros(0), np.zeros(0, bool), 1.3, -2.0) == pytest.approx((1.3, -2.0)), "no picture, no change"


def test_a_few_captions_move_a_curve_a_little() -> None:
    slope, bias = fit_curve(np.array([0.0]), np.array([True]), 1.0, -2.0)
    # One picture at 0 pulls by 1 - chance at the new bias: bias = -2 + (1 - sigmoid(bias)), about -1.2.
    assert slope == pytest.approx(1.0) and bias == pytest.approx(-2 + 1 - 1 / (1 + math.exp(-bias)), abs=1e-4)


def test_the_facet_is_told_by_whoever_tells_more() -> None:
    holds_nl = np.zeros((4, LABELS), bool)
    holds_nl[:2, label_columns()["place"].start] = True
    sure_nl, vague_nl = np.where(holds_nl, 0.9, 0.1), np.full((4, LABELS), 0.5)
    mixed_nl = vague_nl.copy()
    mixed_nl[:, label_columns()["place"]] = sure_nl[:, label_columns()["place"]]
    assert choose_facets(mixed_nl, vague_nl, holds_nl) == {"place"}
    # Each of the labels of a place costs log2 0.9, as each is foretold with 0.9.
    places = label_columns()["place"].stop - label_columns()["place"].start
    assert measure_likelihood(sure_nl, holds_nl)["place"] == pytest.approx(places * math.log2(0.9))
