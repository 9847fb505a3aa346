"""Attributes as a frozen part of a network: the same as the predictor in numpy, to the rounding of its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from viewfinder.encoders.tags import AttributePredictor
from viewfinder.training import Card, save_network
from viewfinder.training.layers import AttributeHead
from viewfinder.weights import read_weights


def drawn(seed: int, labels: int, width: int) -> AttributePredictor:
    rng = np.random.default_rng(seed)
    mean, deviation, weight, bias = (
        rng.standard_normal(shape).astype(np.float16).astype(np.float32)  # so that halves hold the weights
        for shape in ((width,), (width,), (labels, width), (labels,))
    )
    return AttributePredictor(tuple(map(str, range(labels))), "v1", mean, np.abs(deviation) + 1, weight, bias)


@given(st.integers(0, 99), st.integers(1, 7), st.integers(1, 5))
def test_it_tells_what_the_predictor_tells(seed: int, labels: int, width: int) -> None:
    predictor = drawn(seed, labels, width)
    head = AttributeHead.from_predictor(predictor)
    rows = np.random.default_rng(seed).standard_normal((4, width)).astype(np.float32)
    np.testing.assert_allclose(head.scores(torch.from_numpy(rows)).sigmoid(), predictor.scores(rows), atol=1e-5)
    np.testing.assert_array_equal(head.top(torch.from_numpy(rows), labels) - 1, predictor.top(rows, labels))


def test_there_is_nothing_beyond_the_last_label_and_in_no_picture() -> None:
    head = AttributeHead(2, 1)
    head.get_buffer("weight").copy_(torch.tensor([[1.0], [2.0]]))
    told = head.top(torch.tensor([[3.0], [-3.0], [0.0]]), 4)
    assert told.tolist() == [[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 0, 0]]


def test_it_does_not_train_and_is_read_back_from_the_network_it_is_part_of(tmp_path: Path) -> None:
    predictor = drawn(3, 4, 5)
    network = nn.Module()
    network.attributes = AttributeHead.from_predictor(predictor)
    assert not list(network.parameters())
    card = Card(system="captioner", preset="lab", encoder="v1", settings={"labels": list(predictor.labels)})
    save_network(tmp_path / "n.safetensors", network, card)
    again = AttributePredictor.of(read_weights(tmp_path / "n.safetensors"))
    rows = np.random.default_rng(1).standard_normal((6, 5)).astype(np.float32)
    np.testing.assert_array_equal(again.scores(rows), predictor.scores(rows))
    assert again.fingerprint == predictor.fingerprint
