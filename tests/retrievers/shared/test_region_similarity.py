"""How states look at regions, in torch: by hand, and against what searches compute in numpy."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import normalize

from viewfinder.retrievers.shared.network import RegionProjection, paired_similarity, region_similarity
from viewfinder.search.region_scores import RegionBlock, late_interaction

TEMPERATURE = log(3)


def test_the_similarity_is_the_softmax_weighted_mean_of_cosines() -> None:
    # Cosines 1 and 0; exp(log 3 * 1) = 3 and exp(0) = 1, so the softmax is 3/4 and 1/4: 3/4 * 1 + 1/4 * 0.
    regions, slot = torch.eye(2)[None], torch.tensor([[[1.0, 0.0]]])
    assert region_similarity(regions, slot, torch.ones(1, 1), TEMPERATURE).item() == pytest.approx(0.75)


def test_slots_count_by_their_weights_and_those_of_weight_zero_not_at_all() -> None:
    regions = torch.tensor([[[1.0, 0.0]]])  # one region: a slot's similarity is its cosine
    slots = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]])  # cosines 1, 0, -1
    assert region_similarity(regions, slots, torch.tensor([[3.0, 1.0, 0.0]]), 9.0).item() == pytest.approx(3 / 4)
    assert region_similarity(regions, slots, torch.tensor([[0.0, 0.0, 2.0]]), 9.0).item() == pytest.approx(-1.0)
    assert region_similarity(regions, slots, torch.zeros(1, 3), 9.0).item() == 0.0


@torch.no_grad()
def test_a_missing_region_stays_zeros_whatever_the_bias() -> None:
    project = RegionProjection(2, 2)
    project.weight.copy_(torch.eye(2))
    project.bias.copy_(torch.tensor([0.0, 1.0]))
    found = project(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    assert found[0].tolist() == pytest.approx([1 / sqrt(2), 1 / sqrt(2)])
    assert found[1].tolist() == [0.0, 0.0]


def test_a_missing_region_adds_nothing() -> None:
    # Its cosine is 0, as in the published code: it takes its share of the softmax, and the share counts for nothing.
    slot, some = torch.tensor([[[0.6, 0.8]]]), torch.ones(1, 1)
    assert region_similarity(torch.zeros(1, 3, 2), slot, some, 9.0).item() == 0.0
    beside = torch.tensor([[[1.0, 0.0], [0.0, 0.0]]])
    expected = 0.6 * 3**0.6 / (3**0.6 + 1)
    assert region_similarity(beside, slot, some, TEMPERATURE).item() == pytest.approx(expected)


@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(0.05, 12.0))
def test_it_is_what_a_search_computes(seed: int, slots: int, temperature: float) -> None:
    torch.manual_seed(seed)
    regions_nkd, slots_bmd = normalize(torch.randn(6, 5, 3), dim=-1), normalize(torch.randn(2, slots, 3), dim=-1)
    regions_nkd[1, 3:] = 0.0  # missing
    weights_bm = torch.rand(2, slots) + 0.01
    found_nb = region_similarity(regions_nkd, slots_bmd, weights_bm, temperature).numpy()
    block = RegionBlock.of(regions_nkd.numpy())
    for dialogue in range(2):
        queries_md, weights_m = slots_bmd[dialogue].numpy(), weights_bm[dialogue].numpy()
        searched_n = late_interaction(block, queries_md, temperature=temperature, weights_m=weights_m)
        np.testing.assert_allclose(found_nb[:, dialogue], searched_n, atol=1e-5)


def test_the_similarity_to_ones_own_picture_is_the_diagonal() -> None:
    torch.manual_seed(0)
    regions_bkd, slots_bamd = normalize(torch.randn(3, 5, 4), dim=-1), torch.randn(3, 2, 6, 4)
    own_ba = paired_similarity(regions_bkd, slots_bamd, 9.0)
    for alternative in range(2):
        every_nb = region_similarity(regions_bkd, slots_bamd[:, alternative], torch.ones(3, 6), 9.0)
        torch.testing.assert_close(own_ba[:, alternative], every_nb.diagonal())
