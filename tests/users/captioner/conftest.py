"""Small captioners with drawn weights, and pictures for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from viewfinder.users.captioner.network import CaptionerNetwork, make_captioner
from viewfinder.users.captioner.settings import RecurrentCaptioner, TransformerCaptioner

RAW, LABELS = 6, 4

Make = Callable[..., CaptionerNetwork]


def _make(
    kind: str = "transformer", *, words: int = 9, raw_width: int = RAW, seed: int = 3, **settings: Any
) -> CaptionerNetwork:
    torch.manual_seed(seed)
    if kind == "transformer":
        sizes = {"width": 8, "layers": 2, "heads": 2, "hidden": 12}
        model: Any = TransformerCaptioner(**(sizes | {"attributes": 2, "most_words": 6} | settings))
    else:
        model = RecurrentCaptioner(**({"width": 8, "attributes": 2, "most_words": 6} | settings))
    network = make_captioner(model, raw_width, words, LABELS)
    if network.attributes is not None:
        network.attributes.get_buffer("weight").normal_()
    network.apply(_livened)
    return network.eval()


@torch.no_grad()
def _livened(module: nn.Module) -> None:
    """Weights as strong as those of trained networks, so that captions differ from pair to pair."""
    if isinstance(module, nn.Linear | nn.Embedding):
        module.weight.mul_(3.0)


@pytest.fixture
def make() -> Make:
    """Makes a network: `make("recurrent", attributes=0)`."""
    return _make


@pytest.fixture
def pairs() -> tuple[torch.Tensor, torch.Tensor]:
    """Raw vectors of 12 shown and 12 wanted pictures."""
    generator = torch.Generator().manual_seed(3)
    return torch.randn(12, RAW, generator=generator), torch.randn(12, RAW, generator=generator)
