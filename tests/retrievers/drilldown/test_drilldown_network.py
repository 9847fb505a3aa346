"""The network of Drill-down: its size, which slot is written, and what counts in a score."""

from __future__ import annotations

from math import exp
from typing import Any

import pytest
import torch
from torch import Tensor

from viewfinder.retrievers.drilldown import network as drilldown
from viewfinder.retrievers.drilldown.network import DrilldownNetwork, SlotStates
from viewfinder.retrievers.drilldown.settings import DrilldownSettings
from viewfinder.retrievers.shared.network import InputWidths

INPUTS = InputWidths(regions=5, whole=6, sentences=7, words=11)
PUBLISHED = InputWidths(regions=2048, whole=2048, sentences=0, words=14_284)


def network(**settings: Any) -> DrilldownNetwork:
    torch.manual_seed(0)
    return DrilldownNetwork(DrilldownSettings(**{"width": 4, "word_width": 3, **settings}), INPUTS)


def written(model: DrilldownNetwork, turns: int) -> Tensor:
    """Which slots changed at each turn of two dialogues: (t b m)."""
    before, changed = model.begin(2, torch.device("cpu")), []
    for after in model.read_dialogues(torch.randn(2, turns, 4)):
        changed.append((after.states_bmd != before.states_bmd).any(dim=-1))
        before = after
    return torch.stack(changed)


@pytest.mark.parametrize(("slots", "width", "count"), [(3, 128, 4_861_201), (3, 256, 5_830_417), (10, 256, 5_830_417)])
def test_it_has_as_many_parameters_as_the_paper_says(slots: int, width: int, count: int) -> None:
    model = DrilldownNetwork(DrilldownSettings(slots=slots, width=width), PUBLISHED)
    assert sum(parameter.numel() for parameter in model.parameters()) == count


@torch.no_grad()
def test_slots_are_taken_in_turn_by_default() -> None:
    changed_tbm = written(network(slots=3), 7)
    assert changed_tbm[:, 0].int().argmax(dim=-1).tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert (changed_tbm.sum(dim=-1) == 1).all()


@torch.no_grad()
@pytest.mark.parametrize("choice", ["learned", "sampled", "random"])
def test_every_other_choice_fills_the_empty_slots_first(choice: str) -> None:
    changed_tbm = written(network(slots=3, choice=choice), 6)
    assert changed_tbm[:3, 0].int().argmax(dim=-1).tolist() == [0, 1, 2]
    assert (changed_tbm.sum(dim=-1) == 1).all()


@torch.no_grad()
def test_any_empty_slot_is_taken_once_where_any_will_do() -> None:
    changed_tbm = written(network(slots=4, choice="learned", empty="any"), 4)
    assert (changed_tbm.sum(dim=0) == 1).all()  # after four turns each of the four was written once
    orders = {tuple(changed_tbm[:, dialogue].int().argmax(dim=-1).tolist()) for dialogue in range(2)}
    assert len(orders) == 2  # each dialogue draws its own order


@torch.no_grad()
def test_the_first_slot_alone_is_written_where_asked_for() -> None:
    assert written(network(slots=3, choice="first"), 4)[..., 1:].any().item() is False


@torch.no_grad()
def test_the_policy_names_the_slot_of_the_highest_logit() -> None:
    model = network(slots=3, choice="learned", policy_relu=False)
    queries_btd = torch.randn(5, 6, 4)
    after = model.read_dialogues(queries_btd)
    for turn in range(3, 6):
        best_b = model.policy_logits(queries_btd[:, turn], after[turn - 1].states_bmd).argmax(dim=-1)
        changed_bm = (after[turn].states_bmd != after[turn - 1].states_bmd).any(dim=-1)
        assert changed_bm.int().argmax(dim=-1).tolist() == best_b.tolist()


@torch.no_grad()
def test_only_the_chosen_slot_is_updated_and_it_by_the_cell() -> None:
    model = network(slots=2)
    slots = SlotStates(torch.randn(2, 2, 4), torch.ones(2, 2))
    query_bd = torch.randn(2, 4)
    states_bmd, _ = model.write(slots, query_bd, torch.tensor([1, 0]))
    torch.testing.assert_close(states_bmd[0, 1], model.update(query_bd[0], slots.states_bmd[0, 1]))
    torch.testing.assert_close(states_bmd[1, 0], model.update(query_bd[1], slots.states_bmd[1, 0]))
    torch.testing.assert_close(states_bmd[0, 0], slots.states_bmd[0, 0], rtol=0, atol=0)


@torch.no_grad()
def test_soft_writing_moves_every_slot_as_far_as_the_policy_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drilldown, "OWN_SLOT", 0.0)
    model = network(slots=2, write="soft")
    for parameter in model.policy.parameters():
        parameter.zero_()  # both slots alike: a gate of 1/2 each
    query_bd, before = torch.randn(1, 4), SlotStates(torch.randn(1, 2, 4), torch.zeros(1, 2))
    first = model.write_softly(before, query_bd, 0)
    new_bmd = model.update(query_bd[:, None].expand(1, 2, 4), before.states_bmd)
    torch.testing.assert_close(first.states_bmd, (before.states_bmd + new_bmd) / 2)
    assert first.written_bm.tolist() == [[0.5, 0.5]]
    assert model.write_softly(first, query_bd, 1).written_bm.tolist() == [[0.75, 0.75]]


@torch.no_grad()
def test_soft_writing_goes_further_in_the_slot_whose_turn_it_is() -> None:
    model = network(slots=2, write="soft")
    for parameter in model.policy.parameters():
        parameter.zero_()  # but for the turn both are alike: a logit of 3 and one of 0
    own, other = exp(3) / (exp(3) + 1), 1 / (exp(3) + 1)
    first, second, third = (slots.written_bm[0].tolist() for slots in model.read_dialogues(torch.randn(1, 3, 4)))
    assert first == pytest.approx([own, other])
    assert second == pytest.approx([1 - other * own, 1 - own * other])
    assert third == pytest.approx([1 - other * own * other, 1 - own * other * own])


def test_dropout_hides_what_comes_in_while_training_and_nothing_after() -> None:
    model, plain = network(dropout=0.5, reads="sentences"), network(reads="sentences")
    plain.load_state_dict(model.state_dict())
    regions_bke, whole_bg, said_bts = torch.randn(2, 3, 5), torch.randn(2, 6), torch.randn(2, 3, 7)
    ones_bt = torch.ones(2, 3).long()
    assert not torch.equal(model.project_pictures(regions_bke, whole_bg), plain.project_pictures(regions_bke, whole_bg))
    assert not torch.equal(model.read(said_bts, ones_bt), plain.read(said_bts, ones_bt))
    model.eval()
    torch.testing.assert_close(
        model.project_pictures(regions_bke, whole_bg), plain.project_pictures(regions_bke, whole_bg), rtol=0, atol=0
    )
    torch.testing.assert_close(model.read(said_bts, ones_bt), plain.read(said_bts, ones_bt), rtol=0, atol=0)


@torch.no_grad()
def test_logits_are_cut_at_zero_as_published_or_not() -> None:
    cut, bare = network(), network(policy_relu=False)
    bare.load_state_dict(cut.state_dict())
    query, states = torch.randn(8, 4), torch.randn(8, 3, 4)
    assert (bare.policy_logits(query, states) < 0).any()
    torch.testing.assert_close(cut.policy_logits(query, states), bare.policy_logits(query, states).clamp_min(0))


@torch.no_grad()
def test_the_policy_reads_the_query_first_or_the_state_first() -> None:
    code, paper = network(policy_relu=False), network(policy_relu=False, policy_reads="state_query")
    paper.load_state_dict(code.state_dict())
    weight = code.get_parameter("policy.0.weight")
    swapped = torch.cat([weight[:, 4:], weight[:, :4]], dim=1)
    query, states = torch.randn(2, 4), torch.randn(2, 3, 4)
    expected = code.policy_logits(query, states)
    assert not torch.allclose(paper.policy_logits(query, states), expected)
    paper.get_parameter("policy.0.weight").copy_(swapped)
    torch.testing.assert_close(paper.policy_logits(query, states), expected)


@torch.no_grad()
def test_empty_slots_stay_zeros_and_count_as_the_settings_say() -> None:
    slots = SlotStates(torch.tensor([[[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]), torch.tensor([[1.0, 0.0]]))
    units_bmd, counts_bm = network(slots=2).comparable_states(slots)
    assert units_bmd[0].tolist() == [pytest.approx([0.6, 0.8, 0.0, 0.0]), [0.0] * 4]
    assert counts_bm.tolist() == [[1.0, 0.0]]
    assert network(slots=2, mean_over="all").comparable_states(slots).written_bm.tolist() == [[1.0, 1.0]]


@torch.no_grad()
def test_the_whole_picture_is_one_more_region_and_missing_ones_stay_zeros() -> None:
    model = network(whole=True, standardised=True)
    model.get_buffer("regions_mean").fill_(1.0)
    regions_bke, whole_bg = torch.randn(2, 3, 5), torch.randn(2, 6)
    regions_bke[0, 2] = 0.0
    vectors_bkd = model.project_pictures(regions_bke, whole_bg)
    assert vectors_bkd.shape == (2, 4, 4)
    assert not vectors_bkd[0, 2].any()
    torch.testing.assert_close(vectors_bkd[:, 3], model.project_whole(whole_bg))
    torch.testing.assert_close(vectors_bkd[1, 0], model.project(regions_bke[1, 0] - 1.0))


@torch.no_grad()
def test_sentences_are_read_by_words_or_by_frozen_vectors() -> None:
    by_words, by_vectors = network(), network(reads="sentences")
    ids_btl, lengths_bt = torch.randint(11, (2, 3, 5)), torch.randint(1, 6, (2, 3))
    read_btd = by_words.read(ids_btl, lengths_bt)
    torch.testing.assert_close(read_btd[1, 2], by_words.read_words(ids_btl[1, 2:], lengths_bt[1, 2:])[0])
    said_bts = torch.randn(2, 3, 7)
    torch.testing.assert_close(by_vectors.read(said_bts, torch.ones(2, 3).long()), by_vectors.read_sentences(said_bts))
