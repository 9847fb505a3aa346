"""What is read of files that exiftool, exiv2 and ImageMagick wrote, held against what exiftool reads of them.

Every field is written in every format, the fields of EXIF, XMP and IPTC into files of their own, so that none hides
another. `NOT_WRITTEN` lists what a program cannot write, `OTHERWISE` where we read something else, each with a reason.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.pictures.test_formats_optional import dng
from viewfinder.pictures.facts.embedded import read_embedded
from viewfinder.pictures.facts.model import Fact

FORMATS = {
    "jpg": "JPEG",
    "png": "PNG",
    "webp": "WEBP",
    "tif": "TIFF",
    "avif": "AVIF",
    "heic": "HEIF",
    "dng": "RAW",
}
FAMILIES = ("exif", "xmp", "iptc")

KEYWORDS = ("beach", "Zürich", "日の出")
EXIF_FIELDS = {
    "ExifIFD:DateTimeOriginal": "2019:07:14 10:03:00",
    "ExifIFD:SubSecTimeOriginal": "25",
    "ExifIFD:OffsetTimeOriginal": "+02:00",
    "ExifIFD:CreateDate": "2019:07:15 11:00:01",
    "IFD0:ModifyDate": "2024:01:01 00:00:00",
    "IFD0:ImageDescription": "Grüße vom Strand",
    "ExifIFD:UserComment": "Ein Kommentar: 海",
    "IFD0:Artist": "Jürgen Meyer",
    "IFD0:XPTitle": "Am Meer 海",
    "IFD0:XPComment": "Was Windows sagt",
    "IFD0:XPKeywords": "dune;Möwe",
    "IFD0:XPSubject": "Ein Thema",
    "IFD0:XPAuthor": "Ana",
    "IFD0:Rating": "4",
    "IFD0:Make": "Canon",
    "IFD0:Model": "Canon EOS 5D",
    "ExifIFD:LensModel": "EF50mm f/1.8 II",
    "GPS:GPSLatitude": "33.8568",
    "GPS:GPSLatitudeRef": "S",
    "GPS:GPSLongitude": "70.6483",
    "GPS:GPSLongitudeRef": "W",
    "GPS:GPSAltitude": "12.5",
    "GPS:GPSAltitudeRef": "1",
}
XMP_FIELDS = {
    "XMP-exif:DateTimeOriginal": "2018:02:03 04:05:06.7+01:00",
    "XMP-photoshop:DateCreated": "2018:02:03",
    "XMP-xmp:CreateDate": "2018:02:04 00:00:01",
    "XMP-xmp:ModifyDate": "2024:01:01 00:00:00",
    "XMP-dc:Title": "Ein Titel",
    "XMP-dc:Description": "Zwei Kinder & ein Hund <nass>",
    "XMP-dc:Subject": KEYWORDS,
    "XMP-lr:HierarchicalSubject": ("Orte|Schweiz|Chur",),
    "XMP-digiKam:TagsList": ("Essen/Kuchen",),
    "XMP-microsoft:LastKeywordXMP": ("Tiere/Hund",),
    "XMP-mediapro:CatalogSets": ("Ferien|2018",),
    "XMP-dc:Creator": ("Jürgen Meyer", "Ana Lima"),
    "XMP-iptcExt:PersonInImage": ("Anna", "Zoë"),
    "XMP-mwg-rs:RegionInfo": "{RegionList=[{Name=Ben,Type=Face},{Name=Émile,Type=Face}]}",
    "XMP-MP:RegionInfoMP": "{Regions=[{PersonDisplayName=Cleo}]}",
    "XMP-mwg-coll:Collections": "[{CollectionName=Sommer}]",
    "XMP-xmp:Rating": "3",
    "XMP-xmp:Label": "Rot",
    "XMP-photoshop:Headline": "Eine Schlagzeile",
    "XMP-iptcCore:Location": "Altstadt",
    "XMP-photoshop:City": "Chur",
    "XMP-photoshop:State": "Graubünden",
    "XMP-photoshop:Country": "Schweiz",
    "XMP-exif:GPSLatitude": "46.85",
    "XMP-exif:GPSLongitude": "-9.53",
    "XMP-exif:GPSAltitude": "593.5",
    "XMP-tiff:Make": "NIKON CORPORATION",
    "XMP-tiff:Model": "NIKON D90",
    "XMP-aux:Lens": "18-105mm f/3.5-5.6",
}
IPTC_FIELDS = {
    "IPTC:ObjectName": "Ein Name",
    "IPTC:Headline": "Eine Überschrift",
    "IPTC:Caption-Abstract": "Eine Bildunterschrift",
    "IPTC:Keywords": KEYWORDS[:2],
    "IPTC:By-line": "Jürgen Meyer",
    "IPTC:Sub-location": "Hafen",
    "IPTC:City": "Zürich",
    "IPTC:Province-State": "Zürich (Kanton)",
    "IPTC:Country-PrimaryLocationName": "Schweiz",
    "IPTC:DateCreated": "2017:05:06",
    "IPTC:TimeCreated": "07:08:09+02:00",
}
FIELDS: dict[str, dict[str, Any]] = {"exif": EXIF_FIELDS, "xmp": XMP_FIELDS, "iptc": IPTC_FIELDS}


def _date(value: Any) -> list[str]:
    text = str(value)
    return [text[:10].replace(":", "-") + text[10:].replace(" ", "T", 1)]


def _levels(separator: str) -> Callable[[Any], list[str]]:
    return lambda value: [level for text in _list(value) for level in text.split(separator)]


def _list(value: Any) -> list[str]:
    return [str(item) for item in (value if isinstance(value, list) else [value])]


def _degrees(value: Any) -> list[str]:
    return [f"{float(value):.4f}".rstrip("0")]


EXPECTED: dict[str, tuple[str, Callable[[Any], list[str]]]] = {
    "Composite:SubSecDateTimeOriginal": ("captured", _date),
    "ExifIFD:CreateDate": ("captured", _date),
    "IFD0:ImageDescription": ("description", _list),
    "ExifIFD:UserComment": ("description", _list),
    "IFD0:XPComment": ("description", _list),
    "IFD0:XPSubject": ("description", _list),
    "IFD0:XPTitle": ("title", _list),
    "IFD0:XPKeywords": ("keywords", _levels(";")),
    "IFD0:Artist": ("creator", _list),
    "IFD0:XPAuthor": ("creator", _list),
    "IFD0:Rating": ("rating", _list),
    "IFD0:Model": ("camera", _list),
    "ExifIFD:LensModel": ("lens", _list),
    "Composite:GPSLatitude": ("latitude", _degrees),
    "Composite:GPSLongitude": ("longitude", _degrees),
    "Composite:GPSAltitude": ("altitude", _list),
    "XMP-exif:DateTimeOriginal": ("captured", _date),
    "XMP-photoshop:DateCreated": ("captured", _date),
    "XMP-xmp:CreateDate": ("captured", _date),
    "XMP-dc:Title": ("title", _list),
    "XMP-dc:Description": ("description", _list),
    "XMP-photoshop:Headline": ("description", _list),
    "XMP-dc:Subject": ("keywords", _list),
    "XMP-lr:HierarchicalSubject": ("keywords", _levels("|")),
    "XMP-digiKam:TagsList": ("keywords", _levels("/")),
    "XMP-microsoft:LastKeywordXMP": ("keywords", _levels("/")),
    "XMP-mediapro:CatalogSets": ("keywords", _levels("|")),
    "XMP-dc:Creator": ("creator", _list),
    "XMP-iptcExt:PersonInImage": ("persons", _list),
    "XMP-mwg-rs:RegionName": ("persons", _list),
    "XMP-MP:RegionPersonDisplayName": ("persons", _list),
    "XMP-mwg-coll:CollectionName": ("album", _list),
    "XMP-xmp:Rating": ("rating", _list),
    "XMP-xmp:Label": ("label", _list),
    "XMP-iptcCore:Location": ("place", _list),
    "XMP-photoshop:City": ("city", _list),
    "XMP-photoshop:State": ("region", _list),
    "XMP-photoshop:Country": ("country", _list),
    "XMP-exif:GPSLatitude": ("latitude", _degrees),
    "XMP-exif:GPSLongitude": ("longitude", _degrees),
    "XMP-exif:GPSAltitude": ("altitude", _list),
    "XMP-tiff:Model": ("camera", lambda value: [f"NIKON CORPORATION {value}"]),
    "XMP-aux:Lens": ("lens", _list),
    "IPTC:ObjectName": ("title", _list),
    "IPTC:Headline": ("description", _list),
    "IPTC:Caption-Abstract": ("description", _list),
    "IPTC:Keywords": ("keywords", _list),
    "IPTC:By-line": ("creator", _list),
    "IPTC:Sub-location": ("place", _list),
    "IPTC:City": ("city", _list),
    "IPTC:Province-State": ("region", _list),
    "IPTC:Country-PrimaryLocationName": ("country", _list),
    "Composite:DateTimeCreated": ("captured", _date),
}
"""What exiftool calls a field, the fact that it is, and the values of the fact that exiftool's value says."""

PROGRAMS = {
    "exiftool": tuple(FORMATS),
    "exiv2": ("jpg", "png", "webp", "tif", "dng"),  # 0.27 writes nothing into AVIF and HEIC
    "convert": ("jpg", "png", "webp", "tif", "avif", "heic"),  # ImageMagick 6.9 writes no raw files
}
"""The programs, and the formats that they write."""

NOT_WRITTEN = {
    **{("exiftool", ending, "iptc"): "the format has no place for IPTC" for ending in ("webp", "avif", "heic")},
    ("exiv2", "webp", "iptc"): "the format has no place for IPTC",
    **{("convert", ending, family): "6.9 drops it" for ending in ("avif", "heic") for family in FAMILIES},
    ("convert", "webp", "xmp"): "6.9 writes it into a chunk with a wrong name, which exiftool does not know",
    ("convert", "webp", "iptc"): "the format has no place for IPTC",
    ("convert", "tif", "exif"): "6.9 drops it",
}
"""By program, format and family: what is not in the file, and why."""

OTHERWISE = {
    ("exiv2", "dng", "Composite:SubSecDateTimeOriginal"): "exiftool takes the zeros of the main directory for the date",
}
"""By program, format and field: where we read something else than exiftool, and why."""


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Path]:
    """A file by program, format and family; exiftool tags a JPEG, from which the other two carry it over."""
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    pytest.importorskip("pillow_heif").register_heif_opener()
    folder = tmp_path_factory.mktemp("matrix")
    files = {
        (program, ending, family): folder / f"{program}-{family}.{ending}"
        for program, endings in PROGRAMS.items()
        for ending in endings
        for family in FAMILIES
    }
    blank = _write_blanks(folder)
    for (program, ending, _), file in files.items():
        if program != "convert":
            shutil.copy(blank[ending], file)
    for family in FAMILIES:
        _run_exiftool(
            family, [file for (program, _, kind), file in files.items() if (program, kind) == ("exiftool", family)]
        )
    for (program, _, family), file in files.items():
        source = files["exiftool", "jpg", family]
        if program == "exiv2":
            carried = subprocess.run(["exiv2", "-ea-", source], capture_output=True, check=True).stdout
            subprocess.run(["exiv2", "-ia-", file], input=carried, check=True)
        elif program == "convert":
            subprocess.run(["convert", source, file], check=True)
    return files


def _write_blanks(folder: Path) -> dict[str, Path]:
    picture = Image.radial_gradient("L").resize((64, 48)).convert("RGB")
    blank = {ending: folder / f"blank.{ending}" for ending in FORMATS}
    for ending, file in blank.items():
        if ending == "dng":
            file.write_bytes(dng().replace(b"2020:02:29 12:30:00", b"0000:00:00 00:00:00"))
        else:
            picture.save(file, FORMATS[ending])
    return blank


def _run_exiftool(family: str, files: Iterable[Path]) -> None:
    options = [
        f"-{name}={value}"
        for name, values in FIELDS[family].items()
        for value in (values if isinstance(values, tuple) else (values,))
    ]
    if family == "iptc":
        options.append("-IPTC:CodedCharacterSet=UTF8")
    subprocess.run(["exiftool", "-q", "-q", "-n", "-overwrite_original", *options, *map(str, files)], check=False)


@pytest.fixture(scope="module")
def read_by_exiftool(tagged: dict[tuple[str, str, str], Path]) -> dict[Path, dict[str, Any]]:
    told = subprocess.run(
        ["exiftool", "-json", "-n", "-G1", *map(str, tagged.values())], capture_output=True, check=True
    ).stdout
    # IPTC2 is the second block of a file, which exiftool tells apart from the first.
    return {
        Path(entry["SourceFile"]): {name.replace("IPTC2:", "IPTC:"): value for name, value in entry.items()}
        for entry in json.loads(told)
    }


def _read(file: Path) -> tuple[Fact, ...]:
    return read_embedded(file.read_bytes(), FORMATS[file.suffix[1:]])


def test_every_field_is_read_as_exiftool_reads_it(
    tagged: dict[tuple[str, str, str], Path], read_by_exiftool: dict[Path, dict[str, Any]]
) -> None:
    differences: dict[tuple[str, str, str], str] = {}
    for (program, ending, _), file in tagged.items():
        facts = _read(file)
        for field, value in read_by_exiftool[file].items():
            if field in EXPECTED:
                name, list_expected = EXPECTED[field]
                ours = [
                    text for fact in facts if fact.name == name for value in fact.values for text in value.split("\n")
                ]
                if missing := set(list_expected(value)) - set(ours):
                    differences[program, ending, field] = f"{missing} of {name}, we have {ours}"
    assert {key: text for key, text in differences.items() if key not in OTHERWISE} == {}
    assert sorted(set(OTHERWISE) - set(differences)) == []


def test_every_field_is_in_every_file(
    tagged: dict[tuple[str, str, str], Path], read_by_exiftool: dict[Path, dict[str, Any]]
) -> None:
    """So that the comparison cannot pass for want of anything to compare."""
    wanted = {
        "exif": {
            field for field in EXPECTED if field.startswith(("ExifIFD", "IFD0", "Composite:GPS", "Composite:Sub"))
        },
        "xmp": {field for field in EXPECTED if field.startswith("XMP")},
        "iptc": {field for field in EXPECTED if field.startswith("IPTC") or field == "Composite:DateTimeCreated"},
    }
    lacking = {
        key: sorted(missing)
        for key, file in tagged.items()
        if (missing := wanted[key[2]] - set(read_by_exiftool[file]))
    }
    assert {key: fields for key, fields in lacking.items() if key not in NOT_WRITTEN} == {}
    assert sorted(set(NOT_WRITTEN) - set(lacking)) == []


def test_the_xmp_that_imagemagick_hides_in_webp_is_read_too(tagged: dict[tuple[str, str, str], Path]) -> None:
    told = {(fact.name, fact.values) for fact in _read(tagged["convert", "webp", "xmp"])}
    assert {("keywords", KEYWORDS), ("title", ("Ein Titel",)), ("rating", ("3",))} <= told
