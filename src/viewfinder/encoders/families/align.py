"""ALIGN (Jia et al. 2021): an EfficientNet beside a BERT.

The vector of a picture is the mean of what the last convolution gives at each place, without a projection; so the mean
over a region's places is a region's vector.
"""

from __future__ import annotations

from viewfinder.encoders.families.family import Family, Inputs, Network, TowerOutput, read_texts


def _look(network: Network, inputs: Inputs) -> TowerOutput:
    seen = network.vision_model(pixel_values=inputs["pixel_values"])
    return TowerOutput(seen.pooler_output, tuple(seen.last_hidden_state.permute(0, 2, 3, 1)))


ALIGN = Family(
    "AlignModel",
    "longest",
    lambda config: int(config.projection_dim),
    _look,
    lambda network, pooled_nd: pooled_nd,
    read_texts,
    max_tokens=64,
    any_size=True,
)
