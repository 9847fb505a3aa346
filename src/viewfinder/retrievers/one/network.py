"""The turn network in torch; `turn_network` has it in numpy, under the same names.

Every row of a batch is a turn: the tokens of all picks so far, the composer's of this turn last. At the start `a` = 0
and `q` = 0, so the scores are the composer's.

Axes: b turns, l tokens, k pictures, d numbers of the encoder's vectors, w width, e of what a token asks for.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from viewfinder.retrievers.one.settings import TurnNetworkSettings
from viewfinder.retrievers.one.turn_network import INPUT_SCALE, KINDS, NORM_EPS, QUERY_SCALE

MAX_TURNS, ASKED = 16, 32
"""Turns that have a number of their own, later ones share the last; numbers in which a token asks for others."""


class Batch(NamedTuple):
    """Turns, and the pictures that the wanted ones are told from.

    Attributes:
        there_bl: whether a place holds a token; the others are zeros.
        last_b: the place of the last token.
        composed_bk: the composer's scores, in nats.
        out_bk: whether a picture is excluded.
        wanted_b: the place of the wanted picture among the k.
    """

    vectors_bld: Float[Tensor, "b l d"]
    kind_bl: Int[Tensor, "b l"]
    turn_bl: Int[Tensor, "b l"]
    there_bl: Bool[Tensor, "b l"]
    last_b: Int[Tensor, " b"]
    pictures_kd: Float[Tensor, "k d"]
    composed_bk: Float[Tensor, "b k"]
    out_bk: Bool[Tensor, "b k"]
    wanted_b: Int[Tensor, " b"]


class TurnLayer(nn.Module):
    """A layer of a transformer's encoder, norms first."""

    def __init__(self, settings: TurnNetworkSettings) -> None:
        super().__init__()
        width = settings.width
        self.heads, self.dropout = settings.heads, settings.dropout
        self.norm1, self.norm2 = nn.LayerNorm(width, NORM_EPS), nn.LayerNorm(width, NORM_EPS)
        self.inputs, self.attended = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        nn.init.xavier_uniform_(self.inputs.weight)
        for linear in (self.inputs, self.attended):
            nn.init.zeros_(linear.bias)

    def forward(self, hidden_blw: Float[Tensor, "b l w"], sees_bll: Bool[Tensor, "b l l"]) -> Float[Tensor, "b l w"]:
        """What tokens know after they have looked at those that they see."""
        parts = self.inputs(self.norm1(hidden_blw)).chunk(3, dim=-1)
        asks, keys, values = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        dropout = self.dropout if self.training else 0.0
        seen = functional.scaled_dot_product_attention(asks, keys, values, sees_bll[:, None], dropout)
        hidden_blw = hidden_blw + self._drop(self.attended(seen.transpose(1, 2).flatten(2)))
        inner = self._drop(functional.gelu(self.inner(self.norm2(hidden_blw))))
        return hidden_blw + self._drop(self.outer(inner))

    def _drop(self, rows: Float[Tensor, "b l h"]) -> Float[Tensor, "b l h"]:
        return functional.dropout(rows, self.dropout, self.training)


class TorchTurnNetwork(nn.Module):
    """The network over vectors of so many numbers."""

    def __init__(self, settings: TurnNetworkSettings, numbers: int) -> None:
        super().__init__()
        width = settings.width
        self.vector = nn.Linear(numbers, width)
        self.kinds = nn.Parameter(torch.randn(len(KINDS), width))
        self.turns = nn.Parameter(torch.randn(MAX_TURNS, width))
        self.layers = nn.ModuleList(TurnLayer(settings) for _ in range(settings.layers))
        self.last = nn.LayerNorm(width, NORM_EPS)
        self.asks, self.answers = nn.Linear(width, ASKED), nn.Linear(width, ASKED)
        self.own, self.gate = nn.Linear(width, numbers), nn.Linear(width, 1)
        for silent in (self.asks, self.own, self.gate):  # it starts as the composer
            nn.init.zeros_(silent.weight)
            nn.init.zeros_(silent.bias)

    def forward(self, batch: Batch) -> Float[Tensor, "b k"]:
        """The scores of pictures, in nats."""
        gate_b1, added_bd = self.read(batch)
        return gate_b1.exp() * batch.composed_bk + added_bd @ batch.pictures_kd.T

    def read(self, batch: Batch) -> tuple[Float[Tensor, "b 1"], Float[Tensor, "b d"]]:
        """`a` and `q` of every turn."""
        vectors_bld, turn_bl, there_bl = batch.vectors_bld, batch.turn_bl, batch.there_bl
        hidden_blw = INPUT_SCALE * self.vector(vectors_bld) + self.kinds[batch.kind_bl]
        hidden_blw = hidden_blw + self.turns[turn_bl.clamp(max=MAX_TURNS - 1)]
        sees_bll = (turn_bl[:, None, :] <= turn_bl[:, :, None]) & there_bl[:, None, :]
        for layer in self.layers:
            hidden_blw = layer(hidden_blw, sees_bll)
        hidden_blw = self.last(hidden_blw)
        last_bw = hidden_blw[torch.arange(len(batch.last_b), device=batch.last_b.device), batch.last_b]
        weight_bl = torch.einsum("be,ble->bl", self.asks(last_bw), self.answers(hidden_blw)) / ASKED**0.5
        added_bd = torch.einsum("bl,bld->bd", weight_bl * there_bl, vectors_bld) + self.own(last_bw)
        return self.gate(last_bw), QUERY_SCALE * added_bd
