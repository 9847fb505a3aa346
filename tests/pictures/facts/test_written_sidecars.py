"""Sidecars as exiftool and exiv2 write them are found beside the picture and say what was put in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from viewfinder.pictures.facts.beside import Neighbours, read_sidecar
from viewfinder.pictures.facts.model import merge_facts


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    Image.new("RGB", (8, 8), "teal").save(tmp_path / "a.jpg")
    return tmp_path / "a.jpg"


def run(program: str, *arguments: str | Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, timeout=60)


def read_beside(picture: Path) -> dict[str, tuple[str, ...]]:
    sidecars = Neighbours.of(path.name for path in picture.parent.iterdir()).find(picture.name)
    facts = merge_facts(fact for name in sidecars for fact in read_sidecar(picture.parent / name, picture.name))
    return {fact.name: tuple(value for one in facts if one.name == fact.name for value in one.values) for fact in facts}


@pytest.mark.parametrize("name", ["a.xmp", "a.jpg.xmp", "A.JPG.XMP"])
def test_a_sidecar_that_exiftool_writes_is_read(picture: Path, name: str) -> None:
    run(
        *("exiftool", "-XMP-dc:Title=The sea", "-XMP-dc:Subject=beach", "-XMP-dc:Subject=sun", "-XMP-xmp:Rating=4"),
        *("-XMP-exif:DateTimeOriginal=2019:07:14 10:03:00.25+02:00", "-XMP-iptcExt:PersonInImage=Дочь"),
        *("-XMP-exif:GPSLatitude=48.5", "-XMP-exif:GPSLongitude=-11.25", "-o", picture.with_name(name), picture),
    )
    facts = read_beside(picture)
    assert facts["captured"] == ("2019-07-14T10:03:00.25+02:00",)
    assert (facts["title"], facts["keywords"], facts["rating"]) == (("The sea",), ("beach", "sun"), ("4",))
    assert facts["persons"] == ("Дочь",)
    assert [float(facts[name][0]) for name in ("latitude", "longitude")] == [48.5, -11.25]


def test_a_sidecar_that_exiv2_extracts_is_read(picture: Path) -> None:
    run("exiv2", "-M", "set Xmp.dc.subject XmpBag beach", "-M", "set Xmp.xmp.Label XmpText Red", picture)
    run("exiv2", "-eX", picture)
    assert (picture.parent / "a.xmp").exists()
    facts = read_beside(picture)
    assert (facts["keywords"], facts["label"]) == (("beach",), ("Red",))
