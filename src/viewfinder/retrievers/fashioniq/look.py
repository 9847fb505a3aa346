"""How all networks of Fashion IQ look at pictures, and what a query must be to be compared with them. In torch.

Axes: b pictures or talks, g numbers of a raw vector, h numbers of a picture's vector and of a query.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from viewfinder.retrievers.fashioniq.settings import FeedbackReading
from viewfinder.retrievers.shared.network import EPS
from viewfinder.training.picture_layers import PictureInput
from viewfinder.training.transformer_layers import Norm


class PictureEncoder(nn.Module):
    """A raw vector through a linear map, then through a norm ("l2") or brought to length 1 ("cosine").

    The norm bounds the length of a vector by its own numbers alone: a search, which takes dot products of unit vectors,
    needs a bound that holds for every picture.
    """

    def __init__(self, settings: FeedbackReading, raw_width: int) -> None:
        super().__init__()
        self.compare = settings.compare
        self.input = PictureInput(settings.image, raw_width, settings.components, settings.whitening)
        self.project = nn.Linear(self.input.width, settings.width, bias=False)
        if settings.compare == "l2":
            self.norm = Norm(settings.width)

    def forward(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b h"]:
        """Pictures as vectors."""
        return self.projected(self.input(raw_bg))

    def projected(self, read_bx: Float[Tensor, "b x"]) -> Float[Tensor, "b h"]:
        """Pictures as vectors, by what `input` reads of them; that never changes in a training."""
        projected_bh: Tensor = self.project(read_bx)
        if self.compare == "cosine":
            return normalize(projected_bh, dim=-1, eps=EPS)
        normed_bh: Tensor = self.norm(projected_bh)
        return normed_bh

    def compared(self, query_bh: Float[Tensor, "b h"]) -> Float[Tensor, "b h"]:
        """A query as it is compared with pictures: of length 1 for "cosine"."""
        return normalize(query_bh, dim=-1, eps=EPS) if self.compare == "cosine" else query_bh
