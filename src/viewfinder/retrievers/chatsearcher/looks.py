"""Pictures as the language model reads them: a global token and what the perceiver makes of the regions. In torch.

Axes: n or c pictures, g numbers of a raw whole vector, x those that are read of it, r regions, e numbers of a raw one,
y those that are read of it, t slots, w numbers of a slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float16, Float32, Int
from torch import Tensor, nn
from transformers import Blip2QFormerConfig, Blip2QFormerModel

from viewfinder.retrievers.chatsearcher.settings import ModelSettings
from viewfinder.training.picture_layers import PictureInput

PICTURES_AT_ONCE = 512
"""Pictures whose raw regions are held in single precision at a time."""


class PictureFeatures(NamedTuple):
    """Pictures as far as nothing of it trains: the same for all of a training. Regions are in half precision."""

    whole_nx: Float32[Tensor, "n x"]
    regions_nry: Float16[Tensor, "n r y"]

    def of(self, rows_c: Int[Tensor, " c"]) -> PictureFeatures:
        """Those of some pictures."""
        return PictureFeatures(self.whole_nx[rows_c], self.regions_nry[rows_c])


class Perceiver(nn.Module):
    """The Q-Former of BLIP-2 without a text: N slots that look at the regions of a picture (Sec. 4.1).

    That a region lies where it does is learnt: unlike a transformer's patches, regions of a convolution do not say.
    """

    def __init__(self, settings: ModelSettings, regions: int, region_width: int) -> None:
        """`regions`: r; `region_width`: y."""
        super().__init__()
        width = settings.perceiver_width
        self.queries = nn.Parameter(torch.randn(settings.tokens, width) * width**-0.5)
        self.positions = nn.Parameter(torch.zeros(regions, region_width))
        self.norm = nn.LayerNorm(region_width)
        config = Blip2QFormerConfig(
            hidden_size=width,
            num_hidden_layers=settings.perceiver_layers,
            num_attention_heads=settings.perceiver_heads,
            intermediate_size=settings.perceiver_hidden,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            cross_attention_frequency=settings.cross_every,
            encoder_hidden_size=region_width,
            # BERT's 0.02 is for 768 numbers; of few, everything would look alike for long.
            initializer_range=width**-0.5 if width < 768 else 0.02,
        )
        self.qformer = Blip2QFormerModel(config)

    def forward(self, regions_cry: Float[Tensor, "c r y"]) -> Float[Tensor, "c t w"]:
        """The slots after they have looked."""
        seen_cry = self.norm(regions_cry + self.positions)
        slots_ctw = self.queries.expand(len(regions_cry), *self.queries.shape)
        found: Tensor = self.qformer(slots_ctw, encoder_hidden_states=seen_cry).last_hidden_state
        return found


def build_picture_input(raw_width: int, components: int, whitening: float) -> PictureInput:
    """Principal components of a raw vector, or, of 0 components, all its numbers on one scale."""
    return PictureInput("whitened" if components else "standardised", raw_width, components, whitening)


@torch.no_grad()
def read_picture_features(
    whole: PictureInput,
    region: PictureInput | None,
    raw_ng: Float[np.ndarray, "n g"],
    regions_nre: Float16[np.ndarray, "n r e"] | None,
) -> PictureFeatures:
    """All pictures of a training as they are read; without a perceiver (None) no regions."""
    found = []
    for at in range(0, len(raw_ng), PICTURES_AT_ONCE):
        some = slice(at, at + PICTURES_AT_ONCE)
        whole_nx = whole(torch.from_numpy(np.array(raw_ng[some], np.float32)))
        regions_nry = torch.zeros(len(whole_nx), 0, 0)
        if region is not None:
            assert regions_nre is not None
            regions_nry = region(torch.from_numpy(np.asarray(regions_nre[some], np.float32)))
        found.append(PictureFeatures(whole_nx, regions_nry.half()))
    return PictureFeatures(*(torch.cat(parts) for parts in zip(*found, strict=True)))
