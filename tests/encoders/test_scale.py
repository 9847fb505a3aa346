"""The scale of an encoder, by hand: deviations in a library against the starter's, and what a checkpoint says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from viewfinder.encoders.measured_scale import (
    BOX_PICTURES,
    BOX_TEMPERATURE,
    BOX_TEXTS,
    BOX_WORDS,
    measure_apart,
    measure_contrast,
    measure_scale,
    measure_texts,
)
from viewfinder.encoders.scale import BACKGROUND_SHARE, BOX, Scale, find_scale, find_temperature, share_background
from viewfinder.encoders.starter import StarterEncoder

SAYINGS_BD = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], np.float32)
TWO_ND = np.eye(2, dtype=np.float32)


def test_the_starter_has_the_scale_that_changes_nothing() -> None:
    assert find_scale(StarterEncoder()) == BOX and BOX.is_of_box
    assert BOX.move_texts(0.123) == 0.123


def test_an_encoder_that_says_nothing_of_its_scale_has_none() -> None:
    assert find_scale(object()) is None and find_temperature(object()) is None


@pytest.mark.parametrize(("said", "read"), [(100, 100.0), (0.0, None), (math.nan, None), ("100", None), (None, None)])
def test_only_a_positive_number_is_a_temperature(said: object, read: float | None) -> None:
    class Says:
        logit_scale = said

    assert find_temperature(Says()) == read


def test_likeness_is_multiplied_by_what_makes_it_deviate_as_the_starters_does() -> None:
    # The median of 0.02, 0.03 and 0.5 is 0.03.
    found = measure_scale(TWO_ND, np.array([0.02, 0.03, 0.5]), SAYINGS_BD)
    assert found.words == pytest.approx(BOX_WORDS / 0.03)
    assert found.pictures == pytest.approx(found.words), "of two pictures it is not known how far they deviate"


def test_a_checkpoints_own_temperature_counts_where_scores_do_not_contradict_it() -> None:
    deviation = np.array([BOX_WORDS / 3])  # a scale of 3 by the spread of scores

    def measured(temperature: float) -> float:
        return measure_scale(TWO_ND, deviation, SAYINGS_BD, temperature).words

    assert measured(4 * BOX_TEMPERATURE) == pytest.approx(4.0)
    assert measured(9 * BOX_TEMPERATURE) == pytest.approx(6.0), "no more than twice what the scores say"
    assert measured(0.1) == pytest.approx(1.5), "nor less than half of it"


def test_the_likeness_of_a_picture_to_others_deviates_by_hand() -> None:
    # The first: 0 and 0.6, by 0.3. The second: 0 and 0.8, by 0.4. The third: 0.6 and 0.8, by 0.1. The median is 0.3.
    three_nd = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], np.float32)
    assert measure_apart(three_nd) == pytest.approx(0.3)
    assert measure_scale(three_nd, np.array([BOX_WORDS]), SAYINGS_BD).pictures == pytest.approx(BOX_PICTURES / 0.3)


def test_pictures_that_are_all_alike_do_not_outweigh_words() -> None:
    alike_nd = np.array([[1.0, 0.0]] * 3 + [[0.9999, 0.014]], np.float32)
    assert measure_scale(alike_nd, np.array([BOX_WORDS]), SAYINGS_BD).pictures == pytest.approx(4.0)


def test_the_likeness_of_texts_is_moved_to_the_mean_and_deviation_of_the_starters() -> None:
    # 0.8, 0 and 0.6: mean 1.4 / 3, deviation sqrt((0.64 + 0.36) / 3 - (1.4 / 3)^2).
    mean, deviation = 1.4 / 3, math.sqrt(1 / 3 - (1.4 / 3) ** 2)
    assert measure_texts(SAYINGS_BD) == pytest.approx((mean, deviation))
    moved = measure_scale(TWO_ND, np.array([1.0]), SAYINGS_BD)
    assert moved.move_texts(mean) == pytest.approx(BOX_TEXTS[0])
    assert moved.move_texts(mean + deviation) == pytest.approx(BOX_TEXTS[0] + BOX_TEXTS[1])


def test_the_contrast_of_a_picture_is_that_of_the_median_text() -> None:
    # Likeness of two crops to the first text is 1 and 0, by 0.5; to the second 0.8 and 0.6, by 0.1; to the third 0.5.
    assert measure_contrast(TWO_ND, SAYINGS_BD) == pytest.approx(0.5)


def test_the_background_is_the_usual_level_and_a_share_of_what_is_beyond() -> None:
    background_n = share_background(np.array([0.2, 0.4], np.float32), 0.2)
    np.testing.assert_allclose(background_n, [0.2, 0.2 + 0.2 * BACKGROUND_SHARE], atol=1e-6)


def test_numbers_that_cannot_be_stay_within_bounds() -> None:
    found = measure_scale(np.zeros((5, 2)), np.zeros(5), np.ones((3, 2)))
    assert all(np.isfinite([found.words, found.pictures, *found.texts])) and found.words <= 100
    assert measure_scale(np.zeros((0, 2)), np.zeros(0), SAYINGS_BD).words == 1.0
    assert not Scale(words=2.0).is_of_box
