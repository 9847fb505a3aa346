"""Dialogues as batches: what is said in numbers, always the same batches, and recall by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from viewfinder.data.visual_genome import build_vocabulary
from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.retrievers.shared.captioned_pictures import CaptionedPictures
from viewfinder.retrievers.shared.description_training import (
    DescriptionDialogues,
    SentenceVectorSpeech,
    WordNumberSpeech,
    measure_recalls,
)
from viewfinder.testing import ColourEncoder
from viewfinder.training import draw_epochs

VOCABULARY = build_vocabulary(["a red boat", "a red boat", "buoy"], fewest=2)
COUNT = 12


def described() -> CaptionedPictures:
    """Picture i has vectors of i and says "i 0", "i 1" and "i 2"."""
    numbers = np.arange(COUNT, dtype=np.float32)
    block = (np.tile(numbers[:, None], (1, 2)), np.tile(numbers[:, None, None], (1, 4, 3)).astype(np.float16))
    said = tuple(tuple(f"{number} {k}" for k in range(3)) for number in range(COUNT))
    keys = tuple(map(str, range(COUNT)))
    return CaptionedPictures(keys, said, 3, "raw-1", (block,), np.arange(COUNT), np.zeros(COUNT, np.intp))


def test_words_are_numbers_padded_with_zeros() -> None:
    # <pad> 0, <start> 1, <end> 2, <unk> 3, a 4, red 5, boat 6
    said_btl, lengths_bt = WordNumberSpeech(VOCABULARY)([("a boat", "red"), ("a red dog", "A")])
    assert said_btl.tolist() == [[[4, 6, 2, 0], [5, 2, 0, 0]], [[4, 5, 3, 2], [4, 2, 0, 0]]]
    assert lengths_bt.tolist() == [[3, 2], [4, 2]]


def test_sentence_vectors_are_those_of_the_texts(tmp_path: Path) -> None:
    encoder = ColourEncoder()
    speech = SentenceVectorSpeech(SentenceVectors.of(["red", "blue", "green"], encoder, tmp_path))
    said_bts, ones_bt = speech([("red", "blue"), ("green", "red")])
    np.testing.assert_allclose(said_bts[1, 0], encoder.sentences(["green"])[0], atol=1e-3)
    torch.testing.assert_close(said_bts[0, 0], said_bts[1, 1])
    assert ones_bt.tolist() == [[1, 1], [1, 1]]


def test_what_is_said_belongs_to_the_picture() -> None:
    texts = build_vocabulary([f"{number} {k}" for number in range(COUNT) for k in range(3)], fewest=1)
    batches = draw_epochs(COUNT, 4, DescriptionDialogues(described(), WordNumberSpeech(texts)).batch)(1, 0)
    assert len(batches) == 3
    for batch in batches:
        for place, number in enumerate(batch.whole_bg[:, 0].int().tolist()):
            assert (batch.regions_bke[place] == number).all()
            assert {texts.words[sentence[0]] for sentence in batch.said[place].tolist()} == {str(number)}


def test_batches_are_the_same_for_a_seed_and_an_epoch_and_no_other() -> None:
    dialogues = DescriptionDialogues(described(), WordNumberSpeech(build_vocabulary(["0 1 2"], fewest=1)))
    epochs = draw_epochs(COUNT, 4, dialogues.batch)
    first, again, later, other = (epochs(*at) for at in ((1, 0), (1, 0), (2, 0), (1, 1)))
    assert all(torch.equal(one.said, two.said) for one, two in zip(first, again, strict=True))
    for changed in (later, other):
        assert any(not torch.equal(one.whole_bg, two.whole_bg) for one, two in zip(first, changed, strict=True))


def test_validation_takes_pictures_evenly_with_their_first_sentences() -> None:
    dialogues = DescriptionDialogues(described(), WordNumberSpeech(VOCABULARY))
    sizes, numbers = [], []
    for batch in dialogues.fixed(3, most=5):
        sizes.append(len(batch.said))
        numbers += batch.whole_bg[:, 0].int().tolist()
    assert (sizes, numbers) == ([3, 2], [0, 3, 6, 8, 11])  # 0, 2.75, 5.5, 8.25, 11


def test_regions_are_read_only_where_they_are_needed() -> None:
    batch = DescriptionDialogues(described(), WordNumberSpeech(VOCABULARY), reads_regions=False).batch([3, 5])
    assert batch.regions_bke.shape == (2, 0, 0)
    assert batch.whole_bg.tolist() == [[3.0, 3.0], [5.0, 5.0]]


def test_recall_by_hand() -> None:
    # Columns are dialogues. Turn 0: picture 0 is first for its dialogue, picture 1 second for its: R@1 is 1/2, R@5 and
    # R@10 are 1. Turn 1: both are first.
    turns = [torch.tensor([[0.9, 0.8], [0.1, 0.7]]), torch.tensor([[0.9, 0.1], [0.1, 0.7]])]
    assert measure_recalls(turns) == {"recall": pytest.approx((0.5 + 1 + 1 + 1 + 1 + 1) / 6), "first": 1.0, "last": 1.0}


def test_a_network_that_scores_everything_alike_finds_nothing() -> None:
    assert measure_recalls([torch.zeros(40, 40)]) == {"recall": 0.0, "first": 0.0, "last": 0.0}
