"""A talk as one string, and what of it is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.retrievers.chatir.retriever import (
    RoundText,
    fit_dialogue,
    informative_rounds,
    join_dialogue,
    with_question_mark,
)

WORD = st.text("abc", min_size=1, max_size=3)
ROUND = st.tuples(st.one_of(st.just(""), WORD.map("{}?".format)), WORD)
ROUNDS = [("is it big?", "no"), ("what colour is it?", "brown"), ("", "it runs")]


def words(text: str) -> int:
    """A tokenizer that anybody can follow: blanks part tokens, and there is one at either end."""
    return len(text.split()) + 2


def test_questions_have_their_mark_and_answers_their_words() -> None:
    assert informative_rounds([(" is  it big", " no "), ("", "red"), ("a or b?", "b")]) == (
        RoundText("is it big?", "no"),
        RoundText("", "red"),
        RoundText("a or b?", "b"),
    )
    assert with_question_mark("Describe it.") == "Describe it."


@pytest.mark.parametrize("answer", ["", " ", "don't know", "Can't tell.", "I can't tell from here", "skip"])
def test_a_round_that_says_nothing_is_left_out(answer: str) -> None:
    assert informative_rounds([("is it big?", answer), ("is it old?", "not sure, maybe")]) == (
        RoundText("is it old?", "not sure, maybe"),
    )


def test_the_talk_is_one_string_as_in_the_code_or_as_in_the_paper() -> None:
    assert join_dialogue("a dog", ROUNDS) == "a dog, is it big? no, what colour is it? brown, it runs"
    marked = "a dog </s> is it big? </s> no </s> what colour is it? </s> brown </s> it runs"
    assert join_dialogue("a dog", ROUNDS, "sep", "</s>") == marked


def test_what_is_masked_goes_with_its_separator() -> None:
    assert join_dialogue("", ROUNDS[:1]) == "is it big? no"
    assert join_dialogue("a dog", [("is it big?", ""), ("", ""), ("", "no")]) == "a dog, is it big?, no"
    assert (
        join_dialogue("a dog", [("is it big?", ""), ("", ""), ("", "no")], "sep") == "a dog [SEP] is it big? [SEP] no"
    )
    assert join_dialogue("", []) == ""


def test_the_oldest_rounds_make_room_and_the_caption_stays() -> None:
    # 2 ends + "a dog," 2 + "is it big? no," 4 + "what colour is it? brown," 5 + "it runs" 2 = 15
    assert fit_dialogue("a dog", ROUNDS, words, 15) == join_dialogue("a dog", ROUNDS)
    assert fit_dialogue("a dog", ROUNDS, words, 14) == "a dog, what colour is it? brown, it runs"
    assert fit_dialogue("a dog", ROUNDS, words, 10) == "a dog, it runs"
    assert fit_dialogue("a dog", ROUNDS, words, 1) == "a dog, it runs"  # the reader cuts the end
    assert fit_dialogue("a dog", [], words, 1) == "a dog"


@given(st.one_of(st.just(""), WORD), st.lists(ROUND, max_size=6), st.integers(1, 20))
def test_what_fits_is_the_longest_ending_of_the_talk_that_does(
    caption: str, rounds: list[tuple[str, str]], most: int
) -> None:
    endings = [join_dialogue(caption, rounds[len(rounds) - kept :]) for kept in range(len(rounds) + 1)]
    always = min(len(rounds), 1)
    fitting = [text for text in endings[always:] if words(text) <= most]
    assert fit_dialogue(caption, rounds, words, most) == (fitting[-1] if fitting else endings[always])
