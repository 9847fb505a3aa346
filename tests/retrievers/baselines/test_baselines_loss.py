"""The baselines' scores, loss and fused ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from viewfinder.retrievers.baselines.network import BaselineNetwork, fuse_ranks, retrieval_loss, score_pictures
from viewfinder.retrievers.baselines.settings import BaselineLossSettings, BaselineSettings, System
from viewfinder.retrievers.shared.network import InputWidths, every_triplet_loss, hardest_triplet_loss
from viewfinder.search.region_scores import RegionBlock, late_interaction, rank_fusion


def network(system: System = "r-hre", **settings: Any) -> BaselineNetwork:
    torch.manual_seed(0)
    return BaselineNetwork(
        system, BaselineSettings(**{"width": 4, "word_width": 3, **settings}), InputWidths(5, 6, 0, 11), 4
    )


def test_with_one_vector_a_picture_the_score_is_the_cosine() -> None:
    states_btd = torch.tensor([[[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]])
    pictures = torch.tensor([[[1.0, 0.0, 0.0, 0.0]], [[0.0, 1.0, 0.0, 0.0]]])
    found_tnb = score_pictures(network("hre"), states_btd, pictures)
    assert found_tnb[0, :, 0].tolist() == pytest.approx([0.6, 0.8])
    assert found_tnb[1, :, 0].tolist() == [0.0, 0.0]


def test_with_regions_it_is_that_of_a_search() -> None:
    torch.manual_seed(1)
    states_btd, pictures = torch.randn(2, 3, 4), normalize(torch.randn(6, 5, 4), dim=-1)
    found_tnb = score_pictures(network(temperature=5.0), states_btd, pictures)
    units_btd, block = normalize(states_btd, dim=-1).numpy(), RegionBlock.of(pictures.numpy())
    for dialogue in range(2):
        for turn in range(3):
            searched_n = late_interaction(block, units_btd[dialogue, turn][None], temperature=5.0)
            np.testing.assert_allclose(found_tnb[turn, :, dialogue], searched_n, atol=1e-5)
    torch.testing.assert_close(
        score_pictures(network(temperature=5.0, share_of_regions=True), states_btd, pictures), found_tnb / 5
    )


@torch.no_grad()
@pytest.mark.parametrize(("kind", "loss"), [("hardest", hardest_triplet_loss), ("every", every_triplet_loss)])
def test_the_loss_is_summed_over_the_batch_and_averaged_over_turns(kind: Any, loss: Any) -> None:
    torch.manual_seed(1)
    states_btd, pictures = torch.randn(3, 2, 4), normalize(torch.randn(3, 5, 4), dim=-1)
    by_turn = [float(loss(scores_nb, 0.3).sum()) for scores_nb in score_pictures(network(), states_btd, pictures)]
    found = retrieval_loss(network(), BaselineLossSettings(kind=kind, margin=0.3), states_btd, pictures)
    assert found.item() == pytest.approx(sum(by_turn) / 2)


def test_fused_scores_are_minus_the_mean_rank_so_far() -> None:
    # Three pictures, one dialogue. Ranks at turn 0: 1, 2, 3; at turn 1: 3, 1, 2; their means: 2, 1.5, 2.5.
    found_tnb = fuse_ranks(torch.tensor([[[0.9], [0.5], [0.1]], [[0.2], [0.8], [0.3]]]))
    assert found_tnb[:, :, 0].tolist() == [[-1.0, -2.0, -3.0], [-2.0, -1.5, -2.5]]


def test_fused_scores_order_pictures_as_a_search_does() -> None:
    scores_tnb = torch.rand(4, 7, 3)
    found_tnb = fuse_ranks(scores_tnb)
    for turn in range(4):
        for dialogue in range(3):
            searched_n = rank_fusion(scores_tnb[: turn + 1, :, dialogue].numpy())
            np.testing.assert_allclose(found_tnb[turn, :, dialogue] / 7, searched_n, atol=1e-6)
