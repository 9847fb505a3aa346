"""The space of pictures that a dialogue encoder aims at, set up from the pictures of the training set. In torch."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from viewfinder.encoders.base import Encoder
from viewfinder.retrievers.chatir.network import ChatIR
from viewfinder.retrievers.chatir.texts import PROBE

AT_ONCE = 1024
"""Pictures that are looked at together."""

FAINT = 1e-4
"""Components whose deviation is below this share of the first one's are left out: what is there is rounding."""


def measure_pictures(network: ChatIR, raw_pg: Float32[np.ndarray, "p g"], encoder: Encoder) -> None:
    """Sets the buffers by which a network looks at pictures, by the raw vectors of the training set."""
    if network.settings.image == "shared":
        network.get_buffer("shared_probe").copy_(torch.from_numpy(np.asarray(encoder.words([PROBE])[0], np.float32)))
        return
    # What never differs says nothing: its deviation must not blow it up.
    deviation_g = np.maximum(raw_pg.std(axis=0), 1e-3 * raw_pg.std() + 1e-12).astype(np.float32)
    mean_g = raw_pg.mean(axis=0, dtype=np.float64).astype(np.float32)
    network.get_buffer("whole_mean").copy_(torch.from_numpy(mean_g))
    network.get_buffer("whole_deviation").copy_(torch.from_numpy(deviation_g))
    if network.settings.image == "whitened":
        settings = network.settings
        components_gd = whitening((raw_pg - mean_g) / deviation_g, settings.image_width, settings.whitening)
        network.get_buffer("components").copy_(torch.from_numpy(components_gd))


def whitening(rows_pg: Float32[np.ndarray, "p g"], width: int, power: float) -> Float32[np.ndarray, "g d"]:
    """The first principal components of rows of mean 0, each divided by its deviation to the `power`.

    Where there are fewer than `width`, the rest is zeros. Signs are chosen so that they do not hang on the machine:
    the largest number of a component is positive.
    """
    count, inputs = rows_pg.shape
    gram = rows_pg.T @ rows_pg if inputs <= count else rows_pg @ rows_pg.T
    values, vectors = np.linalg.eigh(gram)
    values_k, vectors_k = values[::-1][:width], vectors[:, ::-1][:, :width]
    deviation_k = np.sqrt(np.maximum(values_k, 0) / count)
    kept_k = deviation_k > FAINT * deviation_k[0]
    deviation_k, vectors_k = deviation_k[kept_k], vectors_k[:, kept_k]
    if inputs > count:  # of the rows' own products: brought back to the inputs
        vectors_k = rows_pg.T @ vectors_k / (deviation_k * np.sqrt(count))
    signs_k = np.sign(np.take_along_axis(vectors_k, np.abs(vectors_k).argmax(axis=0)[None], axis=0))
    components_gd = np.zeros((inputs, width), np.float32)
    components_gd[:, : kept_k.sum()] = signs_k * vectors_k / deviation_k**power
    return components_gd


def looked(network: ChatIR, seen_px: Float32[np.ndarray, "p x"]) -> Float[Tensor, "p d"]:
    """The vectors of pictures in the network's space, as they are now."""
    device = network.log_scale.device
    with torch.no_grad():
        parts = [
            network.look(torch.from_numpy(np.ascontiguousarray(seen_px[at : at + AT_ONCE])).to(device))
            for at in range(0, len(seen_px), AT_ONCE)
        ]
    return torch.cat(parts)
