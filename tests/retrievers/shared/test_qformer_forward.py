"""The Q-Former without torch: the same numbers as transformers'."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from transformers import Blip2QFormerConfig, Blip2QFormerModel

from viewfinder.retrievers.shared.numpy_network import (
    QFormerShape,
    numpy_gelu,
    numpy_picture_input,
    numpy_qformer,
    softmax,
)
from viewfinder.training.layers import PictureInput


@pytest.mark.parametrize("cross_every", [1, 2])
@torch.no_grad()
def test_tokens_that_read_no_text_are_those_of_transformers(cross_every: int) -> None:
    torch.manual_seed(0)
    config = Blip2QFormerConfig(
        hidden_size=8,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=12,
        cross_attention_frequency=cross_every,
        encoder_hidden_size=5,
        initializer_range=0.5,
    )
    model: Any = Blip2QFormerModel(config)
    model.eval()
    arrays = {f"deep.former.{name}": tensor.numpy() for name, tensor in model.state_dict().items()}
    tokens_bth, image_biz = torch.randn(2, 4, 8), torch.randn(2, 7, 5)
    expected = model(tokens_bth, encoder_hidden_states=image_biz).last_hidden_state
    former = QFormerShape("deep.former", layers=3, heads=2, cross_every=cross_every)
    nothing_blh = np.zeros((2, 0, 8), np.float32)
    found = numpy_qformer(arrays, former, tokens_bth.numpy(), nothing_blh, image_biz.numpy(), range(4))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("image", ["standardised", "whitened"])
@torch.no_grad()
def test_what_is_read_of_raw_vectors_is_what_training_reads(image: str) -> None:
    raw_pg = np.random.default_rng(0).standard_normal((20, 6)).astype(np.float32) * np.arange(1, 7, dtype=np.float32)
    raw_pg[3] = 0
    made = PictureInput("standardised" if image == "standardised" else "whitened", 6, 4)
    made.measure(raw_pg)
    arrays = {f"seen.{name}": tensor.numpy().astype(np.float32) for name, tensor in made.state_dict().items()}
    found = numpy_picture_input(arrays, "seen", raw_pg.reshape(4, 5, 6))
    np.testing.assert_allclose(found.reshape(20, -1), made(torch.from_numpy(raw_pg)), atol=1e-5)
    assert not found[0, 3].any()


def test_shares_add_up_to_one_whatever_the_scores() -> None:
    scores = np.array([[0.0, math.log(3.0)], [500.0, 500.0], [-np.inf, -700.0]], np.float32)
    np.testing.assert_allclose(softmax(scores), [[0.25, 0.75], [0.5, 0.5], [0.0, 1.0]], atol=1e-6)


def test_a_gelu_is_that_of_the_library() -> None:
    rows = np.linspace(-6, 6, 2001, dtype=np.float32)
    np.testing.assert_allclose(numpy_gelu(rows), torch.nn.functional.gelu(torch.from_numpy(rows)), atol=2e-6)
