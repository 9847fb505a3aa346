"""Flickr's JSON beside its pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from viewfinder.pictures.facts.beside import Neighbours, read_sidecar
from viewfinder.pictures.facts.model import Fact

SAID = {
    "id": "12345678",
    "name": "A day out",
    "description": "",
    "date_taken": "2019-07-14 10:03:00",
    "date_imported": "2020-01-01 00:00:00",
    "tags": [{"tag": "beach"}, {"tag": "Дочь"}, "sun", 7, {"tag": None}],
    "geo": [],
}


@pytest.mark.parametrize("picture", ["a-day-out_12345678_o.jpg", "12345678_ab1cd2ef3f_o.png"])
def test_flickr_s_json_is_found_by_the_number_and_gives_title_tags_and_moment(tmp_path: Path, picture: str) -> None:
    (tmp_path / "photo_12345678.json").write_text(json.dumps(SAID))
    sidecars = Neighbours.of([picture, "photo_12345678.json", "photo_1.json", "albums.json"]).find(picture)
    assert sidecars == ("photo_12345678.json",)
    assert read_sidecar(tmp_path / sidecars[0], picture) == (
        Fact("captured", ("2019-07-14T10:03:00",), "photo_12345678.json: date_taken"),
        Fact("title", ("A day out",), "photo_12345678.json: name"),
        Fact("keywords", ("beach", "Дочь", "sun"), "photo_12345678.json: tags"),
    )


@pytest.mark.parametrize("said", [SAID | {"date_taken": "0000-00-00 00:00:00", "name": 3, "tags": "beach"}, [], None])
def test_what_is_not_known_is_left_out(tmp_path: Path, said: object) -> None:
    (tmp_path / "photo_12345678.json").write_text(json.dumps(said))
    assert read_sidecar(tmp_path / "photo_12345678.json") == ()


@pytest.mark.parametrize("data", [b"", b'{"date_taken": ', b'{"date_taken": ' + b"[" * 900_000, b'["date_taken"]'])
def test_a_damaged_file_gives_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "photo_12345678.json").write_bytes(data)
    assert read_sidecar(tmp_path / "photo_12345678.json") == ()
