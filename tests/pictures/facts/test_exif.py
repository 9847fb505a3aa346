"""viewfinder.pictures.facts.exif"""

from __future__ import annotations

import pytest
from PIL.ExifTags import GPS
from PIL.TiffImagePlugin import IFDRational

from tests.pictures.facts.tagged_pictures import (
    cr3,
    exif_block,
    iptc_block,
    jpeg,
    photoshop_resources,
    position,
    tiff,
    xmp_packet,
)
from viewfinder.pictures.facts.embedded import read_embedded
from viewfinder.pictures.facts.exif import load_directories, name_lens, read_percent, read_user_comment
from viewfinder.pictures.facts.model import find_value, merge_facts


def facts_of(data: bytes, announced: str = "JPEG") -> dict[str, tuple[str, ...]]:
    return {fact.name: fact.values for fact in merge_facts(read_embedded(data, announced))}


def windows(text: str) -> bytes:
    return text.encode("utf-16-le") + b"\0\0"


def test_the_fields_of_windows_are_read_with_their_separators() -> None:
    block = exif_block(
        XPTitle=windows("Am Meer 海"),
        XPKeywords=windows("beach;sea; Orte/Chur"),
        XPAuthor=windows("Ana; Jürgen"),
        XPComment=windows("Rain all day"),
        XPSubject=windows("A walk"),
        ImageDescription="Am Meer",
        Rating=4,
    )
    assert facts_of(jpeg(exif=block)) == {
        "title": ("Am Meer 海",),
        "description": ("Am Meer\nRain all day\nA walk",),
        "keywords": ("beach", "sea", "Chur", "Orte"),
        "creator": ("Ana", "Jürgen"),
        "rating": ("4",),
    }


def test_percents_of_windows_are_stars() -> None:
    assert [read_percent(str(percent)) for percent in (0, 1, 25, 50, 75, 99)] == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    "description",
    ["OLYMPUS DIGITAL CAMERA", "DCIM\\100MEDIA\\DJI_0001.JPG", "SAMSUNG", "          ", "<untitled>", "---", "oznor"],
)
def test_what_cameras_fill_in_is_no_description(description: str) -> None:
    assert "description" not in facts_of(jpeg(exif=exif_block(ImageDescription=description)))


@pytest.mark.parametrize("description", ["Samsung building in Seoul", "Screenshot", "❤", "日の出", "1984"])
def test_what_people_write_is_one(description: str) -> None:
    block = exif_block(ImageDescription=description.encode())
    assert facts_of(jpeg(exif=block))["description"] == (description,)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"ASCII\0\0\0Hello\0\0\0", "Hello"),
        (b"UNICODE\0" + "Übung".encode("utf-16-be"), "Übung"),
        (b"UNICODE\0" + "Übung".encode("utf-16-le"), "Übung"),
        (b"UNICODE\0" + "\ufeff海".encode("utf-16-le"), "海"),
        (b"UNICODE\0" + "海辺".encode("utf-16-le"), "海辺"),
        (b"JIS\0\0\0\0\0" + "海".encode("iso2022_jp"), "海"),
        (b"\0" * 8 + "Zürich".encode("latin-1"), "Zürich"),
        (b"ASCII\0\0\0" + "Zürich".encode(), "Zürich"),
        (b"no charset at all", "no charset at all"),
        (b"\0" * 200, ""),
        (b"ASCII\0\0\0" + b" " * 60, ""),
        (b"", ""),
        ("a text", "a text"),
        (7, ""),
    ],
)
def test_a_comment_is_read_in_the_alphabet_that_it_names(value: object, text: str) -> None:
    assert read_user_comment(value, is_big_endian=False) == text


def test_a_position_is_signed_by_its_letters_and_its_height_by_its_reference() -> None:
    told = facts_of(jpeg(exif=exif_block(gps=position(-33.8568, 151.2153, -3.5))))
    assert (told["latitude"], told["longitude"], told["altitude"]) == (("-33.8568",), ("151.2153",), ("-3.5",))


UNKNOWN = IFDRational(0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {GPS.GPSLatitude: (UNKNOWN, UNKNOWN, UNKNOWN)},
        {GPS.GPSLatitude: (0.0, 0.0, 0.0), GPS.GPSLongitude: (0.0, 0.0, 0.0)},
        {GPS.GPSLatitude: (95.0, 0.0, 0.0)},
        {GPS.GPSLongitude: (1e9, 0.0, 0.0)},
        {GPS.GPSLatitudeRef: ""},
        {GPS.GPSLongitudeRef: "?"},
    ],
)
def test_a_position_that_is_not_known_is_none(change: dict[int, object]) -> None:
    told = facts_of(jpeg(exif=exif_block(gps=position(52.5, 13.4, 30.0) | change)))
    assert not {"latitude", "longitude", "altitude"} & set(told)


def test_seconds_that_are_not_known_leave_the_rest() -> None:
    gps = position(52.5, 13.4) | {GPS.GPSLatitude: (52.0, 30.0, UNKNOWN), GPS.GPSAltitude: UNKNOWN}
    told = facts_of(jpeg(exif=exif_block(gps=gps)))
    assert (told["latitude"], told["longitude"]) == (("52.5",), ("13.4",))
    assert "altitude" not in told


def test_coordinates_are_of_one_source_never_mixed() -> None:
    gps = position(52.5, 13.4)
    del gps[GPS.GPSLongitude]
    xmp = xmp_packet(exif__GPSLatitude="10,0N", exif__GPSLongitude="20,0E")
    told = merge_facts(read_embedded(jpeg(exif=exif_block(gps=gps), xmp=xmp), "JPEG"))
    assert (find_value(told, "latitude"), find_value(told, "longitude")) == ("10", "20")


def test_exifs_position_comes_before_xmps() -> None:
    xmp = xmp_packet(exif__GPSLatitude="10,0N", exif__GPSLongitude="20,0E")
    told = merge_facts(read_embedded(jpeg(exif=exif_block(gps=position(52.5, 13.4)), xmp=xmp), "JPEG"))
    assert (find_value(told, "latitude"), find_value(told, "longitude")) == ("52.5", "13.4")


@pytest.mark.parametrize("text", ["", "----", "0.0 mm f/0.0", "Unknown (0)", "N/A", "65535", "None"])
def test_no_lens_is_none(text: str) -> None:
    assert name_lens(text) is None


def test_a_tiff_with_xmp_iptc_and_photoshops_resources_tells_them_all() -> None:
    data = tiff(
        tags={
            700: xmp_packet(xmp__Label="Red"),
            33723: iptc_block((90, b"Chur")),
            34377: photoshop_resources(iptc_block((101, b"Schweiz"))),
        }
    )
    assert facts_of(data, "TIFF") == {"label": ("Red",), "city": ("Chur",), "country": ("Schweiz",)}


def test_a_cr3_tells_what_is_in_its_four_directories() -> None:
    data = cr3(
        main={271: "Canon", 272: "Canon EOS R6", 315: "Jane Doe"},
        details={36867: "2021:05:06 07:08:09", 42036: "RF35mm F1.8"},
        gps={key: value for key, value in position(46.85, 9.53).items() if key <= 4},
        xmp=xmp_packet(xmp__Rating="5"),
    )
    assert facts_of(data, "RAW") == {
        "captured": ("2021-05-06T07:08:09",),
        "creator": ("Jane Doe",),
        "rating": ("5",),
        "latitude": ("46.85",),
        "longitude": ("9.53",),
        "camera": ("Canon EOS R6",),
        "lens": ("RF35mm F1.8",),
    }


def test_what_comes_before_the_damage_is_kept() -> None:
    block = exif_block(Make="Canon", Model="Canon EOS 5D", DateTimeOriginal="2019:07:14 10:03:00")
    assert load_directories(block).main[272] == "Canon EOS 5D"
    assert load_directories(block[: block.index(b"Canon EOS") + 20]).main[271] == "Canon"


def test_a_text_of_exif_3_in_utf8_is_read() -> None:
    block = exif_block(ImageDescription="Zürich 海".encode())
    entry = block.index(b"\x0e\x01\x02\0")
    assert facts_of(jpeg(exif=block[: entry + 2] + b"\x81\0" + block[entry + 4 :]))["description"] == ("Zürich 海",)
