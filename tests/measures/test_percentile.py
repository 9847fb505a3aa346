from __future__ import annotations

import numpy as np
import pytest

from viewfinder.measures import percentile, ranks


def test_it_is_the_share_of_the_gallery_that_does_not_come_before() -> None:
    assert percentile([0, 10, 20], gallery=100) == 1 - (0 + 10 + 20) / 3 / 100
    assert percentile([0, 0], gallery=7) == 1


def test_chance_comes_to_a_little_over_a_half() -> None:
    targets_q = np.arange(10)
    assert percentile(ranks(np.zeros((10, 10)), targets_q), gallery=10) == 1 - 4.5 / 10


def test_the_last_place_is_worth_one_picture() -> None:
    assert percentile([99], gallery=100) == pytest.approx(1 / 100)


def test_a_rank_outside_the_gallery_is_refused() -> None:
    with pytest.raises(ValueError, match="rank 100 in a gallery of 100: ranks run from 0 to 99"):
        percentile([3, 100], gallery=100)
