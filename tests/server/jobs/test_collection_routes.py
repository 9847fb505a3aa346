"""The collection over HTTP: over 24 drawings of two colours each, catalogued by the upper one."""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.pictures.library import MAX_VALUES, count_facet, count_values, encoder_name
from viewfinder.server.settings import ServerSettings
from viewfinder.store.rows import AttributeColumn
from viewfinder.testing import load_colour_encoder, tiny_pictures

API = "/api/v1/collection"


@pytest.fixture(scope="session")
def catalogued(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, str]]]:
    """The library's folder, and the colours (top, bottom) of its pictures; three files are no pictures."""
    home = tmp_path_factory.mktemp("collection")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        pictures = tiny_pictures(home / "pictures", 24)
        for name in ("a.jpg", "b.jpg", "c.jpg"):
            (home / "pictures" / name).write_bytes(b"no picture")
        with (home / "catalogue.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["file", "Top", "Bottom"])
            writer.writerows([picture.path.name, picture.top, picture.bottom] for picture in pictures)
        Library.open(home / "library.vf").add(home / "pictures", catalogue=home / "catalogue.csv", workers=1)
    return home / "library.vf", [(picture.top, picture.bottom) for picture in pictures]


@pytest.fixture
def client(
    catalogued: tuple[Path, list[tuple[str, str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TestClient]:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    (tmp_path / "root" / "inside").mkdir(parents=True)
    database = f"sqlite:///{tmp_path / 'server.sqlite3'}"
    settings = ServerSettings(database_url=database, roots=(tmp_path / "root",), _env_file=None)
    with TestClient(
        create_app(Library.open(catalogued[0]), settings), base_url="http://localhost", client=("127.0.0.1", 50000)
    ) as opened:
        yield opened


@pytest.fixture
def empty_client(tmp_path: Path) -> Iterator[TestClient]:
    """A first start: no pictures, the encoder in the box, and a root with some to add."""
    tiny_pictures(tmp_path / "photos" / "some", 12)
    (tmp_path / "photos" / "some" / "bad.jpg").write_bytes(b"no picture")
    settings = ServerSettings(roots=(tmp_path / "photos",), _env_file=None)
    with TestClient(
        create_app(Library.open(tmp_path / "new.vf"), settings),
        base_url="http://localhost",
        client=("127.0.0.1", 50000),
    ) as opened:
        yield opened


def _told(answer: Any) -> Any:
    assert answer.status_code < 300, answer.text
    return answer.json()


def test_the_collection_at_a_glance(client: TestClient) -> None:
    told = _told(client.get(API))
    assert (told["pictures"], told["failures"], told["jobs"]) == (24, 3, 0)
    assert {"Top", "Bottom", "format"} <= set(told["columns"])
    assert told["roots"] == [{"number": 0, "name": "root"}]
    assert told["originals"]  # to this machine
    assert len(set(told["examples"])) == 4


def test_a_library_without_pictures_is_a_collection_too(empty_client: TestClient) -> None:
    told = _told(empty_client.get(API))
    assert (told["pictures"], told["failures"], told["columns"], told["space"]) == (0, 0, [], None)
    assert _told(empty_client.post(f"{API}/facets", json={"where": {}})) == {"total": 0, "facets": []}


def test_failures_come_page_by_page_without_paths(client: TestClient) -> None:
    first = _told(client.get(f"{API}/failures", params={"n": 2}))
    second = _told(client.get(f"{API}/failures", params={"n": 2, "cursor": first["next"]}))
    assert [one["name"] for page in (first, second) for one in page["failures"]] == ["a.jpg", "b.jpg", "c.jpg"]
    assert (first["total"], second["next"]) == (3, None)
    assert "/" not in json.dumps([first, second])
    assert client.get(f"{API}/failures", params={"cursor": "none of yours"}).status_code == 422


def _facet(told: dict[str, Any], column: str) -> dict[str, int]:
    (found,) = [one for one in told["facets"] if one["column"] == column]
    return {value["value"]: value["count"] for value in found["values"]}


def test_a_facet_counts_under_the_filters_of_the_other_columns(
    client: TestClient, catalogued: tuple[Path, list[tuple[str, str]]]
) -> None:
    looks = catalogued[1]
    told = _told(client.post(f"{API}/facets", json={"where": {"top": "RED"}}))
    under_red = Counter(bottom for top, bottom in looks if top == "red")
    assert told["total"] == sum(under_red.values())
    assert _facet(told, "Bottom") == under_red
    assert _facet(told, "Top") == Counter(top for top, _ in looks)  # one may choose another


def test_a_value_that_the_other_filters_rule_out_is_still_listed_where_it_is_chosen(
    client: TestClient, catalogued: tuple[Path, list[tuple[str, str]]]
) -> None:
    tops = {top for top, _ in catalogued[1]}
    bottoms = {bottom for _, bottom in catalogued[1]}
    top, bottom = next((t, b) for t in sorted(tops) for b in sorted(bottoms) if (t, b) not in catalogued[1])
    told = _told(client.post(f"{API}/facets", json={"where": {"Top": top, "Bottom": bottom}}))
    assert told["total"] == 0
    assert _facet(told, "Top")[top] == 0


def test_an_unknown_column_or_value_is_said_to_be_unknown(client: TestClient) -> None:
    for where in ({"no such": "red"}, {"Top": "no such"}):
        answer = client.post(f"{API}/facets", json={"where": where})
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:viewfinder:problem:unknown-name")


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=3, unique=True), min_size=1, max_size=30),
    st.data(),
)
def test_counts_are_those_of_counting_one_by_one(values_of_pictures: list[list[str]], data: st.DataObject) -> None:
    allowed = data.draw(st.lists(st.booleans(), min_size=len(values_of_pictures), max_size=len(values_of_pictures)))
    column = AttributeColumn.of("letters", values_of_pictures)
    slow = Counter(value for values, let in zip(values_of_pictures, allowed, strict=True) if let for value in values)
    fast = count_values(column, np.array(allowed, dtype=bool))
    assert dict(zip(column.values, fast.tolist(), strict=True)) == {value: slow[value] for value in column.values}


def test_the_twenty_most_frequent_values_are_listed_and_the_chosen_one() -> None:
    column = AttributeColumn.of("word", [(f"w{number:02}",) for number in range(30) for _ in range(31 - number)])
    everything = np.ones(len(column), dtype=bool)
    plain = count_facet(column, everything, None)
    assert [(one.value, one.count) for one in plain.values[:2]] == [("w00", 31), ("w01", 30)]
    assert (len(plain.values), plain.more) == (MAX_VALUES, 10)
    chosen = count_facet(column, everything, "W29")
    assert (len(chosen.values), chosen.values[-1].value, chosen.more) == (MAX_VALUES + 1, "w29", 9)


def test_a_column_of_numbers_has_a_range_under_the_filters_of_the_others() -> None:
    prices = AttributeColumn.of("Preis", [("9,50 €",), ("1.200,00 €",), ("80,00 €", "12,00 €"), ()])
    everything = count_facet(prices, np.ones(4, dtype=bool), None).range
    assert everything is not None and (everything.low, everything.high) == (9.5, 1200.0)
    some = count_facet(prices, np.array([False, False, True, True]), None).range
    assert some is not None and (some.low, some.high) == (12.0, 80.0)
    assert count_facet(prices, np.array([False, False, False, True]), None).range is None
    assert count_facet(AttributeColumn.of("size", [("38",), ("XL",)]), np.ones(2, dtype=bool), None).range is None


@pytest.mark.parametrize(
    ("given_as", "told"),
    [("starter", "starter"), ("openai/clip", "openai/clip"), ("/srv/models/mine", "mine"), ("./models/mine", "mine")],
)
def test_an_encoder_that_is_a_folder_is_told_by_its_last_name(given_as: str, told: str) -> None:
    assert encoder_name(given_as) == told


@pytest.mark.parametrize("folder", ["..", "/etc", "inside/../../other"])
def test_a_folder_outside_the_roots_is_refused_without_naming_any(
    folder: str, client: TestClient, tmp_path: Path
) -> None:
    answer = client.post(f"{API}/folders", json={"root": 0, "folder": folder})
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:viewfinder:problem:outside-roots")
    assert str(tmp_path) not in answer.text
    assert _told(client.get(f"{API}/jobs")) == {"jobs": []}


def test_an_unknown_job_is_not_found_whatever_is_asked_of_it(client: TestClient) -> None:
    asked = [client.get(f"{API}/jobs/no"), client.get(f"{API}/jobs/no/events")]
    asked += [client.post(f"{API}/jobs/no/{wish}") for wish in ("pause", "resume", "cancel")]
    assert [answer.status_code for answer in asked] == [404] * 5
    assert {answer.headers["content-type"] for answer in asked} == {"application/problem+json"}


def test_an_unknown_retriever_cannot_be_prepared(client: TestClient) -> None:
    answer = client.post(f"{API}/prepare", json={"retriever": "nobody"})
    assert answer.status_code == 422
    assert "there are: " in answer.json()["detail"]


def _events(client: TestClient, job: str) -> list[dict[str, Any]]:
    with client.stream("GET", f"{API}/jobs/{job}/events") as stream:
        lines = [line for line in stream.iter_lines() if line.startswith("data:")]
    return [json.loads(line.removeprefix("data:")) for line in lines]


@pytest.mark.slow
def test_a_first_folder_is_added_over_http_and_its_pictures_are_found(empty_client: TestClient) -> None:
    job = _told(empty_client.post(f"{API}/folders", json={"folder": "some"}))
    assert (job["kind"], job["what"], job["state"]) == ("add", {"root": 0, "folder": "some"}, "queued")
    told = _events(empty_client, job["id"])
    assert told[-1]["state"] == "done"
    assert (told[-1]["done"], told[-1]["total"], told[-1]["eta_s"]) == (13, 13, None)
    assert told[-1]["report"]["failures"][0]["name"] == "bad.jpg"
    assert _told(empty_client.get(f"{API}/jobs/{job['id']}")) == told[-1]
    assert empty_client.post(f"{API}/jobs/{job['id']}/pause").status_code == 409
    deadline = time.monotonic() + 120
    while _told(empty_client.get(API))["pictures"] != 12:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert _told(empty_client.get(API))["failures"] == 1
