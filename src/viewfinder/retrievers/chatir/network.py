"""The dialogue encoder F of ChatIR (Levy et al., NeurIPS 2023) in torch, and the space of pictures that it aims at.

Two ways of reading a dialogue share one way of looking at pictures. Axes: b dialogues, t rounds, l tokens of a
transformer (a summary, the caption, the rounds), p those of them that are there, in all dialogues together, s numbers
of a sentence vector, w width, g numbers of a raw picture vector, d numbers in the space of pictures.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, gelu, normalize, pad, scaled_dot_product_attention

from viewfinder.retrievers.chatir.settings import ModelSettings
from viewfinder.retrievers.chatir.text_model import text_layers
from viewfinder.retrievers.shared.inputs import add_scale, scale_raw
from viewfinder.retrievers.shared.regions import EPS

BEFORE_ROUNDS = 2
"""Tokens before those of the rounds: the summary and the caption."""

TEXTS_AT_ONCE = 16
"""Texts of about the same length that go through a text encoder together."""


class DialogueEncoder(nn.Module, ABC):
    """What both ways of reading share: the space of pictures, and the scale of the contrastive loss."""

    def __init__(self, settings: ModelSettings, raw_width: int) -> None:
        super().__init__()
        self.settings = settings
        self.log_scale = nn.Parameter(torch.zeros(()))
        if settings.image == "shared":
            # What the encoder makes of `texts.PROBE`: by this a search tells whether it has the same space.
            self.register_buffer("shared_probe", torch.zeros(settings.image_width))
            return
        add_scale(self, "whole", raw_width)
        if settings.image == "whitened":
            components_gd = torch.zeros(raw_width, settings.image_width, dtype=torch.float16)
            self.register_buffer("components", components_gd)
        else:
            self.project = nn.Linear(raw_width, settings.image_width)

    @abstractmethod
    def read(self, *said: Tensor) -> Float[Tensor, "b d"]:
        """Dialogues as unit vectors; what is `said` of each differs by the way of reading."""

    def trains(self, name: str) -> bool:
        """Whether a parameter is one that training changes."""
        return True

    def look(self, seen_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b d"]:
        """Pictures as unit vectors, of raw vectors; where the space is "shared", of the encoder's projections."""
        if self.settings.image == "shared":
            return normalize(seen_bg, dim=-1, eps=EPS)
        standard_bg = scale_raw(self, "whole", seen_bg)
        if self.settings.image == "whitened":
            return normalize(standard_bg @ self.get_buffer("components").float(), dim=-1, eps=EPS)
        there_b1 = (seen_bg != 0).any(dim=-1, keepdim=True)
        return normalize(self.project(standard_bg), dim=-1, eps=EPS) * there_b1


class SentenceDialogueEncoder(DialogueEncoder):
    """Reads frozen sentence vectors: of the caption, and of question and answer of every round."""

    def __init__(self, settings: ModelSettings, raw_width: int, sentence_width: int) -> None:
        super().__init__(settings, raw_width)
        width, hidden = settings.width, settings.hidden
        self.positions = nn.Parameter(0.02 * torch.randn(BEFORE_ROUNDS + settings.rounds, width))
        self.caption = FeedForward(sentence_width, width, width)
        if settings.rounds:
            self.round = FeedForward(2 * sentence_width, hidden, width)
        self.blocks = nn.ModuleList(
            TransformerBlock(width, settings.heads, hidden, settings.dropout) for _ in range(settings.layers)
        )
        self.last = nn.LayerNorm(width)
        self.out = nn.Linear(width, settings.image_width)

    def read(self, *said: Tensor) -> Float[Tensor, "b d"]:
        """Dialogues as unit vectors.

        Args:
            said: sentence vectors of the captions (b s); of questions and, after them, of answers (b t 2s), where zeros
                stand for one that is not there; and whether the caption and each round are there (b 1+t). t is at
                most the settings' rounds.
        """
        captions_bs, rounds_bts, there_bc = said
        there_bl = torch.cat([torch.ones_like(there_bc[:, :1]), there_bc], dim=1)  # the summary always is
        tokens_pw = self._tokens(captions_bs, rounds_bts, there_bl)
        for block in self.blocks:
            tokens_pw = block(tokens_pw, there_bl)
        if self.settings.pooling == "first":
            pooled_bw = tokens_pw[there_bl.sum(dim=1).cumsum(dim=0) - there_bl.sum(dim=1)]
        else:
            pooled_bw = _spread(tokens_pw, there_bl).sum(dim=1) / there_bl.sum(dim=1, keepdim=True)
        return normalize(self.out(self.last(pooled_bw)), dim=-1, eps=EPS)

    def _tokens(
        self, captions_bs: Float[Tensor, "b s"], rounds_bts: Float[Tensor, "b t two_s"], there_bl: Bool[Tensor, "b l"]
    ) -> Float[Tensor, "p w"]:
        """The tokens that are there, those of the first dialogue first."""
        read_bcw = self.caption(captions_bs)[:, None]
        if rounds_bts.shape[1]:
            rounds_there_bt = there_bl[:, BEFORE_ROUNDS:]
            rounds_btw = _spread(self.round(rounds_bts[rounds_there_bt]), rounds_there_bt)
            read_bcw = torch.cat([read_bcw, rounds_btw], dim=1)
        read_blw = pad(read_bcw, (0, 0, 1, 0))
        return (read_blw + self.positions[: read_blw.shape[1]])[there_bl]


class TokenDialogueEncoder(DialogueEncoder):
    """Reads the tokens of a whole dialogue with a text encoder of transformers (see `text_model`)."""

    def __init__(self, settings: ModelSettings, raw_width: int, text: nn.Module) -> None:
        super().__init__(settings, raw_width)
        self.text = text
        config: Any = text.config
        self.out = nn.Linear(config.hidden_size, settings.image_width)

    def read(self, *said: Tensor) -> Float[Tensor, "b d"]:
        """Dialogues as unit vectors; `said` are the numbers of their tokens, and where there are any (no padding)."""
        ids_bl, there_bl = said
        lengths_b = there_bl.sum(dim=1)
        order_b = lengths_b.argsort()
        parts = [
            self._pooled(ids_bl, there_bl, rows, int(lengths_b[rows].max()))
            for rows in torch.split(order_b, TEXTS_AT_ONCE)
        ]
        pooled_bw = torch.cat(parts)[order_b.argsort()]
        return normalize(self.out(pooled_bw), dim=-1, eps=EPS)

    def _pooled(
        self, ids_bl: Int[Tensor, "b l"], there_bl: Bool[Tensor, "b l"], rows: Int[Tensor, " a"], longest: int
    ) -> Float[Tensor, "a w"]:
        """The states of some texts as one each, without the padding that only longer texts need."""
        ids_al, there_al = ids_bl[rows, :longest], there_bl[rows, :longest]
        states_alw: Tensor = self.text(input_ids=ids_al, attention_mask=there_al.long()).last_hidden_state
        if self.settings.pooling == "first":
            return states_alw[:, 0]
        return (states_alw * there_al[..., None]).sum(dim=1) / there_al.sum(dim=1, keepdim=True)

    def trains(self, name: str) -> bool:
        """Of the text encoder the last layers, where the settings name a number of them."""
        if not name.startswith("text.") or not self.settings.train_layers:
            return True
        kept = text_layers(self.text)
        layers: list[nn.Module] = [] if kept is None else [*kept][-self.settings.train_layers :]
        trained = {id(parameter) for layer in layers for parameter in layer.parameters()}
        return id(self.get_parameter(name)) in trained


class FeedForward(nn.Module):
    """Two linear maps with a GELU (by tanh, which numpy has) in between."""

    def __init__(self, width_in: int, hidden: int, width_out: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width_in, hidden)
        self.outer = nn.Linear(hidden, width_out)

    def forward(self, rows: Float[Tensor, "*n i"]) -> Float[Tensor, "*n o"]:
        """As it says."""
        mapped: Tensor = self.outer(gelu(self.inner(rows), approximate="tanh"))
        return mapped


class TransformerBlock(nn.Module):
    """A layer of a transformer that norms what comes into attention and into the two layers after it."""

    def __init__(self, width: int, heads: int, hidden: int, share: float) -> None:
        super().__init__()
        self.heads, self.share = heads, share
        self.before_attention = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.attended = nn.Linear(width, width)
        self.before_layers = nn.LayerNorm(width)
        self.layers = FeedForward(width, hidden, width)

    def forward(self, tokens_pw: Float[Tensor, "p w"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "p w"]:
        """The tokens that are there, each having looked at those of its dialogue; nothing is computed for others."""
        tokens_pw = tokens_pw + self._dropped(self._attend(self.before_attention(tokens_pw), there_bl))
        return tokens_pw + self._dropped(self.layers(self.before_layers(tokens_pw)))

    def _attend(self, normed_pw: Float[Tensor, "p w"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "p w"]:
        parts = (self.query(normed_pw), self.key(normed_pw), self.value(normed_pw))
        query_bhlv, key_bhlv, value_bhlv = (
            _spread(part_pw, there_bl).view(*there_bl.shape, self.heads, -1).transpose(1, 2) for part_pw in parts
        )
        seen_bhlv = scaled_dot_product_attention(
            query_bhlv, key_bhlv, value_bhlv, attn_mask=there_bl[:, None, None], dropout_p=self._share
        )
        attended_pw: Tensor = self.attended(seen_bhlv.transpose(1, 2).flatten(-2)[there_bl])
        return attended_pw

    @property
    def _share(self) -> float:
        return self.share if self.training else 0.0

    def _dropped(self, tokens_pw: Float[Tensor, "p w"]) -> Float[Tensor, "p w"]:
        return dropout(tokens_pw, self._share, training=self._share > 0)


def _spread(tokens_pw: Float[Tensor, "p w"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "b l w"]:
    """The tokens that are there, at their places; zeros elsewhere."""
    spread_blw = tokens_pw.new_zeros((*there_bl.shape, tokens_pw.shape[-1]))
    return spread_blw.index_put((there_bl,), tokens_pw)


def set_initial_scale(network: DialogueEncoder, scale: float) -> None:
    """Sets what the contrastive loss multiplies scores by at first."""
    with torch.no_grad():
        network.log_scale.fill_(math.log(scale))
