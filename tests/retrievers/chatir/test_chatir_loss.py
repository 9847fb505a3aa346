"""What a dialogue encoder is trained by."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.retrievers.chatir.loss import dialogue_retrieval_loss, recall_surrogate_loss
from viewfinder.retrievers.chatir.settings import MAX_SCALE, ChatirLossSettings


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def slow_surrogate(scores: np.ndarray, temperature: float, depths: tuple[int, ...]) -> float:
    """The formula, a number at a time."""
    count = len(scores)
    ranks = [
        1 + sum(sigmoid((scores[i, j] - scores[i, i]) / temperature) for j in range(count) if j != i)
        for i in range(count)
    ]
    return float(np.mean([1 - np.mean([sigmoid(depth - rank) for rank in ranks]) for depth in depths]))


def test_the_surrogate_of_ranks_one_and_two_can_be_followed_by_hand() -> None:
    scores = torch.tensor([[1.0, 0.0], [1.0, 0.0]])  # picture 0 is first for both dialogues
    assert recall_surrogate_loss(scores, depths=(1,)).item() == pytest.approx(1 - (0.5 + sigmoid(-1)) / 2)
    assert recall_surrogate_loss(scores, depths=(1, 2)).item() == pytest.approx(
        1 - (0.5 + sigmoid(-1) + sigmoid(1) + 0.5) / 4
    )


def test_only_dialogues_look_for_pictures() -> None:
    """Rows are the dialogues: both have picture 1 first; seen from the pictures, dialogues would be level."""
    scores = torch.tensor([[0.0, 1.0], [0.0, 1.0]])
    assert recall_surrogate_loss(scores, depths=(1,)).item() == pytest.approx(1 - (sigmoid(1 - 2) + sigmoid(1 - 1)) / 2)
    assert recall_surrogate_loss(scores.T, depths=(1,)).item() == pytest.approx(1 - sigmoid(1 - 1.5))


@given(st.integers(2, 7), st.integers(0, 1000))
def test_the_surrogate_is_the_formula(count: int, seed: int) -> None:
    scores = np.random.default_rng(seed).uniform(-1, 1, (count, count))
    fast = recall_surrogate_loss(torch.from_numpy(scores.astype(np.float32)), 0.1, (1, 4)).item()
    assert fast == pytest.approx(slow_surrogate(scores, 0.1, (1, 4)), abs=1e-4)


def test_the_surrogate_pulls_a_dialogue_towards_its_picture() -> None:
    scores = torch.tensor([[0.0, 0.01], [-1.0, 1.0]], requires_grad=True)
    torch.autograd.backward(recall_surrogate_loss(scores))
    assert scores.grad is not None
    assert scores.grad[0, 0] < 0 < scores.grad[0, 1]


def test_the_contrastive_loss_is_scaled_by_what_is_learnt_up_to_a_bound() -> None:
    vectors = torch.eye(2)
    settings = ChatirLossSettings(kind="contrastive")
    for scale, used in ((2.0, 2.0), (300.0, MAX_SCALE)):
        expected = -math.log(math.exp(used) / (math.exp(used) + 1))  # right 1, wrong 0, both ways
        assert dialogue_retrieval_loss(settings, torch.tensor(scale).log(), vectors, vectors).item() == pytest.approx(
            expected, rel=1e-4, abs=1e-6
        )
