"""Targets among those of a batch, with numbers that can be followed by hand."""

from __future__ import annotations

import math

import pytest
import torch

from viewfinder.retrievers.shared.network import target_cross_entropy

QUERIES = torch.tensor([[1.0, 0.0], [0.0, 1.0]])


def test_each_query_is_told_from_the_other_targets_of_the_batch() -> None:
    targets = torch.tensor([[0.6, 0.8], [0.0, 1.0]])
    # Rows of scores, times 5: (3, 0) and (4, 5).
    expected = (math.log(1 + math.exp(-3)) + math.log(1 + math.exp(-1))) / 2
    assert target_cross_entropy(5 * QUERIES @ targets.T, torch.tensor([7, 8])).item() == pytest.approx(expected)


def test_a_target_that_two_queries_share_is_no_wrong_answer_to_either() -> None:
    targets = torch.tensor([[0.6, 0.8], [0.6, 0.8]])
    assert target_cross_entropy(5 * QUERIES @ targets.T, torch.tensor([7, 7])).item() == 0
    assert target_cross_entropy(5 * QUERIES @ targets.T, torch.tensor([7, 8])).item() == pytest.approx(math.log(2))
