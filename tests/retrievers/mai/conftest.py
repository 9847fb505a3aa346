"""Small networks of MAI with random numbers everywhere."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertTokenizer, Blip2Config, Blip2ForImageTextRetrieval

from viewfinder.retrievers.mai.inputs import WordInput
from viewfinder.retrievers.mai.network import MaiNetwork
from viewfinder.retrievers.mai.settings import MaiLossSettings, Model
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.testing import COLOURS, RAW_WIDTH, ColourEncoder
from viewfinder.weights import Card, Weights

ENCODER = ColourEncoder()
SAID = "i prefer keep the first first's second second's third third's top over and is more"
VOCABULARY = sorted({*COLOURS, *SAID.split()})
REGION_WIDTH, REGIONS = 3, 36


@pytest.fixture(scope="session")
def network_of() -> Callable[[Model], MaiNetwork]:
    """Makes a network over raw vectors of `ColourEncoder`, its numbers drawn: in biases, norms and scales as well."""

    def made(model: Model) -> MaiNetwork:
        torch.manual_seed(0)
        table_vs = torch.from_numpy(ENCODER.sentences(VOCABULARY)) if model.words == "encoder" else None
        network = MaiNetwork(model, RAW_WIDTH, REGION_WIDTH, WordVectors(model, table_vs, len(VOCABULARY)))
        kept = {"text.words.table"} if model.words == "encoder" else set()
        with torch.no_grad():
            for name, numbers in [*network.named_parameters(), *network.named_buffers()]:
                if name not in kept and numbers.is_floating_point():
                    drawn = torch.rand_like(numbers) + 0.5 if "deviation" in name else 0.3 * torch.randn_like(numbers)
                    numbers.copy_(drawn if "deviation" in name else numbers + drawn)
            assert isinstance(network.text, WordInput)
            network.text.words.table[0] = 0
            network.log_scale.fill_(np.log(12.0))
        return network.eval()

    return made


@pytest.fixture(scope="session")
def card_of() -> Callable[[Model], Card]:
    """Makes the card that training would write."""

    def made(model: Model) -> Card:
        known: dict[str, Any] = {
            "model": asdict(model),
            "loss": asdict(MaiLossSettings()),
            "vocabulary": VOCABULARY,
            "sentences_version": ENCODER.sentences_version if model.words == "encoder" else "",
            "regions": REGIONS if model.image != "whole" else 0,
        }
        return Card(system="mai", preset="", encoder=ENCODER.raw_version, settings=known)

    return made


@pytest.fixture(scope="session")
def weights_of(card_of: Callable[[Model], Card]) -> Callable[[MaiNetwork], Weights]:
    """A network as `read_weights` gives it."""

    def made(network: MaiNetwork) -> Weights:
        arrays = {name: tensor.numpy(force=True).astype(np.float32) for name, tensor in network.state_dict().items()}
        return Weights(arrays, card_of(network.settings), f"{zlib.crc32(repr(network.settings).encode()):08x}")

    return made


@pytest.fixture(scope="session")
def blip2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BLIP-2 for image-text retrieval with its tokeniser, as transformers saves it; its numbers are drawn."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("published") / "blip2"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "is", "shirt", "first", "'", "s", *VOCABULARY]
    pieces = {word: at for at, word in enumerate(dict.fromkeys(words))}
    BertTokenizer(vocab=pieces, model_max_length=16).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = Blip2Config(
        qformer_config={
            **sizes,
            "vocab_size": len(pieces),
            "max_position_embeddings": 16,
            "use_qformer_text_input": True,
        },
        vision_config=sizes | {"hidden_size": 12, "image_size": 16, "patch_size": 8},
        num_query_tokens=4,
        image_text_hidden_size=8,
    )
    made: Any = Blip2ForImageTextRetrieval(config)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    made.save_pretrained(folder)
    return folder
