"""The RNN baseline and the single-turn models without torch: the same numbers after every turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from viewfinder.retrievers.fashioniq import numpy_network
from viewfinder.retrievers.fashioniq.network import CompositionRetriever, Feedback, RecurrentRetriever
from viewfinder.retrievers.fashioniq.numpy_network import FeedbackVectors
from viewfinder.retrievers.fashioniq.settings import CompositionModel, RecurrentModel
from viewfinder.retrievers.shared.network import WordVectors

SMALL: dict[str, Any] = {"width": 6, "words": "learned", "word_width": 4, "most_words": 4, "attributes": 3}
VOCABULARY, RAW, LABELS = 9, 7, 5
TURNS: tuple[tuple[tuple[int, ...], tuple[int, ...], bool], ...] = (
    ((1, 2, 3), (1, 4, 2), True),
    ((), (3,), True),
    ((5,), (), False),
    ((8, 1, 8, 7, 6, 2), (2, 5, 1, 4), True),
    ((), (), False),
)
"""Words, attributes, and whether a picture was shown; some have more words or attributes than are read."""


def randomised(model: torch.nn.Module) -> dict[str, np.ndarray]:
    """Random numbers everywhere: in biases, norms, and what a norm knows of its batches. The network's arrays."""
    with torch.no_grad():
        for name, numbers in [*model.named_parameters(), *model.named_buffers()]:
            if numbers.is_floating_point():
                numbers.add_(0.4 * torch.rand_like(numbers))
            if name in ("attribute.weight", "words.table"):
                numbers[0] = 0.0
    model.eval()
    return {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}


def heard(turn: int, table_vs: np.ndarray) -> tuple[Feedback, FeedbackVectors]:
    """One of `TURNS` for the network in torch, and for the one without."""
    words, attributes, shown = TURNS[turn]
    picture_h = np.random.default_rng(turn).standard_normal(SMALL["width"]).astype(np.float32)
    feedback = Feedback(
        torch.tensor([words], dtype=torch.long),
        torch.tensor([attributes], dtype=torch.long),
        torch.from_numpy(picture_h)[None],
        torch.tensor([shown]),
    )
    return feedback, FeedbackVectors(table_vs[list(words)].reshape(-1, 4), attributes, picture_h if shown else None)


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"compare": "cosine"},
        {"slides_over": "numbers"},
        {"attributes": 0},
        {"filters": 1, "most_words": 9},
    ],
    ids=str,
)
@torch.no_grad()
def test_queries_of_the_recurrent_network_are_the_same_after_every_turn(way: dict[str, Any]) -> None:
    torch.manual_seed(0)
    settings = RecurrentModel(**({"filters": 5} | SMALL | way))
    words = WordVectors(settings, None, VOCABULARY)
    model = RecurrentRetriever(settings, RAW, words, LABELS)
    arrays = randomised(model)
    state, own = model.begin(1), None
    for turn in range(len(TURNS)):
        feedback, said = heard(turn, words.table.numpy(force=True))
        state, expected_1h = model.step(state, feedback)
        own, found_h = numpy_network.numpy_step_recurrent(arrays, settings, own, said)
        np.testing.assert_allclose(found_h, expected_1h[0], atol=3e-6)


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"compare": "cosine"},
        {"modalities": ("text", "image")},
        {"modalities": ("image", "text"), "gate": False},
        {"modalities": ("text",), "gate": False},
        {"modalities": ("image",), "gate": False},
        {"modalities": ("attributes",), "gate": False},
    ],
    ids=str,
)
@torch.no_grad()
def test_queries_of_single_turns_are_the_same(way: dict[str, Any]) -> None:
    torch.manual_seed(0)
    settings = CompositionModel(**({"text_width": 5} | SMALL | way))
    words = WordVectors(settings, None, VOCABULARY)
    model = CompositionRetriever(settings, RAW, words, LABELS)
    arrays = randomised(model)
    for turn in range(len(TURNS)):
        feedback, said = heard(turn, words.table.numpy(force=True))
        expected_1h = model.step(model.begin(1), feedback)[1]
        found_h = numpy_network.numpy_step_composition(arrays, settings, None, said)[1]
        np.testing.assert_allclose(found_h, expected_1h[0], atol=3e-6)
