"""The scale of an encoder, measured in a library: what its likeness deviates by, against what the starter's does.

Beside `scale`, so that a server of the starter does not load it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.scale import Scale

BOX_WORDS, BOX_PICTURES, BOX_CROPS = 0.1169, 0.1353, 0.0652
"""Of the starter: how far the likeness of a picture to texts deviates, that of a picture to other pictures, and, at the
median text, that of the parts of a picture to it. Medians over the photographs of `choose`."""

BOX_TEXTS = (0.0523, 0.1201)
"""Of the starter: mean and deviation of the likeness of two sayings."""

BOX_TEMPERATURE = 22.0
"""What the starter's likeness is multiplied by to be in nats, for a sentence: a checkpoint's `logit_scale` is that of
its own."""

MAX_APART = 2.0
"""A checkpoint's own temperature is believed as far as it differs by no more than this factor from the spread of
scores: a checkpoint that was converted badly, or hardly trained, says anything."""

MAX_RATIO = 4.0
"""How far the scale of two pictures may lie from that of a picture and a text, compared with the starter: in a library
of pictures that are all alike, the one says nothing of the other."""

MAX_SCALE = 100.0
"""No likeness is multiplied by more, or divided by more: beyond, scores are noise."""

MIN_DEVIATION = 1e-6


def measure_scale(
    pictures_nd: Float[np.ndarray, "n d"],
    deviation_n: Float[np.ndarray, " n"],
    sayings_bd: Float[np.ndarray, "b d"],
    temperature: float | None = None,
) -> Scale:
    """The scale of an encoder in a library.

    `pictures_nd` are some of its pictures, `deviation_n` says how far the likeness of each to the sayings deviates;
    `temperature` is as `find_temperature` has it.
    """
    words = (
        _keep_within(BOX_WORDS / max(float(np.median(deviation_n)), MIN_DEVIATION), MAX_SCALE)
        if len(deviation_n)
        else 1.0
    )
    if temperature is not None:
        words = _keep_within(temperature / BOX_TEMPERATURE / words, MAX_APART) * words
    ratio = 1.0
    if (apart := measure_apart(pictures_nd)) > MIN_DEVIATION:
        ratio = _keep_within(BOX_PICTURES / apart / words, MAX_RATIO)
    mean, deviation = measure_texts(sayings_bd)
    slope = _keep_within(BOX_TEXTS[1] / max(deviation, MIN_DEVIATION), MAX_SCALE)
    return Scale(words, words * ratio, (slope, BOX_TEXTS[0] - slope * mean))


def _keep_within(factor: float, most: float) -> float:
    """A factor, not above `most` and not below 1 / `most`.

    >>> _keep_within(9.0, 4.0), _keep_within(0.1, 4.0), _keep_within(1.5, 4.0)
    (4.0, 0.25, 1.5)
    """
    return min(max(factor, 1 / most), most)


def measure_apart(pictures_nd: Float[np.ndarray, "n d"]) -> float:
    """How far the likeness of a picture to others deviates: the median over the pictures; 0 of less than three."""
    if len(pictures_nd) < 3:
        return 0.0
    likeness_nn = pictures_nd @ pictures_nd.T
    others_nn = likeness_nn[~np.eye(len(pictures_nd), dtype=bool)].reshape(len(pictures_nd), -1)
    return float(np.median(others_nn.std(axis=1)))


def measure_texts(texts_md: Float[np.ndarray, "m d"]) -> tuple[float, float]:
    """Mean and deviation of the likeness of two texts, at least two."""
    likeness = (texts_md @ texts_md.T)[np.triu_indices(len(texts_md), 1)]
    return float(likeness.mean()), float(likeness.std())


def measure_contrast(crops_cd: Float[np.ndarray, "c d"], texts_md: Float[np.ndarray, "m d"]) -> float:
    """How far the parts of a picture differ in their likeness to a text: the median over the texts."""
    return float(np.median((texts_md @ crops_cd.T).std(axis=1)))
