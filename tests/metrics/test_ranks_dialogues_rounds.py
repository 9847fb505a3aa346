from __future__ import annotations

import numpy as np
import pytest

from viewfinder.metrics import carry_ranks


def test_a_missing_round_has_the_rank_of_the_one_before() -> None:
    ranks_st = np.array([[9, np.nan, np.nan, 2], [5, 4, 3, np.nan]])
    assert carry_ranks(ranks_st).tolist() == [[9, 9, 9, 2], [5, 4, 3, 3]]


def test_whole_dialogues_are_left_as_they_are() -> None:
    assert carry_ranks(np.array([[3, 1], [0, 7]])).tolist() == [[3, 1], [0, 7]]


@pytest.mark.parametrize(
    ("ranks_st", "said"),
    [
        (np.zeros((0, 3)), "0 dialogues of 3 rounds"),
        (np.zeros((2, 0)), "2 dialogues of 0 rounds"),
        (np.array([[1, -2]]), "rank -2"),
        (np.array([[1.0, 2], [np.nan, 2]]), "dialogue 1 has no rank in its first round"),
    ],
)
def test_what_cannot_be_carried_on_is_refused(ranks_st: np.ndarray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        carry_ranks(ranks_st)
