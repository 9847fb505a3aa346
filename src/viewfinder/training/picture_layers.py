"""What networks read of a picture's raw vector, by frozen numbers: scales, components, attributes. In torch.

Axes: b or p pictures, g width of a raw vector, x the width read of it, k labels.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Float16, Float32, Int
from torch import Tensor, nn
from torch.nn.functional import linear, pad

PictureKind = Literal["raw", "standardised", "whitened"]

FAINT = 1e-4
"""Components whose deviation is below this share of the first one's are left out: they are rounding errors."""


class PictureInput(nn.Module):
    """A raw vector as a network reads it: unchanged, on one scale, or as its principal components.

    Buffers, if `image` needs them: `mean` and `deviation` (g), `components` (g x, half precision).
    """

    def __init__(self, image: PictureKind, raw_width: int, components: int = 256, whitening: float = 0.5) -> None:
        """Changes nothing until it is measured, except components, which are zeros.

        `components` and `whitening` are for "whitened": how many, and how far they are brought to one scale, 0 to 1.
        """
        super().__init__()
        self.image, self.whitening = image, whitening
        self.width = components if image == "whitened" else raw_width
        if image != "raw":
            self.register_buffer("mean", torch.zeros(raw_width))
            self.register_buffer("deviation", torch.ones(raw_width))
        if image == "whitened":
            self.register_buffer("components", torch.zeros(raw_width, components, dtype=torch.float16))

    def measure(self, raw_pg: Float32[np.ndarray, "p g"]) -> None:
        """Sets the buffers from the pictures of the training set."""
        if self.image == "raw":
            return
        mean_g, deviation_g = measure_scale(raw_pg)
        self.get_buffer("mean").copy_(torch.from_numpy(mean_g))
        self.get_buffer("deviation").copy_(torch.from_numpy(deviation_g))
        if self.image == "whitened":
            components_gx = principal_components((raw_pg - mean_g) / deviation_g, self.width, self.whitening)
            self.get_buffer("components").copy_(torch.from_numpy(components_gx))

    def forward(self, raw_bg: Float[Tensor, "*b g"]) -> Float[Tensor, "*b x"]:
        """What is read; zeros (no picture) stay zeros."""
        if self.image == "raw":
            return raw_bg
        standard_bg = standardise(raw_bg, self.get_buffer("mean"), self.get_buffer("deviation"))
        return standard_bg if self.image == "standardised" else standard_bg @ self.get_buffer("components").float()


def standardise(
    raw_bg: Float[Tensor, "*b g"], mean_g: Float[Tensor, " g"], deviation_g: Float[Tensor, " g"]
) -> Float[Tensor, "*b g"]:
    """Raw vectors on the scale of the training set; zeros (no picture) stay zeros."""
    return (raw_bg - mean_g) / deviation_g * (raw_bg != 0).any(dim=-1, keepdim=True)


def measure_scale(raw_pg: Float32[np.ndarray, "p g"]) -> tuple[Float32[np.ndarray, " g"], Float32[np.ndarray, " g"]]:
    """Mean and deviation of every dimension of raw vectors."""
    mean_g = raw_pg.mean(axis=0, dtype=np.float64).astype(np.float32)
    # A constant dimension carries no information: its deviation must not blow it up.
    deviation_g = np.maximum(raw_pg.std(axis=0), 1e-3 * raw_pg.std() + 1e-12).astype(np.float32)
    return mean_g, deviation_g


def principal_components(rows_pg: Float32[np.ndarray, "p g"], width: int, power: float) -> Float32[np.ndarray, "g d"]:
    """The first principal components of rows of mean 0, each divided by its deviation to the `power`.

    If there are fewer than `width`, the rest is zeros. Signs are chosen so that they do not depend on the machine:
    the largest number of a component is positive.
    """
    count, inputs = rows_pg.shape
    gram = rows_pg.T @ rows_pg if inputs <= count else rows_pg @ rows_pg.T
    values, vectors = np.linalg.eigh(gram)
    values_k, vectors_k = values[::-1][:width], vectors[:, ::-1][:, :width]
    deviation_k = np.sqrt(np.maximum(values_k, 0) / count)
    kept_k = deviation_k > FAINT * deviation_k[0]
    deviation_k, vectors_k = deviation_k[kept_k], vectors_k[:, kept_k]
    if inputs > count:  # eigenvectors of the rows' products: mapped back to the inputs
        vectors_k = rows_pg.T @ vectors_k / (deviation_k * np.sqrt(count))
    signs_k = np.sign(np.take_along_axis(vectors_k, np.abs(vectors_k).argmax(axis=0)[None], axis=0))
    components_gd = np.zeros((inputs, width), np.float32)
    components_gd[:, : kept_k.sum()] = signs_k * vectors_k / deviation_k**power
    return components_gd


def sample_regions(regions_nre: Float16[np.ndarray, "n r e"], most: int) -> Float32[np.ndarray, "p e"]:
    """Regions of about `most` evenly spaced pictures, for `measure`; missing ones are left out."""
    step = -(-len(regions_nre) // most)
    regions_pe = regions_nre[::step].reshape(-1, regions_nre.shape[2]).astype(np.float32)
    return np.asarray(regions_pe[(regions_pe != 0).any(axis=1)])


class AttributeHead(nn.Module):
    """One frozen linear layer over standardised raw vectors.

    Buffers: `mean`, `deviation` (g), `bias` (k), `weight` (k g; in half precision, since it is saved with the network
    that it is part of). `AttributePredictor.of` reads them back.
    """

    def __init__(self, labels: int, raw_width: int) -> None:
        """k `labels`, g `raw_width`; predicts the same for every picture until it is filled."""
        super().__init__()
        self.register_buffer("mean", torch.zeros(raw_width))
        self.register_buffer("deviation", torch.ones(raw_width))
        self.register_buffer("weight", torch.zeros(labels, raw_width, dtype=torch.float16))
        self.register_buffer("bias", torch.zeros(labels))

    @classmethod
    def from_predictor(cls, predictor: Any) -> AttributeHead:
        """An `encoders.attributes.AttributePredictor` in torch, except for the rounding of the weights."""
        head = cls(*predictor.weight_kg.shape)
        for name in ("mean_g", "deviation_g", "weight_kg", "bias_k"):
            head.get_buffer(name.partition("_")[0]).copy_(torch.from_numpy(getattr(predictor, name)))
        return head

    def scores(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b k"]:
        """Logits of every label; 0 is a probability of one half."""
        standard_bg = standardise(raw_bg, self.get_buffer("mean"), self.get_buffer("deviation"))
        return linear(standard_bg, self.get_buffer("weight").float(), self.get_buffer("bias"))

    def top(self, raw_bg: Float[Tensor, "b g"], count: int) -> Int[Tensor, "b count"]:
        """Numbers of the likeliest labels, best first: k + 1 for label k, 0 for none.

        There are none beyond the last label, and for zeros (no picture).
        """
        numbers_bk = 1 + self.scores(raw_bg).argsort(dim=1, descending=True, stable=True)[:, :count]
        there_b1 = (raw_bg != 0).any(dim=1, keepdim=True)
        return pad(numbers_bk * there_b1, (0, count - numbers_bk.shape[1]))
