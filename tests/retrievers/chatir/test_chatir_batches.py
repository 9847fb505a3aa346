"""Talks as tensors: how far they are read, what is hidden of them, and what they become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from torch import nn

from viewfinder.data.dialogues import Round
from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.retrievers.chatir.batches import MASK, ChatirBatches, SentenceTensors, TokenTensors
from viewfinder.retrievers.chatir.network import TextModel
from viewfinder.retrievers.chatir.retriever import informative_rounds
from viewfinder.retrievers.chatir.settings import Masking, ModelSettings
from viewfinder.retrievers.shared.picture_dialogues import PictureDialogue, PictureDialogues

ROUNDS = (
    Round("is it big", "no"),
    Round("is it old?", "can't tell"),
    Round("is it red?", "yes it is"),
    Round("", "a boat"),
)
DIALOGUES = PictureDialogues(
    keys=("one", "two"),
    raw_ng=np.array([[1.0], [2.0]], np.float32),
    raw_version="some",
    dialogues=(
        PictureDialogue(1, "a red boat", ROUNDS),
        PictureDialogue(0, "boat"),
        PictureDialogue(1, "a big boat", ROUNDS[:1]),
    ),
)
SEEN = torch.tensor([[10.0], [20.0]])


def by_length(texts: Sequence[str]) -> SentenceVectors:
    """Vectors of one number: how long the text is."""
    rows = np.array([[len(text)] for text in texts], np.float16)
    return SentenceVectors(tuple(texts), rows, "lengths")


def batches(rounds: int = 10, masking: Masking = "none", share: float = 0.0, unasked: float = 0.0) -> ChatirBatches:
    speech = SentenceTensors(DIALOGUES, by_length, 3, share if masking == "tokens" else 0.0)
    return ChatirBatches(DIALOGUES, speech, SEEN, rounds, masking, unasked, share)


def drawn(made: ChatirBatches, epochs: int = 60) -> list[tuple[float, list[list[float]], list[bool]]]:
    """What came of the pictures "one" and "two" in many epochs: captions, rounds, what is there."""
    found: list[tuple[float, list[list[float]], list[bool]]] = []
    for epoch in range(epochs):
        batch = made.epoch(2, epoch, 0)[0]
        captions, rounds, there = batch.dialogues
        assert sorted(batch.pictures_bx[:, 0].tolist()) == [10.0, 20.0]
        found += list(zip(captions[:, 0].tolist(), rounds.tolist(), there.tolist(), strict=True))
    return found


def test_a_dialogue_is_read_up_to_a_round_without_those_that_say_nothing() -> None:
    made = batches()
    for rounds, there in enumerate([0, 1, 1, 2, 3, 3]):
        [batch] = made.fixed(rounds, 2)
        captions, vectors, here = batch.dialogues
        assert batch.pictures_bx[:, 0].tolist() == [10.0, 20.0]  # of "one" the only talk, of "two" the first
        assert captions[:, 0].tolist() == [len("boat"), len("a red boat")]
        assert here[1].tolist() == [True, *[place < there for place in range(3)]]
        assert not here[0, 1:].any()
    assert vectors[1].tolist() == [[len("is it big?"), 2], [len("is it red?"), len("yes it is")], [0, len("a boat")]]


def test_of_more_rounds_than_there_are_places_the_last_are_read() -> None:
    speech = SentenceTensors(DIALOGUES, by_length, 2)
    [batch] = ChatirBatches(DIALOGUES, speech, SEEN, 10).fixed(10, 2)
    assert batch.dialogues[1][1].tolist() == [[len("is it red?"), len("yes it is")], [0, len("a boat")]]


def test_a_batch_is_the_same_whenever_it_is_asked_for() -> None:
    made = batches(masking="rounds", share=0.5)
    one, other = (made.epoch(2, 3, 7)[0] for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one.dialogues, other.dialogues, strict=True))


def test_every_length_and_every_dialogue_of_a_picture_is_drawn() -> None:
    found = drawn(batches())
    assert {caption for caption, _, _ in found} == {4.0, 10.0}
    assert {sum(there[1:]) for _, _, there in found} == {0, 1, 2, 3}
    captions_only = drawn(batches(rounds=0), epochs=10)
    assert not any(any(there[1:]) for _, _, there in captions_only)


def test_captions_are_drawn_as_often_as_each_round() -> None:
    """A dialogue of four rounds is read up to round 0, 1, 2, 3 or 4: of the drawn ones a fifth each."""
    long = PictureDialogues(
        ("one",), np.ones((1, 1), np.float32), "some", (PictureDialogue(0, "boat", ROUNDS[:1] * 4),)
    )
    made = ChatirBatches(long, SentenceTensors(long, by_length, 4), SEEN[:1], 10)
    lengths = Counter(int(made.epoch(1, epoch, 0)[0].dialogues[2].sum()) - 1 for epoch in range(500))
    assert sorted(lengths) == [0, 1, 2, 3, 4]
    assert min(lengths.values()) > 60


def test_a_hidden_caption_and_a_hidden_answer_are_zeros() -> None:
    captions = {caption for caption, _, there in drawn(batches(masking="captions", share=0.5)) if not there[0]}
    assert captions == {0.0}
    answers = [rounds[0][1] for _, rounds, there in drawn(batches(masking="answers", share=0.5)) if there[1]]
    assert set(answers) == {0.0, 2.0}


def test_questions_are_left_out_as_often_as_asked_and_never_in_validation() -> None:
    made = batches(unasked=0.5)
    questions = [rounds[0][0] for _, rounds, there in drawn(made, 200) if there[1]]
    assert 0.3 < questions.count(0.0) / len(questions) < 0.7
    [batch] = made.fixed(1, 2)
    assert batch.dialogues[1][1, 0].tolist() == [len("is it big?"), 2]


def test_hidden_words_have_vectors_of_their_own_but_a_lone_word_stays() -> None:
    asked: list[str] = []

    def vectors(texts: Sequence[str]) -> SentenceVectors:
        asked.extend(texts)
        return by_length(texts)

    speech = SentenceTensors(DIALOGUES, vectors, 3, 0.5)
    assert any(MASK in text for text in asked)
    found = drawn(ChatirBatches(DIALOGUES, speech, SEEN, 10, "tokens", share=0.5))
    red = {caption for caption, _, _ in found if caption >= len("a red boat")}
    assert len(red) > 1  # "a red boat" and some of "a [MASK] boat", ...
    assert {caption for caption, _, there in found if not any(there[1:])} >= {4.0}
    assert not {caption for caption, _, there in found if not any(there[1:])} & {float(len(MASK))}


# -- tokens

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "big", "boat", "is", "it", "?", "no", "yes", ","]


def tokenizer() -> Tokenizer:
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.add_special_tokens(WORDS[:5])
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return made


def token_speech(hidden: float = 0.0, **settings: Any) -> TokenTensors:
    text = TextModel(nn.Identity(), tokenizer().to_str(), "[SEP]", "[MASK]", None)
    return TokenTensors(DIALOGUES, text, replace(ModelSettings(reads="tokens", most_tokens=40), **settings), hidden)


@pytest.mark.parametrize("separator", ["comma", "sep"])
@pytest.mark.parametrize("most", [40, 20, 16, 10, 8])
def test_tokens_are_those_of_the_text_that_a_search_reads(separator: str, most: int) -> None:
    counts = tokenizer()
    [batch] = ChatirBatches(DIALOGUES, token_speech(separator=separator, most_tokens=most), SEEN, 10).fixed(10, 2)
    ids, there = batch.dialogues
    for row, dialogue in enumerate((DIALOGUES.dialogues[1], DIALOGUES.dialogues[0])):
        rounds = informative_rounds((said.question, said.answer) for said in dialogue.rounds)
        for first in range(max(len(rounds), 1)):  # the oldest rounds go where all would be too long
            between = " [SEP] " if separator == "sep" else ", "
            parts = [part for said in rounds[first:] for part in (said if separator == "sep" else [str(said)])]
            whole = counts.encode(between.join(part for part in (dialogue.caption, *parts) if part)).ids
            if len(whole) <= most:
                break
        expected = whole if len(whole) <= most else [*whole[: most - 1], whole[-1]]
        assert ids[row][there[row]].tolist() == expected
        assert not ids[row][~there[row]].any()


@pytest.mark.parametrize("most", [40, 12])
def test_dialogues_that_are_read_verbatim_are_their_strings_joined_by_commas(most: int) -> None:
    counts = tokenizer()
    batches = ChatirBatches(DIALOGUES, token_speech(verbatim=True, most_tokens=most), SEEN, 10)
    for rounds in range(4):
        [batch] = batches.fixed(rounds, 2)
        ids, there = batch.dialogues
        for row, dialogue in enumerate((DIALOGUES.dialogues[1], DIALOGUES.dialogues[0])):
            whole = counts.encode(", ".join([dialogue.caption, *map(str, dialogue.rounds[:rounds])])).ids
            expected = whole if len(whole) <= most else [*whole[: most - 1], whole[-1]]
            assert ids[row][there[row]].tolist() == expected


def test_hidden_tokens_are_masks_at_the_same_places_and_marks_stay() -> None:
    made = ChatirBatches(DIALOGUES, token_speech(hidden=0.4), SEEN, 0, "tokens", share=0.4)
    rows = {tuple(row.tolist()) for epoch in range(40) for row in made.epoch(2, epoch, 0)[0].dialogues[0]}
    boat, mask = WORDS.index("boat"), WORDS.index("[MASK]")
    lone = {row for row in rows if row[-1] == 0}
    assert lone == {(2, boat, 3, 0, 0)}  # a lone token is never hidden
    assert all(row[0] == 2 and row[-1] == 3 for row in rows - lone)
    assert any(mask in row for row in rows) and (2, mask, mask, mask, 3) not in rows


def test_a_hidden_round_goes_with_its_separator() -> None:
    made = ChatirBatches(DIALOGUES, token_speech(), SEEN, 10, "rounds", share=1 - 1e-9)
    for epoch in range(10):
        ids, there = made.epoch(2, epoch, 0)[0].dialogues
        assert WORDS.index(",") not in ids[there].tolist()
