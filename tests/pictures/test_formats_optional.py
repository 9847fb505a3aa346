"""viewfinder.pictures.formats: HEIC, JPEG XL, and raw files written here by hand."""

from __future__ import annotations

import struct
import sys
import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from viewfinder.errors import PictureError
from viewfinder.pictures import formats
from viewfinder.pictures.decode import Limits, decode
from viewfinder.pictures.fits import AtMost, Stretch
from viewfinder.pictures.formats import detect_format, is_camera_raw, read_jxl_size

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


def directory(at: int, tags: list[tuple[int, int, int, bytes]]) -> bytes:
    """One directory of a little-endian TIFF file, to stand at an offset, with the values that lie behind it."""
    after = at + 2 + 12 * len(tags) + 4
    entries, extra = b"", b""
    for tag, kind, count, value in tags:
        place = value.ljust(4, b"\0") if len(value) <= 4 else struct.pack("<I", after + len(extra))
        extra += value + b"\0" * (len(value) % 2) if len(value) > 4 else b""
        entries += struct.pack("<HHI", tag, kind, count) + place
    return struct.pack("<H", len(tags)) + entries + bytes(4) + extra


def dng_with_preview(compression: int, preview: bytes, orientation: int = 1) -> bytes:
    """A DNG whose mosaic is compressed in some way, and that has a JPEG file of 96 x 64 as its preview."""
    matrix = [value for number in (1, 0, 0, 0, 1, 0, 0, 0, 1) for value in (number, 1)]

    def number(value: int) -> bytes:
        return struct.pack("<I", value)

    def first(preview_at: int, mosaic_directory: int) -> bytes:
        tags = [
            (254, 4, 1, number(1)),
            (256, 4, 1, number(96)),
            (257, 4, 1, number(64)),
            (258, 3, 3, struct.pack("<HHH", 8, 8, 8)),
            (259, 3, 1, number(7)),
            (262, 3, 1, number(6)),
            (271, 2, 5, b"Pinho"),
            (272, 2, 7, b"Pinhole"),
            (273, 4, 1, number(preview_at)),
            (274, 3, 1, number(orientation)),
            (277, 3, 1, number(3)),
            (278, 4, 1, number(64)),
            (279, 4, 1, number(len(preview))),
            (330, 4, 1, number(mosaic_directory)),
            (50706, 1, 4, bytes([1, 7, 0, 0])),
            (50708, 2, 8, b"Pinhole\0"),
            (50721, 10, 9, struct.pack("<18i", *matrix)),
            (50728, 5, 3, struct.pack("<6I", 1, 1, 1, 1, 1, 1)),
        ]
        return directory(8, tags)

    def second(at: int, mosaic_at: int, length: int) -> bytes:
        tags = [
            (254, 4, 1, number(0)),
            (256, 4, 1, number(WIDTH)),
            (257, 4, 1, number(HEIGHT)),
            (258, 3, 1, number(16)),
            (259, 3, 1, number(compression)),
            (262, 3, 1, number(32803)),
            (273, 4, 1, number(mosaic_at)),
            (277, 3, 1, number(1)),
            (278, 4, 1, number(HEIGHT)),
            (279, 4, 1, number(length)),
            (33421, 3, 2, struct.pack("<HH", 2, 2)),
            (33422, 1, 4, bytes([0, 1, 1, 2])),
        ]
        return directory(at, tags)

    mosaic = b"\xff\x0a" + bytes(2 * WIDTH * HEIGHT - 2)
    second_at = 8 + len(first(0, 0))
    preview_at = second_at + len(second(0, 0, 0))
    directories = first(preview_at, second_at) + second(second_at, preview_at + len(preview), len(mosaic))
    return b"II*\0" + struct.pack("<I", 8) + directories + preview + mosaic


JPEG_XL = 52546
"""How DNG 1.7 numbers this compression."""


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_of_a_dng_in_jpeg_xl_the_preview_is_taken(orientation: int) -> None:
    """Red above blue in the sensor's own position."""
    pytest.importorskip("rawpy")
    stored = Image.new("RGB", (96, 64), (200, 30, 30))
    stored.paste((30, 30, 200), (0, 32, 96, 64))
    preview = BytesIO()
    stored.save(preview, "JPEG", quality=95)
    picture = decode(dng_with_preview(JPEG_XL, preview.getvalue(), orientation), limits=Limits(), fit=AtMost(96))
    turned = orientation in (6, 8)
    assert (picture.facts.width, picture.facts.height) == ((HEIGHT, WIDTH) if turned else (WIDTH, HEIGHT))
    assert picture.facts.format == "RAW"
    red = {1: picture.pixels[:20], 3: picture.pixels[-20:], 6: picture.pixels[:, -20:], 8: picture.pixels[:, :20]}
    assert np.abs(red[orientation].reshape(-1, 3).astype(int) - (200, 30, 30)).max() < 20


def test_a_raw_file_that_nothing_reads_says_so_in_words() -> None:
    pytest.importorskip("rawpy")
    with pytest.raises(
        PictureError, match="RAW of a kind that LibRaw does not read: Unsupported file format"
    ) as caught:
        decode(dng_with_preview(JPEG_XL, b"no JPEG at all"), limits=Limits(), fit=Stretch())
    assert "b'" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError(b"Input/output error"), "Input/output error"),
        (ValueError("cannot read: b'Unsupported file' here"), "cannot read: Unsupported file here"),
        (ValueError('bad b"chunk\'s" name'), "bad chunk's name"),
        (ValueError("two\n  lines"), "two"),
        (ValueError("\x1b[31mred\0"), "[31mred"),
        (ValueError("grab'n'go"), "grab'n'go"),
        (ValueError(), "ValueError"),
        (OSError(2, "No such file"), "[Errno 2] No such file"),
    ],
)
def test_what_a_library_says_reaches_people_as_text(error: Exception, text: str) -> None:
    assert formats.say_error(error) == text


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
        ("pillow_jxl", b"\xff\x0a\xfa\x1f", "pip install 'viewfinder[jxl]'"),
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


def jxl(image: Image.Image, **options: object) -> bytes:
    pytest.importorskip("pillow_jxl")
    out = BytesIO()
    image.save(out, "JXL", **options)
    return out.getvalue()


def halves(width: int = 60, height: int = 40) -> Image.Image:
    """White above, black below."""
    image = Image.new("RGB", (width, height), "white")
    image.paste("black", (0, height // 2, width, height))
    return image


@pytest.mark.parametrize("options", [{}, {"use_container": True}, {"lossless": True}])
def test_jpeg_xl_is_read_by_the_extra(options: dict[str, object]) -> None:
    picture = decode(jxl(halves(), **options), limits=Limits(), fit=AtMost(60))
    assert (picture.facts.format, picture.facts.width, picture.facts.height) == ("JXL", 60, 40)
    assert picture.pixels[5].mean() > 240
    assert picture.pixels[35].mean() < 15


def test_a_jpeg_packed_into_jpeg_xl_is_turned_as_it_was_and_another_is_upright_already(tmp_path: Path) -> None:
    pytest.importorskip("pillow_jxl")
    held = Image.Exif()
    held[ExifTags.Base.Orientation] = 6
    halves().save(tmp_path / "a.jpg", exif=held)
    with Image.open(tmp_path / "a.jpg") as image, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image.save(tmp_path / "a.jxl")
    packed = decode((tmp_path / "a.jxl").read_bytes(), limits=Limits(), fit=AtMost(60))
    assert (packed.facts.width, packed.facts.height) == (40, 60)
    assert packed.pixels[:, 35].mean() > 240
    plain = decode(jxl(halves(), exif=held.tobytes(), use_container=True), limits=Limits(), fit=AtMost(60))
    assert (plain.facts.width, plain.facts.height) == (60, 40)


@pytest.mark.parametrize("cut", [2, 3, 12, 40, 200])
def test_a_truncated_jpeg_xl_is_said_so(cut: int) -> None:
    with pytest.raises(PictureError, match=r"^truncated or damaged JXL$"):
        decode(jxl(Image.effect_noise((64, 64), 50).convert("RGB"))[:cut], limits=Limits(), fit=Stretch())


def test_a_jpeg_xl_over_the_limit_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = jxl(halves())
    from pillow_jxl import JpegXLImagePlugin

    monkeypatch.setattr(JpegXLImagePlugin, "Decoder", None)
    with pytest.raises(PictureError, match="too many pixels: 60 x 40"):
        decode(data, limits=Limits(max_pixels=2_399), fit=Stretch())


@pytest.mark.parametrize(
    "size",
    [
        (1, 1), (8, 8), (256, 256), (240, 200), (640, 480), (300, 200), (320, 180), (50, 40), (256, 128),
        (255, 8), (1_000, 3), (7, 2_000), (4_000, 5), (513, 600),
    ],
)  # fmt: skip
def test_the_size_of_a_jpeg_xl_is_in_its_header(size: tuple[int, int]) -> None:
    image = Image.new("RGB", size, "red")
    assert read_jxl_size(jxl(image)) == read_jxl_size(jxl(image, use_container=True)) == size


def test_boxes_that_never_end_have_no_size() -> None:
    start = b"\x00\x00\x00\x0cJXL \r\n\x87\n"
    for box in (
        b"",
        b"\0\0\0\0free",
        b"\0\0\0\x01free" + bytes(8),
        b"\0\0\0\x08free" * 3_000,
        b"\0\0\0\x0cjxlc\xff\xd8\0\0",
    ):
        assert read_jxl_size(start + box) is None


def tiff(*directories: list[tuple[int, int, int]], order: str = "<") -> bytes:
    """A TIFF file of directories of (tag, kind, value); a value of SubIFDs (330) is the number of a directory."""
    starts = [8]
    for directory in directories:
        starts.append(starts[-1] + 2 + 12 * len(directory) + 4)
    out = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", 8)
    for directory in directories:
        out += struct.pack(f"{order}H", len(directory))
        for tag, kind, value in sorted(directory):
            said = starts[value] if tag == 330 else value
            packed = struct.pack(f"{order}HH", said, 0) if kind == 3 else struct.pack(f"{order}I", said)
            out += struct.pack(f"{order}HHI", tag, kind, 1) + packed
        out += struct.pack(f"{order}I", 0)
    return out


SENSOR = [(256, 3, 60), (257, 3, 40), (262, 3, 32803)]
SMALL = [(254, 4, 1), (256, 3, 16), (257, 3, 12), (262, 3, 2), (330, 4, 1)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    "directories",
    [
        [SENSOR],
        [SMALL, SENSOR],  # NEF, ARW, DCR, ERF, 3FR
        [[(256, 3, 160), (257, 3, 120), (262, 3, 2), (330, 4, 1)], SENSOR],  # whose first says nothing of being small
        [[(256, 3, 60), (257, 3, 40), (259, 3, 65535), (262, 3, 1)]],  # Pentax
        [[(256, 3, 60), (257, 3, 40), (259, 3, 32770), (262, 3, 1)]],  # Samsung
        [[(256, 3, 16), (257, 3, 12), (330, 4, 1)], [(256, 3, 60), (257, 3, 40), (259, 3, 65000)]],  # Kodak
        [[(256, 3, 60), (257, 3, 40), (277, 3, 1), (33422, 1, 0)]],
    ],
)
def test_camera_files_that_are_tiff_are_known_by_their_directories(
    directories: list[list[tuple[int, int, int]]], order: str
) -> None:
    data = tiff(*directories, order=order)
    assert detect_format(data) == "TIFF"
    assert is_camera_raw(data)


@pytest.mark.parametrize(
    "data",
    [
        tiff([(256, 3, 60), (257, 3, 40), (259, 3, 1), (262, 3, 2), (277, 3, 3)]),
        tiff([(256, 3, 60), (257, 3, 40), (259, 3, 32773), (262, 3, 1)]),  # PackBits
        tiff([(256, 3, 60), (262, 3, 2), (277, 3, 3), (33422, 1, 0)]),  # developed, and its tags copied
        tiff([(256, 3, 60), (330, 4, 0)]),  # leads to itself
        tiff([(256, 3, 60), (330, 4, 1)])[:-3],
        b"II*\0\xff\xff\xff\xff",
        b"II*\0",
    ],
)
def test_scans_and_developed_pictures_and_what_is_damaged_are_no_camera_files(data: bytes) -> None:
    assert not is_camera_raw(data)


def test_directories_without_end_are_not_followed_for_ever() -> None:
    chain = [[(256, 3, 60), (330, 4, number + 1)] for number in range(500)] + [SENSOR]
    assert not is_camera_raw(tiff(*chain))
