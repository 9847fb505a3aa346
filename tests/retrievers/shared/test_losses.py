"""Losses over a matrix of scores, with numbers that can be followed by hand."""

from __future__ import annotations

from math import exp, log

import pytest
import torch

from viewfinder.retrievers.shared.network import contrastive_loss, every_triplet_loss, hardest_triplet_loss

# Rows are pictures, columns dialogues.
SCORES = torch.tensor([[0.9, 0.8, 0.1], [0.3, 0.5, 0.6], [0.0, 0.4, 0.7]])


def test_the_hardest_triplet_by_hand() -> None:
    # picture 0: 0.2 + 0.8 - 0.9 = 0.1; its dialogue: 0.2 + max(0.3, 0.0) - 0.9 < 0
    # picture 1: 0.2 + 0.6 - 0.5 = 0.3; its dialogue: 0.2 + max(0.8, 0.4) - 0.5 = 0.5
    # picture 2: 0.2 + 0.4 - 0.7 < 0;   its dialogue: 0.2 + max(0.1, 0.6) - 0.7 = 0.1
    assert hardest_triplet_loss(SCORES).tolist() == pytest.approx([0.1, 0.8, 0.1])


def test_every_triplet_by_hand() -> None:
    # Also within the margin: dialogue 1's second decoy, 0.2 + 0.4 - 0.5 = 0.1; picture 1's, 0.2 + 0.3 - 0.5 = 0.
    assert every_triplet_loss(SCORES).tolist() == pytest.approx([0.1, 0.9, 0.1])


def test_with_one_decoy_the_hardest_is_every_one() -> None:
    scores = torch.tensor([[0.5, 0.6], [0.1, 0.2]])
    # picture 0: 0.2 + 0.6 - 0.5 = 0.3, dialogue 0: 0.2 + 0.1 - 0.5 < 0
    # picture 1: 0.2 + 0.1 - 0.2 = 0.1, dialogue 1: 0.2 + 0.6 - 0.2 = 0.6
    assert hardest_triplet_loss(scores).tolist() == pytest.approx([0.3, 0.7])
    assert every_triplet_loss(scores).tolist() == pytest.approx([0.3, 0.7])


@pytest.mark.parametrize("loss", [hardest_triplet_loss, every_triplet_loss])
def test_pairs_that_are_ahead_by_the_margin_cost_nothing(loss: object) -> None:
    assert callable(loss)
    assert loss(torch.tensor([[1.0, 0.4], [0.3, 0.9]]), 0.5).tolist() == [0.0, 0.0]


def test_the_gradient_reaches_the_hardest_decoys_alone() -> None:
    scores = SCORES.clone().requires_grad_()
    torch.autograd.backward(hardest_triplet_loss(scores).sum())
    assert scores.grad is not None
    # Each right score stands in as many terms as are above zero, each decoy in those it is the hardest of.
    assert scores.grad.tolist() == [[-1.0, 2.0, 0.0], [0.0, -2.0, 2.0], [0.0, 0.0, -1.0]]


def test_the_contrastive_loss_by_hand() -> None:
    # Scaled by log 3, row 0 is (1, 3)/4, row 1 (1, 1)/2; column 0 is (1, 1)/2, column 1 (3, 1)/4.
    scores = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    first, second = (-log(1 / 4) - log(1 / 2)) / 2, (-log(1 / 2) - log(1 / 4)) / 2
    assert contrastive_loss(scores, torch.tensor(log(3))).tolist() == pytest.approx([first, second])


def test_a_higher_scale_makes_right_pairs_cheaper_and_wrong_ones_dearer() -> None:
    scores = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    for scale in (1.0, 5.0):
        right = contrastive_loss(scores, torch.tensor(scale))
        assert right.tolist() == pytest.approx([log(1 + exp(-scale))] * 2)
        assert contrastive_loss(scores.flip(0), torch.tensor(scale)).tolist() == pytest.approx(
            [log(1 + exp(scale))] * 2
        )
