"""A picture as tokens that a Q-Former looks at. In torch.

Axes: b or n pictures, g numbers of a raw whole vector, r regions, e numbers of a raw one, x numbers of a whole vector
that are read, y those of a region, i tokens, h numbers of one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16, Float32
from torch import Tensor, nn

from viewfinder.retrievers.mai.settings import WHITENING, WHOLE_TOKENS, Model
from viewfinder.training.picture_layers import PictureInput


class PictureComponents(NamedTuple):
    """Pictures as far as nothing of it trains: the same for all of a training."""

    whole_bx: Float[Tensor, "b x"]
    regions_bry: Float[Tensor, "b r y"]

    def of(self, rows: Tensor) -> PictureComponents:
        """Those of some pictures."""
        return PictureComponents(self.whole_bx[rows], self.regions_bry[rows])

    def mixed(self, others: PictureComponents, mixed_b: Bool[Tensor, " b"]) -> PictureComponents:
        """The mean of two pictures each where they are mixed."""
        share_b = mixed_b / 2
        return PictureComponents(
            self.whole_bx.lerp(others.whole_bx, share_b[:, None]),
            self.regions_bry.lerp(others.regions_bry, share_b[:, None, None]),
        )


class ImageTokens(nn.Module):
    """The whole vector becomes some tokens, each region one; a norm brings them to one scale (BLIP-2's ln_vision)."""

    def __init__(self, settings: Model, raw_width: int, region_width: int, width: int) -> None:
        """`raw_width`: g; `region_width`: e; `width`: h."""
        super().__init__()
        self.settings = settings
        self.width = width
        if settings.image != "regions":
            self.whole_input = _input(raw_width, settings.components)
            self.whole = nn.Linear(self.whole_input.width, WHOLE_TOKENS * width)
        if settings.image != "whole":
            self.region_input = _input(region_width, settings.region_components)
            self.regions = nn.Linear(self.region_input.width, width)
        self.norm = nn.LayerNorm(width)

    def measure(self, raw_ng: Float32[np.ndarray, "n g"], regions_pe: Float32[np.ndarray, "p e"] | None) -> None:
        """Sets what does not train by the pictures of the training set, and by some of their regions."""
        if self.settings.image != "regions":
            self.whole_input.measure(raw_ng)
        if self.settings.image != "whole":
            assert regions_pe is not None
            self.region_input.measure(regions_pe)

    @torch.no_grad()
    def looks(
        self, raw_ng: Float[np.ndarray, "n g"], regions_nre: Float16[np.ndarray, "n r e"] | None
    ) -> PictureComponents:
        """What is read of pictures, before anything that trains."""
        whole_bx = regions_bry = torch.zeros(len(raw_ng), 0)
        if self.settings.image != "regions":
            whole_bx = self.whole_input(torch.from_numpy(np.asarray(raw_ng, np.float32)))
        if self.settings.image == "whole":
            return PictureComponents(whole_bx, regions_bry[:, None])
        assert regions_nre is not None
        return PictureComponents(whole_bx, self.region_input(torch.from_numpy(np.asarray(regions_nre, np.float32))))

    def forward(self, looks: PictureComponents) -> Float[Tensor, "b i h"]:
        """The tokens: those of the whole, then the regions'."""
        parts = []
        if self.settings.image != "regions":
            parts.append(self.whole(looks.whole_bx).unflatten(-1, (WHOLE_TOKENS, self.width)))
        if self.settings.image != "whole":
            parts.append(self.regions(looks.regions_bry))
        found_bih: Tensor = self.norm(torch.cat(parts, dim=1))
        return found_bih


def _input(raw_width: int, components: int) -> PictureInput:
    return PictureInput("whitened" if components else "standardised", raw_width, components, WHITENING)
