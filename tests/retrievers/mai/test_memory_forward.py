"""Memories in numpy: the same numbers as in torch after every turn, and how large what is carried is."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.retrievers.mai import numpy_network
from viewfinder.retrievers.mai.memory import make_memory
from viewfinder.retrievers.mai.numpy_network import NOTHING_CARRIED, numpy_turn_tokens, numpy_update_memory
from viewfinder.retrievers.mai.settings import Iteration, MemoryKind, Model

KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
OPTIONS: list[dict[str, Any]] = [
    *({"memory": kind} for kind in KINDS),
    {"memory": "mio", "iteration": Iteration(density="paper", distance="nearest", neighbours=8, drop=0.5)},
    {"memory": "mio", "iteration": Iteration(density="paper", neighbours=8, drop=0.25)},
    {"memory": "mio", "iteration": Iteration(distance="nearest", neighbours=1)},
]


def arrays_of(module: torch.nn.Module) -> dict[str, np.ndarray]:
    """Its arrays, none of which is what it was drawn to be."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return {f"memory.{name}": array.numpy() for name, array in module.state_dict().items()}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
@torch.no_grad()
def test_every_turn_begins_with_the_same_tokens(options: dict[str, Any], seed: int) -> None:
    torch.manual_seed(seed)
    model = Model(width=10, heads=2, tokens=8, **options)
    memory = make_memory(model)
    arrays, learned_th = arrays_of(memory), torch.randn(8, 10)
    state, carried = None, NOTHING_CARRIED
    for _ in range(4):
        expected_1qh = memory.tokens(state, learned_th[None])
        found_qh = numpy_turn_tokens(arrays, model, carried, learned_th.numpy())
        np.testing.assert_allclose(found_qh, expected_1qh[0], atol=1e-5)
        ended_1qh = (expected_1qh + torch.randn_like(expected_1qh)).tanh()
        state, carried = (
            memory.after(state, ended_1qh),
            numpy_update_memory(arrays, model, carried, ended_1qh[0].numpy()),
        )
        assert all(part.dtype == np.float32 for part in carried)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_carried_stays_as_it_is_for_turns_that_go_back(kind: MemoryKind) -> None:
    torch.manual_seed(3)
    model = Model(width=6, heads=2, tokens=4, memory=kind)
    arrays, learned_th = arrays_of(make_memory(model)), np.ones((4, 6), np.float32)
    carried = numpy_update_memory(arrays, model, NOTHING_CARRIED, learned_th * 0.5)
    copies = [part.copy() for part in carried]
    begin_qh = numpy_turn_tokens(arrays, model, carried, learned_th)
    again = [
        numpy_update_memory(arrays, model, carried, begin_qh + step) for step in (np.float32(0.1), np.float32(0.1))
    ]
    assert all(np.array_equal(one, other) for one, other in zip(*again, strict=True))
    assert all(np.array_equal(part, copy) for part, copy in zip(carried, copies, strict=True))
    assert np.array_equal(learned_th, np.ones((4, 6), np.float32))


def test_keys_of_no_length_look_at_all_slots_alike() -> None:
    shares_tm = numpy_network.numpy_address_slots(
        np.eye(4, 6, dtype=np.float32), np.zeros((2, 6), np.float32), np.ones((2, 1), np.float32)
    )
    assert shares_tm.tolist() == [[0.25] * 4] * 2


@pytest.mark.parametrize(
    ("kind", "turns"),
    [
        ("none", [0, 0, 0]),
        ("mio", [98_304] * 3),  # 32 tokens of 768 numbers of 4 bytes
        ("concatenation", [98_304, 196_608, 294_912]),
    ],
)
def test_what_is_carried_is_as_large_whatever_the_length_of_a_dialogue_but_for_concatenation(
    kind: MemoryKind, turns: list[int]
) -> None:
    model = Model(width=768, heads=12, tokens=32, memory=kind)
    rng = np.random.default_rng(0)
    learned_th = rng.standard_normal((32, 768)).astype(np.float32)
    carried, found = NOTHING_CARRIED, []
    for _ in turns:
        begin_qh = numpy_turn_tokens({}, model, carried, learned_th)
        carried = numpy_update_memory(
            {}, model, carried, begin_qh + rng.standard_normal(begin_qh.shape).astype(np.float32)
        )
        found.append(sum(part.nbytes for part in carried))
    assert found == turns
    if kind == "mio":
        assert max(found) <= 100_000


def test_a_recurrent_state_is_as_large_as_the_tokens() -> None:
    torch.manual_seed(0)
    sizes: dict[MemoryKind, int] = {"gru": 4 * 6 * 4, "lstm": 2 * 4 * 6 * 4, "ntm": 16 * 6 * 4}
    for kind, bytes_carried in sizes.items():
        model = Model(width=6, heads=2, tokens=4, memory=kind)
        carried = numpy_update_memory(
            arrays_of(make_memory(model)), model, NOTHING_CARRIED, np.ones((4, 6), np.float32)
        )
        assert sum(part.nbytes for part in carried) == bytes_carried
