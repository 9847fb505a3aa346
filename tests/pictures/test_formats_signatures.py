"""viewfinder.pictures.formats"""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from viewfinder.pictures.formats import detect_format, is_camera_raw, read_jxl_size, read_webp_canvas, show_first_bytes

WRITTEN = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")


def written(format_name: str, size: tuple[int, int] = (20, 10), **options: object) -> bytes:
    out = BytesIO()
    Image.new("RGB", size, "red").save(out, format_name, **options)
    return out.getvalue()


@pytest.mark.parametrize("format_name", WRITTEN)
def test_what_pillow_writes_is_known_by_its_first_bytes(format_name: str) -> None:
    assert detect_format(written(format_name)[:64]) == format_name


@pytest.mark.parametrize(
    ("start", "format_name"),
    [
        (b"II*\x00\x10\x00\x00\x00CR\x02\x00", "RAW"),
        (b"FUJIFILMCCD-RAW 0201", "RAW"),
        (b"IIRO\x08\x00", "RAW"),
        (b"IIU\x00\x08\x00", "RAW"),
        (b"II\x1a\x00\x00\x00HEAPCCDR\x02\x00\x01\x00", "RAW"),
        (b"FOVb\x00\x00\x02\x00", "RAW"),
        (b"\x00MRM\x00\x01\x00\x00", "RAW"),
        (b"II*\x00\x08\x01\x00\x00IIIITwaR", "RAW"),
        (b"MM\x00*\x00\x00\x00\x10MMMMRawT", "RAW"),
        (b"\xff\x0a\xfa\x1f", "JXL"),
        (b"\x00\x00\x00\x0cJXL \r\n\x87\n\x00\x00\x00\x14ftypjxl ", "JXL"),
        (b"\x00\x00\x00\x24ftypheix\x00\x00\x00\x00mif1MiHBheix", "HEIF"),  # Canon's HIF
        (b"\x00\x00\x00\x18ftyphevc\x00\x00\x00\x00msf1hevc", "HEIF"),  # a sequence
        (b"\x00\x00\x00\x18ftypavis\x00\x00\x00\x00avifavis", "AVIF"),
        (b"\x00\x00\x00\x18ftypcrx \x00\x00\x00\x01crx isom", "RAW"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "HEIF"),
        (b"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avifmiaf", "AVIF"),
        (b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp41", None),
        (b"BMW prices 2021, in euros, by dealer", None),
        (b"%PDF-1.7", None),
        (b"", None),
    ],
)
def test_other_starts_are_told_apart(start: bytes, format_name: str | None) -> None:
    assert detect_format(start) == format_name


@pytest.mark.parametrize("options", [{}, {"lossless": True}, {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}])
def test_the_three_kinds_of_webp_tell_their_size(options: dict[str, object]) -> None:
    assert read_webp_canvas(written("WEBP", (321, 123), **options)) == (321, 123)


def test_an_opening_is_readable_text_or_hexadecimal() -> None:
    assert show_first_bytes(b"<html>") == "'<html>'"
    assert show_first_bytes(b"\x00\x01\xff and so on") == "the bytes 00 01 ff 20 61 6e"


@given(st.binary(max_size=80))
def test_no_bytes_upset_the_signatures(data: bytes) -> None:
    detect_format(data)
    read_webp_canvas(data)
    read_jxl_size(data)
    read_jxl_size(b"\xff\x0a" + data)
    is_camera_raw(b"II*\x00\x08\x00\x00\x00" + data)
    assert show_first_bytes(data).isprintable()


def test_a_line_break_at_the_start_of_a_file_breaks_no_message() -> None:
    assert show_first_bytes(b"!\r\n!") == "'! !'"
