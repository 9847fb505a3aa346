"""The attributes of a picture as a frozen part of another network: `viewfinder.encoders.attributes` in torch."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from viewfinder.training.picture_layers import standardise


@runtime_checkable
class Layer(Protocol):
    """What is taken of an `AttributePredictor`."""

    @property
    def mean_g(self) -> Float32[np.ndarray, " g"]:
        """Of raw vectors."""

    @property
    def deviation_g(self) -> Float32[np.ndarray, " g"]:
        """Of raw vectors."""

    @property
    def weight_kg(self) -> Float32[np.ndarray, "k g"]:
        """A row a label."""

    @property
    def bias_k(self) -> Float32[np.ndarray, " k"]:
        """A number a label."""


class AttributeHead(nn.Module):
    """One linear layer over standardised raw vectors, which does not train.

    Buffers: `mean`, `deviation` (g), `bias` (k), `weight` (k g; in half precision, since it is saved along with the
    network that it is part of). `AttributePredictor.of` reads them back.
    """

    def __init__(self, labels: int, raw_width: int) -> None:
        """Says the same of every picture, until it is filled.

        Args:
            labels: k.
            raw_width: g.
        """
        super().__init__()
        self.register_buffer("mean", torch.zeros(raw_width))
        self.register_buffer("deviation", torch.ones(raw_width))
        self.register_buffer("weight", torch.zeros(labels, raw_width, dtype=torch.float16))
        self.register_buffer("bias", torch.zeros(labels))

    @classmethod
    def from_predictor(cls, predictor: Layer) -> AttributeHead:
        """The same in torch, but for the rounding of the weights."""
        head = cls(*predictor.weight_kg.shape)
        parts = {
            "mean": predictor.mean_g,
            "deviation": predictor.deviation_g,
            "weight": predictor.weight_kg,
            "bias": predictor.bias_k,
        }
        for name, array in parts.items():
            head.get_buffer(name).copy_(torch.from_numpy(array))
        return head

    @property
    def labels(self) -> int:
        """k."""
        return len(self.get_buffer("bias"))

    def scores(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b k"]:
        """Logits of every label; 0 is a chance of one half."""
        standard_bg = standardise(raw_bg, self.get_buffer("mean"), self.get_buffer("deviation"))
        return linear(standard_bg, self.get_buffer("weight").float(), self.get_buffer("bias"))

    def top(self, raw_bg: Float[Tensor, "b g"], count: int) -> Int[Tensor, "b count"]:
        """Numbers of the likeliest labels, best first: k + 1 for label k, 0 where there is none.

        There is none beyond the last label, and in zeros (no picture).
        """
        numbers_bk = 1 + self.scores(raw_bg).argsort(dim=1, descending=True, stable=True)[:, :count]
        there_b1 = (raw_bg != 0).any(dim=1, keepdim=True)
        return pad(numbers_bk * there_b1, (0, count - numbers_bk.shape[1]))
