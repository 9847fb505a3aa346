"""What Google's JSON says of a picture, and what damaged and hostile files do not do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from viewfinder.pictures.facts import beside
from viewfinder.pictures.facts.beside import read_sidecar
from viewfinder.pictures.facts.model import Fact, merge_facts

BEACH: dict[str, object] = {
    "title": "a.jpg",
    "description": "The beach at noon",
    "photoTakenTime": {"timestamp": "1563098580", "formatted": "Jul 14, 2019, 10:03:00 AM UTC"},
    "creationTime": {"timestamp": "1600000000"},
    "geoData": {"latitude": 0.0, "longitude": 0.0, "altitude": 0.0},
    "geoDataExif": {"latitude": 55.25, "longitude": 37.5, "altitude": 214.5},
    "people": [{"name": "Ada"}, {"name": "Дочь"}, {"name": ""}, "?"],
    "favorited": True,
    "imageViews": "9",
}


def read(folder: Path, said: object, *, name: str = "a.jpg.json", picture: str = "") -> dict[str, tuple[str, ...]]:
    path = folder / name
    path.write_bytes(said if isinstance(said, bytes) else json.dumps(said, ensure_ascii=False).encode())
    return {fact.name: fact.values for fact in read_sidecar(path, picture)}


def test_a_picture_s_json_gives_its_moment_words_people_star_and_place_each_with_its_field(tmp_path: Path) -> None:
    (tmp_path / "a.jpg.json").write_text(json.dumps(BEACH))
    assert read_sidecar(tmp_path / "a.jpg.json") == (
        Fact("captured", ("2019-07-14T10:03:00+00:00",), "a.jpg.json: photoTakenTime"),
        Fact("description", ("The beach at noon",), "a.jpg.json: description"),
        Fact("persons", ("Ada", "Дочь"), "a.jpg.json: people"),
        Fact("keywords", ("favorite",), "a.jpg.json: favorited"),
        Fact("latitude", ("55.25",), "a.jpg.json: geoDataExif"),
        Fact("longitude", ("37.5",), "a.jpg.json: geoDataExif"),
        Fact("altitude", ("214.5",), "a.jpg.json: geoDataExif"),
    )


def test_a_corrected_place_counts_before_the_camera_s(tmp_path: Path) -> None:
    facts = read(tmp_path, BEACH | {"geoData": {"latitude": -33.5, "longitude": 151.25, "altitude": 0.0}})
    assert (facts["latitude"], facts["longitude"], "altitude" in facts) == (("-33.5",), ("151.25",), False)


@pytest.mark.parametrize(
    ("timestamp", "captured"),
    [
        ("0", None),
        (0, None),
        ("", None),
        ("soon", None),
        ("9" * 5000, None),
        ("99999999999", None),
        (None, None),
        (1563098580, ("2019-07-14T10:03:00+00:00",)),
        ("-1472860800", ("1923-05-01T00:00:00+00:00",)),
    ],
)
def test_a_moment_that_google_does_not_know_is_none_and_one_before_1970_is_one(
    tmp_path: Path, timestamp: object, captured: tuple[str] | None
) -> None:
    assert read(tmp_path, BEACH | {"photoTakenTime": {"timestamp": timestamp}}).get("captured") == captured


def test_a_title_that_names_another_picture_makes_the_json_another_s(tmp_path: Path) -> None:
    assert read(tmp_path, BEACH, picture="a.jpg") != {}
    assert read(tmp_path, BEACH, picture="b.jpg") == {}
    assert read(tmp_path, BEACH, picture="a(1)-edited.jpg") != {}
    assert read(tmp_path, BEACH | {"title": "Sea & sun?.HEIC"}, picture="Sea _ sun_.jpg") != {}
    assert read(tmp_path, BEACH | {"title": ""}, picture="b.jpg") != {}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("metadata.json", {"title": "Chair yoga", "access": "protected", "date": {"timestamp": "1672477816"}}),
        ("Metadaten(1).json", {"title": "Chair yoga", "date": {}}),
        ("metadata.json", {"albumData": {"title": "Chair yoga", "access": "", "date": {}}}),
    ],
)
def test_the_file_about_an_album_gives_its_name(tmp_path: Path, name: str, said: object) -> None:
    assert read(tmp_path, said, name=name) == {"album": ("Chair yoga",)}


@pytest.mark.parametrize("title", ["Photos from 2019", "2019-07-14", "2019-07-14 #2", "", "  ", 7])
def test_folders_of_a_year_or_a_day_are_no_albums(tmp_path: Path, title: object) -> None:
    assert read(tmp_path, {"title": title, "date": {}}, name="metadata.json") == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        json.dumps(BEACH).encode()[:200],
        json.dumps(BEACH).encode("utf-16"),
        b"\xff\xfe\x00\x01" * 100,
        b'["title", "photoTakenTime"]',
        b'{"title": null, "photoTakenTime": 3, "people": {"name": "Ada"}, "geoData": [1, 2], "favorited": "yes"}',
        b'{"title": "a.jpg", "photoTakenTime": {}, "geoData": {"latitude": NaN, "longitude": 1e999}}',
        b'{"title": "a.jpg", "photoTakenTime": {}, "geoData": {"latitude": 1' + b"0" * 400 + b', "longitude": 3}}',
        b'{"title": "a.jpg", "photoTakenTime": {"timestamp": ' + b"1" * 5000 + b"}}",
        b'{"title": "license", "name": "a dataset"}',
    ],
)
def test_a_damaged_file_and_a_file_of_another_kind_give_nothing(tmp_path: Path, data: bytes) -> None:
    assert read(tmp_path, data) == {}


def test_a_file_nested_without_end_gives_nothing(tmp_path: Path) -> None:
    deep = b'{"title": "a.jpg", "photoTakenTime": ' + b"[" * 900_000 + b"]" * 900_000 + b"}"
    assert read(tmp_path, deep) == {}


def test_halves_of_characters_and_commands_to_a_terminal_do_not_get_through(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m.jpg.json").write_text(
        r'{"photoTakenTime": {}, "description": " \ud83d \u001b[31mred\u0000\nline \u009b2J",'
        r' "people": [{"name": "\udc00"}]}'
    )
    facts = merge_facts(read_sidecar(tmp_path / "a\x1b[31m.jpg.json"))
    assert facts == (Fact("description", ("[31mred\nline 2J",), "a[31m.jpg.json: description"),)


def test_what_a_camera_wrote_in_place_of_a_description_is_none(tmp_path: Path) -> None:
    assert "description" not in read(tmp_path, BEACH | {"description": "OLYMPUS DIGITAL CAMERA         "})


def test_people_are_read_up_to_a_limit(tmp_path: Path) -> None:
    crowd = [{"name": f"guest {number}"} for number in range(5_000)]
    assert len(read(tmp_path, BEACH | {"people": crowd})["persons"]) == 1_000


def test_a_file_larger_than_a_sidecar_is_not_read(tmp_path: Path) -> None:
    large = tmp_path / "a.jpg.json"
    with large.open("wb") as file:
        file.write(json.dumps(BEACH).encode())
        file.truncate(beside.MAX_SIDECAR_SIZE + 1)
    assert read_sidecar(large) == ()


def test_a_sidecar_that_is_gone_a_folder_or_a_pipe_gives_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg.json")
    (tmp_path / "folder.xmp").mkdir()
    for name in ("gone.json", "gone.xmp", "pipe.jpg.json", "folder.xmp"):
        assert read_sidecar(tmp_path / name) == ()
