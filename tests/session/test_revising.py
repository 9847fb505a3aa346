"""What a change of mind takes back of what was said before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.conversation import Answer, Like, Question, Reject, Say, Show, Turn
from viewfinder.questioners.photographs import REMEMBER
from viewfinder.session.reading import Reading, read_said
from viewfinder.session.revising import find_revision, revise

WORDS = [
    "a",
    "dog",
    "cat",
    "on",
    "the",
    "grass",
    "in",
    "snow",
    "red",
    "blue",
    "dress",
    "running",
    "two",
    "one",
    "of",
    "and",
    ",",
]


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


@pytest.mark.parametrize(
    ("before", "instead", "left"),
    [
        ("a big black dog on the grass", "a cat", "on the grass"),
        ("a dog running through tall green grass", "in the snow", "a dog running"),
        ("a dog in front of a store", "on the beach", "a dog"),
        ("kids playing in a field of grass", "on the beach", "kids playing"),
        ("a man riding a horse", "a woman", "riding a horse"),
        ("a sleeping dog", "a cat", "sleeping"),
        ("a mug with a cat on it", "a dog", "a mug"),
        ("an old photo of two girls", "two boys", "an old photo"),
        ("a women's jacket", "men's", "a jacket"),
        ("dogs play on the grass", "cats", "play on the grass"),
    ],
)
def test_a_thing_goes_with_the_words_that_describe_it(before: str, instead: str, left: str) -> None:
    assert revise(before, instead) == left


@pytest.mark.parametrize(
    ("before", "instead"),
    [
        ("a beach ball", "in the snow"), ("hot dog", "a cat"), ("a football team", "a man"), ("a dog house", "a cat"),
        ("a bride on her wedding day", "at night"), ("a snow covered hill", "on the beach"), ("dog grass", "cat fish"),
        ("a car covered in snow", "in the street"), ("a man walking his dog", "running"),
    ],
)  # fmt: skip
def test_nothing_is_taken_out_of_a_phrase_that_would_not_hold_without_it(before: str, instead: str) -> None:
    assert revise(before, instead) == before


@pytest.mark.parametrize(
    ("before", "instead"),
    [
        ("a dog on the grass", "chasing a cat"), ("a man on a beach", "next to a woman"),
        ("a dog on the grass", "near a lake"), ("a dog on the grass", "a lake in the background"),
        ("a dog on the grass", "mountains behind it"), ("a man sitting at a table", "smiling"),
        ("a man with a painted face", "a view of the sea"), ("a house with a pool", "on the beach"),
    ],
)  # fmt: skip
def test_what_stands_by_the_thing_described_takes_nothing_of_it_back(before: str, instead: str) -> None:
    assert revise(before, instead) == before


def test_a_place_that_is_the_subject_stays_where_another_place_is_said_of_it() -> None:
    assert revise("a lake in the mountains", "in the woods") == "a lake"
    assert revise("a lake in the mountains", "a beach") == "in the mountains"
    assert revise("a house on a hill", "in the city") == "a house"


@pytest.mark.parametrize(
    ("before", "instead", "left"),
    [
        ("a boy with a red ball", "a blue shirt", "a boy with a red ball"),
        ("a red dress", "white dots", "a red dress"),
        ("a red car on a red carpet", "a blue car", "a car on a red carpet"),
        ("a brown dog and a white cat", "the dog was black", "a dog and a white cat"),
        ("a dog with a red collar", "a black one", "a dog with a red collar"),
        ("black leather boots", "brown suede ones", "leather boots"),
    ],
)
def test_a_colour_takes_the_place_of_another_of_the_same_thing(before: str, instead: str, left: str) -> None:
    assert revise(before, instead) == left


@pytest.mark.parametrize(
    ("before", "instead", "left"),
    [
        ("a girl with two dogs", "three dogs", "a girl"),
        ("two black dogs on grass", "three dogs", "black dogs on grass"),
        ("three girls and two dogs", "two girls", "two dogs"),
        ("two dogs on the grass", "three", "dogs on the grass"),
        ("two dogs", "just one", "dogs"),
        ("two dogs", "that one", "two dogs"),
        ("two dogs", "a blue one", "two dogs"),
        ("three girls and two dogs", "one", "three girls and two dogs"),
    ],
)
def test_a_number_takes_the_place_of_another_of_the_same_thing(before: str, instead: str, left: str) -> None:
    assert revise(before, instead) == left


def test_what_is_ruled_out_is_wanted_no_longer() -> None:
    assert revise("a dog on the grass", without=("grass",)) == "a dog"
    assert revise("a dog on the grass", without=("people",)) == "a dog on the grass"
    assert revise("a man with a long white beard on a beach", without=("beard",)) == "a man on a beach"
    assert revise("a dog with a ball in its mouth", without=("ball",)) == "a dog"


@pytest.mark.parametrize(
    "turn",
    [Say("no, in the snow"), Say("sorry, I meant in the snow"), Like("x", "in the snow"), Show("x.jpg", "in the snow")],
)
def test_a_correction_and_words_with_a_picture_take_back(turn: Turn) -> None:
    taken = find_revision(turn, getattr(turn, "text", ""))
    assert taken is not None
    assert taken("a dog on the grass") == "a dog"


def test_what_something_is_said_instead_of_is_taken_back() -> None:
    taken = find_revision(Like("x"), "a cat instead of the dog")
    assert taken is not None
    assert taken("a man with a dog") == "a man"


@pytest.mark.parametrize(
    "turn",
    [
        Say("in the snow"), Like("x"), Like("x", "with a cat"), Reject(("x",)), Say("actually, also a cat"),
        Say("wait, there was a cat too"), Like("x", "add a cat"), Like("x", "more cats"), Like("x", "another cat"),
    ],
)  # fmt: skip
def test_what_adds_takes_nothing_back(turn: Turn) -> None:
    assert find_revision(turn, getattr(turn, "text", "")) is None


@pytest.mark.parametrize(
    "turn",
    [
        Reject((), "no grass"),
        Reject((), "grass"),
        Reject((), "on grass"),
        Say("not on grass"),
        Like("x", "without grass"),
    ],
)
def test_what_is_ruled_out_is_taken_back_in_any_turn(turn: Turn) -> None:
    taken = find_revision(turn, getattr(turn, "text", ""))
    assert taken is not None
    assert taken("a dog on the grass") == "a dog"


def test_what_is_rejected_of_what_is_shown_takes_nothing_back() -> None:
    for text in ("that dog", "so dark", "other dogs", "these dogs", "any of these"):
        revision = find_revision(Reject((), text), text)
        assert (revision or str)("a dog in the dark") == "a dog in the dark", text


@pytest.mark.parametrize(
    "text",
    [
        "not so dark", "not that big", "not that dog", "no other dogs", "no more dogs", "not a dog like this",
        "that's not a dog", "these are not dogs", "those aren't dogs", "no dog in any of these", "there is no dog here",
    ],
)  # fmt: skip
def test_a_complaint_about_what_is_shown_takes_nothing_back(text: str) -> None:
    assert find_revision(Say(text), text) is None


@pytest.mark.parametrize(
    ("before", "said", "left"),
    [
        ("a t-shirt", "no, a dress", ""), ("a red dress", "I meant a handbag", ""), ("a dog", "a ball instead", ""),
        ("a man on the grass", "no, a dog", "on the grass"), ("a brown dog running", "make it a girl", "running"),
        # Both may be there, it is the same thing, or more is said than another thing.
        ("a dog", "actually, a ball", "a dog"), ("a dog", "a ball", "a dog"), ("a dog", "no, with a ball", "a dog"),
        ("a red dress", "no, a longer dress", "a red dress"), ("a red dress", "no, a bit darker", "a red dress"),
        ("a man with a dog", "no, a cat", "a man"), ("a man and a dog", "no, a bird", "a man"),
        ("a dog with a ball", "no, a frisbee", "a dog with a ball"),
        ("a man with a hat", "no, the other one", "a man with a hat"),
    ],
)  # fmt: skip
def test_another_thing_takes_the_place_of_the_one_described_where_that_is_corrected(
    before: str, said: str, left: str
) -> None:
    taken = find_revision(Say(said), said)
    assert (before if taken is None else taken(before)) == left


@given(*[st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)] * 2)
def test_what_is_left_are_words_of_the_description_in_their_order(before: str, instead: str) -> None:
    left, words = revise(before, instead), iter(before.replace(",", " ").split())
    assert all(word in words for word in left.replace(",", " ").split())


@pytest.mark.parametrize("said", ["no, in the snow", "sorry, I meant in the snow", "actually in the snow"])
def test_a_correction_is_one_though_its_opening_is_no_part_of_the_description(said: str) -> None:
    content = read_said(Say(said), lambda text: Reading(text, "in the snow"))
    taken = find_revision(Say(said), content)
    assert taken is not None
    assert taken("a dog on the grass") == "a dog"
    assert read_said(Say("I am looking for snow"), lambda text: Reading(text, "snow")) == "snow"


@pytest.mark.parametrize(
    ("said", "left"), [("no, in the snow", "a dog"), ("not on the grass", "a dog"), ("it runs", "a dog on the grass")]
)
def test_the_answer_to_an_open_question_takes_back_as_a_description_does(said: str, left: str) -> None:
    revised = find_revision(Answer(Question("What else do you remember of it?", attribute=REMEMBER), said), said)
    assert (revised("a dog on the grass") if revised else "a dog on the grass") == left


def test_the_answer_to_a_question_with_choices_takes_nothing_back() -> None:
    where = Question("Where is it?", ("on grass", "in the snow"), attribute="place")
    assert find_revision(Answer(where, "no, in the snow"), "no, in the snow") is None


@pytest.mark.parametrize(
    ("before", "instead", "left"),
    [
        ("a shirt", "dresses", ""), ("shirts", "blue dresses", ""), ("a t-shirt", "shirts", ""),
        ("a dog on the grass", "dogs", "on the grass"), ("a man in the street", "men", "in the street"),
        ("men in the street", "a man", "in the street"), ("a vase", "a building", ""),
    ],
)  # fmt: skip
def test_a_plural_without_an_article_is_another_thing_too(before: str, instead: str, left: str) -> None:
    assert revise(before, instead, replaces=True) == left


@pytest.mark.parametrize("instead", ["upstairs", "outdoors", "glasses", "backwards", "darker", "bigger dogs"])
def test_what_only_ends_as_a_plural_replaces_nothing(instead: str) -> None:
    assert revise("two dogs", instead, replaces=True) == "two dogs"


def test_how_much_there_is_goes_with_what_there_is() -> None:
    assert revise("a lot of balloons over a lake", without=("balloons",)) == "over a lake"
    assert revise("a lot of balloons", without=("balloons",)) == ""
    assert revise("a parking lot at night", without=("night",)) == "a parking lot"


def test_what_is_on_a_thing_stays_where_that_is_another_thing() -> None:
    assert revise("long sleeves", "a dress", replaces=True) == "long sleeves"
    assert revise("blue stripes", "dresses", replaces=True) == "blue stripes"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("only two dogs", "on the grass"), ("just one dog", "on the grass"), ("there was only one dog", "on the grass"),
        ("only dogs", "three dogs on the grass"), ("two dogs", "three dogs on the grass"),
        ("a cat", "three dogs on the grass"),
    ],
)  # fmt: skip
def test_who_counts_anew_takes_the_other_number_back(said: str, left: str) -> None:
    revision = find_revision(Say(said), said)
    assert (revision or str)("three dogs on the grass") == left
