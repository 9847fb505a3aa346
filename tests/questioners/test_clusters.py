from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.questioners.information_gain.gains import softmax
from viewfinder.questioners.plugir import group_pictures, pick_most_telling

COMPASS = np.array([[1, 0], [0.995, 0.0999], [-1, 0], [-0.995, 0.0999]], np.float32)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8))
def test_softmax_gives_chances_in_the_order_of_likeness(likeness: list[float]) -> None:
    chances = softmax(np.array(likeness))
    assert chances.sum() == pytest.approx(1.0)
    assert chances[np.argmax(likeness)] == pytest.approx(chances.max())


def test_like_pictures_are_one_group() -> None:
    east, near_east, west, near_west = group_pictures(COMPASS, 2)
    assert east == near_east != west == near_west


def test_there_are_no_more_groups_than_different_pictures() -> None:
    copies = np.repeat(COMPASS[:1], 5, axis=0)
    assert group_pictures(copies, 3).tolist() == [0, 0, 0, 0, 0]
    assert len(set(group_pictures(np.concatenate([copies, COMPASS[2:3]]), 5).tolist())) == 2


def test_the_same_pictures_are_grouped_the_same_way() -> None:
    vectors = np.random.default_rng(1).normal(size=(60, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_array_equal(group_pictures(vectors, 10), group_pictures(vectors, 10))


def test_of_each_group_the_most_telling_is_taken() -> None:
    group_k, entropy_k = np.array([2, 0, 2, 1, 0]), np.array([4.0, 3.0, 2.0, 9.0, 3.0])
    # Group 2: place 2 (2 bits); group 0: places 1 and 4 tie, the first; group 1: place 3.
    assert pick_most_telling(group_k, entropy_k) == (1, 2, 3)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=20))
def test_the_most_telling_are_found_as_by_looking_at_each_group(places: list[tuple[int, int]]) -> None:
    groups, entropies = zip(*places, strict=True)
    slow = {min((e, at) for at, (g, e) in enumerate(places) if g == group)[1] for group in set(groups)}
    assert pick_most_telling(np.array(groups), np.array(entropies, float)) == tuple(sorted(slow))
