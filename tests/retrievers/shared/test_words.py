"""How texts are split into words, in training and at work alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.retrievers.shared.numpy_network import split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Is Darker, and has a v-neck.", ("is", "darker", "and", "has", "a", "v-neck")),
        ("doesn't shine; it\u2019s matte", ("doesn't", "shine", "it\u2019s", "matte")),
        ("3/4 sleeves (80's)", ("3", "4", "sleeves", "80's")),
        ("snake_case -- 'quoted'", ("snake", "case", "quoted")),
        ("\u00c9t\u00e9 \u9752\u8272", ("\u00e9t\u00e9", "\u9752\u8272")),
        (" ... ", ()),
    ],
)
def test_a_text_has_these_words(text: str, words: tuple[str, ...]) -> None:
    assert split_words(text) == words


@given(st.text(max_size=30))
def test_words_split_again_are_themselves(text: str) -> None:
    words = split_words(text)
    assert split_words(" ".join(words)) == words
