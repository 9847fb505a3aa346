"""What sets an architecture apart, as data; and the regions, which all of them make in one way.

Axes: b pictures, n texts or regions, h x w patches, c width inside the model, d width of the shared space. In torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from viewfinder.encoders.base import REGIONS

Inputs = Mapping[str, Tensor]
Network = Any
"""A transformers model: its towers are attributes, which torch types as `Tensor | Module`."""

GRID_SIDE = 6


@dataclass(frozen=True)
class TowerOutput:
    """The output of a vision tower for a batch; the patch grids of SigLIP 2 differ in shape by picture."""

    global_bd: Float[Tensor, "b d"]
    patches: tuple[Float[Tensor, "_h _w c"], ...]


@dataclass(frozen=True)
class Family:
    """One architecture.

    Attributes:
        network: its class in transformers.
        pad: how texts were padded in training.
        width: the width of the shared space, by the config.
        look, region, read: pictures to vectors and patches; pooled patches, and texts, to vectors.
        reserved_places: places of the text tower that no token can have (RoBERTa counts from its padding on).
        max_tokens: the length to which its processor is documented to cut texts, where that is not the tower's.
        any_size: whether the vision tower takes pictures of any size, whatever `image_size` says.
    """

    network: str
    pad: Literal["longest", "max_length"]
    width: Callable[[Any], int]
    look: Callable[[Network, Inputs], TowerOutput]
    region: Callable[[Network, Float[Tensor, "n c"]], Float[Tensor, "n d"]]
    read: Callable[[Network, Inputs], Float[Tensor, "n d"]]
    reserved_places: int = 0
    max_tokens: int | None = None
    any_size: bool = False


def encode_regions(network: Network, family: Family, looked: TowerOutput) -> Float[Tensor, "b r d"]:
    """36 region vectors per picture, row by row (not yet of unit length).

    The patch tokens of the last layer are averaged in each cell of a 6 x 6 grid, and each average takes the path of the
    global vector, which each family defines.
    """
    pooled_nc = torch.cat([pool_regions(patches_hwc) for patches_hwc in looked.patches])
    vectors_nd = family.region(network, pooled_nc)
    return vectors_nd.reshape(-1, REGIONS, vectors_nd.shape[-1])


def pool_regions(patches_hwc: Float[Tensor, "h w c"]) -> Float[Tensor, "r c"]:
    """The mean of the patches under each cell of a 6 x 6 grid.

    Where 6 does not divide h or w, neighbouring cells share the patches on their border.
    """
    cells_cyx = functional.adaptive_avg_pool2d(patches_hwc.permute(2, 0, 1), GRID_SIDE)
    return cells_cyx.flatten(1).T


def split_square(tokens_blc: Float[Tensor, "b l c"]) -> tuple[Float[Tensor, "_h _w c"], ...]:
    """The tokens of square pictures as grids of patches."""
    b, length, c = tokens_blc.shape
    side = round(int(length) ** 0.5)  # a tensor while it is exported
    return tuple(tokens_blc.reshape(b, side, side, c))


def read_texts(network: Network, inputs: Inputs) -> Float[Tensor, "n d"]:
    """The vectors of texts as transformers documents them."""
    return network.get_text_features(**inputs).pooler_output  # type: ignore[no-any-return]


def read_logit_scale(network: Network) -> float | None:
    """What the model multiplied likeness by in training, CLIP and SigLIP alike; None of one that did not learn it."""
    learnt = getattr(network, "logit_scale", None)
    return float(learnt.detach().exp()) if isinstance(learnt, Tensor) and learnt.numel() == 1 else None
