"""viewfinder.pictures.facts.embedded: what comes before what, the texts of PNG, GIF and JPEG, and damaged files."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pictures.facts.tagged_pictures import (
    box,
    cr3,
    exif_block,
    gif,
    iptc_block,
    items,
    jpeg,
    jxl,
    plain,
    png,
    position,
    raf,
    tiff,
    tiff_block,
    xmp_packet,
)
from viewfinder.pictures.facts.embedded import read_container, read_embedded
from viewfinder.pictures.facts.model import merge_facts

EXIF = exif_block(
    ImageDescription="by EXIF", Artist="Jane Doe", DateTimeOriginal="2019:07:14 10:03:00", Rating=1, gps=position(1, 2)
)
XMP = xmp_packet(
    items("dc:description", ["by XMP"], "Alt")
    + items("dc:subject", ["beach"])
    + items("dc:creator", ["jane doe"], "Seq"),
    xmp__Rating="5",
    exif__DateTimeOriginal="1999-01-01",
)
IPTC = iptc_block((120, b"by IPTC"), (25, b"Beach"), (25, b"sea"))


def told(data: bytes, announced: str = "JPEG") -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for fact in merge_facts(read_embedded(data, announced)):
        found[fact.name] = found.get(fact.name, ()) + fact.values
    return found


def test_words_are_those_of_xmp_then_iptc_then_exif_and_dates_the_other_way_round() -> None:
    all_three = told(jpeg(exif=EXIF, xmp=XMP, iptc=IPTC))
    assert (all_three["description"], all_three["rating"]) == (("by XMP",), ("5",))
    assert all_three["captured"] == ("2019-07-14T10:03:00",)
    assert all_three["keywords"] == ("beach", "sea")
    assert all_three["creator"] == ("jane doe",)
    assert told(jpeg(exif=EXIF, iptc=IPTC))["description"] == ("by IPTC",)
    assert told(jpeg(exif=EXIF))["description"] == ("by EXIF",)


def test_a_comment_that_says_more_is_added_to_the_description() -> None:
    block = exif_block(ImageDescription="Oslo", UserComment=b"ASCII\0\0\0with Anna")
    [description] = [fact for fact in read_embedded(jpeg(exif=block), "JPEG") if fact.name == "description"]
    assert description.values == ("Oslo\nwith Anna",)
    assert description.source == "EXIF ImageDescription, EXIF UserComment"
    block = exif_block(ImageDescription="Oslo with Anna", UserComment=b"ASCII\0\0\0with Anna")
    assert told(jpeg(exif=block))["description"] == ("Oslo with Anna",)


def test_the_texts_of_a_png_are_read_by_their_keywords() -> None:
    texts = {
        "Title": "Sunrise",
        "Description": "Über dem Meer",
        "Author": "Jane Doe; John Roe",
        "Comment": "Taken from the boat",
        "Keywords": "sea, sun",
        "Software": "A program",
        "Copyright": "Nobody",
    }
    for pack in (False, True):
        assert told(png(texts=texts, pack=pack), "PNG") == {
            "title": ("Sunrise",),
            "description": ("Über dem Meer\nTaken from the boat",),
            "creator": ("Jane Doe", "John Roe"),
            "keywords": ("sea", "sun"),
        }


def test_a_png_whose_metadata_comes_after_its_pixels_is_read_to_the_end() -> None:
    data = png(texts={"Title": "Sunrise"})
    start = data.index(b"tEXt") - 4
    end = start + 12 + int.from_bytes(data[start : start + 4], "big")
    last = data.index(b"IEND") - 4
    moved = data[:start] + data[end:last] + data[start:end] + data[last:]
    assert told(moved, "PNG") == {"title": ("Sunrise",)}


def test_a_text_that_unpacks_without_end_is_cut_off() -> None:
    content = b"Description\0\0" + zlib.compress(b"a" * 20_000_000, 9)
    chunk = len(content).to_bytes(4, "big") + b"zTXt" + content + bytes(4)
    data = plain("PNG")
    began = time.process_time()
    assert len(told(data[:33] + chunk * 1_000 + data[33:], "PNG")["description"][0]) == 10_000
    assert time.process_time() - began < 2


def test_comments_of_gif_and_jpeg_are_descriptions_unless_a_program_wrote_them() -> None:
    assert told(gif(comment=b"A dancing cat"), "GIF") == {"description": ("A dancing cat",)}
    assert told(jpeg(comment=b"Our house")) == {"description": ("Our house",)}
    assert told(jpeg(comment=b"CREATOR: gd-jpeg v1.0 (using IJG JPEG v62), quality = 90")) == {}
    assert told(plain("GIF", comment=b"Created with GIMP"), "GIF") == {}


def test_a_gif_with_xmp_and_a_comment_tells_both() -> None:
    data = gif(xmp=xmp_packet(items("dc:subject", ["cat"])), comment=b"A dancing cat")
    assert told(data, "GIF") == {"keywords": ("cat",), "description": ("A dancing cat",)}


def test_a_jpeg_xl_tells_its_plain_and_its_packed_boxes() -> None:
    brotli = pytest.importorskip("brotli")
    exif, xmp = bytes(4) + tiff_block(Make="Canon"), xmp_packet(xmp__Label="Red")
    plainly = jxl(box(b"Exif", exif), box(b"xml ", xmp))
    packed = jxl(box(b"brob", b"Exif" + brotli.compress(exif)), box(b"brob", b"xml " + brotli.compress(xmp)))
    assert told(plainly, "JXL") == told(packed, "JXL") == {"label": ("Red",), "camera": ("Canon",)}


def test_a_packed_box_that_unpacks_without_end_is_cut_off() -> None:
    brotli = pytest.importorskip("brotli")
    bomb = brotli.compress(bytes(60_000_000), quality=1)
    began = time.process_time()
    assert told(jxl(box(b"brob", b"xml " + bomb)), "JXL") == {}
    assert time.process_time() - began < 2


def test_an_item_of_a_heic_that_is_the_whole_file_a_thousand_times_is_cut_off() -> None:
    entry = box(b"infe", b"\2\0\0\0\0\1\0\0Exif\0")
    info = box(b"iinf", bytes(4) + b"\0\1" + entry)
    location = bytes(4) + b"\x44\0" + b"\0\1" + b"\0\1\0\0" + (1_000).to_bytes(2, "big")
    places = box(b"iloc", location + (bytes(4) + (20_000_000).to_bytes(4, "big")) * 1_000)
    data = box(b"ftyp", b"heic\0\0\0\0heic") + box(b"meta", bytes(4) + info + places) + bytes(20_000_000)
    began = time.process_time()
    assert read_embedded(data, "HEIF") == ()
    assert time.process_time() - began < 2


def test_the_box_of_exif_is_read_with_its_offset_and_without() -> None:
    block = tiff_block(Make="Canon")
    for content in (bytes(4) + block, b"\0\0\0\6Exif\0\0" + block, b"\xff\xff\xff\xffExif\0\0" + block, block):
        assert told(jxl(box(b"Exif", content)), "JXL") == {"camera": ("Canon",)}


def test_a_jpeg_xl_as_its_plugin_writes_it_is_read() -> None:
    pytest.importorskip("pillow_jxl")
    assert told(plain("JXL", exif=exif_block(Make="Canon"), xmp=xmp_packet(xmp__Label="Red")), "JXL") == {
        "label": ("Red",),
        "camera": ("Canon",),
    }


def test_a_format_without_metadata_says_nothing() -> None:
    assert read_embedded(plain("BMP"), "BMP") == ()
    assert read_embedded(b"", "JPEG") == ()
    assert read_embedded(b"anything", "OTHER") == ()


def heic() -> bytes:
    pytest.importorskip("pillow_heif").register_heif_opener()
    return plain("HEIF", exif=EXIF, xmp=XMP)


FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "jpeg": ("JPEG", lambda: jpeg(exif=EXIF, xmp=XMP, iptc=IPTC, comment=b"Our house")),
    "png": ("PNG", lambda: png(exif=EXIF, xmp=XMP, texts={"Title": "Sunrise", "Comment": "At sea"}, pack=True)),
    "webp": ("WEBP", lambda: plain("WEBP", exif=EXIF, xmp=XMP)),
    "gif": ("GIF", lambda: gif(xmp=XMP, comment=b"A cat")),
    "tiff": ("TIFF", lambda: tiff(tags={700: XMP, 33723: IPTC, 270: b"A word"})),
    "avif": ("AVIF", lambda: plain("AVIF", exif=EXIF, xmp=XMP)),
    "heic": ("HEIF", heic),
    "cr3": ("RAW", lambda: cr3(main={271: "Canon"}, details={36867: "2019:07:14 10:03:00"}, gps={}, xmp=XMP)),
    "raf": ("RAW", lambda: raf(jpeg(exif=EXIF))),
    "orf": ("RAW", lambda: tiff_block(magic=b"IIRO", Make="OLYMPUS", DateTimeOriginal="2019:07:14 10:03:00")),
    "jxl": ("JXL", lambda: jxl(box(b"Exif", bytes(4) + tiff_block(Make="Canon")), box(b"xml ", XMP))),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_ends_anywhere_is_read_without_complaint(kind: str) -> None:
    announced, make = FILES[kind]
    data = make()
    whole = read_embedded(data, announced)
    assert whole
    for end in range(0, len(data), max(1, len(data) // 150)):
        read_embedded(data[:end], announced)
        read_container(data[:end], announced)
    assert read_embedded(data + bytes(1000), announced) == whole


@pytest.mark.parametrize("kind", FILES)
@given(data=st.data())
def test_a_file_with_wrong_bytes_is_read_without_complaint_and_soon(kind: str, data: st.DataObject) -> None:
    announced, make = FILES[kind]
    spoiled = bytearray(make())
    for place in data.draw(st.lists(st.integers(0, len(spoiled) - 1), min_size=1, max_size=12)):
        spoiled[place] = data.draw(st.sampled_from([0, 1, 8, 127, 128, 254, 255]) | st.integers(0, 255))
    began = time.process_time()
    read_embedded(bytes(spoiled), announced)
    read_container(bytes(spoiled), announced)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("announced", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "AVIF", "HEIF", "RAW", "JXL"])
@given(data=st.binary(max_size=400))
def test_noise_says_nothing_that_is_no_text(announced: str, data: bytes) -> None:
    for fact in read_embedded(data, announced):
        assert all(isinstance(value, str) and value.encode() for value in fact.values)
