"""MAI's network (Chen et al., "MAI: A Multi-turn Aggregation-Iteration Model", ICLR 2025, Sec. 4.2). In torch.

One Q-Former reads everything. Axes: b pictures or talks, t tokens, l places of a text, h numbers of either, i tokens of
a picture, z numbers of one, d numbers of a query's or a picture's vector, k vectors of a picture (1, or as many as
tokens).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import normalize

from viewfinder.retrievers.mai.images import ImageTokens, PictureComponents
from viewfinder.retrievers.mai.memory import make_memory
from viewfinder.retrievers.mai.pieces import SavedTokeniser
from viewfinder.retrievers.mai.qformer import QFormer, qformer_config
from viewfinder.retrievers.mai.settings import Model
from viewfinder.retrievers.mai.text import EmbeddedTexts, PieceInput, WordInput
from viewfinder.retrievers.shared.network import WordVectors


class FusedTokens(NamedTuple):
    """What reading a turn gives: its tokens, and the state at the beginning of its text."""

    tokens_bth: Float[Tensor, "b t h"]
    first_bh: Float[Tensor, "b h"]


class MaiNetwork(nn.Module):
    """The passes through the Q-Former, and what they are projected to; the way of a talk is in `wiring`.

    `log_scale` is what cosines are multiplied by in the loss.
    """

    def __init__(self, settings: Model, raw_width: int, region_width: int, words: WordVectors | SavedTokeniser) -> None:
        """`raw_width`, `region_width`: numbers of a picture's raw vector and of a raw region; `words`: of texts."""
        super().__init__()
        self.settings = settings
        width, projection = settings.width, settings.projection
        self.images = ImageTokens(settings, raw_width, region_width, settings.read_width)
        self.text: WordInput | PieceInput = (
            PieceInput(settings, words) if isinstance(words, SavedTokeniser) else WordInput(settings, words)
        )
        self.learned = nn.Parameter(torch.randn(settings.tokens, width) * 0.02)
        self.prompts = nn.Parameter(torch.randn(settings.prompts, width) * 0.02)
        self.qformer = QFormer(qformer_config(settings, settings.read_width))
        self.memory = make_memory(settings)
        self.text_project = nn.Linear(width, projection)
        self.target_project = nn.Linear(width, projection)
        if settings.query == "fused":
            self.fused = nn.Linear(width, width)
            self.fused_norm = nn.LayerNorm(width)
        self.log_scale = nn.Parameter(torch.zeros(()))

    def begin(self, talks: int) -> Float[Tensor, "b t h"]:
        """The learned tokens, for each talk."""
        return self.learned.expand(talks, -1, -1)

    def read(
        self, tokens_bth: Float[Tensor, "b t h"], text: EmbeddedTexts, image_biz: Float[Tensor, "b i z"] | None
    ) -> FusedTokens:
        """Tokens and a text that look at each other, and the tokens at the picture, if there is one.

        With a picture and its caption this is the bimodal semantic aggregation (BSA), with a modification alone the
        modification semantic aggregation (MSA).
        """
        count = tokens_bth.shape[1]
        places_bsh = torch.cat([tokens_bth, text.places_blh], dim=1)
        there_bs = nn.functional.pad(text.there_bl, (count, 0), value=True)
        found_bsh = self.qformer.read(places_bsh, there_bs, count, image_biz)
        return FusedTokens(found_bsh[:, :count], found_bsh[:, count])

    def vector(self, words_bl: Int[Tensor, "b l"]) -> Float[Tensor, "b d"]:
        """A text on its own, with the prompts: m_n and c_n of Eq. 9."""
        text = self.text(words_bl, self.prompts)
        return normalize(self.text_project(self.qformer.read(*text)[:, 0]), dim=-1)

    def prompted(self, words_bl: Int[Tensor, "b l"]) -> tuple[Float[Tensor, "b p h"], Float[Tensor, "b d"]]:
        """The prompts after a text was read with them, and the text's vector (SPRC)."""
        found_blh = self.qformer.read(*self.text(words_bl, self.prompts))
        vector_bd = normalize(self.text_project(found_blh[:, 0]), dim=-1)
        return found_blh[:, 1 : 1 + self.settings.prompts], vector_bd

    def query(self, fused: FusedTokens) -> Float[Tensor, "b d"]:
        """What is looked for, of length 1: the state at the start of the modification; or t_n^r, the tokens (paper)."""
        state_bh = fused.first_bh
        if self.settings.query == "fused":
            state_bh = self.fused_norm(self.fused(fused.tokens_bth.mean(dim=1)))
        return normalize(self.text_project(state_bh), dim=-1)

    def pictures(self, looks: PictureComponents, captions_bl: Int[Tensor, "b l"]) -> Float[Tensor, "b k d"]:
        """Vectors of pictures, t_n^tg: the learned tokens after BSA, of captions only if the settings read them."""
        if not self.settings.captions:
            captions_bl = captions_bl[:, :0]
        found = self.read(self.begin(len(captions_bl)), self.text(captions_bl), self.images(looks))
        state_bkh = found.tokens_bth if self.settings.stages == "sprc" else found.first_bh[:, None]
        return normalize(self.target_project(state_bkh), dim=-1)
