"""What a sentence wants and what it rules out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.wording.clauses import Clauses, is_correction, split_clauses, split_clauses_in_context

WORDS = ["dog", "red", "no", "not", "without", "but", "and", "the", "a", "with", "on", ",", ".", "only", "any", "-"]


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("a dog", "a dog", ()),
        ("a dog without a collar", "a dog", ("collar",)),
        ("a dog on the grass without a collar, no people", "a dog on the grass", ("collar", "people")),
        ("no people", "", ("people",)),
        ("A beach. No umbrellas!", "A beach", ("umbrellas",)),
        ("a shirt but not red", "a shirt", ("red",)),
        ("without stripes or dots", "", ("stripes or dots",)),
        ("a street except for cars", "a street", ("cars",)),
        ("a room and there are no chairs", "a room", ("chairs",)),
        ("a man without a hat on a horse", "a man on a horse", ("hat",)),
    ],
)
def test_a_negation_reaches_to_the_end_of_its_clause(text: str, wanted: str, unwanted: tuple[str, ...]) -> None:
    assert split_clauses(text) == Clauses(wanted, unwanted)


@pytest.mark.parametrize(
    "text", ["not only dogs", "no doubt a cat", "not sure what it was", "no matter which", "a knot", "notes on a table"]
)
def test_words_that_only_look_like_a_negation_are_left_alone(text: str) -> None:
    assert split_clauses(text) == Clauses(text)


@pytest.mark.parametrize(
    "text",
    [
        "no, two of them", "No. two of them", "nope: two of them", "no wait, two of them", "wait no, two of them",
        "sorry, two of them", "I mean two of them", "no, sorry, I meant two of them", "actually two of them",
        "hmm, ok, no, two of them", "oh sorry I mean two of them", "i ment two of them", "no - two of them",
        "no... two of them", "nah, two of them", "two of them instead", "great, but I meant two of them",
        "wait it was two of them", "sorry it's two of them", "I said two of them", "make it two of them",
        "can you change it to two of them", "close but it was two of them", "two of them actually",
        "two of them, I mean", "two of them after all", "*two of them", "two of them*", "typo: two of them",
        "sry two of them",
        "wrong, two of them", "what about two of them", "how about two of them",
        "wait its two of them",
        "it was actually two of them", "it should be two of them", "nice, but they were two of them",
    ],
)  # fmt: skip
def test_a_correction_is_read_with_what_it_corrects(text: str) -> None:
    assert split_clauses(text) == Clauses("two of them")
    assert split_clauses_in_context(text, "dogs on grass") == Clauses("dogs on grass, two of them")
    assert split_clauses_in_context(text, "") == Clauses("two of them")


@pytest.mark.parametrize(
    "text",
    [
        "it was a cat", "wait a minute, a cat", "a man who said it was fun", "make the bed", "waiting in line",
        "change trains", "a wrong turn", "5 * 3", "make the cat a bed",
    ],
)  # fmt: skip
def test_words_that_only_look_like_a_correction_correct_nothing(text: str) -> None:
    assert not is_correction(text)
    assert split_clauses(text) == Clauses(text)


def test_what_was_the_case_instead_is_not_ruled_out_with_what_was_not() -> None:
    assert split_clauses("it was not a dog it was a cat") == Clauses("a cat", ("dog",))


@pytest.mark.parametrize("text", ["no in the snow", "sorry in the snow", "rather in the snow", "nice, but in the snow"])
def test_a_correction_needs_no_comma_before_what_cannot_be_denied(text: str) -> None:
    assert split_clauses(text) == Clauses("in the snow")
    assert is_correction(text)


@pytest.mark.parametrize(
    "text",
    [
        "two of them", "no people", "no, no people", "waiting people", "a rather small dog", "no in-ground pool",
        "well, a dog", "nice, but darker", "no-one on the beach", "a cat instead of a dog",
    ],
)  # fmt: skip
def test_what_corrects_nothing_stands_alone(text: str) -> None:
    assert split_clauses_in_context(text, "dogs on grass") == split_clauses(text)


def test_capitals_do_not_hide_a_negation() -> None:
    assert split_clauses("A dog WITHOUT a collar") == Clauses("A dog", ("collar",))


@settings(deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=40))
def test_any_text_splits_into_pieces_of_itself(text: str) -> None:
    clauses = split_clauses(text)
    assert all(piece.strip() and piece in text for piece in clauses.unwanted)
    assert set(clauses.wanted.split()) <= set(text.split()) | {word.strip(" ,;.") for word in text.split()}
    if not clauses.unwanted:
        assert text.strip().endswith(clauses.wanted)


def test_a_very_long_text_is_split_in_no_time() -> None:
    # 10,000 words; a pattern that backtracks badly would take minutes.
    clauses = split_clauses("a dog and " * 5_000 + "no cat")
    assert clauses.unwanted == ("cat",)
