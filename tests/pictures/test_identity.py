"""viewfinder.pictures.identity: other programs' edits of metadata leave a picture what it is; other pixels do not."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.ExifTags import Base

from tests.pictures.test_formats_optional import dng
from viewfinder.pictures import formats
from viewfinder.pictures.decode import Limits, decode
from viewfinder.pictures.fits import AtMost, picture_id
from viewfinder.pictures.identity import hash_pixels
from viewfinder.pictures.tiff_tags import read_exif_orientation

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "AVIF", "HEIF", "DNG")
ENDINGS = {"JPEG": "jpg", "TIFF": "tif", "HEIF": "heic", "JXL": "jxl"}

EXIFTOOL_EDITS = {
    "a keyword": ["-XMP:Subject+=beach"],
    "an IPTC keyword": ["-IPTC:Keywords+=beach"],
    "a rating": ["-XMP:Rating=4", "-EXIF:Rating=4"],
    "a long caption": ["-EXIF:ImageDescription=" + "a boat on a lake " * 400, "-XMP:Description=a boat"],
    "a date": ["-EXIF:DateTimeOriginal=2019:07:14 10:00:00", "-XMP:CreateDate=2019:07:14 10:00:00"],
    "a place": ["-EXIF:GPSLatitude=48.1", "-EXIF:GPSLatitudeRef=N", "-EXIF:GPSLongitude=11.5", "-XMP:City=Munich"],
    "all removed": ["-all=", "--icc_profile:all"],
}
EXIV2_EDITS = {
    "a keyword": ["add Xmp.dc.subject XmpBag beach"],
    "an IPTC keyword": ["add Iptc.Application2.Keywords String beach"],
    "a rating": ["set Xmp.xmp.Rating 4", "set Exif.Image.Rating 4"],
    "a long caption": ["set Exif.Image.ImageDescription " + "a boat on a lake " * 400],
    "a date": ["set Exif.Photo.DateTimeOriginal 2019:07:14 10:00:00"],
    "a place": ["set Exif.GPSInfo.GPSLatitude 48/1 6/1 0/1", "set Exif.GPSInfo.GPSLatitudeRef N"],
}
EXIV2_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "DNG")


def photograph(seed: int = 0, width: int = 64, height: int = 48) -> Image.Image:
    """Smooth colours with a little noise, so that files are neither tiny nor pathological."""
    noise_hwc = np.random.default_rng(seed).integers(0, 40, (height, width, 3))
    slope_hwc = np.linspace(0, 200, width)[None, :, None] * np.array([1.0, 0.6, 0.3])
    return Image.fromarray((noise_hwc + slope_hwc).astype(np.uint8))


def file_of(format_name: str, image: Image.Image | None = None, **options: Any) -> bytes:
    image = image or photograph()
    if format_name == "DNG":
        return dng()
    if format_name == "HEIF":
        pytest.importorskip("pillow_heif").register_heif_opener()
    if format_name == "JXL":
        pytest.importorskip("pillow_jxl")
    out = BytesIO()
    if format_name in ("WEBP", "JXL"):
        options = {"lossless": True, **options}
    if format_name in ("AVIF", "HEIF"):
        options = {"quality": 95, **options}
    image.save(out, format_name, **options)
    return out.getvalue()


def identity(data: bytes) -> str:
    announced = "JXL" if data[:2] == b"\xff\x0a" or data[4:8] == b"JXL " else formats.detect_format(data)
    assert announced is not None
    return hash_pixels(data, announced)


def edit(data: bytes, format_name: str, path: Path, command: list[str]) -> bytes:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    file = path / f"a.{ENDINGS.get(format_name, format_name.lower())}"
    file.write_bytes(data)
    subprocess.run([*command, file], check=True, capture_output=True)
    edited = file.read_bytes()
    assert edited != data
    return edited


def edit_with_exiftool(data: bytes, format_name: str, path: Path, arguments: list[str]) -> bytes:
    return edit(data, format_name, path, ["exiftool", "-q", "-m", "-overwrite_original", *arguments])


@pytest.mark.parametrize("name", [name for name in EXIFTOOL_EDITS if name != "all removed"])
@pytest.mark.parametrize("format_name", [*FORMATS, "JXL"])
def test_what_exiftool_writes_leaves_a_picture_what_it_is(format_name: str, name: str, tmp_path: Path) -> None:
    data = file_of(format_name)
    arguments = EXIFTOOL_EDITS[name]
    if format_name == "GIF":  # holds XMP and a comment only
        arguments = [it for it in arguments if "XMP" in it] or ["-Comment=a boat"]
    if format_name in ("AVIF", "HEIF", "JXL", "WEBP") and name == "an IPTC keyword":
        pytest.skip("IPTC has no place in this format")
    edited = edit_with_exiftool(data, format_name, tmp_path, arguments)
    assert identity(edited) == identity(data)
    again = edit_with_exiftool(edited, format_name, tmp_path, ["-XMP:Label=Red"])
    assert identity(again) == identity(data)


@pytest.mark.parametrize("format_name", ["JPEG", "PNG", "WEBP", "AVIF", "HEIF"])
def test_removing_all_metadata_but_the_profile_leaves_a_picture_what_it_is(format_name: str, tmp_path: Path) -> None:
    plain = file_of(format_name)
    described = plain
    for arguments in list(EXIFTOOL_EDITS.values())[:-1]:
        if not (arguments[0].startswith("-IPTC") and format_name in ("AVIF", "HEIF", "WEBP")):
            described = edit_with_exiftool(described, format_name, tmp_path, arguments)
    bare = edit_with_exiftool(described, format_name, tmp_path, EXIFTOOL_EDITS["all removed"])
    assert identity(plain) == identity(described) == identity(bare)


@pytest.mark.parametrize("name", EXIV2_EDITS)
@pytest.mark.parametrize("format_name", EXIV2_FORMATS)
def test_what_exiv2_writes_leaves_a_picture_what_it_is(format_name: str, name: str, tmp_path: Path) -> None:
    data = file_of(format_name)
    if format_name == "WEBP" and name == "an IPTC keyword":
        pytest.skip("IPTC has no place in this format")
    commands = [part for line in EXIV2_EDITS[name] for part in ("-M", line)]
    edited = edit(data, format_name, tmp_path, ["exiv2", *commands])
    assert identity(edited) == identity(data)


@pytest.mark.parametrize("format_name", ["JPEG", "PNG", "TIFF", "WEBP", "DNG"])
def test_another_orientation_is_the_same_picture_the_other_way_up(format_name: str, tmp_path: Path) -> None:
    data = file_of(format_name)
    turned = edit_with_exiftool(data, format_name, tmp_path, ["-n", "-EXIF:Orientation=6"])
    assert identity(data) == identity(turned)[:-1] + "1"
    assert identity(turned).endswith("/6")


@pytest.mark.parametrize("format_name", ["AVIF", "HEIF"])
def test_what_exif_says_of_the_way_up_does_not_count_in_heic_and_avif(format_name: str, tmp_path: Path) -> None:
    data = file_of(format_name)
    assert identity(data).endswith("/1")
    assert identity(edit_with_exiftool(data, format_name, tmp_path, ["-n", "-EXIF:Orientation=6"])) == identity(data)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format_name", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF", "HEIF"])
def test_the_suffix_is_the_orientation_that_the_file_was_written_with(format_name: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[Base.Orientation] = orientation
    data = file_of(format_name, exif=exif.tobytes())
    assert identity(data).endswith(f"/{orientation}")
    assert identity(data).split("/")[0] == identity(file_of(format_name)).split("/")[0]


@pytest.mark.parametrize("format_name", FORMATS)
def test_one_pixel_changed_makes_another_picture(format_name: str) -> None:
    image = photograph()
    one = file_of(format_name, image)
    if format_name == "DNG":
        other = one[:-1] + bytes([one[-1] ^ 1])
    else:
        image.putpixel((20, 20), (255, 0, 255))
        other = file_of(format_name, image)
    assert identity(one).split("/")[0] != identity(other).split("/")[0]


@given(at=st.integers(0, 64 * 48 - 1), change=st.integers(1, 255))
@pytest.mark.parametrize("format_name", ["PNG", "TIFF", "WEBP", "BMP"])
def test_any_changed_pixel_of_a_lossless_file_is_noticed(format_name: str, at: int, change: int) -> None:
    image = photograph()
    before = identity(file_of(format_name, image))
    red, green, blue = image.getpixel((at % 64, at // 64))  # type: ignore[misc]
    image.putpixel((at % 64, at // 64), (red ^ change, green, blue))
    assert identity(file_of(format_name, image)) != before


@pytest.mark.parametrize("quality", [30, 95])
@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_rows": 1}, {"optimize": True}])
def test_every_scan_of_a_jpeg_counts(options: dict[str, Any], quality: int) -> None:
    data = file_of("JPEG", quality=quality, **options)
    scans = [at for at in range(len(data)) if data[at : at + 2] == b"\xff\xda"]
    assert (len(scans) > 3) == ("progressive" in options)
    for scan in scans:
        at = next(at for at in range(scan + 20, len(data)) if 0 < data[at] < 0xF0 and data[at - 1] != 0xFF)
        assert identity(data[:at] + bytes([data[at] + 1]) + data[at + 1 :]) != identity(data)


@pytest.mark.parametrize("options", [{}, {"progressive": True}])
def test_what_lies_behind_the_end_of_a_jpeg_does_not_count(options: dict[str, Any]) -> None:
    """Previews of cameras, films of motion photos, gain maps."""
    data = file_of("JPEG", **options)
    assert identity(data + b"\0\0\0\x18ftypmp42" + bytes(1000)) == identity(data) == identity(data + data)


def test_the_colour_profile_counts() -> None:
    from tests.pictures.test_decode_colour import profile_with_swapped_primaries

    for format_name in ("JPEG", "PNG", "WEBP", "TIFF", "AVIF"):
        swapped = file_of(format_name, icc_profile=profile_with_swapped_primaries())
        assert identity(swapped) != identity(file_of(format_name)), format_name


def test_the_same_png_stream_in_other_chunks_is_the_same_picture() -> None:
    data = file_of("PNG")
    at = data.index(b"IDAT") - 4
    size = int.from_bytes(data[at : at + 4], "big")
    stream = data[at + 8 : at + 8 + size]

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    halves = chunk(b"IDAT", stream[:100]) + chunk(b"IDAT", stream[100:])
    assert identity(data[:at] + halves + data[at + 12 + size :]) == identity(data)


@pytest.mark.parametrize("format_name", ["GIF", "PNG", "WEBP"])
def test_every_frame_of_an_animation_counts(format_name: str) -> None:
    one = file_of(format_name, save_all=True, append_images=[photograph(1), photograph(2)])
    other = file_of(format_name, save_all=True, append_images=[photograph(1), photograph(3)])
    assert identity(one) != identity(other)


def test_a_grid_of_tiles_is_known_again_after_an_edit(tmp_path: Path) -> None:
    """Phones store a HEIC as tiles that share their properties."""
    if shutil.which("heif-enc") is None:
        pytest.skip("heif-enc is not installed")
    photograph(width=1100, height=700).save(tmp_path / "a.png")
    command = ["heif-enc", "-q", "50", "--thumb", "160", "-o", str(tmp_path / "a.heic"), str(tmp_path / "a.png")]
    subprocess.run(command, check=True, capture_output=True)
    data = (tmp_path / "a.heic").read_bytes()
    edited = edit_with_exiftool(data, "HEIF", tmp_path, ["-XMP:Subject+=beach"])
    assert identity(edited) == identity(data)


def test_a_bare_jpeg_xl_codestream_is_the_same_picture_in_boxes() -> None:
    bare = file_of("JXL")
    assert bare[:2] == b"\xff\x0a"
    start = struct.pack(">I4sI", 12, b"JXL ", 0x0D0A870A) + struct.pack(">I4s4sI4s", 20, b"ftyp", b"jxl ", 0, b"jxl ")
    whole = struct.pack(">I4s", 8 + len(bare), b"jxlc") + bare
    half = len(bare) // 2
    parts = struct.pack(">I4sI", 12 + half, b"jxlp", 0) + bare[:half]
    parts += struct.pack(">I4sI", 12 + len(bare) - half, b"jxlp", 1 << 31 | 1) + bare[half:]
    exif = struct.pack(">I4sI", 12, b"Exif", 0)
    assert identity(bare) == identity(start + exif + whole) == identity(start + parts + exif)


def test_a_jpeg_packed_as_jpeg_xl_is_known_again_after_an_edit(tmp_path: Path) -> None:
    pytest.importorskip("pillow_jxl")
    (tmp_path / "a.jpg").write_bytes(file_of("JPEG"))
    with Image.open(tmp_path / "a.jpg") as image:
        image.save(tmp_path / "b.jxl", lossless_jpeg=True)
    data = (tmp_path / "b.jxl").read_bytes()
    assert b"jbrd" in data
    assert identity(edit_with_exiftool(data, "JXL", tmp_path, ["-XMP:Subject+=beach"])) == identity(data)
    exif = struct.pack("<2sHIHHHIHHI", b"II", 42, 8, 1, 274, 3, 1, 6, 0, 0)
    turned = data + struct.pack(">I4sI", 12 + len(exif), b"Exif", 0) + exif
    assert identity(turned) == identity(data)[:-1] + "6"


def big_tiff(data: bytes) -> bytes:
    """A BigTIFF of the pixels of a plain little-endian TIFF with one strip; its directory lies behind the pixels."""
    image = Image.open(BytesIO(data))
    pixels = image.tobytes()
    tags = [
        (256, 4, image.width),
        (257, 4, image.height),
        (258, 3, 8 | 8 << 16 | 8 << 32),
        (259, 3, 1),
        (262, 3, 2),
        (273, 16, 16),
        (277, 3, 3),
        (278, 4, image.height),
        (279, 16, len(pixels)),
    ]
    directory = struct.pack("<Q", len(tags))
    for number, kind, value in tags:
        directory += struct.pack("<HHQQ", number, kind, 3 if number == 258 else 1, value)
    return struct.pack("<2sHHHQ", b"II", 43, 8, 0, 16 + len(pixels)) + pixels + directory + bytes(8)


def test_a_big_tiff_is_the_same_picture_wherever_its_data_lie() -> None:
    big = big_tiff(file_of("TIFF"))
    assert decode(big, limits=Limits(), fit=AtMost(100)).pixels.shape == (48, 64, 3)
    pixels = photograph().tobytes()
    at = big.index(pixels)
    moved = big[:at] + bytes(64) + big[at:]
    moved = moved[:8] + struct.pack("<Q", 16 + 64 + len(pixels)) + moved[16:]
    moved = moved.replace(struct.pack("<HHQQ", 273, 16, 1, 16), struct.pack("<HHQQ", 273, 16, 1, 16 + 64))
    assert decode(moved, limits=Limits(), fit=AtMost(100)).pixels.shape == (48, 64, 3)
    assert identity(moved) == identity(big)
    assert identity(big[:-300] + b"\xff" + big[-299:]) != identity(big)


def test_a_new_preview_leaves_a_raw_file_what_it_is() -> None:
    """DNG: the preview is the first directory, what the camera saw lies below it."""

    def raw_file(preview: bytes, mosaic: bytes) -> bytes:
        at = 8 + 2 * (2 + 12 * 7 + 4)
        below = 8 + 2 + 12 * 7 + 4
        first = [(254, 4, 1), (256, 4, 4), (257, 4, 4), (273, 4, at), (279, 4, len(preview)), (330, 4, below)]
        first += [(50706, 4, 0x0401)]
        second = [(254, 4, 0), (256, 4, 8), (257, 4, 8), (258, 3, 8), (262, 3, 32803), (273, 4, at + len(preview))]
        second += [(279, 4, len(mosaic))]
        data = struct.pack("<2sHI", b"II", 42, 8)
        for directory in (first, second):
            entries = (struct.pack("<HHII", number, kind, 1, value) for number, kind, value in directory)
            data += struct.pack("<H", 7) + b"".join(entries) + bytes(4)
        return data + preview + mosaic

    one = raw_file(b"preview", b"m" * 64)
    assert identity(one) == identity(raw_file(b"another and longer preview", b"m" * 64))
    assert identity(one) != identity(raw_file(b"preview", b"m" * 63 + b"n"))


def raf(jpeg: bytes) -> bytes:
    """The layout of Fujifilm's raw files: a preview, notes on the sensor, its data."""
    start, pad = 0x94, b"\0" * (4 - len(jpeg) % 4)
    notes, mosaic = b"notes on the sensor.", bytes(range(200))
    notes_at = start + len(jpeg) + len(pad)
    places = struct.pack(">6I", start, len(jpeg), notes_at, len(notes), notes_at + len(notes), len(mosaic))
    head = b"FUJIFILMCCD-RAW 0201FF389501X100".ljust(0x3C, b"\0") + b"0100"
    return head.ljust(84, b"\0") + places + bytes(start - 84 - len(places)) + jpeg + pad + notes + mosaic


def test_a_fujifilm_raw_is_the_same_picture_after_an_edit_of_its_preview(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[Base.Orientation] = 8
    data = raf(file_of("JPEG", exif=exif.tobytes()))
    assert identity(data).endswith("/8")
    assert identity(edit_with_exiftool(data, "RAF", tmp_path, ["-XMP:Subject+=beach"])) == identity(data)
    assert identity(data[:-1] + b"\0") != identity(data)
    assert identity(data[:-1] + b"\0").split("/")[0] != picture_id(data[:-1] + b"\0")


def test_a_canon_raw_is_its_media_data() -> None:
    def box(kind: bytes, payload: bytes) -> bytes:
        return struct.pack(">I4s", 8 + len(payload), kind) + payload

    def cr3(orientation: int, more: bytes, media: bytes) -> bytes:
        directory = struct.pack("<2sHIHHHIHHI", b"II", 42, 8, 1, 274, 3, 1, orientation, 0, 0)
        canon = box(b"uuid", bytes(16) + box(b"CNCV", b"CanonCR3") + box(b"CMT1", directory + more))
        return box(b"ftyp", b"crx \0\0\0\1crx isom") + box(b"moov", canon) + box(b"mdat", media)

    assert formats.detect_format(cr3(6, b"", b"m")) == "RAW"
    assert identity(cr3(6, b"", b"media")) == identity(cr3(6, b"a keyword", b"media"))
    assert identity(cr3(6, b"", b"media")).endswith("/6")
    assert identity(cr3(6, b"", b"media")) != identity(cr3(6, b"", b"medic"))


def test_a_raw_file_has_one_identity_however_it_is_announced() -> None:
    assert hash_pixels(dng(), "RAW") == hash_pixels(dng(), "TIFF")


def test_formats_that_cannot_be_taken_apart_are_hashed_whole() -> None:
    for data in (
        file_of("BMP"),
        b"\xff\xd8\xffnot a jpeg at all",
        b"GIF89a",
        b"\0\0\0\x18ftypheic",
        b"II*\0",
        b"II*\0\x08\0\0\0IIII" + bytes(99),
    ):
        assert identity(data) == f"{picture_id(data)}/1"
    assert hash_pixels(b"a format of another package", "OTHER") == f"{picture_id(b'a format of another package')}/1"


@pytest.mark.parametrize("format_name", [*FORMATS, "BMP"])
def test_no_damage_upsets_the_identity(format_name: str) -> None:
    data = file_of(format_name)
    chance = random.Random(format_name)
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 6)):  # headers are where structure is
            broken[chance.randrange(min(len(broken), 700))] = chance.randrange(256)
        cut = bytes(broken[: chance.randint(1, len(broken))])
        for announced in (format_name.replace("DNG", "RAW"), "HEIF", "TIFF"):
            uuid, _, orientation = hash_pixels(cut, announced).partition("/")
            assert (len(uuid), orientation in set("12345678")) == (36, True)


def test_a_tiff_that_claims_its_bytes_over_and_over_costs_no_more_than_its_size() -> None:
    """10,000 strips, each the whole file: hashed as a whole instead."""
    count = 10_000
    data = bytearray(struct.pack("<2sHI", b"II", 42, 8))
    lengths_at = 8 + 2 + 12 * 3 + 4
    for number, kind, many, value in ((256, 4, 1, 8), (273, 4, count, lengths_at), (279, 4, count, lengths_at)):
        if number == 256:
            data += struct.pack("<H", 3)
        data += struct.pack("<HHII", number, kind, many, value)
    data += bytes(4) + struct.pack("<I", 40_000) * count + bytes(40_000)
    assert hash_pixels(bytes(data), "TIFF") == hash_pixels(bytes(data), "")


def test_a_text_that_unpacks_to_very_much_is_not_unpacked() -> None:
    data = file_of("PNG")
    bomb = b"zTXtRaw profile type exif\0\0" + zlib.compress(b"\n" * 50_000_000)
    chunk = struct.pack(">I", len(bomb) - 4) + bomb + struct.pack(">I", zlib.crc32(bomb))
    many = data[:33] + chunk * 2_000 + data[33:]  # a hundred gigabytes
    assert identity(many) == identity(data)


def test_exif_in_a_text_chunk_of_png_says_which_way_is_up(tmp_path: Path) -> None:
    """As ImageMagick writes it; Pillow reads it too."""
    exif = struct.pack("<2sHIHHHIHHI", b"II", 42, 8, 1, 274, 3, 1, 6, 0, 0)
    body = b"zTXtRaw profile type exif\0\0" + zlib.compress(f"\nexif\n  {len(exif)}\n{exif.hex()}\n".encode())
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    data = file_of("PNG")
    data = data[:33] + chunk + data[33:]
    assert identity(data).endswith("/6")
    assert decode(data, limits=Limits(), fit=AtMost(100)).pixels.shape == (64, 48, 3)


def test_a_gif_of_very_many_blocks_is_hashed_whole() -> None:
    start = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0, 0, 0) + b"," + bytes(9) + b"\2"
    data = start + b"\1\0" * 3_000_000
    tiny = start + b"\1\1" * 3_000_000
    assert hash_pixels(tiny, "GIF") == f"{picture_id(tiny)}/1"
    assert hash_pixels(data, "GIF").endswith("/1")


def test_directories_that_point_at_one_another_end() -> None:
    loop = struct.pack("<2sHIHHHIII", b"II", 42, 8, 1, 256, 4, 1, 8, 8)
    assert hash_pixels(loop, "TIFF").endswith("/1")


@pytest.mark.parametrize("orientation", range(10))
@pytest.mark.parametrize("kind", [1, 3, 4, 5])
def test_an_exif_block_is_understood_as_pillow_understands_it(orientation: int, kind: int) -> None:
    for order in "<>":
        value = struct.pack(order + {1: "B", 3: "H", 4: "I", 5: "I"}[kind], orientation).ljust(4, b"\0")
        mark = b"II" if order == "<" else b"MM"
        block = mark + struct.pack(order + "HIHHHI", 42, 8, 1, 274, kind, 1) + value + bytes(12)
        exif = Image.Exif()
        exif.load(b"Exif\0\0" + block)
        assert read_exif_orientation(b"Exif\0\0" + block) == formats.read_orientation(exif), (order, kind)
