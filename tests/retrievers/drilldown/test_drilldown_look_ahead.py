"""The look-ahead against the published loop, one dialogue, one slot and one turn at a time."""

from __future__ import annotations

from math import exp

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from viewfinder.retrievers.drilldown.loss import slot_values
from viewfinder.retrievers.drilldown.network import DrilldownNetwork
from viewfinder.retrievers.drilldown.settings import DrilldownLossSettings, DrilldownSettings
from viewfinder.retrievers.shared.network import InputWidths


def network(slots: int) -> DrilldownNetwork:
    """With logits so far apart that a draw from the policy is its best slot."""
    model = DrilldownNetwork(
        DrilldownSettings(slots=slots, width=4, word_width=3, policy_relu=False), InputWidths(5, 6, 0, 11)
    )
    with torch.no_grad():
        model.get_parameter("policy.4.weight").mul_(1e6)
    return model


def score(states_md: Tensor, vectors_kd: Tensor) -> float:
    """The mean over slots of sum_k softmax_k(9 c) c, in loops."""
    total = 0.0
    for state_d in states_md:
        cosines = [float(state_d @ vector_d) for vector_d in vectors_kd]
        weights = [exp(9 * cosine) for cosine in cosines]
        total += sum(weight * cosine for weight, cosine in zip(weights, cosines, strict=True)) / sum(weights)
    return total / len(states_md)


def slow_values(
    model: DrilldownNetwork, states_md: Tensor, queries_td: Tensor, vectors_kd: Tensor, turn: int
) -> list[float]:
    """Q(X, k) of Sec. 3.5 for one dialogue, less what the states before the turn would earn."""
    base, found = score(states_md, vectors_kd), []
    for slot in range(len(states_md)):
        trial_md = states_md.clone()
        trial_md[slot] = model.update(queries_td[turn], states_md[slot])
        value = score(trial_md, vectors_kd) - base
        for query_d in queries_td[turn + 1 :]:
            chosen = int(model.policy_logits(query_d[None], trial_md[None])[0].argmax())
            trial_md[chosen] = model.update(query_d, trial_md[chosen])
            value += score(trial_md, vectors_kd) - base
        found.append(value)
    return found


@torch.no_grad()
@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_it_is_the_published_loop(slots: int, turn: int) -> None:
    torch.manual_seed(slots)
    model = network(slots)
    states_bmd, queries_btd = torch.randn(3, slots, 4), torch.randn(3, 4, 4)
    vectors_bkd = normalize(torch.randn(3, 5, 4), dim=-1)
    found_bm = slot_values(model, DrilldownLossSettings(), states_bmd, queries_btd, vectors_bkd, turn)
    for dialogue in range(3):
        slow = slow_values(model, states_bmd[dialogue], queries_btd[dialogue], vectors_bkd[dialogue], turn)
        assert found_bm[dialogue].tolist() == pytest.approx(slow, abs=1e-5)


@torch.no_grad()
def test_the_states_it_was_given_are_left_alone() -> None:
    torch.manual_seed(0)
    states_bmd, queries_btd = torch.randn(2, 3, 4), torch.randn(2, 4, 4)
    before_bmd = states_bmd.clone()
    slot_values(
        network(3), DrilldownLossSettings(), states_bmd, queries_btd, normalize(torch.randn(2, 5, 4), dim=-1), 0
    )
    torch.testing.assert_close(states_bmd, before_bmd, rtol=0, atol=0)


@torch.no_grad()
def test_by_cosines_the_length_of_a_state_plays_no_role() -> None:
    torch.manual_seed(0)
    model = network(2)
    for parameter in model.update.parameters():
        parameter.zero_()  # the cell halves the state it is written into: its direction stays
    states_bmd, queries_btd = torch.randn(2, 2, 4), torch.randn(2, 3, 4)
    vectors_bkd = normalize(torch.randn(2, 5, 4), dim=-1)
    by_cosine_bm = slot_values(model, DrilldownLossSettings(reward="cosine"), states_bmd, queries_btd, vectors_bkd, 1)
    torch.testing.assert_close(by_cosine_bm, torch.zeros(2, 2), atol=1e-6, rtol=0)
    assert slot_values(model, DrilldownLossSettings(), states_bmd, queries_btd, vectors_bkd, 1).abs().min() > 1e-3


def test_it_has_no_gradient() -> None:
    torch.manual_seed(0)
    states_bmd, queries_btd = torch.randn(2, 3, 4), torch.randn(2, 3, 4, requires_grad=True)
    found_bm = slot_values(
        network(3), DrilldownLossSettings(), states_bmd, queries_btd, normalize(torch.randn(2, 5, 4), dim=-1), 1
    )
    assert not found_bm.requires_grad
