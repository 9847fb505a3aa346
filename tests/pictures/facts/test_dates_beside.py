"""The day of a picture that only its name or a file beside it knows, each with its source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from viewfinder.pictures.facts.beside import Neighbours
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.facts.reader import read_facts

XMP = """<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>
<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description rdf:about=''
 xmlns:exif='http://ns.adobe.com/exif/1.0/' xmlns:photoshop='http://ns.adobe.com/photoshop/1.0/'
 {property}='{value}'/></rdf:RDF></x:xmpmeta>"""


def takeout(title: str, timestamp: str) -> str:
    return json.dumps({"title": title, "photoTakenTime": {"timestamp": timestamp}, "creationTime": {"timestamp": "1"}})


LONG = "Urlaub in Knaufspesch in der Schneifel (38).jpg"

CASES: dict[str, tuple[dict[str, str], str, str]] = {
    "WhatsApp's name": ({"IMG-20190714-WA0003.jpg": ""}, "2019-07-14", "file name (WhatsApp, when it was sent)"),
    "a screenshot's name": (
        {"Screen Shot 2019-07-14 at 9.03.00 PM.png": ""},
        "2019-07-14T21:03:00",
        "file name (screenshot)",
    ),
    "a Pixel's name": (
        {"PXL_20190714_100300123.jpg": ""},
        "2019-07-14T10:03:00.123+00:00",
        "file name (Google camera)",
    ),
    "Signal's name": (
        {"signal-2019-07-14-100300.jpg": ""},
        "2019-07-14T10:03:00",
        "file name (Signal, when it was sent)",
    ),
    "an article's number": ({"20191399.jpg": ""}, "", ""),
    "a.jpg.xmp": (
        {"a.jpg": "", "a.jpg.xmp": XMP.format(property="exif:DateTimeOriginal", value="2019-07-14T10:03:00.25+02:00")},
        "2019-07-14T10:03:00.25+02:00",
        "a.jpg.xmp: exif:DateTimeOriginal",
    ),
    "a.xmp": (
        {"a.png": "", "a.xmp": XMP.format(property="photoshop:DateCreated", value="2019-07")},
        "2019-07",
        "a.xmp: photoshop:DateCreated",
    ),
    "Takeout": (
        {"a.jpg": "", "a.jpg.json": takeout("a.jpg", "1563098580")},
        "2019-07-14T10:03:00+00:00",
        "a.jpg.json: photoTakenTime",
    ),
    "Takeout, cut": (
        {LONG: "", f"{LONG[:46]}.json": takeout(LONG, "1563098580")},
        "2019-07-14T10:03:00+00:00",
        f"{LONG[:46]}.json: photoTakenTime",
    ),
    "Takeout, numbered": (
        {
            "a(1).jpg": "",
            "a.jpg.supplemental-metadata.json": takeout("a.jpg", "1000000000"),
            "a.jpg.supplemental-metadata(1).json": takeout("a.jpg", "1563098580"),
        },
        "2019-07-14T10:03:00+00:00",
        "a.jpg.supplemental-metadata(1).json: photoTakenTime",
    ),
    "Takeout, edited": (
        {"a-bearbeitet.jpg": "", "a.jpg.suppl.json": takeout("a.jpg", "1563098580")},
        "2019-07-14T10:03:00+00:00",
        "a.jpg.suppl.json: photoTakenTime",
    ),
    "Takeout knows no day, the name does": (
        {"IMG_20190714_100300.jpg": "", "IMG_20190714_100300.jpg.json": takeout("IMG_20190714_100300.jpg", "0")},
        "2019-07-14T10:03:00",
        "file name (camera)",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_day_that_stands_beside_a_picture_is_known_with_its_source(case: str, tmp_path: Path) -> None:
    files, captured, source = CASES[case]
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    picture = tmp_path / next(iter(files))
    Image.new("RGB", (8, 8), "teal").save(picture)
    sidecars = Neighbours.of(path.name for path in tmp_path.iterdir()).find(picture.name)
    facts = read_facts(
        picture.read_bytes(),
        {".jpg": "JPEG", ".png": "PNG"}[picture.suffix],
        picture,
        [tmp_path / name for name in sidecars],
    )
    dates = tuple(fact for fact in facts if fact.name == "captured")
    assert dates == ((Fact("captured", (captured,), source),) if captured else ())


def test_the_camera_s_own_date_counts_before_what_stands_beside_the_picture(tmp_path: Path) -> None:
    picture, sidecar = tmp_path / "IMG_20200101_000000.jpg", tmp_path / "IMG_20200101_000000.jpg.json"
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2019:07:14 10:03:00"
    Image.new("RGB", (8, 8), "teal").save(picture, exif=exif)
    sidecar.write_text(takeout(picture.name, "1000000000"))
    facts = read_facts(picture.read_bytes(), "JPEG", picture, [sidecar])
    assert [fact.values for fact in facts if fact.name == "captured"] == [("2019-07-14T10:03:00",)]


def test_what_programs_write_beside_the_file_counts_before_the_words_in_it_and_lists_are_united(tmp_path: Path) -> None:
    picture, sidecar = tmp_path / "a.jpg", tmp_path / "a.xmp"
    inside = """<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
    <rdf:Description rdf:about='' xmlns:xmp='http://ns.adobe.com/xap/1.0/' xmlns:dc='http://purl.org/dc/elements/1.1/'
    xmp:Rating='{rating}'><dc:subject><rdf:Bag><rdf:li>{word}</rdf:li></rdf:Bag></dc:subject></rdf:Description>
    </rdf:RDF></x:xmpmeta>"""
    Image.new("RGB", (8, 8), "teal").save(picture, xmp=inside.format(rating=2, word="sea").encode())
    sidecar.write_text(inside.format(rating=4, word="beach"))
    facts = read_facts(picture.read_bytes(), "JPEG", picture, [sidecar])
    assert [(fact.values, fact.source) for fact in facts if fact.name == "rating"] == [(("4",), "a.xmp: xmp:Rating")]
    assert {value for fact in facts if fact.name == "keywords" for value in fact.values} == {"sea", "beach"}
