from __future__ import annotations

import numpy as np
import pytest

from viewfinder.metrics import percentile, target_ranks


def test_it_is_the_share_of_the_gallery_that_does_not_come_before() -> None:
    assert percentile(np.array([0, 10, 20]), gallery=100).tolist() == [1, 1 - 10 / 100, 1 - 20 / 100]


def test_chance_comes_to_a_little_over_a_half() -> None:
    assert percentile(target_ranks(np.zeros((10, 10)), np.arange(10)), gallery=10).mean() == 1 - 4.5 / 10


def test_the_last_place_is_worth_one_picture_and_a_turn_that_is_missing_nothing() -> None:
    assert percentile(np.array([99, np.nan]), gallery=100).tolist() == pytest.approx([1 / 100, np.nan], nan_ok=True)


def test_a_rank_outside_the_gallery_is_refused() -> None:
    with pytest.raises(ValueError, match="rank 100 in a gallery of 100: ranks run from 0 to 99"):
        percentile(np.array([3, 100]), gallery=100)
