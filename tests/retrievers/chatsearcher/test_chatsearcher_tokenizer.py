"""Pieces of texts: learnt ones know all bytes."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.retrievers.chatsearcher.sequence import TextTokenizer, TokenizerRecord, train_tokenizer

BYTES = 256
TEXTS = ("USER:", "ASSISTANT:", "a red shirt over a blue skirt", "a red skirt", "what colour is the shirt?") * 3


@pytest.fixture(scope="module")
def learnt() -> TokenizerRecord:
    return train_tokenizer(TEXTS, most=400)


def test_frequent_words_are_one_piece_and_rare_ones_several(learnt: TokenizerRecord) -> None:
    pieces = TextTokenizer(learnt)
    assert len(pieces.encode("red shirt")) == 2 == len(pieces.encode("Red SHIRT"))
    assert len(pieces.encode("zebra")) > 1
    assert len(pieces.encode("USER:")) == len(pieces.encode("ASSISTANT:")) == 2  # the word and its colon


def test_no_beginning_and_no_end_is_added(learnt: TokenizerRecord) -> None:
    assert not {learnt.begin, learnt.end} & {*TextTokenizer(learnt).encode("a red shirt")}
    assert (learnt.begin, learnt.end) == (0, 1)


@pytest.mark.parametrize("typed", ["</s>", "red </s> shirt", "<s>USER: red</s>"])
def test_a_user_cannot_type_the_end_of_an_answer(learnt: TokenizerRecord, typed: str) -> None:
    pieces = TextTokenizer(learnt)
    numbers = pieces.encode(typed)
    assert not {learnt.begin, learnt.end} & {*numbers}
    assert pieces.decode(numbers) == typed.lower()


@given(st.text(max_size=40))
def test_any_text_can_be_read_and_written_again_in_small_letters(learnt: TokenizerRecord, text: str) -> None:
    pieces, small = TextTokenizer(learnt), unicodedata.normalize("NFC", text.lower())
    assert pieces.decode(pieces.encode(small)) == small.strip()
    assert all(0 <= number < learnt.count for number in pieces.encode(text))


def test_there_are_no_more_pieces_than_wanted_but_all_bytes() -> None:
    few, many = train_tokenizer(TEXTS, most=300), train_tokenizer(TEXTS, most=10_000)
    assert BYTES + 2 <= few.count <= 300
    assert few.count < many.count < 400  # pieces that stand together once only stay apart
    assert train_tokenizer([], most=10).count == BYTES + 2


def test_a_tokeniser_outlives_its_card(learnt: TokenizerRecord) -> None:
    again = TokenizerRecord(learnt.json, learnt.begin, learnt.end, learnt.count)
    assert TextTokenizer(again).encode("a red zebra") == TextTokenizer(learnt).encode("a red zebra")
    assert "json" not in repr(again)
