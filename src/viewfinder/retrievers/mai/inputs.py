"""The input of MAI's Q-Former: a picture as tokens, and a text as places. In torch.

Axes: b or n pictures or texts, g width of a raw whole vector, r regions, e width of a raw one, x the width read of a
whole vector, y that of a region, i tokens, l places of a text (the first, then words or pieces), p prompts, h width of
a token or place, s width of a word vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16, Float32, Int
from torch import Tensor, nn

from viewfinder.retrievers.mai.settings import WHITENING, WHOLE_TOKENS, Model
from viewfinder.retrievers.mai.texts import PieceTokenizer, SavedTokeniser
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.retrievers.shared.numpy_network import NO_WORD
from viewfinder.training.layers import PictureInput, PictureKind


class PictureComponents(NamedTuple):
    """Pictures before anything trainable: the same throughout a training."""

    whole_bx: Float[Tensor, "b x"]
    regions_bry: Float[Tensor, "b r y"]

    def take(self, rows_b: Int[Tensor, " b"], seen_b: Bool[Tensor, " b"] | None = None) -> PictureComponents:
        """Some pictures; zeros where `seen_b` is False."""
        whole_bx, regions_bry = self.whole_bx[rows_b], self.regions_bry[rows_b]
        if seen_b is None:
            return PictureComponents(whole_bx, regions_bry)
        return PictureComponents(whole_bx * seen_b[:, None], regions_bry * seen_b[:, None, None])

    def blend(self, others: PictureComponents, blended_b: Bool[Tensor, " b"]) -> PictureComponents:
        """The mean of both pictures where two are blended."""
        share_b = blended_b / 2
        return PictureComponents(
            self.whole_bx.lerp(others.whole_bx, share_b[:, None]),
            self.regions_bry.lerp(others.regions_bry, share_b[:, None, None]),
        )


class ImageTokens(nn.Module):
    """The whole vector becomes some tokens, each region one; a norm brings them to one scale (BLIP-2's ln_vision)."""

    def __init__(self, settings: Model, raw_width: int, region_width: int, width: int) -> None:
        """`raw_width`: g; `region_width`: e; `width`: h."""
        super().__init__()
        self.settings, self.width = settings, width
        if settings.image != "regions":
            kind: PictureKind = "whitened" if settings.components else "standardised"
            self.whole_input = PictureInput(kind, raw_width, settings.components, WHITENING)
            self.whole = nn.Linear(self.whole_input.width, WHOLE_TOKENS * width)
        if settings.image != "whole":
            kind = "whitened" if settings.region_components else "standardised"
            self.region_input = PictureInput(kind, region_width, settings.region_components, WHITENING)
            self.regions = nn.Linear(self.region_input.width, width)
        self.norm = nn.LayerNorm(width)

    def measure(self, raw_ng: Float32[np.ndarray, "n g"], regions_pe: Float32[np.ndarray, "p e"] | None) -> None:
        """Sets what is not trained, from the pictures of the training set and some of their regions."""
        if self.settings.image != "regions":
            self.whole_input.measure(raw_ng)
        if self.settings.image != "whole":
            assert regions_pe is not None
            self.region_input.measure(regions_pe)

    @torch.no_grad()
    def components(
        self, raw_ng: Float[np.ndarray, "n g"], regions_nre: Float16[np.ndarray, "n r e"] | None
    ) -> PictureComponents:
        """Pictures before anything trainable: raw vectors, or their principal components."""
        whole_bx = regions_bry = torch.zeros(len(raw_ng), 0)
        if self.settings.image != "regions":
            whole_bx = self.whole_input(torch.from_numpy(np.asarray(raw_ng, np.float32)))
        if self.settings.image == "whole":
            return PictureComponents(whole_bx, regions_bry[:, None])
        assert regions_nre is not None
        return PictureComponents(whole_bx, self.region_input(torch.from_numpy(np.asarray(regions_nre, np.float32))))

    def forward(self, seen: PictureComponents) -> Float[Tensor, "b i h"]:
        """The tokens: those of the whole, then the regions'."""
        parts = []
        if self.settings.image != "regions":
            parts.append(self.whole(seen.whole_bx).unflatten(-1, (WHOLE_TOKENS, self.width)))
        if self.settings.image != "whole":
            parts.append(self.regions(seen.regions_bry))
        found_bih: Tensor = self.norm(torch.cat(parts, dim=1))
        return found_bih


POSITIONS = 192
"""How many places have an embedding of their own; later ones share the last."""


class EmbeddedTexts(NamedTuple):
    """Texts that are ready to be read."""

    places_blh: Float[Tensor, "b l h"]
    there_bl: Bool[Tensor, "b l"]


class WordInput(nn.Module):
    """Word vectors, mapped to the width of the Q-Former, and their positions."""

    def __init__(self, settings: Model, words: WordVectors) -> None:
        super().__init__()
        self.words = words
        self.word = nn.Linear(words.width, settings.width)
        self.first = nn.Parameter(torch.randn(settings.width) * 0.02)
        self.positions = nn.Parameter(torch.randn(POSITIONS, settings.width) * 0.02)

    def forward(self, words_bl: Int[Tensor, "b l"], prompts_ph: Float[Tensor, "p h"] | None = None) -> EmbeddedTexts:
        """Texts as word numbers, `NO_WORD` after the last; prompts come between the first place and the words."""
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
    """Pieces of a tokeniser between its first and its last one, and their positions; as BERT and BLIP-2 read texts.

    Parameters: `pieces.weight`, and `positions`, as many as the longest text with prompts has places.
    """

    def __init__(self, settings: Model, tokeniser: SavedTokeniser) -> None:
        super().__init__()
        self.first, self.last = tokeniser.first + 1, tokeniser.last + 1
        self.pieces = nn.Embedding(PieceTokenizer(tokeniser, settings.most_words).count, settings.width)
        nn.init.normal_(self.pieces.weight, std=0.02)
        self.positions = nn.Parameter(torch.randn(longest_text(settings), settings.width) * 0.02)

    def forward(self, words_bl: Int[Tensor, "b l"], prompts_ph: Float[Tensor, "p h"] | None = None) -> EmbeddedTexts:
        """Texts as piece numbers, `NO_WORD` after the last; prompts come after the first place."""
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
