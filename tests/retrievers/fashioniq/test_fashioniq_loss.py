"""What is minimised at a turn, with numbers that can be followed by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from viewfinder.retrievers.fashioniq.loss import (
    feedback_turn_loss,
    pairwise_ranking_loss,
    score_likeness,
    squared_triplet_loss,
)
from viewfinder.retrievers.fashioniq.settings import LossSettings
from viewfinder.retrievers.shared.network import same_target_elsewhere, target_cross_entropy

ONE = torch.tensor(1.0)
QUERIES = torch.tensor([[0.0, 0.0], [0.0, 0.0]])
TARGETS = torch.tensor([[3.0, 4.0], [1.0, 0.0]])  # at distances 5 and 1
OTHERS = torch.tensor([[0.0, 4.0], [0.0, 3.0]])  # at distances 4 and 3


def test_a_plain_triplet_compares_distances() -> None:
    # [5 - 4 + 1.5]+ = 2.5 and [1 - 3 + 1.5]+ = 0
    found = feedback_turn_loss(LossSettings(margin=1.5), "l2", ONE, QUERIES, TARGETS, OTHERS, torch.arange(2))
    assert float(found) == pytest.approx(1.25, abs=1e-5)


def test_a_squared_triplet_compares_their_squares() -> None:
    # [25 - 16 + 9]+ = 18 and [1 - 9 + 9]+ = 1
    assert float(squared_triplet_loss(QUERIES, TARGETS, OTHERS, 9.0)) == pytest.approx(9.5)


def test_a_target_that_is_also_the_other_one_costs_the_margin() -> None:
    assert float(squared_triplet_loss(QUERIES, TARGETS, TARGETS, 0.1)) == pytest.approx(0.1, abs=1e-6)


def test_contrast_is_the_cross_entropy_of_the_diagonal() -> None:
    scores_bb = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    expected = (-math.log(math.e**2 / (math.e**2 + 1)) + math.log(2)) / 2
    assert float(target_cross_entropy(2 * scores_bb, torch.tensor([7, 9]))) == pytest.approx(expected)


def test_another_dialogue_with_the_same_target_is_no_wrong_answer() -> None:
    scores_bb = torch.tensor([[0.2, 0.9, 0.4], [0.8, 0.1, 0.3], [0.5, 0.6, 0.7]])
    targets_b = torch.tensor([4, 4, 5])
    assert same_target_elsewhere(targets_b).tolist() == [
        [False, True, False],
        [True, False, False],
        [False, False, False],
    ]
    lost = [math.log(1 + math.exp(0.4 - 0.2)), math.log(1 + math.exp(0.3 - 0.1))]
    lost.append(math.log(1 + math.exp(0.5 - 0.7) + math.exp(0.6 - 0.7)))
    assert float(target_cross_entropy(scores_bb, targets_b)) == pytest.approx(sum(lost) / 3)


def test_ranking_sums_what_comes_within_the_margin_both_ways() -> None:
    """Queries: [0.5 + 0.4 - 0.6]+ + [0.5 + 0 - 0.9]+ = 0.3; targets: [0.5 + 0 - 0.6]+ + [0.5 + 0.4 - 0.9]+ = 0."""
    scores_bb = torch.tensor([[0.6, 0.4], [0.0, 0.9]])
    assert float(pairwise_ranking_loss(scores_bb, torch.tensor([7, 9]), 0.5)) == pytest.approx(0.3 / 2)
    assert float(pairwise_ranking_loss(scores_bb, torch.tensor([7, 7]), 0.5)) == 0.0


@given(st.lists(st.lists(st.floats(-3, 3, width=32), min_size=4, max_size=4), min_size=5, max_size=5))
def test_likeness_by_distance_is_minus_its_square(numbers: list[list[float]]) -> None:
    queries_bh, pictures_nh = torch.tensor(numbers[:2]), torch.tensor(numbers[2:])
    expected_bn = -((queries_bh[:, None] - pictures_nh) ** 2).sum(dim=-1)
    assert torch.allclose(score_likeness(queries_bh, pictures_nh, "l2"), expected_bn, atol=1e-3)
    assert torch.equal(score_likeness(queries_bh, pictures_nh, "cosine"), queries_bh @ pictures_nh.T)


def lost(settings: LossSettings, log_scale: Tensor) -> float:
    targets_b = torch.tensor([0, 1])
    return float(feedback_turn_loss(settings, "cosine", log_scale, TARGETS, TARGETS, OTHERS, targets_b))


def test_settings_choose_the_loss_and_bound_the_scale() -> None:
    squared = LossSettings(squared=True, margin=9.0)
    assert lost(squared, ONE) == pytest.approx(float(squared_triplet_loss(TARGETS, TARGETS, OTHERS, 9.0)))
    contrasted = LossSettings(kind="contrastive")
    bounded = float(target_cross_entropy(100 * TARGETS @ TARGETS.T, torch.arange(2)))
    assert lost(contrasted, 5 * ONE) == pytest.approx(bounded)
    among = LossSettings(kind="ranking", margin=9.0)
    assert lost(among, ONE) == pytest.approx(float(pairwise_ranking_loss(TARGETS @ TARGETS.T, torch.arange(2), 9.0)))


def test_pictures_of_other_kinds_are_columns_more() -> None:
    scores_bb, targets_b = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([3, 4])
    strange_bm = torch.tensor([[0.0], [1.0]])
    # e / (e + 1 + 1) and e / (1 + e + e).
    expected = (math.log((math.e + 2) / math.e) + math.log((1 + 2 * math.e) / math.e)) / 2
    assert float(target_cross_entropy(torch.cat([scores_bb, strange_bm], dim=1), targets_b)) == pytest.approx(expected)
