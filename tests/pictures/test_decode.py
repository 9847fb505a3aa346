"""viewfinder.pictures.decode: sizes, limits, frames and what is wrong with files."""

from __future__ import annotations

import struct
import tracemalloc
import warnings
import zlib
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from viewfinder.errors import BadInput, PictureError
from viewfinder.pictures.decode import Decoded, Limits, decode, read_limits
from viewfinder.pictures.fits import AtMost, Fit, Stretch, list_former_fits

WRITTEN = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")


def written(image: Image.Image, format_name: str = "PNG", **options: object) -> bytes:
    out = BytesIO()
    image.save(out, format_name, **options)
    return out.getvalue()


def noise(width: int, height: int) -> Image.Image:
    pixels_hwc = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels_hwc)


def read(data: bytes, fit: Fit = AtMost(10_000), limits: Limits = Limits()) -> Decoded:  # noqa: B008
    return decode(data, limits=limits, fit=fit)


def reason(data: bytes, limits: Limits = Limits()) -> str:  # noqa: B008
    with pytest.raises(PictureError) as caught:
        read(data, limits=limits)
    return str(caught.value)


def png_header(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims any size."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("format_name", WRITTEN)
def test_every_format_gives_its_pixels_and_facts(format_name: str) -> None:
    data = written(Image.new("RGB", (30, 20), (200, 100, 50)), format_name)
    picture = read(data)
    assert picture.pixels.dtype == np.uint8
    assert picture.pixels.shape == (20, 30, 3)
    assert np.abs(picture.pixels.astype(int) - (200, 100, 50)).max() <= 6
    assert (picture.facts.width, picture.facts.height, picture.facts.bytes) == (30, 20, len(data))
    assert picture.facts.format == format_name


def test_stretch_is_the_bicubic_resize_of_the_whole_picture() -> None:
    image = noise(100, 300)
    expected = np.asarray(image.resize((64, 64), Image.Resampling.BICUBIC)).astype(int)
    got = read(written(image), Stretch(64)).pixels.astype(int)
    assert got.shape == (64, 64, 3)
    assert np.abs(got - expected).mean() < 1.0


def test_a_large_jpeg_is_close_to_the_full_decode_scaled_down() -> None:
    y, x = np.mgrid[0:1500, 0:2000]
    waves = np.stack([128 + 100 * np.sin(x / 90), 128 + 100 * np.cos(y / 70), (x + y) % 256], -1).astype(np.uint8)
    jpeg = written(Image.fromarray(waves), "JPEG", quality=92)
    full = Image.open(BytesIO(jpeg)).resize((224, 224), Image.Resampling.BICUBIC)
    assert np.abs(read(jpeg, Stretch(224)).pixels.astype(int) - np.asarray(full).astype(int)).mean() < 2.0


@pytest.mark.parametrize(("short", "reduced"), [(2984, 4), (3000, 8), (3600, 8)])
def test_a_jpeg_is_read_at_an_eighth_where_that_is_enough_for_its_encoder(short: int, reduced: int) -> None:
    y, x = np.mgrid[0:short, 0:4000].astype(np.uint16)
    jpeg = written(Image.fromarray((x // 16 + y // 16).astype(np.uint8)), "JPEG")
    image = Image.open(BytesIO(jpeg))
    image.draft(None, (4000 // reduced, short // reduced))
    expected = image.resize((224, 224), Image.Resampling.BICUBIC, reducing_gap=3.0).convert("RGB")
    quick = Stretch(224, eighth=5 / 3)
    assert np.array_equal(read(jpeg, quick).pixels, np.asarray(expected))
    is_as_before = np.array_equal(read(jpeg, Stretch(224)).pixels, read(jpeg, quick).pixels)
    assert is_as_before == (short != 3000)  # 2 x 224 x 8 = 3584: from there on it always was an eighth
    assert list_former_fits(quick) == [Stretch(224)]
    assert list_former_fits(Stretch(224)) == []


@pytest.mark.parametrize(
    ("size", "longest", "shape"),
    [
        ((400, 200), 100, (50, 100)),
        ((200, 400), 100, (100, 50)),
        ((60, 30), 100, (30, 60)),
        ((5000, 1), 320, (1, 320)),
    ],
)
def test_at_most_keeps_proportions_and_never_enlarges(
    size: tuple[int, int], longest: int, shape: tuple[int, int]
) -> None:
    assert read(written(Image.new("RGB", size)), AtMost(longest)).pixels.shape == (*shape, 3)


@pytest.mark.parametrize("format_name", WRITTEN)
def test_a_picture_of_one_pixel_is_a_picture(format_name: str) -> None:
    data = written(Image.new("RGB", (1, 1), (250, 250, 250)), format_name)
    assert read(data).pixels.shape == (1, 1, 3)
    assert read(data, Stretch(224)).pixels.shape == (224, 224, 3)


@pytest.mark.parametrize("format_name", ["GIF", "WEBP", "PNG", "TIFF"])
def test_of_several_frames_the_first_is_taken(format_name: str) -> None:
    red, blue = Image.new("RGB", (40, 30), "red"), Image.new("RGB", (40, 30), "blue")
    data = written(red, format_name, save_all=True, append_images=[blue])
    assert Image.open(BytesIO(data)).n_frames == 2  # type: ignore[attr-defined]
    assert read(data).pixels[15, 20].tolist() == pytest.approx([255, 0, 0], abs=3)


def test_a_jpeg_with_a_second_picture_behind_it_is_a_jpeg() -> None:
    data = written(noise(64, 48), "MPO", save_all=True, append_images=[noise(64, 48)])
    assert read(data).facts.format == "JPEG"


def test_a_png_called_jpg_is_what_its_bytes_say() -> None:
    assert read(written(noise(8, 8), "PNG")).facts.format == "PNG"  # no name is ever asked for


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty file"),
        (b"<html><body>404", "not a picture (starts with '<html><body>404')"),
        (b"\x00\x01\x02\x03\x04\x05\x06", "not a picture (starts with the bytes 00 01 02 03 04 05)"),
        (b"%PDF-1.7\n%\xe2\xe3", "not a picture (starts with the bytes 25 50 44 46 2d 31)"),
        (b"PK\x03\x04a", "not a picture but a ZIP archive, or a document made like one: unpack it, and add the folder"),
        (b"\xff\xd8\xff", "truncated or damaged JPEG"),
        (b"GIF89a", "truncated or damaged GIF"),
    ],
)
def test_what_is_no_picture_says_so(data: bytes, why: str) -> None:
    assert reason(data) == why


@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
@pytest.mark.parametrize("format_name", WRITTEN)
def test_truncated_files_are_refused_not_filled_with_grey(format_name: str, share: float) -> None:
    data = written(noise(200, 150), format_name)
    assert "truncated" in reason(data[: int(len(data) * share)])


def test_a_damaged_png_is_refused_in_one_short_line() -> None:
    data = bytearray(written(noise(100, 100)))
    data[len(data) // 2] ^= 0xFF
    why = reason(bytes(data))
    assert "PNG" in why
    assert len(why) < 150
    assert "\n" not in why


@pytest.mark.parametrize("size", [(40_000, 40_000), (2**31 - 1, 2**31 - 1), (250_000_001, 1)])
def test_a_decompression_bomb_is_refused_by_its_header(size: tuple[int, int]) -> None:
    tracemalloc.start()
    why = reason(png_header(*size))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (
        why == f"too many pixels: {size[0]} x {size[1]} is over the limit of 250 megapixels (VIEWFINDER_PICTURE_PIXELS)"
    )
    assert peak < 1_000_000


def test_a_webp_bomb_is_refused_before_libwebp_allocates_its_canvas() -> None:
    data = bytearray(
        written(Image.new("RGBA", (16, 16), (1, 2, 3, 4)), "WEBP", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0")
    )
    assert data[12:16] == b"VP8X"
    data[24:30] = (16_383).to_bytes(3, "little") * 2
    assert reason(bytes(data)).startswith("too many pixels: 16384 x 16384")


def test_pillows_own_limit_neither_warns_nor_stays_changed() -> None:
    before = Image.MAX_IMAGE_PIXELS
    big = written(Image.new("1", (12_000, 8_000)))  # 96 megapixels: Pillow would warn, our limit is 250
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(big, Stretch(8)).facts.width == 12_000
    assert before == Image.MAX_IMAGE_PIXELS


def test_limits_are_the_callers() -> None:
    data = written(noise(100, 100))
    assert reason(data, Limits(max_pixels=9_999)).startswith("too many pixels: 100 x 100")
    assert read(data, limits=Limits(max_pixels=10_000, max_bytes=len(data))).facts.width == 100
    assert reason(data, Limits(max_bytes=len(data) - 1)).startswith("too large")


def test_a_message_names_the_setting_that_raises_the_limit_of_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(noise(100, 100))
    assert reason(data, Limits(max_pixels=9_999)).endswith(
        "the limit of 0.009999 megapixels (VIEWFINDER_PICTURE_PIXELS)"
    )
    assert read_limits().max_pixels >= 200_000_000  # phones
    monkeypatch.setenv("VIEWFINDER_PICTURE_PIXELS", "300000000")
    assert read_limits().max_pixels == 300_000_000
    monkeypatch.setenv("VIEWFINDER_PICTURE_PIXELS", "many")
    with pytest.raises(BadInput, match="VIEWFINDER_PICTURE_PIXELS='many': write the most pixels"):
        read_limits()


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(WRITTEN),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=8),
)
def test_flipped_bytes_give_a_picture_or_a_reason_never_another_error(
    format_name: str, flips: list[tuple[float, int]]
) -> None:
    data = bytearray(written(noise(24, 16), format_name))
    for where, value in flips:
        data[min(int(where * len(data)), len(data) - 1)] = value
    try:
        picture = read(bytes(data), Stretch(8), Limits(max_pixels=1_000_000))
    except PictureError as error:
        assert str(error).isprintable()
    else:
        assert picture.pixels.shape == (8, 8, 3)
