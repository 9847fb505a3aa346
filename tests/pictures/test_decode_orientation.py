"""viewfinder.pictures.decode: which way is up, in every format that can say so."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from PIL.ExifTags import Base
from PIL.PngImagePlugin import PngInfo

from viewfinder.pictures.decode import Limits, decode
from viewfinder.pictures.fits import AtMost, Fit, Stretch

CORNERS = ((230, 20, 20), (20, 200, 20), (20, 20, 230), (230, 220, 20))
"""Red, green, blue, yellow: top left, top right, bottom left, bottom right."""

SIDES = {
    1: ("top", "left"),
    2: ("top", "right"),
    3: ("bottom", "right"),
    4: ("bottom", "left"),
    5: ("left", "top"),
    6: ("right", "top"),
    7: ("right", "bottom"),
    8: ("left", "bottom"),
}
"""EXIF 2.3, tag 274: which side of what was seen row 0 and column 0 of the stored pixels are."""


def seen(width: int, height: int) -> NDArray[np.uint8]:
    """What was in front of the camera: four coloured quarters."""
    pixels_hwc = np.zeros((height, width, 3), np.uint8)
    top, left = slice(height // 2), slice(width // 2)
    bottom, right = slice(height // 2, None), slice(width // 2, None)
    for place, colour in zip([(top, left), (top, right), (bottom, left), (bottom, right)], CORNERS, strict=True):
        pixels_hwc[place] = colour
    return pixels_hwc


def stored(pixels_hwc: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """How a camera held that way stores what was seen, straight from the standard's table."""
    row, column = SIDES[orientation]
    turned = pixels_hwc.swapaxes(0, 1) if row in ("left", "right") else pixels_hwc
    turned = turned[::-1] if row in ("bottom", "right") else turned
    return np.ascontiguousarray(turned[:, ::-1] if column in ("bottom", "right") else turned)


def file_of(format_name: str, orientation: int, width: int = 96, height: int = 64) -> bytes:
    if format_name == "HEIF":
        pytest.importorskip("pillow_heif").register_heif_opener()
    exif = Image.Exif()
    exif[Base.Orientation] = orientation
    exif.get_ifd(Base.ExifOffset)[Base.DateTimeOriginal] = "2021:02:03 04:05:06"
    out = BytesIO()
    Image.fromarray(stored(seen(width, height), orientation)).save(out, format_name, exif=exif.tobytes(), quality=95)
    return out.getvalue()


def assert_upright(pixels_hwc: NDArray[np.uint8]) -> None:
    height, width, _ = pixels_hwc.shape
    for corner, colour in enumerate(CORNERS):
        y, x = height // 8 + corner // 2 * (height * 3 // 4), width // 8 + corner % 2 * (width * 3 // 4)
        assert np.abs(pixels_hwc[y, x].astype(int) - colour).max() < 25, (corner, pixels_hwc[y, x])


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format_name", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF", "HEIF"])
def test_all_eight_orientations_come_out_upright(format_name: str, orientation: int) -> None:
    picture = decode(file_of(format_name, orientation), limits=Limits(), fit=AtMost(1000))
    assert picture.pixels.shape == (64, 96, 3)
    assert (picture.facts.width, picture.facts.height, picture.facts.format) == (96, 64, format_name)
    assert picture.facts.captured == "2021-02-03T04:05:06"
    assert_upright(picture.pixels)


@pytest.mark.parametrize("fit", [Stretch(32), AtMost(48)])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_read_at_a_reduced_scale_come_out_upright(orientation: int, fit: Fit) -> None:
    picture = decode(file_of("JPEG", orientation, 960, 640), limits=Limits(), fit=fit)
    assert picture.pixels.shape == ((32, 32, 3) if isinstance(fit, Stretch) else (32, 48, 3))
    assert (picture.facts.width, picture.facts.height) == (960, 640)
    assert_upright(picture.pixels)


def test_an_exif_block_behind_the_pixels_of_a_png_counts() -> None:
    png = file_of("PNG", 6)
    at = png.index(b"eXIf") - 4
    end = at + 12 + int.from_bytes(png[at : at + 4], "big")
    moved = png[:at] + png[end:-12] + png[at:end] + png[-12:]
    assert_upright(decode(moved, limits=Limits(), fit=AtMost(1000)).pixels)


def test_broken_exif_does_not_cost_the_picture() -> None:
    jpeg = file_of("JPEG", 1)
    at = jpeg.index(b"Exif\0\0") + 6
    broken = jpeg[:at] + b"\xff" * 20 + jpeg[at + 20 :]
    picture = decode(broken, limits=Limits(), fit=AtMost(1000))
    assert picture.facts.captured is None
    assert_upright(picture.pixels)


XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6"/></rdf:RDF></x:xmpmeta>'
)


@pytest.mark.parametrize("format_name", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_an_orientation_that_only_xmp_has_turns_nothing(format_name: str) -> None:
    """Browsers and viewers turn by EXIF alone; Pillow would turn."""
    out = BytesIO()
    options: dict[str, object] = {"xmp": XMP.encode(), "quality": 95}
    if format_name == "PNG":
        text = PngInfo()
        text.add_itxt("XML:com.adobe.xmp", XMP)
        options = {"pnginfo": text}
    elif format_name == "TIFF":
        options = {"tiffinfo": {700: XMP.encode()}}
    Image.fromarray(seen(96, 64)).save(out, format_name, **options)
    with Image.open(BytesIO(out.getvalue())) as image:
        assert image.getexif().get(Base.Orientation) == 6
    picture = decode(out.getvalue(), limits=Limits(), fit=AtMost(1000))
    assert picture.pixels.shape == (64, 96, 3)
    assert_upright(picture.pixels)
