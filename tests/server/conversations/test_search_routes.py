"""One search over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import load_colour_encoder, tiny_pictures


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server over eight drawings, and one more drawing to show it."""
    home = tmp_path_factory.mktemp("search")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        library = Library.open(home / "library.vf")
        tiny_pictures(home / "pictures", 8)
        library.add(home / "pictures", workers=1)
        with TestClient(
            create_app(library, ServerSettings(_env_file=None)),
            base_url="http://127.0.0.1:8008",
            client=("127.0.0.1", 50000),
        ) as made:
            yield made


def found(client: TestClient, **given: Any) -> dict[str, Any]:
    answer = client.post("/api/v1/search", json=given)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_words_find_their_picture_with_a_reason(client: TestClient) -> None:
    results = found(client, text="red over red", n=3)
    first = results["results"][0]
    assert first["name"] == "0000-red-red.png"
    assert first["why"]["turns"][0]["parts"] == ["red over red"]
    assert (results["total"], results["next"], len(results["results"])) == (8, "3", 3)


def test_the_next_page_goes_on(client: TestClient) -> None:
    whole = [hit["id"] for hit in found(client, text="red", why=False)["results"]]
    first = found(client, text="red", n=5)
    second = found(client, text="red", n=5, cursor=first["next"])
    assert [hit["id"] for hit in (*first["results"], *second["results"])] == whole
    assert second["next"] is None


def test_a_picture_of_the_library_finds_itself(client: TestClient) -> None:
    picture = found(client, text="red over red")["results"][0]["id"]
    assert found(client, like=picture)["results"][0]["id"] == picture
    assert found(client, like=picture, text="white")["total"] == 7  # with "but ..." another one is wanted


def test_an_image_of_ones_own_is_uploaded_and_then_shown(client: TestClient, tmp_path: Any) -> None:
    drawn = tiny_pictures(tmp_path, 1)[0]
    with drawn.path.open("rb") as file:
        upload = client.post("/api/v1/uploads", files={"file": ("mine.png", file, "image/png")})
    assert upload.status_code == 201, upload.text
    results = found(client, show=upload.json()["id"], n=1)
    assert results["results"][0]["name"] == "0000-red-red.png"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, 422),
        ({"like": "nobody"}, 422),
        ({"text": "red", "cursor": "x"}, 422),
        ({"text": "red", "n": 501}, 422),
        ({"text": "red", "retriever": "nobody"}, 422),
        ({"text": "red", "where": {"size": "small"}}, 422),
        ({"text": "red", "more": 1}, 422),
    ],
)
def test_what_cannot_be_searched_is_a_problem(client: TestClient, given: dict[str, Any], status: int) -> None:
    answer = client.post("/api/v1/search", json=given)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert "library.vf" not in answer.text


def test_the_pictures_of_a_product_are_one_result_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    library = Library.open(tmp_path / "library.vf")
    drawn = tiny_pictures(tmp_path / "pictures", 8)
    rows = [{"file": picture.path.name, "product id": str(at // 2)} for at, picture in enumerate(drawn)]
    library.add(tmp_path / "pictures", catalogue=rows, workers=1)
    app = create_app(library, ServerSettings(_env_file=None))
    with TestClient(app, base_url="http://127.0.0.1:8008", client=("127.0.0.1", 50000)) as here:
        every, first = found(here, text="red"), found(here, text="red", fold=True, n=3)
        rest = found(here, text="red", fold=True, n=3, cursor=first["next"])
    assert (every["total"], first["total"], rest["next"]) == (8, 4, None)
    assert not any(hit["others"] for hit in every["results"])
    hits = [*first["results"], *rest["results"]]
    assert len(hits) == 4
    assert {picture for hit in hits for picture in (hit["id"], *hit["others"])} == {row.id for row in library}


def test_how_many_fit_is_counted_over_all_pages(client: TestClient) -> None:
    whole = found(client, text="red over red", n=8)
    matches = [hit["match"] for hit in whole["results"]]
    assert (whole["likely"], whole["maybe"]) == (matches.count("likely"), matches.count("maybe"))
    page = found(client, text="red over red", n=1)
    assert (page["likely"], page["maybe"]) == (whole["likely"], whole["maybe"])
    assert whole["likely"] + whole["maybe"] > 0
