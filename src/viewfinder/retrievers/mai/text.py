"""Texts as the places that a Q-Former reads: a first one that stands for the whole, then words or pieces. In torch.

Axes: b texts, l places (the first, then words), p prompts, h numbers of a place, s numbers of a word's vector.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viewfinder.retrievers.mai.pieces import PieceTokenizer, SavedTokeniser
from viewfinder.retrievers.mai.settings import Model
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.retrievers.shared.numpy_network import NO_WORD

POSITIONS = 192
"""Places that have an embedding of their own; later ones share the last."""


class EmbeddedTexts(NamedTuple):
    """Texts that are ready to be read."""

    places_blh: Float[Tensor, "b l h"]
    there_bl: Bool[Tensor, "b l"]


class WordInput(nn.Module):
    """Word vectors, brought to the width of the Q-Former, and where they stand."""

    def __init__(self, settings: Model, words: WordVectors) -> None:
        super().__init__()
        self.words = words
        self.word = nn.Linear(words.width, settings.width)
        self.first = nn.Parameter(torch.randn(settings.width) * 0.02)
        self.positions = nn.Parameter(torch.randn(POSITIONS, settings.width) * 0.02)

    def forward(self, words_bl: Int[Tensor, "b l"], prompts_ph: Float[Tensor, "p h"] | None = None) -> EmbeddedTexts:
        """Texts by the numbers of their words, `NOTHING` after the last; prompts come between first place and words."""
        rows = len(words_bl)
        longest = int((words_bl != NO_WORD).sum(dim=1).max()) if rows else 0
        words_bl = words_bl[:, :longest]
        first_b1h = self.first.expand(rows, 1, -1)
        between = [] if prompts_ph is None else [prompts_ph.expand(rows, -1, -1)]
        places_blh = torch.cat([first_b1h, *between, self.word(self.words(words_bl))], dim=1)
        position_l = torch.arange(places_blh.shape[1], device=words_bl.device).clamp_max(POSITIONS - 1)
        always = places_blh.shape[1] - longest
        there_bl = torch.nn.functional.pad(words_bl != NO_WORD, (always, 0), value=True)
        return EmbeddedTexts(places_blh + self.positions[position_l], there_bl)


def longest_text(settings: Model) -> int:
    """Places of the longest text in pieces: the first one, prompts, its pieces, the last one."""
    return 2 + settings.prompts + settings.most_words


class PieceInput(nn.Module):
    """Pieces of a tokeniser between its first and its last one, and where they stand; as BERT and BLIP-2 read texts.

    Parameters: `pieces.weight`, and `positions`, as many as the longest text with prompts has places.
    """

    def __init__(self, settings: Model, tokeniser: SavedTokeniser) -> None:
        super().__init__()
        self.first, self.last = tokeniser.first + 1, tokeniser.last + 1
        self.pieces = nn.Embedding(PieceTokenizer(tokeniser, settings.most_words).count, settings.width)
        nn.init.normal_(self.pieces.weight, std=0.02)
        self.positions = nn.Parameter(torch.randn(longest_text(settings), settings.width) * 0.02)

    def forward(self, words_bl: Int[Tensor, "b l"], prompts_ph: Float[Tensor, "p h"] | None = None) -> EmbeddedTexts:
        """Texts by the numbers of their pieces, `NOTHING` after the last; prompts come after the first place."""
        length_b = (words_bl != NO_WORD).sum(dim=1)
        longest = int(length_b.max()) if len(words_bl) else 0
        numbers_bl = nn.functional.pad(words_bl[:, :longest], (1, 1), value=NO_WORD)
        numbers_bl[:, 0] = self.first
        numbers_bl.scatter_(1, length_b[:, None] + 1, self.last)
        there_bl = numbers_bl != NO_WORD
        found_blh = self.pieces((numbers_bl - 1).clamp_min(0))
        if prompts_ph is not None:
            prompts_bph = prompts_ph.expand(len(words_bl), -1, -1)
            found_blh = torch.cat([found_blh[:, :1], prompts_bph, found_blh[:, 1:]], dim=1)
            there_bl = nn.functional.pad(there_bl, (len(prompts_ph), 0), value=True)
        return EmbeddedTexts(found_blh + self.positions[: found_blh.shape[1]], there_bl)
