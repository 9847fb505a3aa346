"""viewfinder.pictures.facts.reader: what comes before what, of a file, its sidecars and its name."""

from __future__ import annotations

import json
from pathlib import Path

from tests.pictures.facts.tagged_pictures import exif_block, items, jpeg, png, xmp_packet
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.facts.reader import read_facts


def sidecar(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def takeout(folder: Path, name: str) -> Path:
    said = {"title": name, "photoTakenTime": {"timestamp": "1563098580"}, "description": "by Google"}
    return sidecar(folder, f"{name}.supplemental-metadata.json", json.dumps(said))


def by_name(facts: tuple[Fact, ...]) -> dict[str, tuple[str, ...]]:
    told: dict[str, tuple[str, ...]] = {}
    for fact in facts:
        told[fact.name] = told.get(fact.name, ()) + fact.values
    return told


def test_a_date_is_that_of_the_file_then_of_a_sidecar_then_of_the_container_then_of_the_name(tmp_path: Path) -> None:
    path = tmp_path / "IMG-20180102-WA0003.png"
    dated = png(exif=exif_block(DateTimeOriginal="2019:07:14 10:03:00"), texts={"Creation Time": "2017:01:02 03:04:05"})
    contained, plain = png(texts={"Creation Time": "2017:01:02 03:04:05"}), png()
    beside = [takeout(tmp_path, path.name)]
    dates = [
        next(fact for fact in read_facts(data, "PNG", path, sidecars) if fact.name == "captured")
        for data, sidecars in ((dated, beside), (contained, beside), (contained, []), (plain, []))
    ]
    assert [date.values[0][:10] for date in dates] == ["2019-07-14", "2019-07-14", "2017-01-02", "2018-01-02"]
    assert dates[0].source == "EXIF DateTimeOriginal"
    assert "json" in dates[1].source
    assert dates[2].source == "PNG Creation Time"
    assert dates[3].source.startswith("file name")


def test_a_sidecar_of_xmp_is_believed_about_what_people_change_there_and_adds_to_lists(tmp_path: Path) -> None:
    inside = xmp_packet(
        items("dc:title", ["inside"], "Alt") + items("dc:subject", ["sea"]), xmp__Rating="1", photoshop__City="Chur"
    )
    outside = xmp_packet(
        items("dc:title", ["outside"], "Alt") + items("dc:subject", ["Sea", "sun"]),
        xmp__Rating="5",
        photoshop__City="Zürich",
        exif__DateTimeOriginal="2011-01-01",
    )
    data = jpeg(exif=exif_block(DateTimeOriginal="2019:07:14 10:03:00"), xmp=inside)
    told = by_name(read_facts(data, "JPEG", tmp_path / "a.jpg", [sidecar(tmp_path, "a.jpg.xmp", outside)]))
    assert told == {
        "captured": ("2019-07-14T10:03:00",),
        "title": ("outside",),
        "keywords": ("sea", "sun"),
        "rating": ("5",),
        "city": ("Chur",),
    }


def test_a_sidecar_of_another_kind_adds_what_the_file_does_not_say(tmp_path: Path) -> None:
    beside = [takeout(tmp_path, "a.jpg")]
    written = jpeg(xmp=xmp_packet(items("dc:description", ["by a person"], "Alt")))
    assert by_name(read_facts(written, "JPEG", tmp_path / "a.jpg", beside))["description"] == ("by a person",)
    assert by_name(read_facts(jpeg(), "JPEG", tmp_path / "a.jpg", beside))["description"] == ("by Google",)


def test_a_damaged_sidecar_and_a_damaged_block_take_nothing_from_the_others(tmp_path: Path) -> None:
    data = jpeg(exif=b"Exif\0\0broken", xmp=xmp_packet(xmp__Label="Red"))
    beside = [
        sidecar(tmp_path, "a.jpg.xmp", b"<x:xmpmeta"),
        sidecar(tmp_path, "a.jpg.json", b"{"),
        tmp_path / "gone.xmp",
    ]
    assert by_name(read_facts(data, "JPEG", tmp_path / "a.jpg", beside)) == {"label": ("Red",)}
