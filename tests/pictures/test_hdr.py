"""viewfinder.pictures.hdr, seen through `decode`: pictures in PQ and HLG are as bright as those in sRGB."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from viewfinder.pictures import hdr
from viewfinder.pictures.decode import Limits, decode
from viewfinder.pictures.fits import AtMost
from viewfinder.pictures.hdr import HLG, PQ, HdrCoding, to_ordinary_brightness

BT709, BT2020 = 1, 9
SRGB = 13
FROM_SRGB = np.array([[0.627404, 0.329283, 0.043313], [0.069097, 0.919540, 0.011362], [0.016391, 0.088013, 0.895595]])
"""Linear sRGB to BT.2020 (ITU-R BT.2087)."""


def to_light(srgb: float) -> float:
    """Of an sRGB value, 0 to 1 (IEC 61966-2-1)."""
    return srgb / 12.92 if srgb <= 0.04045 else float(((srgb + 0.055) / 1.055) ** 2.4)


def to_pq(nits: float) -> float:
    """SMPTE ST 2084: 10,000 candela per square metre is 1."""
    m1, m2, c1, c2, c3 = 2610 / 16384, 2523 / 32, 3424 / 4096, 2413 / 128, 2392 / 128
    power = (nits / 10_000) ** m1
    return float(((c1 + c2 * power) / (1 + c3 * power)) ** m2)


def to_hlg(nits_rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """ITU-R BT.2100, for a display of 1,000 candela per square metre and a gamma of 1.2."""
    display = nits_rgb / 1000
    luminance = max(float(display @ np.array([0.2627, 0.6780, 0.0593])), 1e-9)
    scene = display * luminance ** (1 / 1.2 - 1)
    a, b, c = 0.17883277, 0.28466892, 0.55991073
    return np.asarray(np.where(scene <= 1 / 12, np.sqrt(3 * scene), a * np.log(np.maximum(12 * scene - b, 1e-9)) + c))


def code(rgb: tuple[int, int, int], transfer: int, white: float = 203.0) -> tuple[int, int, int]:
    """An sRGB colour as HDR of 8 bits in the primaries of BT.2020."""
    light = FROM_SRGB @ np.array([to_light(value / 255) for value in rgb]) * white
    coded = np.array([to_pq(value) for value in light]) if transfer == PQ else to_hlg(light)
    red, green, blue = (int(value) for value in np.round(coded * 255))
    return red, green, blue


def avif(image: Image.Image, primaries: int, transfer: int) -> bytes:
    """An AVIF file whose `colr` box says so; Pillow itself writes sRGB."""
    out = BytesIO()
    image.save(out, "AVIF", quality=100, subsampling="4:4:4")
    data = bytearray(out.getvalue())
    at = data.index(b"colrnclx") + 8
    struct.pack_into(">HH", data, at, primaries, transfer)
    return bytes(data)


def heic(image: Image.Image, primaries: int, transfer: int) -> bytes:
    pytest.importorskip("pillow_heif").register_heif_opener()
    out = BytesIO()
    said = {"color_primaries": primaries, "transfer_characteristics": transfer, "matrix_coefficients": 6}
    image.save(out, "HEIF", quality=-1, chroma=444, **said, full_range_flag=1)
    return out.getvalue()


def png(image: Image.Image, primaries: int, transfer: int) -> bytes:
    out = BytesIO()
    image.save(out, "PNG")
    body = b"cICP" + bytes([primaries, transfer, 0, 1])
    chunk = struct.pack(">I", 4) + body + struct.pack(">I", zlib.crc32(body))
    return out.getvalue()[:33] + chunk + out.getvalue()[33:]


def colour_of(data: bytes) -> list[int]:
    pixels_hw3 = decode(data, limits=Limits(), fit=AtMost(1000)).pixels
    middle: list[int] = pixels_hw3[pixels_hw3.shape[0] // 2, pixels_hw3.shape[1] // 2].tolist()
    return middle


WRITERS = {"AVIF": avif, "HEIF": heic, "PNG": png}
COLOURS = [(240, 240, 240), (128, 128, 128), (30, 30, 30), (200, 60, 40), (40, 90, 200), (60, 160, 70)]


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("transfer", [PQ, HLG])
@pytest.mark.parametrize("format_name", WRITERS)
def test_a_colour_stored_as_hdr_is_that_colour(format_name: str, transfer: int, colour: tuple[int, int, int]) -> None:
    """A step of PQ's 8 bits is up to 5 of sRGB's in bright colours, and in dark ones a dozen."""
    coded = code(colour, transfer)
    if colour == (240, 240, 240) and transfer == PQ:
        assert coded == (144, 144, 144)  # what was taken for sRGB before
    got = colour_of(WRITERS[format_name](Image.new("RGB", (64, 64), coded), BT2020, transfer))
    assert np.abs(np.array(got) - colour).max() <= (5 if min(colour) > 100 else 14), got


@pytest.mark.parametrize("format_name", WRITERS)
def test_what_says_srgb_keeps_its_values(format_name: str) -> None:
    image = Image.new("RGB", (64, 64), (144, 100, 60))
    got = colour_of(WRITERS[format_name](image, BT709, SRGB))
    assert np.abs(np.array(got) - (144, 100, 60)).max() <= 3


def test_what_is_brighter_than_white_leaves_the_rest_as_it_is() -> None:
    """A lamp of 1,000 candela beside a grey of 128: the lamp is white, the grey stays, white is below the lamp."""
    image = Image.new("RGB", (3, 1))
    lamp = round(to_pq(1000) * 255)
    for at, value in enumerate([(lamp,) * 3, code((128, 128, 128), PQ), code((255, 255, 255), PQ)]):
        image.putpixel((at, 0), value)
    lamp, grey, white = np.asarray(to_ordinary_brightness(image, HdrCoding(BT2020, PQ)))[0, :, 0].tolist()
    assert lamp == 255
    assert abs(grey - 128) <= 3
    assert 240 < white < 255


def test_the_curve_above_the_knee_is_the_identity_where_nothing_is_brighter_than_white() -> None:
    light = np.linspace(0, 1, 11).reshape(1, -1, 1).repeat(3, axis=2)
    assert np.abs(hdr._press_below_white(light) - light).max() < 1e-12


def test_a_coloured_light_keeps_its_hue() -> None:
    """(4, 2, 1) times white becomes (1, 0.5, 0.25): one factor for all three."""
    light = np.array([[[4.0, 2.0, 1.0]]])
    assert np.allclose(hdr._press_below_white(light), [[[1.0, 0.5, 0.25]]])


def test_alpha_stays() -> None:
    image = Image.new("RGBA", (1, 1), (144, 144, 144, 77))
    got = to_ordinary_brightness(image, HdrCoding(BT2020, PQ)).getpixel((0, 0))
    assert isinstance(got, tuple)
    assert (got[3], abs(got[0] - 240) <= 3) == (77, True)


def test_a_profile_that_says_pq_is_believed() -> None:
    """ICC.1:2022 has a tag `cicp` for it; programs write it beside curves that an older reader can use."""
    profile = bytearray(144)
    struct.pack_into(">I", profile, 128, 1)
    profile[132:136] = b"cicp"
    struct.pack_into(">II", profile, 136, 144, 12)
    profile += b"cicp" + bytes(4) + bytes([BT2020, PQ, 0, 1])
    out = BytesIO()
    Image.new("RGB", (8, 8), (144,) * 3).save(out, "PNG", icc_profile=bytes(profile))
    assert abs(colour_of(out.getvalue())[0] - 240) <= 3


def test_ten_bits_of_a_heic_are_read(tmp_path: Path) -> None:
    pillow_heif = pytest.importorskip("pillow_heif")
    samples = np.full((64, 64, 3), round(to_pq(to_light(240 / 255) * 203) * 65535), np.uint16)
    file = pillow_heif.from_bytes("RGB;16", (64, 64), samples.tobytes())
    said = {"color_primaries": BT2020, "transfer_characteristics": PQ, "matrix_coefficients": 9}
    file.save(tmp_path / "a.heic", quality=-1, chroma=444, **said, full_range_flag=1)
    data = (tmp_path / "a.heic").read_bytes()
    assert pillow_heif.open_heif(data, convert_hdr_to_8bit=False).info["bit_depth"] == 10
    assert abs(colour_of(data)[0] - 240) <= 3


@pytest.mark.parametrize("format_name", WRITERS)
def test_a_damaged_header_gives_no_other_error(format_name: str) -> None:
    data = WRITERS[format_name](Image.new("RGB", (16, 16)), BT2020, PQ)
    random = np.random.default_rng(2)
    for _ in range(300):
        broken = bytearray(data)
        broken[int(random.integers(len(data)))] = int(random.integers(256))
        coding = hdr.find_hdr_coding(bytes(broken), format_name, {})
        assert coding is None or coding.transfer in (PQ, HLG)
