"""Looks as they are measured from pixels, and the copies from which they are learnt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.encoders.starter.encoder import StarterEncoder
from viewfinder.questioners.looks import LOOKS
from viewfinder.tuning.looks import (
    MAX_GREY,
    change_light,
    drop_colours,
    list_views,
    measure_chroma,
    measure_lightness,
    train_looks,
)
from viewfinder.weights import read_card, read_weights

RNG = np.random.default_rng(7)
COLOURFUL = RNG.integers(0, 256, (32, 32, 3)).astype(np.uint8)


def write_pictures(folder: Path, count: int) -> list[Path]:
    """Pictures of coloured noise, a few colours each."""
    files = [folder / f"{at}.png" for at in range(count)]
    for file in files:
        small = Image.fromarray(RNG.integers(0, 256, (4, 4, 3)).astype(np.uint8))
        small.resize((64, 64), Image.Resampling.BICUBIC).save(file)
    return files


def test_colours_and_light_are_measured_from_pixels() -> None:
    assert measure_chroma(COLOURFUL) > 0.7
    assert measure_chroma(np.full((8, 8, 3), (200, 190, 210), np.uint8)) * 255 == 20
    assert measure_lightness(np.full((8, 8, 3), 51, np.uint8)) == pytest.approx(0.2)


def test_a_copy_without_colours_keeps_what_is_light_and_dark() -> None:
    copies = [drop_colours(COLOURFUL, np.random.default_rng(seed)) for seed in range(12)]
    toned = [measure_chroma(copy) for copy in copies]
    assert min(toned) == 0 and max(toned) < measure_chroma(COLOURFUL) / 2  # some in one tone, none in colours
    luma_hw = COLOURFUL @ np.array([0.299, 0.587, 0.114])
    for copy in copies:
        assert np.corrcoef(copy[..., 0].ravel(), luma_hw.ravel())[0, 1] > 0.9


def test_a_copy_in_other_light_is_darker_or_lighter() -> None:
    light = [measure_lightness(change_light(COLOURFUL, np.random.default_rng(seed))) for seed in range(12)]
    assert min(light) < measure_lightness(COLOURFUL) - 0.05 < measure_lightness(COLOURFUL) + 0.05 < max(light)


def test_of_what_is_learnt_one_in_four_has_a_copy_without_colours(tmp_path: Path) -> None:
    views = [*list_views(write_pictures(tmp_path, 16))]
    assert (len(views), sum(looks[0] for _, looks, _ in views)) == (16 + 4 + 2, 4)
    assert all(measure_chroma(pixels) > MAX_GREY for pixels, looks, _ in views if not looks[0])


@pytest.mark.long
def test_a_network_is_trained_and_written_with_its_card(tmp_path: Path) -> None:
    encoder, file = StarterEncoder(), tmp_path / "looks.safetensors"
    right = train_looks(encoder, encoder.head, write_pictures(tmp_path, 260), file, "a list")
    card = read_card(file)
    assert card.trained_on == "a list"
    assert list(card.figures) == [f"told right: {look}" for look in LOOKS]
    assert 0.5 < right <= 1
    assert read_weights(file).arrays["outer_l"].shape == (len(LOOKS),)
