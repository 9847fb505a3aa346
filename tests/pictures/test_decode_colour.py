"""viewfinder.pictures.decode, seen through `decode`: every mode becomes 8-bit sRGB on white."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageCms

from viewfinder.pictures.decode import Limits, decode
from viewfinder.pictures.fits import AtMost


def colours(image: Image.Image, format_name: str = "PNG", **options: object) -> list[list[int]]:
    """The pixels of the top row, after a journey through a file."""
    out = BytesIO()
    image.save(out, format_name, **options)
    picture = decode(out.getvalue(), limits=Limits(), fit=AtMost(1000))
    rows: list[list[int]] = picture.pixels[0].tolist()
    return rows


def profile_with_swapped_primaries() -> bytes:
    """sRGB whose tags for red and blue have changed places: pure red under it is what sRGB calls blue."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    count = int.from_bytes(profile[128:132], "big")
    tags = {bytes(profile[at : at + 4]): at for at in range(132, 132 + 12 * count, 12)}
    red, blue = tags[b"rXYZ"], tags[b"bXYZ"]
    profile[red : red + 4], profile[blue : blue + 4] = b"bXYZ", b"rXYZ"
    return bytes(profile)


@pytest.mark.parametrize("format_name", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_clipped(format_name: str) -> None:
    grey = Image.fromarray(np.array([[0, 257, 128 * 257, 65535]], dtype=np.uint16))
    assert colours(grey, format_name) == [[0] * 3, [1] * 3, [128] * 3, [255] * 3]


def test_big_endian_sixteen_bits_are_scaled_too() -> None:
    grey = Image.fromarray(np.array([[0, 0x1234, 65535]], dtype=">u2"))
    assert grey.mode == "I;16B"
    assert colours(grey, "TIFF") == [[0] * 3, [0x12] * 3, [255] * 3]


@pytest.mark.parametrize("values", [[0.0, 0.5, 1.0], [-3.0, 500.0, 1000.0], [float("nan"), 0.5, 1.0]])
def test_in_floating_point_the_brightest_value_is_white(values: list[float]) -> None:
    image = Image.fromarray(np.array([values], dtype=np.float32))
    assert colours(image, "TIFF") == [[0] * 3, [128] * 3, [255] * 3]


def test_an_all_black_picture_in_floating_point_is_black() -> None:
    assert colours(Image.fromarray(np.zeros((1, 2), np.float32)), "TIFF") == [[0] * 3] * 2


def test_one_bit_is_black_and_white() -> None:
    assert colours(Image.fromarray(np.array([[True, False]]))) == [[255] * 3, [0] * 3]


def test_cmyk_becomes_rgb() -> None:
    image = Image.new("CMYK", (16, 16))
    image.paste((0, 255, 255, 0), (0, 0, 16, 16))
    assert colours(image, "TIFF")[0] == [255, 0, 0]
    assert colours(image, "JPEG", quality=100)[0] == pytest.approx([255, 0, 0], abs=4)


def test_a_palette_keeps_its_colours_and_its_transparent_entry_is_white() -> None:
    image = Image.fromarray(np.array([[0, 1, 2]], dtype=np.uint8))
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    assert colours(image) == [[255, 0, 0], [0, 255, 0], [0, 0, 255]]
    assert colours(image, transparency=1) == [[255, 0, 0], [255, 255, 255], [0, 0, 255]]
    assert colours(image, "GIF", transparency=2) == [[255, 0, 0], [0, 255, 0], [255, 255, 255]]


@pytest.mark.parametrize("format_name", ["PNG", "WEBP", "TIFF"])
def test_alpha_is_composed_on_white(format_name: str) -> None:
    image = Image.new("RGBA", (3, 1))
    for x, colour in enumerate([(255, 0, 0, 255), (0, 0, 0, 0), (0, 0, 0, 128)]):
        image.putpixel((x, 0), colour)
    options = {"lossless": True} if format_name == "WEBP" else {}
    assert colours(image, format_name, **options) == [[255, 0, 0], [255] * 3, [127] * 3]


def test_grey_with_alpha_is_composed_on_white() -> None:
    image = Image.new("LA", (2, 1))
    image.putpixel((0, 0), (0, 128))
    image.putpixel((1, 0), (100, 255))
    assert colours(image) == [[127] * 3, [100] * 3]


def test_one_transparent_colour_of_a_png_is_white() -> None:
    image = Image.new("RGB", (2, 1), (10, 20, 30))
    image.putpixel((1, 0), (200, 0, 0))
    assert colours(image, transparency=(10, 20, 30)) == [[255] * 3, [200, 0, 0]]


def test_hidden_colours_under_full_transparency_do_not_bleed_when_shrunk() -> None:
    image = Image.new("RGBA", (64, 64), (255, 0, 0, 0))
    image.paste((0, 0, 255, 255), (0, 0, 32, 64))
    out = BytesIO()
    image.save(out, "PNG")
    pixels_hwc = decode(out.getvalue(), limits=Limits(), fit=AtMost(7)).pixels.astype(int)
    assert (pixels_hwc[..., 0] <= pixels_hwc[..., 2] + 1).all()  # blue on white is never redder than blue


@pytest.mark.parametrize("format_name", ["PNG", "JPEG", "WEBP", "TIFF", "AVIF"])
def test_an_embedded_profile_is_applied(format_name: str) -> None:
    image = Image.new("RGB", (32, 32), (255, 0, 0))
    assert colours(image, format_name)[9] == pytest.approx([255, 0, 0], abs=6)
    swapped = colours(image, format_name, icc_profile=profile_with_swapped_primaries())[9]
    assert swapped == pytest.approx([0, 0, 255], abs=6)


def test_a_profile_is_applied_to_the_colours_under_an_alpha() -> None:
    image = Image.new("RGBA", (2, 1), (255, 0, 0, 255))
    image.putpixel((1, 0), (255, 0, 0, 0))
    got = colours(image, icc_profile=profile_with_swapped_primaries())
    assert got == [pytest.approx([0, 0, 255], abs=3), [255] * 3]


def test_grey_under_a_colour_profile_stays_grey() -> None:
    image = Image.fromarray(np.array([[0, 128, 255]], dtype=np.uint8))
    got = colours(image, icc_profile=profile_with_swapped_primaries())
    assert [max(pixel) - min(pixel) for pixel in got] == pytest.approx([0, 0, 0], abs=3)
    assert [pixel[1] for pixel in got] == pytest.approx([0, 128, 255], abs=3)


def test_lab_is_converted() -> None:
    image = Image.new("LAB", (1, 1), (255, 128, 128))
    assert colours(image, "TIFF")[0] == pytest.approx([255, 255, 255], abs=6)


@pytest.mark.parametrize("profile", [b"no profile at all", b"", b"\x00" * 3000])
def test_a_broken_profile_is_ignored(profile: bytes) -> None:
    assert colours(Image.new("RGB", (1, 1), (255, 0, 0)), icc_profile=profile) == [[255, 0, 0]]


def test_a_profile_for_other_channels_is_ignored() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    assert colours(Image.new("RGB", (1, 1), (255, 0, 0)), icc_profile=profile) == [[255, 0, 0]]
