"""Columns of the catalogue with results, and results in the order of one, over HTTP and by `viewfinder.connect`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import COLOURS, load_colour_encoder, tiny_pictures


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server over a drawing for each pair of colours, the dearer the earlier."""
    home = tmp_path_factory.mktemp("shop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        drawn = tiny_pictures(home / "pictures", len(COLOURS) ** 2)
        rows = [f"{one.path.name},{one.top} {one.bottom},{100 - at},{one.top}" for at, one in enumerate(drawn)]
        (home / "catalogue.csv").write_text("\n".join(["image,name,price,top", *rows]), encoding="utf-8")
        library = Library.open(home / "library.vf")
        library.add(home / "pictures", catalogue=home / "catalogue.csv", workers=1)
        app = create_app(library, ServerSettings(_env_file=None))
        with TestClient(app, base_url="http://127.0.0.1:8008", client=("127.0.0.1", 50000)) as made:
            yield made


def asked(client: TestClient, method: str, path: str, body: Any = None, **params: Any) -> dict[str, Any]:
    answer = client.request(method, f"/api/v1{path}", json=body, params=params)
    assert answer.is_success, answer.text
    return dict(answer.json())


def prices(results: dict[str, Any]) -> list[float]:
    """Of the results that fit."""
    return [float(hit["fields"]["price"][0]) for hit in results["results"] if hit["match"] != "unlikely"]


def begin(client: TestClient, n: int = 64) -> str:
    return str(asked(client, "POST", "/sessions", {"n": n, "questioner": "none"})["id"])


def test_a_search_has_the_columns_that_were_asked_for_and_else_none(client: TestClient) -> None:
    hit = asked(client, "POST", "/search", {"text": "red", "n": 1, "fields": ["name,price"]})["results"][0]
    assert set(hit["fields"]) == {"name", "price"}
    assert hit["fields"]["name"] == [hit["name"].removesuffix(".png")[5:].replace("-", " ")]
    assert asked(client, "POST", "/search", {"text": "red", "n": 1})["results"][0]["fields"] is None


def test_a_turn_has_them_and_so_have_its_pages_its_edits_and_what_is_sent_twice(client: TestClient) -> None:
    session = begin(client, n=6)
    how = {"fields": ["name", "price"], "sort": "price"}
    key = {"Idempotency-Key": "once"}
    path = f"/api/v1/sessions/{session}/turns"
    first, again = (client.post(path, json={"say": "red over red"}, params=how, headers=key).json() for _ in range(2))
    assert first["results"] == again["results"]
    assert prices(first) == sorted(prices(first))
    page = asked(client, "GET", f"/sessions/{session}/turns/1", n=6, cursor=first["next"], **how)
    assert all(hit["fields"]["price"] for hit in page["results"])
    assert not {hit["id"] for hit in first["results"]} & {hit["id"] for hit in page["results"]}
    edited = asked(client, "PUT", f"/sessions/{session}/turns/1", {"say": "green over red"}, **how)["results"]
    assert prices(edited) == sorted(prices(edited))
    assert edited["results"][0]["fields"]["name"]


def test_what_was_shown_is_what_was_seen(client: TestClient) -> None:
    session = begin(client, n=4)
    seen = asked(client, "POST", f"/sessions/{session}/turns", {"say": "red"}, sort="price", fields="price")
    assert prices(seen) == sorted(prices(seen))
    rest = asked(client, "POST", f"/sessions/{session}/turns", {"reject": []}, fields="price")
    gone = {hit["id"] for hit in seen["results"]}
    assert rest["total"] == seen["total"] - 4
    everything = asked(client, "GET", f"/sessions/{session}/turns/2", n=100)
    assert not gone & {hit["id"] for hit in everything["results"]}


def test_filters_alone_are_ordered_whole(client: TestClient) -> None:
    given = {"where": {"top": "red"}, "fields": ["price"], "n": 3}
    first = asked(client, "POST", "/search", {**given, "sort": "-price"})
    second = asked(client, "POST", "/search", {**given, "sort": "-price", "cursor": first["next"]})
    both = prices(first) + prices(second)
    assert len(both) == 6 and both == sorted(both, reverse=True)


def test_cards_that_are_browsed_and_similar_pictures_have_them_too(client: TestClient) -> None:
    card = asked(client, "POST", "/pictures/browse", {"n": 1, "fields": ["price"]})["pictures"][0]
    assert float(card["fields"]["price"][0]) > 0
    like = asked(client, "GET", f"/pictures/{card['id']}/similar", n=1, fields="name")["results"][0]
    assert like["fields"]["name"]


@pytest.mark.parametrize("given", [{"fields": ["prize"]}, {"sort": "-prize"}])
def test_an_unknown_column_is_named_with_those_that_there_are(client: TestClient, given: dict[str, Any]) -> None:
    answer = client.post("/api/v1/search", json={"text": "red", **given})
    assert answer.status_code == 422
    assert "'prize'; there are: name, price, top" in answer.json()["detail"]
    session = begin(client)
    turn = client.post(f"/api/v1/sessions/{session}/turns", json={"say": "red"}, params=given)
    assert turn.status_code == 422
    assert asked(client, "GET", f"/sessions/{session}")["turns"] == 0
