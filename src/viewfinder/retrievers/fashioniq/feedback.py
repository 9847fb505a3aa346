"""What all networks of Fashion IQ do: look at pictures, and read relative feedback turn by turn. In torch.

Axes: b talks, l words, a attributes, g numbers of a raw picture vector, h numbers of a picture's vector and of a query.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viewfinder.retrievers.fashioniq.look import PictureEncoder
from viewfinder.retrievers.shared.numpy_network import NO_WORD
from viewfinder.training.picture_layers import AttributeHead

__all__ = ["NO_WORD", "Feedback", "FeedbackNetwork"]


class Feedback(NamedTuple):
    """One turn of several talks.

    Attributes:
        words_bl: numbers of words in the network's vocabulary, `NOTHING` after the last.
        attributes_ba: numbers of the shown picture's attributes, `NOTHING` where there is none.
        picture_bh: what the network's `look` made of the shown picture; anything where there is none.
        shown_b: whether a picture was shown.
    """

    words_bl: Int[Tensor, "b l"]
    attributes_ba: Int[Tensor, "b a"]
    picture_bh: Float[Tensor, "b h"]
    shown_b: Bool[Tensor, " b"]


class FeedbackNetwork(nn.Module, ABC):
    """A network that looks for pictures by relative feedback.

    `looks` makes vectors of pictures. `log_scale` is the logarithm of what a contrastive loss multiplies scores by.
    `attributes` predicts the attributes of pictures; it is frozen, and put there by training, to be saved along.
    """

    looks: PictureEncoder
    attributes: AttributeHead | None

    def __init__(self) -> None:
        super().__init__()
        self.attributes = None
        self.log_scale = nn.Parameter(torch.zeros(()))

    @abstractmethod
    def look(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b h"]:
        """Pictures as vectors: what queries are compared with, and what is read of a shown picture."""

    @abstractmethod
    def begin(self, talks: int) -> Any:
        """The state of talks in which nothing was said."""

    @abstractmethod
    def step(self, state: Any, feedback: Feedback) -> tuple[Any, Float[Tensor, "b h"]]:
        """The state after one more turn, and the query in it; gradients go back through all turns."""
