"""Answers in free words as values."""

from __future__ import annotations

import pytest

from viewfinder.tuning.pool import answer_value


@pytest.mark.parametrize(
    ("question", "answer", "value"),
    [
        ("is there a cup?", "yes", "yes"),
        ("is there a cup?", "Yes, there is one.", "yes"),
        ("is there a cup?", "no, i don't think so", "no"),
        ("are there any cups?", "I don’t see any cups", "no"),
        ("are there any cups?", "there are no cups", "no"),
        ("is the cup on the left or on the right?", "neither, in the middle", "middle"),
        ("is the cup on the left or on the right?", "on the left side", "left"),
        ("what colour is the cup?", "it's navy blue", "navy blue"),
        ("how big is the cup?", "middle-sized, i'd say", "middle-sized"),
        ("how many cups are there?", "just one", "1"),
        ("how many cups are there?", "none", "0"),
        ("where is the cup?", "in the lower right corner", "lower right"),
        ("is it new?", "i can't tell from the picture", ""),
        ("what is it?", "a man with a hat who sits on a long bench", None),
    ],
)
def test_the_same_answer_in_other_words_is_one_value(question: str, answer: str, value: str | None) -> None:
    assert answer_value(question, answer) == value
