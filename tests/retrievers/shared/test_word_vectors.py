"""Vectors of words: frozen, of a file, or learnt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.errors import BadInput
from viewfinder.retrievers.fashioniq.settings import FeedbackReading
from viewfinder.retrievers.shared.network import WordVectors, read_glove, read_word_table
from viewfinder.testing import ColourEncoder

TABLE = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
GLOVE = FeedbackReading(words="glove", glove="glove.txt")


def test_word_k_has_the_number_k_plus_one_and_nothing_is_zeros() -> None:
    words = WordVectors(FeedbackReading(), TABLE, 3)
    assert words(torch.tensor([[1, 3, 0]])).tolist() == [[[1, 2], [5, 6], [0, 0]]]
    assert words.width == 2


def test_only_what_a_search_cannot_ask_for_is_saved() -> None:
    assert not WordVectors(FeedbackReading(), TABLE, 3).state_dict()
    saved = WordVectors(GLOVE, TABLE, 3).state_dict()["table"]
    assert (saved.dtype, saved.shape) == (torch.float16, (4, 2))
    assert "table" in dict(WordVectors(FeedbackReading(words="learned", word_width=5), None, 3).named_parameters())


def test_learnt_words_learn_but_for_nothing() -> None:
    words = WordVectors(FeedbackReading(words="learned", word_width=5), None, 3)
    words(torch.tensor([[0, 2]])).sum().backward()
    assert words.table.grad is not None
    assert words.table.grad.tolist() == [[0] * 5, [0] * 5, [1] * 5, [0] * 5]
    assert not words.table[0].any()


def test_frozen_words_need_a_row_each() -> None:
    for table_vs in (None, TABLE):
        with pytest.raises(ValueError, match="need a table of 4 vectors"):
            WordVectors(FeedbackReading(), table_vs, 4)


def test_the_encoder_reads_each_word_as_a_sentence_of_its_own(tmp_path: Path) -> None:
    encoder = ColourEncoder()
    vocabulary = ("shirt", "red", "a")  # in any order, which is kept
    table_vs, version = read_word_table(
        FeedbackReading(), vocabulary, lambda texts: SentenceVectors.of(texts, encoder, tmp_path)
    )
    assert table_vs is not None
    assert np.allclose(table_vs, encoder.sentences(vocabulary), atol=1e-3)
    assert version == encoder.sentences_version


def test_a_word_that_glove_does_not_have_gets_the_mean_of_all(tmp_path: Path) -> None:
    file = tmp_path / "glove.txt"
    file.write_text("red 1 2\nblue 3 4\nthe 5 9\n", encoding="utf-8")
    assert read_glove(file, ["blue", "sleeveless", "red"]).tolist() == [[3, 4], [3, 5], [1, 2]]

    def unasked(texts: Sequence[str]) -> SentenceVectors:
        raise AssertionError("the file has the words")

    table_vs, version = read_word_table(FeedbackReading(words="glove", glove=str(file)), ["red"], unasked)
    assert table_vs is not None
    assert (table_vs.tolist(), version) == ([[1, 2]], "")


@pytest.mark.parametrize(
    ("content", "what"),
    [("red 1 2\nblue 3\n", "line 2"), ("red one two\n", "line 1"), ("red\n", "line 1"), ("", "is empty")],
)
def test_a_damaged_file_of_glove_is_named(tmp_path: Path, content: str, what: str) -> None:
    file = tmp_path / "glove.txt"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match=what):
        read_glove(file, ["red"])
    with pytest.raises(BadInput, match="no such file"):
        read_glove(tmp_path / "other.txt", ["red"])
