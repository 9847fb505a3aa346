"""The memories of MAI: multi-turn iterative optimisation (MIO; Chen et al. 2025, Sec. 4.2), and others. In torch.

MIO is density peaks by k nearest neighbours (Du et al. 2016; Rodriguez and Laio 2014, in the form of TCFormer, Zeng et
al. 2022): a token that is dense and far from any denser one stands for those around it. It has no parameters. Eq. 1,
the clusters, has no counterpart: only the cluster centres are kept, so no other token is assigned to one. The other
memories are those that the paper compares it with (table 5).

Axes: b dialogues, t tokens (of a memory: learned ones), q tokens that a turn begins with, h width of one, k tokens
that are kept, m slots of a memory.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, softplus

from viewfinder.retrievers.mai.settings import SLOTS, Iteration, Model


def select_tokens(tokens_bth: Float[Tensor, "b t h"], count: int, settings: Iteration) -> Float[Tensor, "b k h"]:
    """The `count` tokens that stand for all, in order. Gradients flow through the chosen tokens, not the choice."""
    with torch.no_grad(), torch.autocast(tokens_bth.device.type, enabled=False):
        chosen_bk = choose_places(tokens_bth.float(), count, settings)
    return tokens_bth.gather(1, chosen_bk[..., None].expand(-1, -1, tokens_bth.shape[2]))


def choose_places(tokens_bth: Float[Tensor, "b t h"], count: int, settings: Iteration) -> Int[Tensor, "b k"]:
    """The places of the `count` tokens with the highest scores (Eq. 3), in rising order; ties favour earlier ones.

    If a share is dropped first (paper), the least dense tokens cannot be chosen.
    """
    apart_btt = token_distances(tokens_bth)
    if settings.density == "tcformer":
        apart_btt = apart_btt / tokens_bth.shape[2] ** 0.5
    density_bt = token_log_densities(apart_btt, settings)
    # In logarithms: with plain distances at width 768, the paper's densities are all 0 in single precision.
    score_bt = density_bt + peak_distances(apart_btt, density_bt, settings).log()
    score_bt = score_bt.clamp_min(torch.finfo(tokens_bth.dtype).min)
    dropped = min(int(settings.drop * tokens_bth.shape[1]), tokens_bth.shape[1] - count)
    if dropped > 0:
        sparse_bt = density_bt.argsort(dim=1, descending=True, stable=True)[:, -dropped:]
        score_bt = score_bt.scatter(1, sparse_bt, -torch.inf)
    best_bt = score_bt.argsort(dim=1, descending=True, stable=True)
    return best_bt[:, :count].sort(dim=1).values


def token_distances(tokens_bth: Float[Tensor, "b t h"]) -> Float[Tensor, "b t t"]:
    """How far apart any two tokens are; exactly 0 from itself."""
    # Subtracting what tokens have in common loses fewer digits; distances do not change.
    tokens_bth = tokens_bth - tokens_bth.mean(dim=1, keepdim=True)
    square_bt = tokens_bth.square().sum(dim=-1)
    dots_btt = tokens_bth @ tokens_bth.transpose(1, 2)
    square_btt = square_bt[:, :, None] + square_bt[:, None] - 2 * dots_btt
    itself_tt = torch.eye(tokens_bth.shape[1], dtype=torch.bool, device=tokens_bth.device)
    return square_btt.clamp_min(0).masked_fill(itself_tt, 0).sqrt()


def token_log_densities(apart_btt: Float[Tensor, "b t t"], settings: Iteration) -> Float[Tensor, "b t"]:
    """The logarithm of Eq. 2: minus the mean squared distance to the nearest neighbours.

    See `Iteration.density` for whether a token is its own neighbour.
    """
    itself = settings.density == "paper"
    most = apart_btt.shape[1] - int(itself)
    near_btk = apart_btt.topk(min(settings.neighbours, most) + int(itself), dim=-1, largest=False).values
    return near_btk[..., int(itself) :].square().mean(dim=-1).neg()


def peak_distances(
    apart_btt: Float[Tensor, "b t t"], density_bt: Float[Tensor, "b t"], settings: Iteration
) -> Float[Tensor, "b t"]:
    """dist(v) of Eq. 3, see `Iteration.distance`. Of equally dense tokens the earlier counts as denser."""
    tokens = apart_btt.shape[1]
    place_t = torch.arange(tokens, device=apart_btt.device)
    if settings.distance == "nearest":
        return apart_btt.masked_fill(place_t[:, None] == place_t, torch.inf).amin(dim=-1)
    denser_btt = density_bt[:, None, :] > density_bt[:, :, None]
    denser_btt |= (density_bt[:, None, :] == density_bt[:, :, None]) & (place_t < place_t[:, None])
    nearest_bt = apart_btt.masked_fill(~denser_btt, torch.inf).amin(dim=-1)
    return torch.where(nearest_bt.isinf(), apart_btt.amax(dim=-1), nearest_bt)


MemoryState = Any
"""The state of a memory: tensors, or None before the first turn."""


class Memory(nn.Module):
    """Nothing is carried: every turn begins with the learned tokens."""

    def tokens(self, state: MemoryState, learned_bth: Float[Tensor, "b t h"]) -> Float[Tensor, "b q h"]:
        """The tokens that a turn begins with."""
        return learned_bth

    def after(self, state: MemoryState, tokens_bqh: Float[Tensor, "b q h"]) -> MemoryState:
        """The state after a turn that ended with these tokens."""
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
        """The tokens that were kept; at first the learned ones."""
        carried_bth: Tensor = learned_bth if state is None else state
        return carried_bth

    def after(self, state: MemoryState, tokens_bqh: Float[Tensor, "b q h"]) -> MemoryState:
        """The tokens that are kept of those before the turn and those after it."""
        if state is None:
            return tokens_bqh
        earlier_bqh = state.detach() if self.settings.detach_earlier else state
        return select_tokens(torch.cat([earlier_bqh, tokens_bqh], dim=1), self.count, self.settings)


class RecurrentMemory(Memory):
    """A cell runs over the turns, once for each place of a token; its output is added to the learned tokens."""

    def __init__(self, cell: nn.LSTMCell | nn.GRUCell) -> None:
        super().__init__()
        self.cell = cell

    def tokens(self, state: MemoryState, learned_bth: Float[Tensor, "b t h"]) -> Float[Tensor, "b q h"]:
        """The learned tokens plus the cell's last output."""
        if state is None:
            return learned_bth
        hidden: Tensor = state[0] if isinstance(self.cell, nn.LSTMCell) else state
        return learned_bth + hidden.view_as(learned_bth)

    def after(self, state: MemoryState, tokens_bqh: Float[Tensor, "b q h"]) -> MemoryState:
        """The cell's state after these tokens."""
        return self.cell(tokens_bqh.flatten(0, 1), state)


class NtmMemory(Memory):
    """A memory of slots that is written to and read by content (FashionNTM, Pal et al. 2023; Graves et al. 2014).

    A turn writes the mean of its tokens: an erase vector fades the content and an add vector joins it, in proportion
    to a slot's likeness to the key. Every token then reads with a key of its own; what it reads is added to it.
    """

    def __init__(self, settings: Model) -> None:
        super().__init__()
        width = settings.width
        self.slots = nn.Parameter(torch.randn(SLOTS, width) * 0.02)
        self.write = nn.Linear(width, 3 * width + 1)
        self.read = nn.Linear(width, width + 1)
        self.out = nn.Linear(width, width)

    def tokens(self, state: MemoryState, learned_bth: Float[Tensor, "b t h"]) -> Float[Tensor, "b q h"]:
        """The learned tokens plus what each reads."""
        if state is None:
            return learned_bth
        key_bth, strength_bt1 = self.read(learned_bth).split([learned_bth.shape[2], 1], dim=-1)
        shares_btm = address_slots(state, key_bth, strength_bt1)
        with_read_bth: Tensor = learned_bth + self.out(shares_btm @ state)
        return with_read_bth

    def after(self, state: MemoryState, tokens_bqh: Float[Tensor, "b q h"]) -> MemoryState:
        """The memory after writing the mean of the tokens."""
        width = tokens_bqh.shape[2]
        memory_bmh = self.slots.expand(len(tokens_bqh), -1, -1) if state is None else state
        parts = self.write(tokens_bqh.mean(dim=1, keepdim=True)).split([width, width, width, 1], dim=-1)
        key_b1h, erase_b1h, add_b1h, strength_b11 = parts
        shares_bm1 = address_slots(memory_bmh, key_b1h, strength_b11).transpose(1, 2)
        return memory_bmh * (1 - shares_bm1 * erase_b1h.sigmoid()) + shares_bm1 * add_b1h.tanh()


def address_slots(
    memory_bmh: Float[Tensor, "b m h"], key_bth: Float[Tensor, "b t h"], strength_bt1: Float[Tensor, "b t 1"]
) -> Float[Tensor, "b t m"]:
    """How much each key attends to each slot: softmax of cosines times a strength of at least 1 (NTM, Eq. 5)."""
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
