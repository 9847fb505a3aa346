"""What attributes a picture has, by arithmetic that can be followed; and files that cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from viewfinder.encoders.tags import AttributePredictor
from viewfinder.errors import BadInput
from viewfinder.training import Card, save_network
from viewfinder.training.layers import AttributeHead
from viewfinder.weights import Weights

PREDICTOR = AttributePredictor(
    labels=("floral", "cotton", "long"),
    raw_version="v1",
    mean_g=np.array([1, 0], np.float32),
    deviation_g=np.array([2, 1], np.float32),
    weight_kg=np.array([[1, 0], [0, 1], [0, 0]], np.float32),
    bias_k=np.array([0, 0, 0.5], np.float32),
)


def test_chances_and_the_likeliest_labels_follow_from_standardised_numbers() -> None:
    rows = np.array([[5, 0], [1, 3]], np.float32)  # on the scale: (2, 0) and (0, 3); logits 2 0 .5 and 0 3 .5
    sure = [1 / (1 + np.exp(-logit)) for logit in (2, 3, 0.5)]
    np.testing.assert_allclose(PREDICTOR.scores(rows), [[sure[0], 0.5, sure[2]], [0.5, sure[1], sure[2]]], rtol=1e-6)
    assert PREDICTOR.top(rows, 2).tolist() == [[0, 2], [1, 2]]
    assert PREDICTOR.words(rows, 1) == (("floral",), ("cotton",))
    assert PREDICTOR.top(rows, 9).shape == (2, 3)


def test_equal_labels_come_in_their_order_and_far_numbers_are_certain() -> None:
    assert PREDICTOR.top(np.array([[1, 0]], np.float32), 3).tolist() == [[2, 0, 1]]
    far = PREDICTOR.scores(np.array([[1e6, -1e6]], np.float32))
    assert far[0, 0] > 1 - 1e-6 and 0 < far[0, 1] < 1e-6


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ("floral", "cotton", "short")},
        {"raw_version": "v2"},
        {"bias_k": np.array([0, 0, 0.25], np.float32)},
        {"deviation_g": np.array([2, 2], np.float32)},
    ],
)
def test_another_predictor_has_another_fingerprint(change: Mapping[str, Any]) -> None:
    assert replace(PREDICTOR).fingerprint == PREDICTOR.fingerprint
    assert replace(PREDICTOR, **change).fingerprint != PREDICTOR.fingerprint


def saved(path: Path, **card: Any) -> Path:
    head = AttributeHead.from_predictor(PREDICTOR)
    fields = {"system": "attributes", "preset": "lab", "encoder": "v1", "settings": {"labels": PREDICTOR.labels}}
    save_network(path, head, Card(**(fields | card)))
    return path


def test_a_file_of_its_own_is_read_back(tmp_path: Path) -> None:
    found = AttributePredictor.read(saved(tmp_path / "a.safetensors"))
    assert (found.labels, found.raw_version, found.fingerprint) == (PREDICTOR.labels, "v1", PREDICTOR.fingerprint)


def test_files_that_tell_no_attributes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="of chatir, not of attributes"):
        AttributePredictor.read(saved(tmp_path / "a.safetensors", system="chatir"))
    with pytest.raises(BadInput, match="names 1 attributes and tells 3"):
        AttributePredictor.read(saved(tmp_path / "b.safetensors", settings={"labels": ["floral"]}))
    card = Card(system="captioner", preset="lab", encoder="v1")
    with pytest.raises(BadInput, match=r"captioner tells no attributes: it has no 'attributes\.mean'"):
        AttributePredictor.of(Weights({"bias": torch.zeros(1).numpy()}, card, ""))
