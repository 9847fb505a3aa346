"""Words back into texts."""

from __future__ import annotations

import pytest

from viewfinder.data.fashion_iq import tokenize_captions
from viewfinder.users.captioner.captioner import join_words


@pytest.mark.parametrize(
    "text",
    [
        "is darker and has longer sleeves",
        "doesn't have a v-neck",
        "it's a girl's t-shirt, isn't it?",
        "is red; black (not blue) and 3/4 sleeved",
        'says "free wifi" on the front!',
        "costs $20, 50% cotton.",
        "they're mens' shirts, i'd say",
        "",
    ],
)
def test_a_text_that_was_cut_into_words_is_itself_again(text: str) -> None:
    assert join_words(tokenize_captions([text])[0]) == text


def test_words_that_begin_like_an_ending_stay_apart() -> None:
    assert join_words(["the", "'shirt", "and", ":)"]) == "the 'shirt and :)"
