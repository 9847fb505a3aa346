"""Drill-down's losses: what is compared after every turn, and who learns from whom."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from viewfinder.retrievers.drilldown import loss as losses
from viewfinder.retrievers.drilldown.loss import (
    joint_loss,
    pretraining_loss,
    retrieval_loss,
    score_pictures,
    slot_values,
)
from viewfinder.retrievers.drilldown.network import DrilldownNetwork, SlotStates
from viewfinder.retrievers.drilldown.settings import DrilldownLossSettings, DrilldownSettings
from viewfinder.retrievers.shared.description_training import DialogueBatch
from viewfinder.retrievers.shared.network import InputWidths, contrastive_loss, every_triplet_loss, hardest_triplet_loss

B, T = 4, 5


def network(**settings: Any) -> DrilldownNetwork:
    torch.manual_seed(0)
    return DrilldownNetwork(
        DrilldownSettings(**{"width": 4, "word_width": 3, "slots": 2, **settings}), InputWidths(5, 6, 0, 11)
    )


def batch() -> DialogueBatch:
    torch.manual_seed(1)
    return DialogueBatch(
        torch.randn(B, 3, 5), torch.randn(B, 6), torch.randint(11, (B, T, 6)), torch.randint(1, 7, (B, T))
    )


def gradients(model: DrilldownNetwork, loss: Tensor) -> dict[str, float]:
    """How strong the gradient of each part is."""
    model.zero_grad()
    torch.autograd.backward(loss)
    found: dict[str, float] = {}
    for name, parameter in model.named_parameters():
        part = name.partition(".")[0]
        found[part] = found.get(part, 0.0) + (0.0 if parameter.grad is None else float(parameter.grad.abs().sum()))
    return found


@torch.no_grad()
def test_a_score_is_the_mean_over_written_slots() -> None:
    # One region (1, 0, 0, 0): a slot's similarity is its first number at unit length: 0.6 for the written slot.
    slots = SlotStates(torch.tensor([[[3.0, 4.0, 0.0, 0.0], [0.0] * 4]]), torch.tensor([[1.0, 0.0]]))
    picture = torch.tensor([[[1.0, 0.0, 0.0, 0.0]]])
    assert score_pictures(network(), slots, picture).item() == pytest.approx(0.6)
    assert score_pictures(network(mean_over="all"), slots, picture).item() == pytest.approx(0.3)


@torch.no_grad()
def test_the_papers_score_is_smaller_by_the_number_of_regions() -> None:
    slots, pictures = SlotStates(torch.randn(2, 2, 4), torch.ones(2, 2)), normalize(torch.randn(3, 6, 4), dim=-1)
    torch.testing.assert_close(
        score_pictures(network(share_of_regions=True), slots, pictures), score_pictures(network(), slots, pictures) / 6
    )


@torch.no_grad()
@pytest.mark.parametrize(("kind", "loss"), [("hardest", hardest_triplet_loss), ("every", every_triplet_loss)])
def test_finding_is_summed_over_the_batch_and_averaged_over_turns(kind: Any, loss: Any) -> None:
    model = network()
    pictures = normalize(torch.randn(B, 3, 4), dim=-1)
    after = model.read_dialogues(torch.randn(B, T, 4))
    by_turn = [float(loss(score_pictures(model, slots, pictures), 0.3).sum()) for slots in after]
    found = retrieval_loss(model, DrilldownLossSettings(kind=kind, margin=0.3), after, pictures)
    assert found.item() == pytest.approx(sum(by_turn) / T)


@torch.no_grad()
def test_the_contrastive_loss_has_a_scale_that_is_learnt() -> None:
    model = network(write="soft", learned_scale=True)
    pictures, after = normalize(torch.randn(B, 3, 4), dim=-1), model.read_dialogues(torch.randn(B, T, 4))
    found = retrieval_loss(model, DrilldownLossSettings(kind="contrastive"), after, pictures)
    by_turn = [
        contrastive_loss(score_pictures(model, slots, pictures), torch.tensor(2.0).exp()).sum() for slots in after
    ]
    torch.testing.assert_close(found, torch.stack(by_turn).mean())


def test_the_first_stage_teaches_all_but_the_policy() -> None:
    model = network()
    strength = gradients(model, pretraining_loss(model, DrilldownLossSettings(), batch())[0])
    assert strength.pop("policy") == 0.0
    assert min(strength.values()) > 0.0


def test_the_second_stage_teaches_the_policy_by_its_own_loss_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = network(choice="learned", policy_relu=False)
    given = batch()
    torch.manual_seed(2)
    loss, figures = joint_loss(model, DrilldownLossSettings(), given)
    assert loss.item() == pytest.approx(figures["finding"].item() + 0.1 * figures["choosing"].item())
    with_policy = gradients(model, loss)
    torch.manual_seed(2)
    monkeypatch.setattr(losses, "POLICY_WEIGHT", 0.0)
    without = gradients(model, joint_loss(model, DrilldownLossSettings(), given)[0])
    assert with_policy.pop("policy") > 0.0
    assert without.pop("policy") == 0.0
    assert with_policy == pytest.approx(without)  # what the policy reads is detached


def test_the_second_stage_writes_where_the_look_ahead_says() -> None:
    model = network(choice="learned", policy_relu=False)
    with torch.no_grad():
        model.get_parameter("policy.4.weight").mul_(
            1e6
        )  # draws are the policy's best, so that the loop below draws the same
    given, loss = batch(), DrilldownLossSettings()
    _, figures = joint_loss(model, loss, given)
    pictures, queries_btd = (
        model.project_pictures(given.regions_bke, given.whole_bg),
        model.read(given.said, given.lengths_bt),
    )
    slots, after, choosing = model.begin(B, torch.device("cpu")), [], []
    for turn, query_bd in enumerate(queries_btd.unbind(dim=1)):
        slot_b = torch.full((B,), turn)
        if turn >= 2:
            slot_b = slot_values(model, loss, slots.states_bmd, queries_btd, pictures, turn).argmax(dim=-1)
            choosing.append(cross_entropy(model.policy_logits(query_bd, slots.states_bmd), slot_b, reduction="sum"))
        slots = model.write(slots, query_bd, slot_b)
        after.append(slots)
    torch.testing.assert_close(figures["finding"], retrieval_loss(model, loss, after, pictures).detach())
    torch.testing.assert_close(figures["choosing"], torch.stack(choosing).mean().detach())


@pytest.mark.parametrize("slots", [T, T + 3])
def test_with_a_slot_for_every_turn_nothing_is_chosen_and_nothing_breaks(slots: int) -> None:
    model = network(slots=slots, choice="learned")
    loss, figures = joint_loss(model, DrilldownLossSettings(), batch())
    assert figures.keys() == {"finding"}
    assert loss.item() == figures["finding"].item()
    assert all(torch.isfinite(torch.tensor(value)) for value in gradients(model, loss).values())
    expected, _ = pretraining_loss(network(slots=slots), DrilldownLossSettings(), batch())
    assert loss.item() == pytest.approx(expected.item())


def test_in_the_paper_the_policy_learns_at_every_turn_and_acts_by_draws() -> None:
    printed = DrilldownLossSettings(reward="cosine", executes="sampled", policy_turns="all")
    model = network(slots=T, choice="learned", empty="any", policy_relu=False)
    loss, figures = joint_loss(model, printed, batch())
    assert figures["choosing"].item() > 0.0  # also while slots are empty
    assert gradients(model, loss)["policy"] > 0.0
    few, given, found = network(slots=2, choice="learned", policy_relu=False), batch(), set()
    for seed in range(4):
        torch.manual_seed(seed)
        found.add(round(joint_loss(few, printed, given)[1]["finding"].item(), 5))
    assert len(found) > 1


def test_agreement_is_the_share_of_turns_where_the_policy_names_the_best_slot() -> None:
    model = network(slots=1, choice="learned")
    _, figures = joint_loss(model, DrilldownLossSettings(), batch())  # one slot: there is nothing to disagree about
    assert figures["agrees"].item() == 1.0
    assert figures["choosing"].item() == pytest.approx(0.0)
