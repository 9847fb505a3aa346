"""What is carried from turn to turn: by hand where it is arithmetic, and what holds of every memory."""

from __future__ import annotations

import math
from typing import get_args

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from viewfinder.retrievers.mai import memory
from viewfinder.retrievers.mai.memory import (
    Memory,
    MioMemory,
    NtmMemory,
    RecurrentMemory,
    address_slots,
    make_memory,
    select_tokens,
)
from viewfinder.retrievers.mai.settings import Iteration, MemoryKind, Model

KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
CARRYING = tuple(kind for kind in KINDS if kind != "none")
LEARNED = torch.randn(1, 4, 6, generator=torch.Generator().manual_seed(1))


def memory_of(kind: MemoryKind) -> Memory:
    torch.manual_seed(0)
    made = make_memory(Model(width=6, heads=2, tokens=4, memory=kind))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_()
    return made


def said(turn: int, dialogues: int) -> Float[Tensor, "b t h"]:
    """What a turn adds to the tokens it begins with."""
    return torch.randn(dialogues, 4, 6, generator=torch.Generator().manual_seed(turn))


def begun(made: Memory, added: list[Float[Tensor, "b t h"]]) -> list[Float[Tensor, "b q h"]]:
    """The tokens of each turn of dialogues whose turns add this to its own tokens, and of the turn after them."""
    state, found = None, []
    for added_bth in added:
        found.append(made.tokens(state, LEARNED.expand(len(added_bth), -1, -1)))
        own_bth, rest_bqh = found[-1][:, :4] + added_bth, found[-1][:, 4:]
        state = made.after(state, torch.cat([own_bth, rest_bqh], dim=1).tanh())
    return [*found, made.tokens(state, LEARNED.expand(len(added[0]), -1, -1))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_dialogue_begins_with_the_learned_tokens(kind: MemoryKind) -> None:
    made = memory_of(kind)
    assert torch.equal(made.tokens(None, LEARNED), LEARNED)


def test_nothing_is_carried_where_there_is_no_memory() -> None:
    assert all(torch.equal(tokens_bqh, LEARNED) for tokens_bqh in begun(memory_of("none"), [said(0, 1), said(1, 1)]))


def test_concatenation_keeps_all_tokens_of_all_turns() -> None:
    found = begun(memory_of("concatenation"), [said(0, 1), said(1, 1), said(2, 1)])
    assert [tokens_bqh.shape[1] for tokens_bqh in found] == [4, 8, 12, 16]
    first = (LEARNED + said(0, 1)).tanh()
    assert torch.equal(found[1], torch.cat([LEARNED, first], dim=1))
    # The last turn's own tokens come last; what it made of those of turn 1 is not kept.
    own = [first, (LEARNED + said(1, 1)).tanh(), (LEARNED + said(2, 1)).tanh()]
    assert torch.equal(found[3], torch.cat([LEARNED, *own], dim=1))


def test_mio_keeps_as_many_as_there_are_learned_tokens() -> None:
    made = memory_of("mio")
    assert isinstance(made, MioMemory)
    found = begun(made, [said(turn, 2) for turn in range(5)])
    assert all(tokens_bqh.shape == (2, 4, 6) for tokens_bqh in found)
    before = (LEARNED + said(0, 2)).tanh()
    after = (before + said(1, 2)).tanh()
    assert torch.equal(found[1], before)  # no choice to make yet
    assert torch.equal(found[2], select_tokens(torch.cat([before, after], dim=1), 4, made.settings))


@pytest.mark.parametrize("detach_earlier", [False, True])
def test_kept_tokens_of_earlier_turns_learn_nothing_where_they_are_detached(detach_earlier: bool) -> None:
    """Tokens at 0, 1 and at 10, 11 in a row; one of either is kept."""
    made = MioMemory(Model(tokens=2, iteration=Iteration(neighbours=2, detach_earlier=detach_earlier)))
    earlier = torch.tensor([[[0.0], [1.0]]], requires_grad=True)
    own = torch.tensor([[[10.0], [11.0]]], requires_grad=True)
    kept = made.after(earlier, own)
    assert kept.flatten().tolist() == [0.0, 10.0]
    torch.autograd.backward(kept.sum())
    assert own.grad is not None and own.grad.flatten().tolist() == [1.0, 0.0]
    assert (earlier.grad is None) == detach_earlier
    if earlier.grad is not None:
        assert earlier.grad.flatten().tolist() == [1.0, 0.0]


def test_a_gru_goes_along_the_turns_of_each_token() -> None:
    """With all weights 0, gates at 1/2 and 0.8 offered, the state is 0.4 tanh(0.8) more and half of itself less."""
    made = memory_of("gru")
    assert isinstance(made, RecurrentMemory)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.zero_()
        made.cell.bias_ih[12:] = 0.8  # reset, update, then new
    found = begun(made, [said(0, 1), said(1, 1)])
    first = 0.5 * math.tanh(0.8)
    assert torch.allclose(found[1], LEARNED + first)
    assert torch.allclose(found[2], LEARNED + 0.5 * first + 0.5 * math.tanh(0.8))


def test_of_an_lstm_the_output_is_read_and_the_cell_carried() -> None:
    made = memory_of("lstm")
    assert isinstance(made, RecurrentMemory)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.zero_()
        made.cell.bias_ih[12:18] = 0.8  # in, forget, new, out
    found = begun(made, [said(0, 1), said(1, 1)])
    first = 0.5 * math.tanh(0.8)
    assert torch.allclose(found[1], LEARNED + 0.5 * math.tanh(first))
    assert torch.allclose(found[2], LEARNED + 0.5 * math.tanh(0.5 * first + first))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_recurrent_memory_treats_every_place_alone(kind: MemoryKind) -> None:
    made = memory_of(kind)
    other = said(0, 1)
    other[:, 2] += 1.0
    before, after = begun(made, [said(0, 1)])[1], begun(made, [other])[1]
    assert (before != after).any(dim=-1).tolist() == [[False, False, True, False]]


def test_slots_are_looked_at_as_far_as_they_are_like_the_key() -> None:
    """Cosines 1 and 0 times 1 + ln(1 + e^0) = 1 + ln 2: e^1 * 2 parts to one."""
    memory_bmh = torch.tensor([[[5.0, 0.0], [0.0, 0.1]]])
    shares_btm = address_slots(memory_bmh, torch.tensor([[[0.3, 0.0]]]), torch.zeros(1, 1, 1))
    assert shares_btm.flatten().tolist() == pytest.approx([2 * math.e / (2 * math.e + 1), 1 / (2 * math.e + 1)])


def test_a_written_memory_erases_and_adds_where_the_key_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SLOTS", 2)
    made = make_memory(Model(width=2, heads=1, tokens=1, memory="ntm"))
    assert isinstance(made, NtmMemory)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.zero_()
        made.slots.copy_(torch.eye(2))
        made.write.bias.copy_(torch.tensor([1.0, 0.0, 0.0, 0.0, 9.0, 9.0, 0.0]))  # key, erase by half, add 1, strength
        made.read.bias.copy_(torch.tensor([0.0, 1.0, 0.0]))  # key, strength
        made.out.weight.copy_(torch.eye(2))
    share = 2 * math.e / (2 * math.e + 1)
    state_bmh = made.after(None, torch.zeros(1, 1, 2))
    first, second = [1 - share / 2 + share, share], [1 - share, 1 - (1 - share) / 2 + 1 - share]
    assert state_bmh[0].tolist() == [pytest.approx(first, abs=1e-5), pytest.approx(second, abs=1e-5)]
    # The key (0, 1) is like the slots by the second number of each, by its length.
    like = [first[1] / math.hypot(*first), second[1] / math.hypot(*second)]
    parts = [math.exp((1 + math.log(2)) * cosine) for cosine in like]
    read = [(parts[0] * one + parts[1] * two) / sum(parts) for one, two in zip(first, second, strict=True)]
    tokens_bth = made.tokens(state_bmh, torch.zeros(1, 1, 2))
    assert tokens_bth.flatten().tolist() == pytest.approx(read, abs=1e-4)


@pytest.mark.parametrize("kind", CARRYING)
def test_every_earlier_turn_has_a_part_and_gets_a_gradient(kind: MemoryKind) -> None:
    added = [said(turn, 8).requires_grad_() for turn in range(3)]  # MIO may keep nothing of a turn of a dialogue
    last_bqh = begun(memory_of(kind), added)[-1]
    gradients = torch.autograd.grad(last_bqh.square().sum(), added)
    assert all(bool(gradient_bth.any()) for gradient_bth in gradients)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_dialogues_is_each_dialogue_alone(kind: MemoryKind) -> None:
    made, added = memory_of(kind), [said(turn, 3) for turn in range(4)]
    together = begun(made, added)
    for dialogue in range(3):
        alone = begun(made, [added_bth[dialogue : dialogue + 1] for added_bth in added])
        for all_bqh, one_1qh in zip(together, alone, strict=True):
            assert torch.allclose(all_bqh[dialogue], one_1qh[0], atol=1e-6)


@pytest.mark.parametrize("kind", CARRYING)
def test_a_state_is_not_changed_by_the_turns_after_it(kind: MemoryKind) -> None:
    made = memory_of(kind)
    state = made.after(None, said(0, 1))
    before = made.tokens(state, LEARNED).clone()
    made.after(state, torch.cat([said(1, 1), said(2, 1)], dim=1) if kind == "concatenation" else said(1, 1))
    assert torch.equal(made.tokens(state, LEARNED), before)


def test_only_recurrent_and_written_memories_have_parameters() -> None:
    assert {kind for kind in KINDS if [*memory_of(kind).parameters()]} == {"lstm", "gru", "ntm"}
