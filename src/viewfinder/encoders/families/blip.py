"""BLIP (Li et al. 2022) with its head for retrieval (ITC).

The region path: the tokens come out of the post-layernorm; each average goes through `vision_proj`, as the class token
does.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from viewfinder.encoders.families.family import Family, Inputs, Network, TowerOutput, split_square


def _look(network: Network, inputs: Inputs) -> TowerOutput:
    # Not `pooler_output`: that has been through the post-layernorm twice, and the ITC head does not use it.
    tokens_blc = network.vision_model(pixel_values=inputs["pixel_values"]).last_hidden_state
    return TowerOutput(network.vision_proj(tokens_blc[:, 0]), split_square(tokens_blc[:, 1:]))


def _read(network: Network, inputs: Inputs) -> Float[Tensor, "n d"]:
    tokens_nlc = network.text_encoder(**inputs).last_hidden_state
    return network.text_proj(tokens_nlc[:, 0])  # type: ignore[no-any-return]


BLIP = Family(
    "BlipForImageTextRetrieval",
    "longest",
    lambda config: int(config.image_text_hidden_size),
    _look,
    lambda network, pooled_nc: network.vision_proj(pooled_nc),
    _read,
)
