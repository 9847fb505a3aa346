"""Talks read as one text by an encoder of transformers, from weights that hold it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from viewfinder.conversation import Answer, Question, Say
from viewfinder.query import ResolvedTurn
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.chatir.network import TokenDialogueEncoder, build_text_encoder
from viewfinder.retrievers.chatir.settings import ModelSettings
from viewfinder.testing import ColourEncoder
from viewfinder.training import Card, save_network

ENCODER = ColourEncoder()
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "red", "boat", "is", "it", "big", "?", "no", "yes", ",", "old", "new"]
BERT = {
    "model_type": "bert",
    "vocab_size": len(WORDS),
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 32,
}
BLIP = {**BERT, "model_type": "blip_text_model", "encoder_hidden_size": 8, "projection_dim": 6}
DIALOGUE: list[Say | Answer] = [
    Say("a red boat"),
    Answer(Question("is it big"), "no"),
    Answer(Question("is it old?"), "yes"),
]


def tokenizer() -> Tokenizer:
    """A word a token, with the marks of BERT."""
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.add_special_tokens(WORDS[:4])
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return made


def saved(file: Path, config: dict[str, Any], **settings: Any) -> TokenDialogueEncoder:
    """A network with drawn numbers, and its weights in a file."""
    torch.manual_seed(0)
    model = TokenDialogueEncoder(
        ModelSettings(reads="tokens", image_width=6, **settings), 48, build_text_encoder(config)
    ).eval()
    text = {"config": config, "tokenizer": tokenizer().to_str(), "mark": "[SEP]"}
    known = {"model": asdict(model.settings), "sentences_version": "", "text": text}
    save_network(file, model, Card(system="chatir", preset="", encoder=ENCODER.raw_version, settings=known))
    return model


def talked(file: Path) -> np.ndarray:
    """The vector of the whole dialogue, as the retriever has it."""
    found = load_retriever("chatir", file)
    state = found.begin()
    for number, turn in enumerate(DIALOGUE, start=1):
        state = found.step(state, ResolvedTurn(turn, number, ENCODER.words, turn.text))
    query = found.query(state)
    assert [part.label for part in query.parts] == ["a red boat", "is it big? no", "is it old? yes"]
    return np.asarray(np.mean([np.asarray(part.vector_d) for part in query.parts], axis=0))


@torch.no_grad()
def expected(model: TokenDialogueEncoder, text: str) -> np.ndarray:
    ids_1l = torch.tensor([tokenizer().encode(text).ids])
    return np.asarray(model.encode_dialogues(ids_1l, torch.ones_like(ids_1l, dtype=torch.bool))[0].numpy())


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "a red boat, is it big? no, is it old? yes"),
        ({"pooling": "first"}, "a red boat, is it big? no, is it old? yes"),
        ({"separator": "sep"}, "a red boat [SEP] is it big? [SEP] no [SEP] is it old? [SEP] yes"),
        ({"most_tokens": 12}, "a red boat, is it old? yes"),  # 2 ends, 4 with the comma, 5; with both rounds 17
        ({"rounds": 1}, "a red boat, is it old? yes"),
    ],
    ids=str,
)
def test_the_dialogue_is_one_text_for_the_encoder_in_the_weights(
    tmp_path: Path, settings: dict[str, Any], text: str
) -> None:
    model = saved(tmp_path / "some.safetensors", BERT, **settings)
    np.testing.assert_allclose(talked(tmp_path / "some.safetensors"), expected(model, text), atol=2e-6)


@pytest.mark.parametrize("most", [40, 12])
def test_a_dialogue_that_is_read_verbatim_is_its_strings_joined_by_commas(tmp_path: Path, most: int) -> None:
    model = saved(tmp_path / "some.safetensors", BERT, verbatim=True, most_tokens=most)
    found = load_retriever("chatir", tmp_path / "some.safetensors")
    strings = ["a red boat ", "is it big no", "is it old? don't know", "is it new no"]
    said: list[Say | Answer] = [
        Say(strings[0]),
        Answer(Question("is it big"), "no"),
        Answer(Question("is it old?"), "don't know"),
        Answer(Question("is it new no"), ""),  # as a file is read whose question has no mark
    ]
    state = found.begin()
    for number, turn in enumerate(said, start=1):
        state = found.step(state, ResolvedTurn(turn, number, ENCODER.words, turn.text))
        parts = found.query(state).parts
        vector_d = np.mean([np.asarray(part.vector_d) for part in parts], axis=0)
        whole = tokenizer().encode(", ".join(strings[:number])).ids
        ids_1l = torch.tensor([whole if len(whole) <= most else [*whole[: most - 1], whole[-1]]])
        with torch.no_grad():
            expected_1d = model.encode_dialogues(ids_1l, torch.ones_like(ids_1l, dtype=torch.bool))
        np.testing.assert_allclose(vector_d, expected_1d[0], atol=2e-6)


def test_the_text_encoder_of_blip_is_read_too(tmp_path: Path) -> None:
    model = saved(tmp_path / "some.safetensors", BLIP, pooling="first")
    text = "a red boat, is it big? no, is it old? yes"
    np.testing.assert_allclose(talked(tmp_path / "some.safetensors"), expected(model, text), atol=2e-6)


def test_what_is_longer_than_the_reader_reads_keeps_its_end_mark(tmp_path: Path) -> None:
    # The caption and the newest round are 11 tokens; of 8 the last is the mark.
    model = saved(tmp_path / "some.safetensors", BERT, most_tokens=8)
    ids = tokenizer().encode("a red boat, is it old? yes").ids
    with torch.no_grad():
        ids_1l = torch.tensor([[*ids[:7], WORDS.index("[SEP]")]])
        expected_1d = model.encode_dialogues(ids_1l, torch.ones_like(ids_1l, dtype=torch.bool))
    np.testing.assert_allclose(talked(tmp_path / "some.safetensors"), expected_1d[0], atol=2e-6)
