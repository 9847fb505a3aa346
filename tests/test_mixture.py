"""What every specialist learns of the same mixture."""

import pytest

pytest.importorskip("torch")

import numpy as np
from mixture_lessons import list_wanted
from mixture_trainers import Modifications, SaidPictures, draw_kinds, shorten

from viewfinder.conversation import Say
from viewfinder.evaluation.plan import SearchDialogue


def test_a_batch_is_of_one_kind_and_what_does_not_fill_one_is_left_out() -> None:
    epochs = draw_kinds([0, 5, 9])  # two kinds, of five and of four
    drawn = [set(rows_b.tolist()) for rows_b in epochs(9, 2, lambda rows_b, rng: rows_b)(1, 0)]
    assert len(drawn) == 4
    assert all(rows <= {0, 1, 2, 3, 4} or rows <= {5, 6, 7, 8} for rows in drawn)


def test_a_dialogue_is_learnt_up_to_the_last_turn_that_wants_a_picture() -> None:
    turns = (Say("a shirt"), Say("in red"), Say("no, trousers"))
    assert list(list_wanted(SearchDialogue("1", "b", turns, ("a", "a", "b")))) == [("a", 2), ("b", 3)]
    assert list(list_wanted(SearchDialogue("1", "b", turns))) == [("b", 3)]


def test_of_a_long_dialogue_the_first_turns_and_the_last_are_kept() -> None:
    long = Modifications((0, None, None, 3), ("w", "x", "y", "z"), (1, 2, 3, 4))
    assert shorten(long, 3) == Modifications((0, None, 3), ("w", "x", "z"), (1, 2, 4))
    assert shorten(long, 4) is long


def test_what_has_an_order_keeps_it() -> None:
    raw, regions = np.zeros((1, 1), np.float32), np.zeros((1, 1, 1), np.float16)
    said = SaidPictures(
        ("1.jpg",), (("a", "b", "c", "d"),), 3, "raw", ((raw, regions),), np.zeros(1, int), np.zeros(1, int),
        np.array([False]),
    )  # fmt: skip
    assert said.dialogue(0) == ("a", "b", "c")
    drawn = said.dialogue(0, np.random.default_rng(0))
    assert len(set(drawn)) == 3 and list(drawn) == sorted(drawn)
