"""Trains the predictor of a picture's looks (`questioners.looks`): part of `viewfinder train starter`.

What is to be told is measured from pixels, and predicted from the vectors that libraries keep of their pictures. Black
and white photographs are rare, so copies of photographs without their colours, some in one tone, are learnt from, and
darkened and lit up ones. Captions are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, UInt8

from viewfinder.encoders.starter.encoder import RAW_VERSION, Head, StarterEncoder
from viewfinder.pictures import Limits, Stretch
from viewfinder.pictures.decode import decode
from viewfinder.questioners.looks import LOOKS, SYSTEM
from viewfinder.questioners.photographs import label_chances
from viewfinder.training.checkpoints import write_tensors
from viewfinder.tuning.photographs import LabelSettings, fit_labels
from viewfinder.weights import NETWORK, Card

Pixels = UInt8[np.ndarray, "_h _w 3"]

MAX_GREY, MAX_FAINT = 0.02, 0.06
"""Chroma up to which a picture is black and white, and up to which it is not counted as coloured either."""

MAX_DARK, MIN_BRIGHT = 0.25, 0.65
"""Mean lightness up to which a picture is dark, and from which it is bright: of photographs, about one in fourteen."""

MAX_LEARNT = 3000
"""Photographs that are learnt from."""

GREY_EVERY, LIT_EVERY = 4, 8
"""One photograph in so many has a copy without colours, and one that is darker or lighter."""

USUAL_GREY = 0.01
"""The share of black and white pictures in a library; among those that are learnt from it is far greater."""

SETTINGS = LabelSettings(hidden=64, epochs=20, dropout=0.1, seeds=2)
BATCH = 64


def measure_chroma(pixels: Pixels) -> float:
    """How far the channels are apart in the more colourful twentieth of a picture: 0 to 1.

    >>> measure_chroma(np.full((4, 4, 3), 200, np.uint8))
    0.0
    """
    apart_hw = pixels.max(axis=-1).astype(np.int16) - pixels.min(axis=-1)
    return float(np.percentile(apart_hw, 95) / 255)


def measure_lightness(pixels: Pixels) -> float:
    """The mean luma of a picture: 0 to 1."""
    return float((pixels.reshape(-1, 3).mean(axis=0) @ np.array([0.299, 0.587, 0.114])) / 255)


def name_looks(chroma: float, lightness: float) -> tuple[bool, ...]:
    """Which of `LOOKS` a picture has.

    >>> name_looks(0.01, 0.2)
    (True, True, False)
    """
    return chroma < MAX_GREY, lightness < MAX_DARK, lightness > MIN_BRIGHT


def drop_colours(pixels: Pixels, rng: np.random.Generator) -> Pixels:
    """A copy in black and white; one in three in one tone (sepia, or faintly blue), some with other contrast."""
    luma_hw = pixels.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)
    if rng.random() < 0.3:
        luma_hw = (luma_hw - 128) * rng.uniform(0.6, 1.5) + 128 + rng.uniform(-40, 40)
    tones = ((1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 0.93, 0.8), (0.95, 0.98, 1))
    tone_3 = np.array(tones[rng.integers(len(tones))], np.float32)
    return np.asarray(np.clip(luma_hw[..., None] * tone_3, 0, 255), np.uint8)


def change_light(pixels: Pixels, rng: np.random.Generator) -> Pixels:
    """A copy that is darker or lighter."""
    light_hw3 = pixels.astype(np.float32) / 255
    changed_hw3 = (
        light_hw3 ** rng.uniform(1.5, 4.0) if rng.random() < 0.5 else 1 - (1 - light_hw3) ** rng.uniform(1.5, 3.0)
    )
    return np.asarray(changed_hw3 * 255, np.uint8)


def list_views(files: Sequence[Path]) -> Iterator[tuple[Pixels, tuple[bool, ...], float]]:
    """Pictures and their copies, with their looks and how much they count."""
    rng = np.random.default_rng(0)
    for at, file in enumerate(files):
        pixels = decode(file.read_bytes(), limits=Limits(), fit=Stretch(224)).pixels
        chroma, lightness = measure_chroma(pixels), measure_lightness(pixels)
        looks = name_looks(chroma, lightness)
        yield pixels, looks, 0.0 if MAX_GREY <= chroma < MAX_FAINT else 1.0
        if at % GREY_EVERY == 0:
            grey = drop_colours(pixels, rng)
            yield grey, (True, *name_looks(0.0, measure_lightness(grey))[1:]), 1.0
        if at % LIT_EVERY == 0:
            lit = change_light(pixels, rng)
            yield lit, name_looks(measure_chroma(lit), measure_lightness(lit)), 1.0


def train_looks(encoder: StarterEncoder, head: Head, files: Sequence[Path], file: Path, trained_on: str = "") -> float:
    """Trains on photographs, as `head` sees them, and writes the network; returns the share of looks told right.

    `trained_on` is the list of the pictures that it and the head learn from (`TrainingList.encode`).
    """
    chosen = [files[at] for at in np.linspace(0, len(files) - 1, min(len(files), MAX_LEARNT)).astype(int)]
    raw: list[Float[np.ndarray, "b g"]] = []
    looks, weights, waiting = list[tuple[bool, ...]](), list[float](), list[Pixels]()
    for pixels, look, weight in list_views(chosen):
        looks.append(look)
        weights.append(weight)
        waiting.append(pixels)
        if len(waiting) == BATCH:
            raw.append(encoder.pictures(waiting).global_bd)
            waiting = []
    if waiting:
        raw.append(encoder.pictures(waiting).global_bd)
    vectors_nd = head.pictures(np.concatenate(raw).astype(np.float32))
    holds_nl, weights_n = np.array(looks, bool), np.array(weights)
    arrays = fit_labels(vectors_nd[None], holds_nl, weights_n, SETTINGS)
    _expect_few(arrays, float((holds_nl[:, 0] * weights_n).sum() / weights_n.sum()))
    halves = {name: array.astype(np.float16) for name, array in arrays.items()}
    right = measure_told({name: array.astype(np.float32) for name, array in halves.items()}, vectors_nd, holds_nl)
    figures = {f"told right: {look}": share for look, share in zip(LOOKS, right, strict=True)}
    card = Card(system=SYSTEM, preset="starter", encoder=RAW_VERSION, figures=figures, trained_on=trained_on)
    write_tensors(file, {name: torch.from_numpy(half) for name, half in halves.items()}, asdict(card), schema=NETWORK)
    return float(np.mean(right))


def _expect_few(arrays: dict[str, Float32[np.ndarray, ...]], learnt: float) -> None:
    """Lowers the chance of black and white to what it is where such pictures are as rare as in a library."""
    share = min(max(learnt, 1e-3), 1 - 1e-3)
    arrays["outer_l"] = arrays["outer_l"].copy()
    arrays["outer_l"][0] += np.log(USUAL_GREY / (1 - USUAL_GREY)) - np.log(share / (1 - share))


def measure_told(
    arrays: dict[str, Float32[np.ndarray, ...]], vectors_nd: Float[np.ndarray, "n d"], holds_nl: Bool[np.ndarray, "n l"]
) -> list[float]:
    """The share of pictures of which it is told right whether they have each look."""
    told_nl = label_chances(arrays, vectors_nd) >= 0.5
    return [float(share) for share in (told_nl == holds_nl).mean(axis=0)]
