"""The dialogue retriever of Fashion IQ (Wu et al., CVPR 2021, Sec. 4.2): a transformer over all that is said and shown.

A turn is read as tokens, always in the same places: a separator, its words, attributes of the shown picture, the
picture. Axes: b talks, l words or tokens so far, a attributes, t tokens of a turn, g numbers of a raw picture vector, h
numbers of a token, of a picture's vector and of a query.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad, relu

from viewfinder.retrievers.fashioniq.feedback import NO_WORD, Feedback, FeedbackNetwork
from viewfinder.retrievers.fashioniq.look import PictureEncoder
from viewfinder.retrievers.fashioniq.settings import TransformerModel
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.training.transformer_layers import Encoder, KeysValues, Norm, add_positions, sinusoid_positions

SEPARATOR, WORD, ATTRIBUTE, IMAGE = range(4)
"""The kinds of tokens, as `modalities` numbers them."""

EMBEDDED = 0.02
"""The deviation of embeddings of turns and modalities at first."""


class TokenHistory(NamedTuple):
    """Talks so far.

    Attributes:
        turns: how many turns each has.
        there_bl: which of the tokens so far are read.
        tokens_blh: of a "whole" history the tokens, which are encoded again with every turn; else none.
        seen: of an "incremental" one what later tokens look at, an entry a layer; else none.
        summed_bh: of an "incremental" one the sum of the encoded tokens.
    """

    turns: int
    there_bl: Bool[Tensor, "b l"]
    tokens_blh: Float[Tensor, "b whole h"]
    seen: tuple[KeysValues, ...]
    summed_bh: Float[Tensor, "b h"]


class TokenGroup(NamedTuple):
    """Tokens of one kind in a turn, and where there is something to be read."""

    kind: int
    tokens_bth: Float[Tensor, "b t h"]
    there_bt: Bool[Tensor, "b t"]


class TransformerRetriever(FeedbackNetwork):
    """The network; `labels` is how many attributes there are."""

    def __init__(self, settings: TransformerModel, raw_width: int, words: WordVectors, labels: int) -> None:
        super().__init__()
        width = settings.width
        self.settings = settings
        self.looks = PictureEncoder(settings, raw_width)
        self.words = words
        self.word = nn.Linear(words.width, width)
        self.word_norm = Norm(width)
        if settings.attributes:
            self.attribute = nn.Embedding(labels + 1, width, padding_idx=NO_WORD, scale_grad_by_freq=True)
            self.attribute_norm = Norm(width)
        if settings.turn_embeddings:
            self.turns = nn.Parameter(EMBEDDED * torch.randn(settings.rounds, width))
        if settings.modality_embeddings:
            self.modalities = nn.Parameter(EMBEDDED * torch.randn(IMAGE + 1, width))
        self.encoder = Encoder(width, settings.layers, settings.heads, settings.hidden, settings.dropout)
        self.head = nn.Linear(width, width)

    def look(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b h"]:
        """Pictures as vectors."""
        vectors_bh: Tensor = self.looks(raw_bg)
        return vectors_bh

    def begin(self, talks: int) -> TokenHistory:
        """Talks in which nothing was said."""
        width, weight = self.settings.width, self.head.weight
        return TokenHistory(
            turns=0,
            there_bl=torch.ones(talks, 0, dtype=torch.bool, device=weight.device),
            tokens_blh=weight.new_zeros(talks, 0, width),
            seen=(),
            summed_bh=weight.new_zeros(talks, width),
        )

    def step(self, state: TokenHistory, feedback: Feedback) -> tuple[TokenHistory, Float[Tensor, "b h"]]:
        """The talks after one more turn, and their queries."""
        tokens_bth, own_bt = self.tokens(state.turns, feedback)
        there_bl = torch.cat([state.there_bl, own_bt], dim=1)
        if self.settings.history == "whole":
            tokens_blh, seen = torch.cat([state.tokens_blh, tokens_bth], dim=1), state.seen
            summed_bh = _summed(self.encoder(tokens_blh, self._mask(there_bl, there_bl.shape[1])), there_bl)
        else:
            tokens_blh, mask = state.tokens_blh, self._mask(there_bl, tokens_bth.shape[1])
            encoded_bth, seen = self.encoder.step(tokens_bth, state.seen or None, mask)
            summed_bh = state.summed_bh + _summed(encoded_bth, own_bt)
        query_bh = self.looks.compared(self.head(relu(summed_bh / there_bl.sum(dim=1, keepdim=True))))
        return TokenHistory(state.turns + 1, there_bl, tokens_blh, seen, summed_bh), query_bh

    def tokens(self, turn: int, feedback: Feedback) -> tuple[Float[Tensor, "b t h"], Bool[Tensor, "b t"]]:
        """The tokens of turn 0, 1, ..., and which of them are read: without a padding mask, all."""
        settings, parts = self.settings, self._parts(feedback)
        tokens_bth = torch.cat([part.tokens_bth for part in parts], dim=1)
        there_bt = torch.cat([part.there_bt for part in parts], dim=1)
        if settings.modality_embeddings:
            kinds_t = [part.kind for part in parts for _ in range(part.there_bt.shape[1])]
            tokens_bth = tokens_bth + self.modalities[kinds_t]
        if settings.turn_embeddings:
            tokens_bth = tokens_bth + self.turns[min(turn, settings.rounds - 1)]
        if not settings.padding_mask:
            there_bt = torch.ones_like(there_bt)
        return add_positions(tokens_bth, self._places(turn, tokens_bth.shape[1])), there_bt

    def _parts(self, feedback: Feedback) -> list[TokenGroup]:
        """The tokens of a turn as they are made of what is heard and seen."""
        settings, shown_b1 = self.settings, feedback.shown_b[:, None]
        parts = []
        if settings.separator:  # a vector of zeros comes out of the norm as its bias
            separator_bth = self.word_norm.bias.expand(len(shown_b1), 1, -1)
            parts.append(TokenGroup(SEPARATOR, separator_bth, torch.ones_like(shown_b1)))
        words_bl = pad_numbers(feedback.words_bl, settings.most_words)
        parts.append(TokenGroup(WORD, self.word_norm(self.word(self.words(words_bl))), words_bl != NO_WORD))
        if settings.attributes:
            attributes_ba = pad_numbers(feedback.attributes_ba, settings.attributes)
            read_bah = self.attribute_norm(self.attribute(attributes_ba))
            parts.append(TokenGroup(ATTRIBUTE, read_bah, attributes_ba != NO_WORD))
        pictures_bh = torch.where(shown_b1, feedback.picture_bh, 0.0)
        return [*parts, TokenGroup(IMAGE, pictures_bh[:, None], shown_b1)]

    def _places(self, turn: int, count: int) -> Float[Tensor, "t h"] | None:
        """The vectors of the places of a turn of `count` tokens."""
        positions = self.settings.positions
        if positions == "none":
            return None
        all_lh = sinusoid_positions((turn + 1) * count, self.settings.width, published=positions == "published")
        return all_lh[turn * count :].to(self.head.weight.device)

    def _mask(self, there_bl: Bool[Tensor, "b l"], asking: int) -> Bool[Tensor, "b t l"] | None:
        """Which tokens the last `asking` ones may look at; None: at all."""
        return there_bl[:, None].expand(-1, asking, -1) if self.settings.padding_mask else None


def pad_numbers(numbers_bl: Int[Tensor, "b _"], count: int) -> Int[Tensor, "b {count}"]:
    """The first `count` numbers of each row, with `NOTHING` after them where there are fewer."""
    return pad(numbers_bl[:, :count], (0, max(0, count - numbers_bl.shape[1])), value=NO_WORD)


def _summed(tokens_blh: Float[Tensor, "b l h"], there_bl: Bool[Tensor, "b l"]) -> Float[Tensor, "b h"]:
    """The sum of the tokens that are there."""
    return torch.einsum("blh,bl->bh", tokens_blh, there_bl.to(tokens_blh.dtype))
