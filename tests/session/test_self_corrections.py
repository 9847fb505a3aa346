"""Corrections within a sentence."""

from __future__ import annotations

import pytest

from viewfinder.session.self_corrections import mend_self_corrections


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a dog, no wait, a cat on a sofa", "a cat on a sofa"), ("a dog wait no a cat", "a cat"),
        ("a dog on the grass, no, a cat", "on the grass, a cat"),
        ("a man i mean a woman on a bike", "a woman on a bike"),
        ("a vase, no wait, a bowl of fruit", "a bowl of fruit"), ("two no three kids", "three kids"),
        ("kids, actually adults, at a party", "adults, at a party"),
        ("a dog, no wait, a cat, sorry, a horse", "a horse"),
    ],
)  # fmt: skip
def test_what_is_meant_takes_the_place_of_what_was_said(text: str, meant: str) -> None:
    assert mend_self_corrections(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a red sorry blue car", "a blue car"), ("a red, no, a blue car", "a blue car"),
        ("a man in a red - sorry, black shirt", "a man in a black shirt"), ("a big, I mean small dog", "a small dog"),
    ],
)  # fmt: skip
def test_a_word_of_the_same_kind_stands_in_its_place(text: str, meant: str) -> None:
    assert mend_self_corrections(text) == meant


@pytest.mark.parametrize(
    "text", ["a dog, I mean, in the snow", "a dog with a ball", "no, sorry, a cat", "a dog, sorry"]
)
def test_what_may_be_true_together_stays(text: str) -> None:
    assert mend_self_corrections(text) == text


def test_a_long_text_is_left_as_it_is_in_no_time() -> None:
    text = "a dog, no wait, a cat " * 1000
    assert mend_self_corrections(text) == text


def test_no_word_of_a_sure_correction_is_searched_for() -> None:
    assert mend_self_corrections("children play, no wait, in the rain") == "children play, in the rain"
