"""The space of pictures that a dialogue encoder aims at, set up from the pictures of the training set. In torch."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from viewfinder.encoders.base import Encoder
from viewfinder.retrievers.chatir.network import DialogueEncoder
from viewfinder.retrievers.chatir.texts import PROBE
from viewfinder.training.picture_layers import measure_scale, principal_components

PICTURES_AT_ONCE = 1024
"""Pictures that are looked at together."""


def measure_picture_space(network: DialogueEncoder, raw_pg: Float32[np.ndarray, "p g"], encoder: Encoder) -> None:
    """Sets the buffers by which a network looks at pictures, by the raw vectors of the training set."""
    if network.settings.image == "shared":
        network.get_buffer("shared_probe").copy_(torch.from_numpy(np.asarray(encoder.words([PROBE])[0], np.float32)))
        return
    mean_g, deviation_g = measure_scale(raw_pg)
    network.get_buffer("whole_mean").copy_(torch.from_numpy(mean_g))
    network.get_buffer("whole_deviation").copy_(torch.from_numpy(deviation_g))
    if network.settings.image == "whitened":
        settings = network.settings
        components_gd = principal_components((raw_pg - mean_g) / deviation_g, settings.image_width, settings.whitening)
        network.get_buffer("components").copy_(torch.from_numpy(components_gd))


def encode_all_pictures(network: DialogueEncoder, seen_px: Float32[np.ndarray, "p x"]) -> Float[Tensor, "p d"]:
    """The vectors of pictures in the network's space, as they are now."""
    device = network.log_scale.device
    with torch.no_grad():
        parts = [
            network.look(torch.from_numpy(np.ascontiguousarray(seen_px[at : at + PICTURES_AT_ONCE])).to(device))
            for at in range(0, len(seen_px), PICTURES_AT_ONCE)
        ]
    return torch.cat(parts)
