"""CLIP (Radford et al. 2021) and what is built like it: Chinese-CLIP, AltCLIP, MetaCLIP 2, open_clip's own towers.

They share the vision tower. The region path: post-layernorm, then the visual projection, as the class token does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jaxtyping import Float
from torch import Tensor

from viewfinder.encoders.families.family import Family, Inputs, Network, TowerOutput, read_texts, split_square


def _look(network: Network, inputs: Inputs) -> TowerOutput:
    seen = network.vision_model(pixel_values=inputs["pixel_values"])
    return TowerOutput(network.visual_projection(seen.pooler_output), split_square(seen.last_hidden_state[:, 1:]))


def _region(network: Network, pooled_nc: Float[Tensor, "n c"]) -> Float[Tensor, "n d"]:
    return network.visual_projection(network.vision_model.post_layernorm(pooled_nc))  # type: ignore[no-any-return]


def _width(config: Any) -> int:
    return int(config.projection_dim)


CLIP = Family("CLIPModel", "longest", _width, _look, _region, read_texts)
CHINESE_CLIP = replace(CLIP, network="ChineseCLIPModel")
ALTCLIP = replace(CLIP, network="AltCLIPModel", reserved_places=2)
METACLIP_2 = replace(CLIP, network="MetaClip2Model")
