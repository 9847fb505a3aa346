"""Looks of a whole picture in a sentence, and what it says is not there."""

from __future__ import annotations

import pytest

from viewfinder.wording.look_phrases import find_absent, find_looks

THINGS = {"peopl": ("people",), "person": ("people",), "dog": ("a dog",), "cat": ("a cat",), "tre": ("a tree",)}


@pytest.mark.parametrize(
    ("text", "words", "look"),
    [
        ("a black and white photo of a man", "black and white", "black and white"),
        ("old black & white pictures of dogs", "black & white", "black and white"),
        ("black-and-white portraits", "black-and-white", "black and white"),
        ("b&w photos", "b&w", "black and white"),
        ("black and white", "black and white", "black and white"),
        ("photos in black and white", "in black and white", "black and white"),
        ("a street, taken in black and white", "in black and white", "black and white"),
        ("pictures that are black and white", "that are black and white", "black and white"),
        ("a beach in monochrome", "in monochrome", "black and white"),
        ("a greyscale picture of a bird", "greyscale", "black and white"),
        ("a very dark photo of a street", "very dark", "dark"),
        ("underexposed shots", "underexposed", "dark"),
        ("bright pictures", "bright", "bright"),
    ],
)
def test_the_look_of_a_whole_picture_is_found(text: str, words: str, look: str) -> None:
    [found] = find_looks(text)
    assert (text[found.start : found.end], found.values) == (words, (look,))


@pytest.mark.parametrize(
    ("text", "look"),
    [
        ("too dark", "bright"), ("it's too dark", "bright"), ("not so dark", "bright"), ("less dark", "bright"),
        ("a bit brighter", "bright"), ("not dark", "bright"), ("too bright", "dark"), ("darker", "dark"),
        ("make it darker", "dark"), ("not so bright", "dark"), ("a darker picture", "dark"), ("much darker!", "dark"),
    ],
)  # fmt: skip
def test_who_finds_results_too_dark_wants_a_bright_one(text: str, look: str) -> None:
    assert [found.values for found in find_looks(text)] == [(look,)]


@pytest.mark.parametrize(
    "text", ["a darker dog", "the dog is darker", "too dark a street", "not so dark hair", "lighter"]
)
def test_what_is_darker_than_before_may_be_a_thing(text: str) -> None:
    assert [*find_looks(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "a black and white dog",
        "two dogs, black and white",
        "a man in black and white stripes",
        "a dark street",
        "a girl with dark hair",
        "bright lights",
    ],
)
def test_colours_and_light_of_things_are_no_look_of_the_picture(text: str) -> None:
    assert [*find_looks(text)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no people", ["no people"]),
        ("a beach with no people", ["with no people"]),
        ("a beach without any people or dogs", ["without any people", "or dogs"]),
        ("no dogs and no people", ["no dogs", "and no people"]),
        ("a street with nobody in it", ["with nobody in it"]),
        ("an empty street, nobody there", ["nobody there"]),
        ("a park with no one around", ["with no one around"]),
        ("a house without trees", ["without trees"]),
        ("where there are no people", ["where there are no people"]),
        ("a room where there isn't a person", ["where there isn't a person"]),
    ],
)
def test_what_is_said_to_be_absent_is_found(text: str, found: list[str]) -> None:
    assert [text[one.start : one.end].strip(" ,") for one in sorted(find_absent(text, THINGS))] == found


@pytest.mark.parametrize(
    "text",
    [
        "a dog or a cat",
        "no dog collar",
        "a dog without a collar",
        "no, two dogs",
        "a dog person",
        "nobody's dog",
        "no black dogs",
        "a man not looking at the dog",
    ],
)
def test_what_is_wanted_or_not_known_is_not_absent(text: str) -> None:
    assert [*find_absent(text, THINGS)] == []


def test_nothing_is_absent_where_nothing_can_be_told() -> None:
    assert [*find_absent("a beach with no people, nobody", {})] == []
