"""SigLIP (Zhai et al. 2023) and SigLIP 2 (Tschannen et al. 2025), of fixed size and NaFlex.

The region path: the tokens come out of the post-layernorm; each average goes on its own through the attention pooling
head, whose weights over one token are 1: value and output projection, then the head's MLP.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jaxtyping import Float
from torch import Tensor

from viewfinder.encoders.families.family import Family, Inputs, Network, TowerOutput, read_texts, split_square


def _look(network: Network, inputs: Inputs) -> TowerOutput:
    seen = network.vision_model(pixel_values=inputs["pixel_values"])
    return TowerOutput(seen.pooler_output, split_square(seen.last_hidden_state))


def _look_at_any_shape(network: Network, inputs: Inputs) -> TowerOutput:
    names = ("pixel_values", "pixel_attention_mask", "spatial_shapes")
    seen = network.vision_model(**{name: inputs[name] for name in names})
    shapes: list[tuple[int, int]] = inputs["spatial_shapes"].tolist()
    # What follows the h * w patches of a picture is padding.
    patches = [
        tokens_lc[: h * w].reshape(h, w, -1) for tokens_lc, (h, w) in zip(seen.last_hidden_state, shapes, strict=True)
    ]
    return TowerOutput(seen.pooler_output, tuple(patches))


def _region(network: Network, pooled_nc: Float[Tensor, "n c"]) -> Float[Tensor, "n d"]:
    return network.vision_model.head(pooled_nc[:, None, :])  # type: ignore[no-any-return]


def _width(config: Any) -> int:
    return int(config.vision_config.hidden_size)


SIGLIP = Family("SiglipModel", "max_length", _width, _look, _region, read_texts)
SIGLIP2 = replace(SIGLIP, network="Siglip2Model", look=_look_at_any_shape)
