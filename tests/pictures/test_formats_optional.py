"""viewfinder.pictures.formats: HEIC, and a raw file written here by hand."""

from __future__ import annotations

import struct
import sys
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from viewfinder.errors import PictureError
from viewfinder.pictures.decode import AtMost, Limits, Stretch, decode

WIDTH, HEIGHT = 320, 240


def dng(orientation: int = 1, *, declared: tuple[int, int] = (WIDTH, HEIGHT)) -> bytes:
    """A minimal uncompressed DNG: a 16-bit RGGB mosaic, bright in its upper half, dark in its lower."""
    mosaic_hw = np.full((HEIGHT, WIDTH), 2_000, dtype="<u2")
    mosaic_hw[: HEIGHT // 2] = 50_000
    matrix = [value for number in (1, 0, 0, 0, 1, 0, 0, 0, 1) for value in (number, 1)]
    tags: list[tuple[int, int, int, bytes]] = [
        (254, 4, 1, struct.pack("<I", 0)),
        (256, 4, 1, struct.pack("<I", declared[0])),
        (257, 4, 1, struct.pack("<I", declared[1])),
        (258, 3, 1, struct.pack("<HH", 16, 0)),
        (259, 3, 1, struct.pack("<HH", 1, 0)),
        (262, 3, 1, struct.pack("<HH", 32803, 0)),  # colour filter array
        (271, 2, 5, b"Pinho"),
        (272, 2, 7, b"Pinhole"),
        (273, 4, 1, b"STRP"),
        (274, 3, 1, struct.pack("<HH", orientation, 0)),
        (277, 3, 1, struct.pack("<HH", 1, 0)),
        (278, 4, 1, struct.pack("<I", declared[1])),
        (279, 4, 1, struct.pack("<I", mosaic_hw.nbytes)),
        (33421, 3, 2, struct.pack("<HH", 2, 2)),
        (33422, 1, 4, bytes([0, 1, 1, 2])),
        (36867, 2, 20, b"2020:02:29 12:30:00\0"),  # TIFF/EP's place for DateTimeOriginal
        (50706, 1, 4, bytes([1, 4, 0, 0])),  # DNGVersion
        (50708, 2, 8, b"Pinhole\0"),
        (50721, 10, 9, struct.pack("<18i", *matrix)),
        (50728, 5, 3, struct.pack("<6I", 1, 1, 1, 1, 1, 1)),
    ]
    after = 8 + 2 + 12 * len(tags) + 4
    extra, entries = b"", b""
    for tag, kind, count, value in tags:
        if len(value) > 4:
            place = struct.pack("<I", after + len(extra))
            extra += value + b"\0" * (len(value) % 2)
        else:
            place = value.ljust(4, b"\0")
        entries += struct.pack("<HHI", tag, kind, count) + place
    entries = entries.replace(b"STRP", struct.pack("<I", after + len(extra)))
    head = b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + struct.pack("<I", 0)
    return head + extra + mosaic_hw.tobytes()


def test_a_raw_file_is_developed_with_its_facts() -> None:
    pytest.importorskip("rawpy")
    picture = decode(dng(), limits=Limits(), fit=AtMost(100))
    facts = picture.facts
    assert (facts.width, facts.height, facts.format) == (WIDTH, HEIGHT, "RAW")
    assert (facts.captured, facts.camera) == ("2020-02-29T12:30:00", "Pinhole")
    assert picture.pixels.shape == (75, 100, 3)
    assert picture.pixels[10].mean() > picture.pixels[65].mean() + 50


@pytest.mark.parametrize(("orientation", "bright"), [(3, "bottom"), (6, "right"), (8, "left")])
def test_a_raw_file_held_sideways_comes_out_upright(orientation: int, bright: str) -> None:
    pytest.importorskip("rawpy")
    picture = decode(dng(orientation), limits=Limits(), fit=AtMost(80))
    turned = orientation != 3
    assert (picture.facts.width, picture.facts.height) == ((HEIGHT, WIDTH) if turned else (WIDTH, HEIGHT))
    sides = {
        "bottom": picture.pixels[-10:].mean() - picture.pixels[:10].mean(),
        "right": picture.pixels[:, -10:].mean() - picture.pixels[:, :10].mean(),
        "left": picture.pixels[:, :10].mean() - picture.pixels[:, -10:].mean(),
    }
    assert sides[bright] > 50


def test_a_raw_file_over_the_limit_is_refused() -> None:
    pytest.importorskip("rawpy")
    with pytest.raises(PictureError, match="too many pixels: "):
        decode(dng(), limits=Limits(max_pixels=10_000), fit=Stretch())


def test_a_truncated_raw_file_is_refused() -> None:
    pytest.importorskip("rawpy")
    with pytest.raises(PictureError, match=r"RAW|TIFF"):
        decode(dng()[: WIDTH * HEIGHT // 2], limits=Limits(), fit=Stretch())


def test_an_unknown_raw_file_is_refused() -> None:
    pytest.importorskip("rawpy")
    with pytest.raises(PictureError, match="damaged or unknown RAW"):
        decode(b"FUJIFILMCCD-RAW 0201 nothing more", limits=Limits(), fit=Stretch())


def test_an_ordinary_tiff_with_two_pages_is_not_taken_for_a_raw_file() -> None:
    out = BytesIO()
    page = Image.new("RGB", (20, 10), "red")
    page.save(out, "TIFF", save_all=True, append_images=[page.resize((4, 2))])
    assert decode(out.getvalue(), limits=Limits(), fit=Stretch()).facts.format == "TIFF"


@pytest.mark.parametrize(
    ("package", "start", "advice"),
    [
        (
            "pillow_heif",
            b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic",
            "pip install 'viewfinder[heic]'",
        ),
        ("rawpy", b"II*\x00\x10\x00\x00\x00CR\x02\x00", "pip install 'viewfinder[raw]'"),
    ],
)
def test_a_missing_extra_is_named_with_the_line_that_mends_it(
    package: str, start: bytes, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # what Python itself does for "not there"
    with pytest.raises(PictureError) as caught:
        decode(start, limits=Limits(), fit=Stretch())
    assert advice in str(caught.value)


def test_a_plain_tiff_is_read_by_pillow_and_a_dng_by_libraw() -> None:
    pytest.importorskip("rawpy")
    out = BytesIO()
    Image.new("RGB", (20, 10), "red").save(out, "TIFF")
    formats = [decode(data, limits=Limits(), fit=Stretch(8)).facts.format for data in (out.getvalue(), dng())]
    assert formats == ["TIFF", "RAW"]
