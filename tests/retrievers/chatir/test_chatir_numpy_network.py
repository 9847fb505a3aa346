"""The dialogue encoder without torch: the same numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from viewfinder.retrievers.chatir.network import SentenceDialogueEncoder
from viewfinder.retrievers.chatir.numpy_network import encode_dialogue, feed_forward
from viewfinder.retrievers.chatir.settings import ModelSettings

SENTENCE = 5
SMALL: dict[str, Any] = {"width": 8, "layers": 2, "heads": 2, "hidden": 6, "rounds": 3, "image_width": 4}


def network(**settings: Any) -> SentenceDialogueEncoder:
    """A network with random numbers everywhere: biases and norms too."""
    torch.manual_seed(0)
    model = SentenceDialogueEncoder(ModelSettings(**(SMALL | settings)), raw_width=7, sentence_width=SENTENCE)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return model.eval()


def arrays_of(model: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}


def token(arrays: dict[str, np.ndarray], kind: str, vector_s: np.ndarray) -> np.ndarray:
    """What the transformer reads of a caption or a round."""
    return np.asarray(feed_forward(arrays, kind, vector_s), np.float32)


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"pooling": "first"},
        {"layers": 1, "heads": 1},
        {"layers": 3, "heads": 4, "rounds": 6},
        {"image": "shared"},
        {"image": "learned", "image_width": 9},
        {"width": 2, "heads": 2, "hidden": 1},
    ],
    ids=str,
)
@torch.no_grad()
def test_dialogues_of_any_length_are_what_the_network_makes_of_them(way: dict[str, Any]) -> None:
    model = network(**way)
    arrays, rng = arrays_of(model), np.random.default_rng(1)
    for count, with_caption in itertools.product(range(model.settings.rounds + 1), (True, False)):
        caption_s, rounds_ts = rng.standard_normal(SENTENCE), rng.standard_normal((count, 2 * SENTENCE))
        rounds_ts[::2, :SENTENCE] = 0.0  # said without being asked
        expected_1d = model.encode_dialogues(
            torch.from_numpy(caption_s).float()[None],
            torch.from_numpy(rounds_ts).float()[None],
            torch.tensor([[with_caption, *[True] * count]]),
        )
        tokens = [token(arrays, "round", row) for row in rounds_ts]
        caption = token(arrays, "caption", caption_s) if with_caption else None
        found_d = encode_dialogue(arrays, model.settings, caption, tokens)
        np.testing.assert_allclose(found_d, expected_1d[0], atol=2e-6)
        np.testing.assert_allclose(np.linalg.norm(found_d), 1.0, rtol=1e-5)


@torch.no_grad()
def test_a_network_of_captions_alone_has_no_rounds() -> None:
    model = network(rounds=0)
    caption_s = np.arange(SENTENCE) / SENTENCE
    expected_1d = model.encode_dialogues(
        torch.from_numpy(caption_s).float()[None], torch.zeros(1, 0, 2), torch.tensor([[True]])
    )
    arrays = arrays_of(model)
    found_d = encode_dialogue(arrays, model.settings, token(arrays, "caption", caption_s), [])
    np.testing.assert_allclose(found_d, expected_1d[0], atol=2e-6)


def test_two_layers_by_hand() -> None:
    linear = {"weight": np.array([[1.0]]), "bias": np.array([0.0])}
    layers = {f"m.{part}.{name}": value for part in ("inner", "outer") for name, value in linear.items()}
    # GELU keeps what is large, drops what is very negative, and of 1 it leaves 0.841
    found = feed_forward(layers, "m", np.array([[20.0], [-20.0], [1.0]]))
    np.testing.assert_allclose(found, [[20.0], [0.0], [0.8412]], atol=1e-4)
