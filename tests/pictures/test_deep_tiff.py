"""viewfinder.pictures.deep_tiff, seen through `decode`: TIFF pages of more than 8 bits a sample."""

from __future__ import annotations

import lzma
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from viewfinder.errors import PictureError
from viewfinder.pictures.decode import Limits, decode
from viewfinder.pictures.deep_tiff import open_deep_tiff
from viewfinder.pictures.fits import AtMost

FULL = AtMost(1000)
WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, CMYK, CIE_LAB, ICC_LAB = 0, 1, 2, 5, 8, 9
Samples = NDArray[Any]
Order = Literal["<", ">"]
COMPRESSIONS: dict[int, Callable[[bytes], bytes]] = {
    1: bytes,
    8: zlib.compress,
    34925: lambda data: lzma.compress(data, lzma.FORMAT_XZ),
}


def tiff(
    samples: Samples,
    photometric: int,
    *,
    order: Order = "<",
    compression: int = 1,
    predictor: int = 1,
    planar: bool = False,
    tile: int = 0,
    rows: int = 0,
    bits: int = 0,
    more: Mapping[int, tuple[int, ...]] | None = None,
    body: bytes | None = None,
) -> bytes:
    """A TIFF file of samples (height, width, channels), written from the specification."""
    height, width, channels = samples.shape
    rows = rows or height
    planes = [samples[:, :, at : at + 1] for at in range(channels)] if planar else [samples]
    pieces: list[Samples] = []
    for plane in planes:
        if tile:
            down, right = -height % tile, -width % tile
            padded = np.pad(plane, ((0, down), (0, right), (0, 0)))
            pieces += [
                padded[y : y + tile, x : x + tile] for y in range(0, height, tile) for x in range(0, width, tile)
            ]
        else:
            pieces += [plane[y : y + rows] for y in range(0, height, rows)]
    compress = COMPRESSIONS[compression]
    blobs = [compress(body if body is not None else difference(piece, predictor, order)) for piece in pieces]
    kind = {"u": 1, "i": 2, "f": 3}[samples.dtype.kind]
    tags: dict[int, tuple[int, ...]] = {
        256: (width,),
        257: (height,),
        258: (bits or samples.itemsize * 8,) * channels,
        259: (compression,),
        262: (photometric,),
        277: (channels,),
        284: (2 if planar else 1,),
        317: (predictor,),
        339: (kind,) * channels,
        **(more or {}),
    }
    places, lengths = (324, 325) if tile else (273, 279)
    tags |= {322: (tile,), 323: (tile,)} if tile else {278: (rows,)}
    sizes = [len(blob) for blob in blobs]
    tags |= {places: tuple(8 + sum(sizes[:at]) for at in range(len(blobs))), lengths: tuple(sizes)}
    data = b"".join(blobs)
    directory_at = 8 + len(data) + len(data) % 2
    extra_at = directory_at + 2 + 12 * len(tags) + 4
    entries, extra = b"", b""
    for number, values in sorted(tags.items()):
        packed = struct.pack(f"{order}{len(values)}I", *values)
        place = packed if len(packed) == 4 else struct.pack(order + "I", extra_at + len(extra))
        extra += packed if len(packed) > 4 else b""
        entries += struct.pack(order + "HHI", number, 4, len(values)) + place
    head = struct.pack(order + "2sHI", b"II" if order == "<" else b"MM", 42, directory_at)
    return head + data + bytes(len(data) % 2) + struct.pack(order + "H", len(tags)) + entries + bytes(4) + extra


def difference(piece: Samples, predictor: int, order: Order) -> bytes:
    """Predictors, sample by sample and byte by byte, as the supplements of TIFF 6.0 describe them."""
    channels = piece.shape[2]
    if predictor == 1:
        return piece.astype(piece.dtype.newbyteorder(order)).tobytes()
    if predictor == 2:
        unsigned = np.ascontiguousarray(piece).view(f"u{piece.itemsize}")
        differences = unsigned.copy()
        differences[:, 1:] = unsigned[:, 1:] - unsigned[:, :-1]
        return differences.astype(differences.dtype.newbyteorder(order)).tobytes()
    out = b""
    for row in piece:
        big = row.astype(row.dtype.newbyteorder(">")).tobytes()
        planes = b"".join(big[at :: piece.itemsize] for at in range(piece.itemsize))
        out += bytes((byte - (planes[at - channels] if at >= channels else 0)) % 256 for at, byte in enumerate(planes))
    return out


def pixels_of(data: bytes) -> NDArray[np.uint8]:
    return decode(data, limits=Limits(), fit=FULL).pixels


def greys(data: bytes) -> list[int]:
    """The row of grey values."""
    pixels_hw3 = pixels_of(data)
    assert (pixels_hw3[..., :1] == pixels_hw3).all()
    values: list[int] = pixels_hw3[0, :, 0].tolist()
    return values


def row(values: list[float], kind: str) -> Samples:
    return np.array(values).astype(kind).reshape(1, -1, 1)


def noise(height: int, width: int, channels: int, kind: str) -> Samples:
    random = np.random.default_rng(5)
    if np.dtype(kind).kind == "f":
        return random.random((height, width, channels)).astype(kind)
    return random.integers(0, np.iinfo(kind).max, (height, width, channels), dtype=kind, endpoint=True)


@pytest.mark.parametrize("order", "<>")
def test_where_white_is_zero_the_lowest_value_is_white(order: Order) -> None:
    values = row([0, 0x7F00, 0xFFFF], "u2")
    assert greys(tiff(values, WHITE_IS_ZERO, order=order)) == [255, 255 - 0x7F, 0]
    assert greys(tiff(values, BLACK_IS_ZERO, order=order)) == [0, 0x7F, 255]


def test_twelve_bits_in_sixteen_are_as_bright_as_twelve_bits() -> None:
    """4095 is the highest of 12 bits: 2048 >> 4 is 128."""
    assert greys(tiff(row([0, 2048, 4095], "u2"), BLACK_IS_ZERO)) == [0, 128, 255]
    assert greys(tiff(row([0, 2048, 4095], "u2"), WHITE_IS_ZERO)) == [255, 127, 0]
    colour = np.array([[[4095, 2048, 0]]], "u2")
    assert pixels_of(tiff(colour, RGB)).tolist() == [[[255, 128, 0]]]


@pytest.mark.parametrize(("bits", "most"), [(8, 255), (10, 1023), (12, 4095), (14, 16383), (16, 65535)])
def test_the_depth_in_use_is_the_lowest_that_holds_all_values(bits: int, most: int) -> None:
    assert greys(tiff(row([0, most], "u2"), BLACK_IS_ZERO)) == [0, 255]
    half = 1 << bits - 1
    assert greys(tiff(row([half, most], "u2"), BLACK_IS_ZERO)) == [128, 255]


def test_a_file_that_says_its_highest_value_is_believed() -> None:
    """5000 of 10000 is half of 255, rounded; and one that lies (20000 above it) is not."""
    said = {341: (10_000,)}
    assert greys(tiff(row([0, 5_000, 10_000], "u2"), BLACK_IS_ZERO, more=said)) == [0, 128, 255]
    assert greys(tiff(row([0, 20_000, 65_535], "u2"), BLACK_IS_ZERO, more=said)) == [0, 20_000 >> 8, 255]


@pytest.mark.parametrize("bits", [10, 12, 14])
def test_samples_that_do_not_begin_on_bytes_are_unpacked(bits: int) -> None:
    values = [(1 << bits) - 1, 0, 1 << bits - 1, 1 << bits - 2, 0]
    packed = "".join(f"{value:0{bits}b}" for value in values)
    body = bytes(int(packed[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(packed), 8))
    samples = row([float(value) for value in values], "u2")
    data = tiff(samples, BLACK_IS_ZERO, bits=bits, body=body)
    assert greys(data) == [255, 0, 128, 64, 0]


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_in_floating_point_the_brightest_value_is_white_and_nothing_is_below_black(kind: str) -> None:
    assert greys(tiff(row([-1, 0, 0.5, 1], kind), BLACK_IS_ZERO)) == [0, 0, 128, 255]
    assert greys(tiff(row([0, 0.5, 1], kind), WHITE_IS_ZERO)) == [255, 127, 0]
    colour = np.array([[[1.0, 0.5, 0.0], [float("nan"), 0.25, 1.0]]], kind)
    assert pixels_of(tiff(colour, RGB)).tolist() == [[[255, 128, 0], [0, 64, 255]]]


@pytest.mark.parametrize("kind", ["i2", "u4", "i4", "u8"])
def test_in_wide_and_signed_numbers_the_brightest_value_is_white(kind: str) -> None:
    assert greys(tiff(row([0, 15_000, 30_000], kind), BLACK_IS_ZERO)) == [0, 128, 255]


def test_sixteen_bit_grey_with_alpha_is_composed_on_white() -> None:
    """An alpha of 0 shows the white page, of 65535 the grey, of half (127 of 255) half of each."""
    samples = np.array([[[0x4000, 0], [0x4000, 0xFFFF], [0, 0x7FFF]]], "u2")
    data = tiff(samples, BLACK_IS_ZERO, more={338: (2,)})
    # 0x4000 is the brightest, as in a picture of 14 bits and one more: of 16 bits it is 64.
    assert greys(data)[:2] == [255, 0x40]
    assert abs(greys(data)[2] - 128) <= 1


def test_colours_multiplied_by_alpha_are_divided_by_it() -> None:
    """Half-transparent white is stored as half (0x7FFF); a reader that multiplies again would make it grey."""
    samples = np.array([[[0x7FFF, 0x7FFF, 0x7FFF, 0x7FFF], [0xFFFF, 0, 0, 0xFFFF]]], "u2")
    assert pixels_of(tiff(samples, RGB, more={338: (1,)})).tolist() == [[[255, 255, 255], [255, 0, 0]]]


def test_a_channel_that_is_no_alpha_is_left_out() -> None:
    samples = np.array([[[0xFFFF, 0, 0, 0]]], "u2")
    assert pixels_of(tiff(samples, RGB, more={338: (0,)})).tolist() == [[[255, 0, 0]]]


@pytest.mark.parametrize("lab", [(50, 0, 0), (60, 40, -30), (80, -50, 50), (20, 10, 10)])
def test_sixteen_bit_lab_looks_like_eight_bit_lab(lab: tuple[int, int, int]) -> None:
    """L* is scaled to the whole range, a* and b* are 256ths: signed in CIE Lab, from 32768 on in ICC Lab."""
    lightness, a, b = lab
    eight = Image.merge("LAB", [Image.new("L", (1, 1), value) for value in (lightness * 255 // 100, a + 128, b + 128)])
    out = BytesIO()
    eight.save(out, "TIFF")
    wanted = pixels_of(out.getvalue())
    signed = np.array([[[lightness * 65535 // 100, a * 256 & 0xFFFF, b * 256 & 0xFFFF]]], "u2")
    shifted = np.array([[[lightness * 65535 // 100, a * 256 + 32768, b * 256 + 32768]]], "u2")
    assert pixels_of(tiff(signed, CIE_LAB)).tolist() == wanted.tolist()
    assert pixels_of(tiff(shifted, ICC_LAB)).tolist() == wanted.tolist()


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("tile", [0, 16])
@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize(
    ("kind", "compression", "predictor"),
    [("u2", 1, 1), ("u2", 8, 2), ("f4", 8, 3), ("f2", 8, 3), ("f8", 34925, 3), ("f4", 8, 2), ("u4", 8, 2)],
)
def test_every_layout_gives_the_same_pixels(
    kind: str, compression: int, predictor: int, planar: bool, tile: int, order: Order
) -> None:
    samples = noise(37, 29, 3, kind)
    samples[0, 0] = np.iinfo(kind).max if np.dtype(kind).kind == "u" else 1.0
    data = tiff(
        samples, RGB, order=order, compression=compression, predictor=predictor, planar=planar, tile=tile, rows=10
    )
    if kind == "u2":
        wanted = samples >> 8
    else:
        wanted = np.floor(samples.astype(np.float32) / samples.astype(np.float32).max() * 255 + 0.5)
    assert np.abs(pixels_of(data).astype(int) - wanted.astype(int)).max() == 0


def test_full_sixteen_bit_colours_are_those_of_pillow() -> None:
    for channels, photometric in ((3, RGB), (4, CMYK)):
        data = tiff(noise(20, 20, channels, "u2"), photometric)
        with Image.open(BytesIO(data)) as image:
            assert pixels_of(data).tolist() == np.asarray(image.convert("RGB")).tolist()


@pytest.mark.parametrize("options", [[], ["-compress", "LZW"], ["-compress", "Zip"], ["-endian", "MSB"]], ids=" ".join)
@pytest.mark.parametrize(
    ("deep", "kind", "tolerance"),
    [
        (["-depth", "16"], [], 1),
        (["-depth", "16", "-define", "quantum:format=floating-point"], [], 1),
        (["-depth", "32", "-define", "quantum:format=floating-point"], [], 1),
        (
            ["-depth", "16"],
            ["-colorspace", "Lab"],
            14,
        ),  # its 8 bits are cut off, and a step in a deep blue is that much
        (["-depth", "16"], ["-colorspace", "Gray", "-alpha", "on"], 1),
        (["-depth", "16"], ["-colorspace", "Gray", "-define", "quantum:polarity=min-is-white"], 1),
    ],
)
def test_what_imagemagick_writes_looks_like_what_it_writes_in_8_bits(
    deep: list[str], kind: list[str], tolerance: int, options: list[str], tmp_path: Path
) -> None:
    if shutil.which("convert") is None:
        pytest.skip("ImageMagick is not installed")
    y, x = np.mgrid[:40, :60]
    picture = Image.fromarray(np.stack([x * 4, y * 6, 255 - x * 4], axis=2).astype(np.uint8))
    picture.putpixel((0, 0), (255, 255, 255))
    picture.putpixel((1, 0), (0, 0, 0))
    picture.save(tmp_path / "a.png")
    for command in ([*deep, *kind, *options, "deep.tif"], ["-depth", "8", *kind, "plain.tif"]):
        run = subprocess.run(["convert", "a.png", *command], cwd=tmp_path, check=False, capture_output=True)
        if run.returncode:
            pytest.skip("this ImageMagick does not write such a file")
    assert open_deep_tiff((tmp_path / "deep.tif").read_bytes()) is not None
    got, wanted = (pixels_of((tmp_path / name).read_bytes()).astype(int) for name in ("deep.tif", "plain.tif"))
    assert np.abs(got - wanted).max() <= tolerance
    assert np.abs(got - wanted).mean() < 2


def test_a_deep_page_comes_out_upright_with_its_facts() -> None:
    samples = np.zeros((20, 10, 3), "u2")
    samples[:10] = (0xFFFF, 0, 0)
    samples[10:] = (0, 0, 0xFFFF)
    picture = decode(tiff(samples, RGB, more={274: (6,)}), limits=Limits(), fit=FULL)
    assert (picture.facts.width, picture.facts.height, picture.facts.format) == (20, 10, "TIFF")
    assert picture.pixels[5, 0].tolist() == [0, 0, 255]  # the bottom is on the left after a turn clockwise
    assert picture.pixels[5, 19].tolist() == [255, 0, 0]


def test_a_deep_page_over_the_limit_is_refused_before_it_is_read() -> None:
    data = tiff(noise(4, 4, 3, "u2"), RGB)
    huge = data.replace(struct.pack("<HHII", 257, 4, 1, 4), struct.pack("<HHII", 257, 4, 1, 900_000))
    huge = huge.replace(struct.pack("<HHII", 256, 4, 1, 4), struct.pack("<HHII", 256, 4, 1, 900_000))
    with pytest.raises(PictureError, match="too many pixels: 900000 x 900000"):
        decode(huge, limits=Limits(), fit=FULL)


def test_strips_that_claim_the_same_bytes_over_and_over_are_refused() -> None:
    data = bytearray(tiff(noise(400, 4, 3, "u2"), RGB, rows=1))
    at = data.index(struct.pack("<HHI", 279, 4, 400)) + 8
    place = int.from_bytes(data[at : at + 4], "little")
    data[place : place + 1600] = struct.pack("<I", 9_000) * 400
    with pytest.raises(PictureError, match="damaged TIFF: strips or tiles overlap"):
        decode(bytes(data), limits=Limits(), fit=FULL)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_a_cut_off_deep_page_is_refused_in_one_line(share: float) -> None:
    data = tiff(noise(50, 50, 3, "f4"), RGB, compression=8, predictor=3)
    length = int.from_bytes(data[4:8], "little") - 8
    entry = data.index(struct.pack("<HHI", 279, 4, 1)) + 8
    cut = data[:entry] + struct.pack("<I", int(length * share)) + data[entry + 4 :]
    with pytest.raises(PictureError, match="TIFF") as caught:
        decode(cut, limits=Limits(), fit=FULL)
    assert "\n" not in str(caught.value) and "b'" not in str(caught.value)


def test_no_damage_gives_more_than_a_reason() -> None:
    data = tiff(noise(12, 12, 3, "f4"), RGB, compression=8, predictor=3, tile=16)
    start = int.from_bytes(data[4:8], "little")
    random = np.random.default_rng(1)
    for _ in range(300):
        broken = bytearray(data)
        broken[start + int(random.integers(len(data) - start))] = int(random.integers(256))
        try:
            pixels = decode(bytes(broken), limits=Limits(max_pixels=10_000), fit=FULL).pixels
        except PictureError as error:
            assert str(error)
        else:
            assert pixels.dtype == np.uint8
