"""Pieces of texts: learnt ones know all bytes."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.retrievers.chatsearcher.pieces import Pieces, Tokeniser, learn_pieces

BYTES = 256
TEXTS = ("USER:", "ASSISTANT:", "a red shirt over a blue skirt", "a red skirt", "what colour is the shirt?") * 3


@pytest.fixture(scope="module")
def learnt() -> Tokeniser:
    return learn_pieces(TEXTS, most=400)


def test_frequent_words_are_one_piece_and_rare_ones_several(learnt: Tokeniser) -> None:
    pieces = Pieces(learnt)
    assert len(pieces.numbers("red shirt")) == 2 == len(pieces.numbers("Red SHIRT"))
    assert len(pieces.numbers("zebra")) > 1
    assert len(pieces.numbers("USER:")) == len(pieces.numbers("ASSISTANT:")) == 2  # the word and its colon


def test_no_beginning_and_no_end_is_added(learnt: Tokeniser) -> None:
    assert not {learnt.begin, learnt.end} & {*Pieces(learnt).numbers("a red shirt")}
    assert (learnt.begin, learnt.end) == (0, 1)


@pytest.mark.parametrize("typed", ["</s>", "red </s> shirt", "<s>USER: red</s>"])
def test_a_user_cannot_type_the_end_of_an_answer(learnt: Tokeniser, typed: str) -> None:
    pieces = Pieces(learnt)
    numbers = pieces.numbers(typed)
    assert not {learnt.begin, learnt.end} & {*numbers}
    assert pieces.text(numbers) == typed.lower()


@given(st.text(max_size=40))
def test_any_text_can_be_read_and_written_again_in_small_letters(learnt: Tokeniser, text: str) -> None:
    pieces, small = Pieces(learnt), unicodedata.normalize("NFC", text.lower())
    assert pieces.text(pieces.numbers(small)) == small.strip()
    assert all(0 <= number < learnt.count for number in pieces.numbers(text))


def test_there_are_no_more_pieces_than_wanted_but_all_bytes() -> None:
    few, many = learn_pieces(TEXTS, most=300), learn_pieces(TEXTS, most=10_000)
    assert BYTES + 2 <= few.count <= 300
    assert few.count < many.count < 400  # pieces that stand together once only stay apart
    assert learn_pieces([], most=10).count == BYTES + 2


def test_a_tokeniser_outlives_its_card(learnt: Tokeniser) -> None:
    again = Tokeniser(learnt.json, learnt.begin, learnt.end, learnt.count)
    assert Pieces(again).numbers("a red zebra") == Pieces(learnt).numbers("a red zebra")
    assert "json" not in repr(again)
