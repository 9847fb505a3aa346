"""Choices that are phrases, answered from captions."""

from __future__ import annotations

import pytest

from viewfinder.conversation import Question
from viewfinder.users import AnnotatedPhotos, AnnotationAnswerer, PhotoNotes
from viewfinder.users.captions import supports_choice

DOG = (
    "A black dog is running through deep snow .",
    "The dog races over a snowy hill .",
    "A dog with a red ball in its mouth .",
)
COUPLE = ("A man and a woman sit on a park bench", "Two people on a bench", "A guy in blue sits beside a lady")
PLACES = ("in the snow", "on grass", "on a beach", "something else", "don't know")
WHO = ("a man", "a woman", "a group of people", "nobody", "don't know")


def ask(captions: tuple[str, ...], text: str, choices: tuple[str, ...], **boxes: int) -> str:
    known = PhotoNotes(captions, boxes or None)
    notes = AnnotatedPhotos({"a.jpg": known}, frozenset({"dog", "person"}))
    return AnnotationAnswerer(notes).answer(Question(text, choices), "a.jpg")


@pytest.mark.parametrize(
    ("captions", "text", "choices", "answer"),
    [
        (DOG, "Where is it?", PLACES, "in the snow"),
        (COUPLE, "Where is it?", PLACES, "don't know"),  # one of three names another place
        (("two dogs on a sandy shore",), "Where is it?", PLACES[:2] + PLACES[3:], "something else"),
        (DOG, "Who is in it?", WHO, "nobody"),
        (COUPLE[:1], "Who is in it?", ("a boy", "a group of people", "something else"), "something else"),
        (DOG, "How many dogs are in it?", ("one", "two", "three or more"), "one"),
        (COUPLE, "How many people are in it?", ("one", "two", "three or more"), "two"),
        (("a crowd of people", "people cheer"), "How many people?", ("one", "two", "three or more"), "three or more"),
        (DOG, "What is going on?", ("running", "sitting", "playing ball", "something else"), "running"),
        (COUPLE, "What is going on?", ("running", "climbing", "something else"), "something else"),
        (DOG, "Is it indoors or outdoors?", ("indoors", "outdoors"), "outdoors"),
        (DOG, "Which of these is in it?", ("a frisbee", "a ball", "a stick or branch"), "a ball"),
        (DOG, "Which of these is in it?", ("a frisbee", "a helmet", "something else"), "don't know"),
        (DOG, "What colour is the dog?", ("black", "brown", "something else"), "black"),
        (COUPLE, "What colour are the clothes?", ("red", "blue"), "blue"),
        (DOG, "What colour is the dog?", ("white", "brown", "something else"), "don't know"),  # one caption says so
    ],
)
def test_a_choice_is_what_captions_bear_out(
    captions: tuple[str, ...], text: str, choices: tuple[str, ...], answer: str
) -> None:
    assert ask(captions, text, choices) == answer


def test_boxes_tell_numbers_where_captions_do_not_contradict() -> None:
    choices = ("one", "two", "three or more")
    assert ask(("people in a street",), "How many people are in it?", choices, person=4) == "three or more"
    assert ask(("dogs",), "How many dogs are in it?", choices, dog=2) == "two"


def test_a_choice_of_several_words_needs_all_of_them() -> None:
    assert supports_choice("a red ball", "a dog with a red ball") and not supports_choice("a red ball", "a red dog")
    assert supports_choice("a stick or branch", "dog with branches") and supports_choice(
        "by the water", "near the ocean", "place"
    )
