"""What is carried from turn to turn, and with which tokens a turn begins. In torch.

Axes: b talks, t learned tokens, q tokens that a turn begins with, h numbers of one, m slots of a memory.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, softplus

from viewfinder.retrievers.mai.mio import select_tokens
from viewfinder.retrievers.mai.settings import SLOTS, Model

MemoryState = Any
"""What a memory carries; tensors, or None."""


class Memory(nn.Module):
    """Nothing is carried: every turn begins with the learned tokens."""

    def begin(self) -> MemoryState:
        """Before the first turn."""
        return None

    def tokens(self, state: MemoryState, learned_bth: Float[Tensor, "b t h"]) -> Float[Tensor, "b q h"]:
        """What a turn begins with."""
        return learned_bth

    def after(self, state: MemoryState, tokens_bqh: Float[Tensor, "b q h"]) -> MemoryState:
        """What is carried after a turn that ended with these tokens."""
        return None


class ConcatenatedTokens(Memory):
    """All tokens of all turns, after the learned ones; it grows with every turn."""

    def tokens(self, state: MemoryState, learned_bth: Float[Tensor, "b t h"]) -> Float[Tensor, "b q h"]:
        """The learned tokens, then those of the turns."""
        return learned_bth if state is None else torch.cat([learned_bth, state], dim=1)

    def after(self, state: MemoryState, tokens_bqh: Float[Tensor, "b q h"]) -> MemoryState:
        """The turn's own tokens, those at the places of the learned ones, join the others."""
        earlier = 0 if state is None else state.shape[1]
        own_bth = tokens_bqh[:, : tokens_bqh.shape[1] - earlier]
        return own_bth if state is None else torch.cat([state, own_bth], dim=1)


class MioMemory(Memory):
    """MIO: as many of the tokens before and after the turn as there are learned ones."""

    def __init__(self, settings: Model) -> None:
        super().__init__()
        self.count, self.settings = settings.tokens, settings.iteration

    def tokens(self, state: MemoryState, learned_bth: Float[Tensor, "b t h"]) -> Float[Tensor, "b q h"]:
        """What was kept; the learned tokens at first."""
        carried_bth: Tensor = learned_bth if state is None else state
        return carried_bth

    def after(self, state: MemoryState, tokens_bqh: Float[Tensor, "b q h"]) -> MemoryState:
        """What is kept of both."""
        return (
            tokens_bqh
            if state is None
            else select_tokens(torch.cat([state, tokens_bqh], dim=1), self.count, self.settings)
        )


class RecurrentMemory(Memory):
    """A cell goes along the turns, once for each place of a token; its output is added to the learned tokens."""

    def __init__(self, cell: nn.LSTMCell | nn.GRUCell) -> None:
        super().__init__()
        self.cell = cell

    def tokens(self, state: MemoryState, learned_bth: Float[Tensor, "b t h"]) -> Float[Tensor, "b q h"]:
        """The learned tokens, and what the cell gave out last."""
        if state is None:
            return learned_bth
        hidden: Tensor = state[0] if isinstance(self.cell, nn.LSTMCell) else state
        return learned_bth + hidden.view_as(learned_bth)

    def after(self, state: MemoryState, tokens_bqh: Float[Tensor, "b q h"]) -> MemoryState:
        """The cell's state after these tokens."""
        return self.cell(tokens_bqh.flatten(0, 1), state)


class NtmMemory(Memory):
    """A memory of slots that is written to and read by content (FashionNTM, Pal et al. 2023; Graves et al. 2014).

    A turn writes the mean of its tokens: what is there fades by an erase vector and an add vector joins, as far as a
    slot is like the key. Every token then reads by a key of its own; what it reads is added to it.
    """

    def __init__(self, settings: Model) -> None:
        super().__init__()
        width = settings.width
        self.slots = nn.Parameter(torch.randn(SLOTS, width) * 0.02)
        self.write = nn.Linear(width, 3 * width + 1)
        self.read = nn.Linear(width, width + 1)
        self.out = nn.Linear(width, width)

    def tokens(self, state: MemoryState, learned_bth: Float[Tensor, "b t h"]) -> Float[Tensor, "b q h"]:
        """The learned tokens, and what each reads."""
        if state is None:
            return learned_bth
        key_bth, strength_bt1 = self.read(learned_bth).split([learned_bth.shape[2], 1], dim=-1)
        shares_btm = address_slots(state, key_bth, strength_bt1)
        with_read_bth: Tensor = learned_bth + self.out(shares_btm @ state)
        return with_read_bth

    def after(self, state: MemoryState, tokens_bqh: Float[Tensor, "b q h"]) -> MemoryState:
        """The memory after the mean of the tokens was written."""
        width = tokens_bqh.shape[2]
        memory_bmh = self.slots.expand(len(tokens_bqh), -1, -1) if state is None else state
        parts = self.write(tokens_bqh.mean(dim=1, keepdim=True)).split([width, width, width, 1], dim=-1)
        key_b1h, erase_b1h, add_b1h, strength_b11 = parts
        shares_bm1 = address_slots(memory_bmh, key_b1h, strength_b11).transpose(1, 2)
        return memory_bmh * (1 - shares_bm1 * erase_b1h.sigmoid()) + shares_bm1 * add_b1h.tanh()


def address_slots(
    memory_bmh: Float[Tensor, "b m h"], key_bth: Float[Tensor, "b t h"], strength_bt1: Float[Tensor, "b t 1"]
) -> Float[Tensor, "b t m"]:
    """How much each key looks at each slot: softmax of cosines times a strength of 1 at least (NTM, Eq. 5)."""
    likeness_btm = cosine_similarity(key_bth[:, :, None], memory_bmh[:, None], dim=-1)
    return ((1 + softplus(strength_bt1)) * likeness_btm).softmax(dim=-1)


def make_memory(settings: Model) -> Memory:
    """The memory that the settings name."""
    match settings.memory:
        case "none":
            return Memory()
        case "concatenation":
            return ConcatenatedTokens()
        case "lstm":
            return RecurrentMemory(nn.LSTMCell(settings.width, settings.width))
        case "gru":
            return RecurrentMemory(nn.GRUCell(settings.width, settings.width))
        case "ntm":
            return NtmMemory(settings)
        case "mio":
            return MioMemory(settings)
