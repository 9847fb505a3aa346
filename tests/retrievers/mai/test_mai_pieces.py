"""Texts in the pieces of a tokeniser: of BERT's kind, with eleven of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from viewfinder.retrievers.mai.inputs import EmbeddedTexts, PieceInput
from viewfinder.retrievers.mai.settings import Model
from viewfinder.retrievers.mai.texts import (
    PieceTextReader,
    PieceTokenizer,
    SavedTokeniser,
    clean_text,
    make_text_reader,
)
from viewfinder.weights import Card, Weights

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "##dish", "shirt", "first", "'", "s", "collar")
MODEL = Model(width=4, heads=2, words="pieces", tokeniser="bert", most_words=5, prompts=2)


def tokeniser(*, filled: bool = False) -> SavedTokeniser:
    """`filled`: it would add pieces at the ends, cut and fill texts up if it were left to it."""
    made = Tokenizer(WordPiece({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = BertNormalizer(lowercase=True), BertPreTokenizer()
    if filled:
        made.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
        made.enable_truncation(4)
        made.enable_padding(length=9)
    return SavedTokeniser(made.to_str(), first=2, last=3)


def test_a_text_is_cut_into_pieces_whose_numbers_begin_at_one() -> None:
    numbers_cm = PieceTokenizer(tokeniser(), 5).numbers(["Reddish shirt", "", "a red SHIRT"])
    assert numbers_cm.tolist() == [[5, 6, 7, 0, 0], [0, 0, 0, 0, 0], [2, 5, 7, 0, 0]]


def test_what_a_tokeniser_would_add_itself_is_not_added_twice() -> None:
    numbers_cm = PieceTokenizer(tokeniser(filled=True), 5).numbers(["red red red red red", "shirt"])
    assert numbers_cm.tolist() == [[5] * 5, [7, 0, 0, 0, 0]]


def test_signs_that_say_nothing_are_blanks_and_the_first_is_no_shout() -> None:
    assert clean_text('FIRST: "red" (shirt)~') == "first   red   shirt"
    assert PieceTokenizer(tokeniser(), 5).numbers(["keep the FIRST's: (collar)."])[0].tolist() == [2, 2, 8, 9, 10]


def test_what_is_too_long_is_told() -> None:
    pieces = PieceTokenizer(tokeniser(), 3)
    assert pieces.beyond("Reddish shirt, red collar.") == ", red collar"
    assert pieces.beyond("reddish shirt") == ""


def test_of_a_text_as_many_words_are_read_as_are_set_before_it_is_cut_into_pieces() -> None:
    pieces = PieceTokenizer(tokeniser(), 5, words=2)
    assert pieces.numbers(["Reddish  shirt: red collar", "red"]).tolist() == [[5, 6, 7, 0, 0], [5, 0, 0, 0, 0]]
    assert pieces.beyond("Reddish  shirt: red collar") == "red collar"
    assert PieceTokenizer(tokeniser(), 2, words=2).beyond("Reddish shirt, red") == "shirt, red"


@given(st.lists(st.sampled_from(["red", "Reddish", "shirt", "collar", "blue"]), max_size=9), st.integers(1, 6))
def test_what_is_read_and_what_is_not_are_the_whole(words: list[str], most: int) -> None:
    text = " ".join(words)
    few, all_of_it = PieceTokenizer(tokeniser(), most), PieceTokenizer(tokeniser(), 40)
    [read_m], [whole_m] = few.numbers([text]), all_of_it.numbers([text])
    expected = [number for word in words for number in {"red": [5], "Reddish": [5, 6], "shirt": [7]}.get(word, [word])]
    assert len(expected) == np.count_nonzero(whole_m)
    assert read_m[read_m > 0].tolist() == whole_m[: np.count_nonzero(read_m)].tolist()
    assert np.count_nonzero(read_m) == min(most, len(expected))
    assert bool(few.beyond(text)) == (len(expected) > most)


def test_pieces_that_were_added_later_are_counted_apart() -> None:
    grown = Tokenizer.from_str(tokeniser().json)
    grown.add_special_tokens([AddedToken("<image>")])
    pieces = PieceTokenizer(SavedTokeniser(grown.to_str(), 2, 3), 5)
    assert (pieces.trained, pieces.count) == (11, 12)


# -- as places


@pytest.fixture(scope="module")
def network() -> PieceInput:
    torch.manual_seed(0)
    return PieceInput(MODEL, tokeniser())


def weights(network: PieceInput) -> Weights:
    arrays = {f"text.{name}": tensor.numpy() for name, tensor in network.state_dict().items()}
    known: dict[str, Any] = {"tokeniser": asdict(tokeniser())}
    return Weights(arrays, Card(system="mai", preset="", encoder="", settings=known), "mark")


@torch.no_grad()
def test_a_text_stands_between_its_first_and_its_last_piece(network: PieceInput) -> None:
    text: EmbeddedTexts = network(torch.tensor([[5, 7, 0, 0, 0], [0, 0, 0, 0, 0]]))
    pieces, places = network.pieces.weight, network.positions
    whole = torch.stack([pieces[2] + places[0], pieces[4] + places[1], pieces[6] + places[2], pieces[3] + places[3]])
    torch.testing.assert_close(text.places_blh[0], whole)
    torch.testing.assert_close(text.places_blh[1, :2], torch.stack([pieces[2] + places[0], pieces[3] + places[1]]))
    assert text.there_bl.tolist() == [[True] * 4, [True, True, False, False]]


@torch.no_grad()
def test_prompts_come_after_the_first_piece_and_shift_the_others(network: PieceInput) -> None:
    prompts = torch.full((2, 4), 7.0)
    text: EmbeddedTexts = network(torch.tensor([[5, 0, 0, 0, 0]]), prompts)
    pieces, places = network.pieces.weight, network.positions
    expected = torch.stack([pieces[2], prompts[0], prompts[1], pieces[4], pieces[3]]) + places[:5]
    torch.testing.assert_close(text.places_blh[0], expected)
    assert text.there_bl.all() and text.there_bl.shape == (1, 5)


@torch.no_grad()
def test_texts_of_all_lengths_have_a_place_for_every_piece(network: PieceInput) -> None:
    text: EmbeddedTexts = network(torch.tensor([[5, 5, 5, 5, 5]]), torch.zeros(2, 4))
    assert text.places_blh.shape[1] == len(network.positions) == 9
    assert network(torch.zeros(3, 0, dtype=torch.long)).there_bl.tolist() == [[True, True]] * 3


@pytest.mark.parametrize("text", ["Reddish shirt.", "", "the first's collar is red"])
@torch.no_grad()
def test_a_search_reads_what_training_reads(network: PieceInput, text: str) -> None:
    reader = make_text_reader(weights(network), MODEL)
    assert isinstance(reader, PieceTextReader)
    places_lh, told = reader.read(text, None)
    expected: EmbeddedTexts = network(torch.from_numpy(PieceTokenizer(tokeniser(), 5).numbers([text])))
    np.testing.assert_allclose(places_lh, expected.places_blh[0], atol=1e-6)
    assert told == (('drop: the first 5 pieces of a turn are read, not "is red"',) if "is red" in text else ())


def test_a_gradient_reaches_the_pieces_that_are_read_alone(network: PieceInput) -> None:
    text: EmbeddedTexts = network(torch.tensor([[5, 7, 0, 0, 0]]))
    [moved] = torch.autograd.grad(text.places_blh.sum(), [network.pieces.weight])
    assert moved.abs().sum(dim=1).nonzero().flatten().tolist() == [2, 3, 4, 6]
