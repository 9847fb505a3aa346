"""What a change of mind takes back of what was said before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.conversation import Like, Reject, Say, Show, Turn
from viewfinder.session.revising import find_revision, revise

WORDS = ["a", "dog", "cat", "on", "the", "grass", "in", "snow", "red", "blue", "dress", "running", "two", "and", ","]


@pytest.mark.parametrize(
    ("before", "instead", "left"),
    [
        ("a dog on the grass", "in the snow", "a dog"),
        ("a dog on the grass", "a cat", "on the grass"),
        ("a girl in a red dress", "a blue dress", "a girl in a dress"),
        ("a red car", "blue", "a car"),
        ("a boy in a pool", "a girl", "in a pool"),
        ("two dogs on a beach", "three dogs", "on a beach"),
        ("a dog", "a cat", ""),
        # Nothing is taken back by what can be true beside it, and of two colours nobody knows which is meant.
        ("a dog on the grass", "running", "a dog on the grass"),
        ("a dog on the grass", "on the grass by a tree", "a dog on the grass"),
        ("a black dog with a red ball", "blue", "a black dog with a red ball"),
        ("a wooden chair", "something nicer", "a wooden chair"),
    ],
)
def test_of_two_things_that_cannot_both_be_true_the_later_one_holds(before: str, instead: str, left: str) -> None:
    assert revise(before, instead) == left


def test_what_is_ruled_out_is_wanted_no_longer() -> None:
    assert revise("a dog on the grass", without=("grass",)) == "a dog"
    assert revise("a dog on the grass", without=("people",)) == "a dog on the grass"


@pytest.mark.parametrize(
    "turn",
    [Say("no, in the snow"), Say("sorry, I meant in the snow"), Like("x", "in the snow"), Show("x.jpg", "in the snow")],
)
def test_a_correction_and_words_with_a_picture_take_back(turn: Turn) -> None:
    taken = find_revision(turn, getattr(turn, "text", ""))
    assert taken is not None
    assert taken("a dog on the grass") == "a dog"


@pytest.mark.parametrize("turn", [Say("in the snow"), Like("x"), Like("x", "with a cat"), Reject(("x",))])
def test_what_adds_takes_nothing_back(turn: Turn) -> None:
    assert find_revision(turn, getattr(turn, "text", "")) is None


@pytest.mark.parametrize("turn", [Reject((), "no grass"), Say("not on grass"), Like("x", "without grass")])
def test_what_is_ruled_out_is_taken_back_in_any_turn(turn: Turn) -> None:
    taken = find_revision(turn, getattr(turn, "text", ""))
    assert taken is not None
    assert taken("a dog on the grass") == "a dog"


@given(*[st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)] * 2)
def test_what_is_left_are_words_of_the_description_in_their_order(before: str, instead: str) -> None:
    left, words = revise(before, instead), iter(before.replace(",", " ").split())
    assert all(word in words for word in left.replace(",", " ").split())
