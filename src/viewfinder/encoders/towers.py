"""The two towers of CLIP, SigLIP, SigLIP 2 and BLIP as transformers builds them: inputs to vectors, on torch.

What sets the architectures apart is written down once, as a `Family`; `transformers.py` here does the rest.
Letters: b pictures, n texts or regions, h x w patches, c width inside the model, d width of the shared space.

How a region's vector is made: the patch tokens of the last layer are averaged in each cell of a 6 x 6 grid,
and each average takes the way that the global vector takes (CLIP, Radford et al. 2021; SigLIP, Zhai et al.
2023; BLIP, Li et al. 2022):

- clip: post-layernorm, then the visual projection, as the class token does.
- siglip, siglip2: the tokens come out of the post-layernorm; each average goes alone through the attention
  pooling head, whose weights over one token are 1: value and output projection, then the head's MLP.
- blip: the tokens come out of the post-layernorm; each average goes through `vision_proj`, as the class token
  does.
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
"""A model of transformers: its towers are reached by attribute, which torch types as `Tensor | Module`."""

SIDE = 6


@dataclass(frozen=True)
class TowerOutput:
    """What a vision tower makes of a batch; the patch grids of SigLIP 2 differ in shape by picture."""

    global_bd: Float[Tensor, "b d"]
    patches: tuple[Float[Tensor, "_h _w c"], ...]


@dataclass(frozen=True)
class Family:
    """One architecture; `network` is its class in transformers, `pad` how texts were padded in training."""

    network: str
    pad: Literal["longest", "max_length"]
    width: Callable[[Any], int]
    look: Callable[[Network, Inputs], TowerOutput]
    region: Callable[[Network, Float[Tensor, "n c"]], Float[Tensor, "n d"]]
    read: Callable[[Network, Inputs], Float[Tensor, "n d"]]


def encode_regions(network: Network, family: Family, looked: TowerOutput) -> Float[Tensor, "b r d"]:
    """36 region vectors a picture, row by row (not yet of unit length)."""
    pooled_nc = torch.cat([pool_regions(patches_hwc) for patches_hwc in looked.patches])
    vectors_nd = family.region(network, pooled_nc)
    return vectors_nd.reshape(-1, REGIONS, vectors_nd.shape[-1])


def pool_regions(patches_hwc: Float[Tensor, "h w c"]) -> Float[Tensor, "r c"]:
    """The mean of the patches under each cell of a 6 x 6 grid.

    Where 6 does not divide h or w, neighbouring cells share the patches on their border.
    """
    cells_cyx = functional.adaptive_avg_pool2d(patches_hwc.permute(2, 0, 1), SIDE)
    return cells_cyx.flatten(1).T


def _look_clip(network: Network, inputs: Inputs) -> TowerOutput:
    seen = network.vision_model(pixel_values=inputs["pixel_values"])
    return TowerOutput(network.visual_projection(seen.pooler_output), _square(seen.last_hidden_state[:, 1:]))


def _region_clip(network: Network, pooled_nc: Float[Tensor, "n c"]) -> Float[Tensor, "n d"]:
    return network.visual_projection(network.vision_model.post_layernorm(pooled_nc))  # type: ignore[no-any-return]


def _look_siglip(network: Network, inputs: Inputs) -> TowerOutput:
    seen = network.vision_model(pixel_values=inputs["pixel_values"])
    return TowerOutput(seen.pooler_output, _square(seen.last_hidden_state))


def _look_siglip2(network: Network, inputs: Inputs) -> TowerOutput:
    names = ("pixel_values", "pixel_attention_mask", "spatial_shapes")
    seen = network.vision_model(**{name: inputs[name] for name in names})
    shapes: list[tuple[int, int]] = inputs["spatial_shapes"].tolist()
    # What follows the h * w patches of a picture is padding.
    patches = [
        tokens_lc[: h * w].reshape(h, w, -1) for tokens_lc, (h, w) in zip(seen.last_hidden_state, shapes, strict=True)
    ]
    return TowerOutput(seen.pooler_output, tuple(patches))


def _region_siglip(network: Network, pooled_nc: Float[Tensor, "n c"]) -> Float[Tensor, "n d"]:
    return network.vision_model.head(pooled_nc[:, None, :])  # type: ignore[no-any-return]


def _look_blip(network: Network, inputs: Inputs) -> TowerOutput:
    # Not `pooler_output`: that has been through the post-layernorm twice, and the ITC head does not use it.
    tokens_blc = network.vision_model(pixel_values=inputs["pixel_values"]).last_hidden_state
    return TowerOutput(network.vision_proj(tokens_blc[:, 0]), _square(tokens_blc[:, 1:]))


def _region_blip(network: Network, pooled_nc: Float[Tensor, "n c"]) -> Float[Tensor, "n d"]:
    return network.vision_proj(pooled_nc)  # type: ignore[no-any-return]


def _read_blip(network: Network, inputs: Inputs) -> Float[Tensor, "n d"]:
    tokens_nlc = network.text_encoder(**inputs).last_hidden_state
    return network.text_proj(tokens_nlc[:, 0])  # type: ignore[no-any-return]


def _read(network: Network, inputs: Inputs) -> Float[Tensor, "n d"]:
    return network.get_text_features(**inputs).pooler_output  # type: ignore[no-any-return]


def _square(tokens_blc: Float[Tensor, "b l c"]) -> tuple[Float[Tensor, "_h _w c"], ...]:
    b, length, c = tokens_blc.shape
    side = round(length**0.5)
    return tuple(tokens_blc.reshape(b, side, side, c))


FAMILIES: dict[str, Family] = {
    "clip": Family("CLIPModel", "longest", lambda config: int(config.projection_dim), _look_clip, _region_clip, _read),
    "siglip": Family(
        "SiglipModel",
        "max_length",
        lambda config: int(config.vision_config.hidden_size),
        _look_siglip,
        _region_siglip,
        _read,
    ),
    "siglip2": Family(
        "Siglip2Model",
        "max_length",
        lambda config: int(config.vision_config.hidden_size),
        _look_siglip2,
        _region_siglip,
        _read,
    ),
    "blip": Family(
        "BlipForImageTextRetrieval",
        "longest",
        lambda config: int(config.image_text_hidden_size),
        _look_blip,
        _region_blip,
        _read_blip,
    ),
}
