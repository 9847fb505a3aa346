"""viewfinder.pictures.decode: which frame of an animation is the picture."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from viewfinder.pictures.decode import MAX_FRAMES, Limits, decode
from viewfinder.pictures.fits import AtMost

RED = (200, 30, 30)


def drawing(colour: tuple[int, int, int] = RED) -> Image.Image:
    image = Image.new("RGB", (40, 30), (240, 240, 240))
    image.paste(colour, (10, 10, 30, 20))
    return image


def animation(format_name: str, frames: list[Image.Image]) -> bytes:
    out = BytesIO()
    options: dict[str, object] = {"lossless": True} if format_name == "WEBP" else {}
    frames[0].save(out, format_name, save_all=True, append_images=frames[1:], duration=100, **options)
    return out.getvalue()


def middle(data: bytes) -> list[int]:
    pixels_hw3 = decode(data, limits=Limits(), fit=AtMost(100)).pixels
    assert pixels_hw3.shape == (30, 40, 3)
    colour: list[int] = pixels_hw3[15, 20].tolist()
    return colour


@pytest.mark.parametrize("format_name", ["GIF", "PNG", "WEBP", "AVIF"])
@pytest.mark.parametrize("blank", [(255, 255, 255), (0, 0, 0), (12, 90, 30)])
def test_frames_of_one_colour_before_the_first_picture_are_passed_over(
    blank: tuple[int, int, int], format_name: str
) -> None:
    frames = [Image.new("RGB", (40, 30), blank), Image.new("RGB", (40, 30), (1, 2, 3)), drawing()]
    assert np.abs(np.array(middle(animation(format_name, frames))) - RED).max() < 20


@pytest.mark.parametrize("format_name", ["GIF", "PNG", "WEBP"])
def test_a_transparent_frame_is_blank_too(format_name: str) -> None:
    frames = [Image.new("RGBA", (40, 30), (0, 0, 0, 0)), drawing().convert("RGBA")]
    assert np.abs(np.array(middle(animation(format_name, frames))) - RED).max() < 20


@pytest.mark.parametrize("format_name", ["GIF", "PNG", "WEBP", "AVIF"])
def test_a_first_frame_that_shows_something_is_the_picture(format_name: str) -> None:
    frames = [drawing((30, 30, 200)), drawing(), Image.new("RGB", (40, 30), "white")]
    assert np.abs(np.array(middle(animation(format_name, frames))) - (30, 30, 200)).max() < 20


@pytest.mark.parametrize("format_name", ["GIF", "PNG", "WEBP"])
def test_an_animation_without_anything_is_its_first_frame(format_name: str) -> None:
    frames = [Image.new("RGB", (40, 30), colour) for colour in ((9, 90, 9), (90, 9, 9))]
    assert middle(animation(format_name, frames)) == [9, 90, 9]


def test_after_some_frames_the_search_ends() -> None:
    blank = [Image.new("RGB", (40, 30), (at, at, at)) for at in range(MAX_FRAMES)]
    assert middle(animation("WEBP", [*blank, drawing()])) == [0, 0, 0]
    assert np.abs(np.array(middle(animation("WEBP", [*blank[:-1], drawing()]))) - RED).max() < 20


def test_a_still_picture_of_one_colour_is_that_colour() -> None:
    assert middle(animation("PNG", [Image.new("RGB", (40, 30), (9, 90, 9))])) == [9, 90, 9]


def test_an_animation_that_breaks_off_after_a_blank_frame_is_that_frame() -> None:
    data = animation("GIF", [Image.new("RGB", (40, 30), "white"), drawing()])
    assert middle(data[:-60]) == [255, 255, 255]
