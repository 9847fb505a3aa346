from __future__ import annotations

import numpy as np
import pytest

from viewfinder.questioners.plugir import find_least_moving

PICTURES = np.eye(4, dtype=np.float32)
"""Four pictures that have nothing in common."""


def test_the_question_that_moves_the_ranking_least_is_chosen() -> None:
    description = np.array([0.6, 0.8, 0.0, 0.0], np.float32)
    astray, fitting = np.array([[0.0, 0.0, 1.0, 0.0], [0.7071, 0.7071, 0.0, 0.0]], np.float32)
    assert find_least_moving(description, np.stack([astray, fitting]), PICTURES, without_first=0) == 1
    assert find_least_moving(description, np.stack([fitting, astray]), PICTURES, without_first=0) == 0


def test_the_nearest_pictures_play_no_role() -> None:
    # Without the first two pictures, what points at the first does not move the others at all.
    description = np.array([0.0, 0.0, 0.6, 0.8], np.float32)
    first_only = np.array([0.8, 0.0, 0.36, 0.48], np.float32)
    other = np.array([0.0, 0.0, 0.8, 0.6], np.float32)
    asked = np.stack([first_only, other])
    softened = np.exp([0.36, 0.48]) / np.exp([0.36, 0.48]).sum()
    before = np.exp([0.6, 0.8]) / np.exp([0.6, 0.8]).sum()
    assert (before * np.log(before / softened)).sum() == pytest.approx(0.0008, abs=1e-4)
    assert find_least_moving(description, asked, PICTURES, without_first=2) == 0


def test_too_few_pictures_are_all_looked_at() -> None:
    description = np.array([1.0, 0.0, 0.0, 0.0], np.float32)
    asked = np.array([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]], np.float32)
    assert find_least_moving(description, asked, PICTURES[:2], without_first=10) == 1
