"""Filters typed into a sentence, and a sentence without one of its parts."""

from __future__ import annotations

from datetime import date

import pytest

from viewfinder.wording.taking_away import find_quoted_words, list_content_words, quote_word, remove_word, say_again
from viewfinder.wording.typed_filters import find_typed_filters, list_combined, read_time

TODAY = date(2026, 11, 28)
KNOWN = {"camera", "folder", "price", "article type", "on"}


def names_and_values(text: str) -> list[tuple[str, str]]:
    return [(one.name, one.value) for one in find_typed_filters(text, KNOWN.__contains__)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a dog camera:canon", [("camera", "canon")]),
        ("camera:canon, a dog", [("camera", "canon")]),
        ('folder:"2008 Italy" a dog', [("folder", "2008 Italy")]),
        ("folder:“2008 Italy”", [("folder", "2008 Italy")]),
        ('"article type":shirts', [("article type", "shirts")]),
        ("price:<50 price:>=10", [("price", "<50"), ("price", ">=10")]),
        ("CAMERA:Canon", [("camera", "Canon")]),
        ("camera:Canon|Nikon", [("camera", "Canon|Nikon")]),
    ],
)
def test_a_known_name_with_a_colon_and_a_value_is_a_filter(text: str, found: list[tuple[str, str]]) -> None:
    assert names_and_values(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "at 12:30",
        "foo:bar",
        "camera: canon",
        "https://on:80/x",
        "camera://x",
        "a sign: stop",
        "x.camera:canon",
        "camera:",
        "camera::",
    ],
)
def test_what_is_no_known_name_or_has_no_value_at_once_is_words(text: str) -> None:
    assert [one for one in names_and_values(text) if one[1] != ":"] == []


def test_a_bound_is_a_filter_of_any_name_and_a_heart_is_none() -> None:
    assert names_and_values("a mug cost:<50 weight:>=2") == [("cost", "<50"), ("weight", ">=2")]
    assert names_and_values("my dog:<3 and a sign:<stop") == []


def test_a_minus_or_not_denies_a_filter() -> None:
    found = find_typed_filters("dog -camera:canon not folder:x", KNOWN.__contains__)
    assert [(one.words, one.is_negated) for one in found] == [("-camera:canon", True), ("not folder:x", True)]


def test_the_words_between_filters_are_left() -> None:
    [one] = find_typed_filters("a camera:canon dog", KNOWN.__contains__)
    assert "a camera:canon dog"[one.start : one.end] == "camera:canon"


@pytest.mark.parametrize(
    ("name", "value", "first", "last"),
    [
        ("after", "2008", "2008-01-01", ""),
        ("after", "2008-05", "2008-05-01", ""),
        ("before", "2008-05-17", "", "2008-05-16"),
        ("before", "2008", "", "2007-12-31"),
        ("on", "2008-02", "2008-02-01", "2008-02-29"),
        ("on", "2008-12", "2008-12-01", "2008-12-31"),
        ("on", "2008-05-17", "2008-05-17", "2008-05-17"),
        ("on", "May 2008", "2008-05-01", "2008-05-31"),
    ],
)
def test_after_begins_with_its_first_day_and_before_ends_before_it(
    name: str, value: str, first: str, last: str
) -> None:
    said = read_time(name, value, TODAY)
    assert said is not None
    assert (said.first, said.last) == (first, last)


@pytest.mark.parametrize("value", ["soon", "2008-13", "2008-02-31", "0000", "99999", ""])
def test_what_is_no_date_is_none(value: str) -> None:
    assert read_time("after", value, TODAY) is None


def test_filters_of_one_name_are_alternatives_and_times_all_count() -> None:
    assert list_combined(["camera", "after", "camera", "before", "after"]) == [[0, 2], [1], [3], [4]]


def test_a_word_goes_with_the_small_words_that_lead_to_it_alone() -> None:
    text = "two brown dogs and a cat on the grass"
    assert [remove_word(text, word) for word in ("brown", "dogs", "cat", "grass")] == [
        "two dogs and a cat on the grass",
        "two brown and a cat on the grass",
        "two brown dogs on the grass",
        "two brown dogs and a cat",
    ]


def test_the_words_of_a_description_are_listed_once() -> None:
    assert list_content_words("a dog and a dog in the snow") == ["dog", "snow"]


def test_a_quoted_word_stays_quoted_when_a_sentence_is_said_again() -> None:
    said = 'a "dgo" in the snow in 2008'
    assert find_quoted_words(said) == ["dgo"]
    assert say_again(said, "a dgo in the snow", []) == 'a "dgo" in the snow'
    assert quote_word("a dgo's dgo", "dgo") == 'a dgo\'s "dgo"'
