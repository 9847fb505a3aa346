"""What comes into a network: how wide it is, and raw vectors brought to one scale. In torch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from viewfinder.retrievers.shared.described import CaptionedPictures

SAMPLE = 1000
"""Pictures whose raw vectors say what is their mean and deviation."""


class InputWidths(NamedTuple):
    """Widths of what comes in: raw regions, raw global vectors, sentence vectors, and how many words are known."""

    regions: int
    whole: int
    sentences: int
    words: int


def add_scale(network: nn.Module, name: str, width: int) -> None:
    """Gives a network the buffers `<name>_mean` and `<name>_deviation`, which change nothing until measured."""
    network.register_buffer(f"{name}_mean", torch.zeros(width))
    network.register_buffer(f"{name}_deviation", torch.ones(width))


def scale_raw(network: nn.Module, name: str, raw: Float[Tensor, "*b e"]) -> Float[Tensor, "*b e"]:
    """Raw vectors by the scale of this name; those of zeros (nothing there) stay zeros."""
    there = (raw != 0).any(dim=-1, keepdim=True)
    mean, deviation = getattr(network, f"{name}_mean"), getattr(network, f"{name}_deviation")
    return torch.as_tensor((raw - mean) / deviation * there)


def measure_scales(network: nn.Module, described: CaptionedPictures) -> None:
    """Sets the scales that a network has so that raw vectors of the training set have mean 0 and deviation 1."""
    some = np.linspace(0, len(described) - 1, min(SAMPLE, len(described))).round().astype(int).tolist()
    for name, read in (("regions", described.regions_of), ("whole", described.globals_of)):
        if not hasattr(network, f"{name}_mean"):
            continue
        raw = read(some)
        rows_ne = raw.reshape(-1, raw.shape[-1])
        # What never differs says nothing: its deviation must not blow it up.
        deviation_e = np.maximum(rows_ne.std(axis=0), 1e-3 * rows_ne.std() + 1e-12)
        getattr(network, f"{name}_mean").copy_(torch.from_numpy(rows_ne.mean(axis=0)))
        getattr(network, f"{name}_deviation").copy_(torch.from_numpy(deviation_e.astype(np.float32)))
