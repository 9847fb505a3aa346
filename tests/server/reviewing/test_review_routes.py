"""Dialogues under review over HTTP, behind the access layer."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

from viewfinder.data.chatsearch import ChatSample, ChatTurn, ImageItem, TextItem, read_chatsearch, write_chatsearch
from viewfinder.server.access.tokens import Tokens
from viewfinder.server.database import Database, TokenRows
from viewfinder.server.settings import ServerSettings, database_url
from viewfinder.studies.reviewing.app import create_app

API = "/api/v1/review"
TOKENS = {"guest": ["read"], "anna": ["read", "write"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two dialogues, each with a drawing; the second has a slash in its name."""
    Image.new("RGB", (900, 300), "red").save(tmp_path / "a b.png")
    turns = (ChatTurn("user", (ImageItem("a b.png"), TextItem("but blue"))),)
    samples = [ChatSample(name, "iChat", turns, "a b.png", {"pipeline": "mdc-i"}) for name in ("one", "two/2")]
    write_chatsearch(tmp_path / "made.jsonl", samples)
    return tmp_path / "made.jsonl"


@pytest.fixture
def client(file: Path, tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(file, None, ServerSettings(_env_file=None), tmp_path / "library")
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50000)) as opened:
        yield opened


def decision(verdict: str, **more: Any) -> dict[str, Any]:
    return {"verdict": verdict, "before": None, **more}


def test_the_list_is_short_and_a_dialogue_is_whole(client: TestClient) -> None:
    listed = client.get(API).json()
    assert listed["file"] == "made.jsonl"
    assert listed["dialogues"][1] == {"id": "two/2", "subtask": "iChat", "pipeline": "mdc-i", "verdict": None}
    assert client.get(f"{API}/dialogues/two/2").json() == {
        "id": "two/2",
        "subtask": "iChat",
        "turns": [{"role": "user", "content": [{"image": "a b.png"}, {"text": "but blue"}]}],
        "target": "a b.png",
        "source": {"pipeline": "mdc-i"},
        "review": None,
    }


def test_a_decision_is_answered_with_what_stands(client: TestClient) -> None:
    turns = [{"role": "user", "content": [{"image": "a b.png"}, {"text": "but green"}]}]
    given = decision("rewritten", turns=turns, note="blue was wrong", by="anna")
    answer = client.put(f"{API}/dialogues/two/2", json=given)
    assert answer.status_code == 200
    assert answer.json()["review"] == {"verdict": "rewritten", "turns": turns, "note": "blue was wrong", "by": "anna"}
    assert client.get(API).json()["dialogues"][1]["verdict"] == "rewritten"


WRONG: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("none", decision("accepted"), 404),
    ("one", decision("fine"), 422),
    ("one", decision("rewritten"), 422),
    ("one", decision("rejected", turns=[{"role": "user", "content": [{"text": "x"}]}]), 422),
    ("one", decision("rewritten", turns=[{"role": "user", "content": [{"text": "no picture"}]}]), 422),
    ("one", decision("rewritten", turns=[{"role": "user", "content": []}]), 422),
    ("one", {"verdict": "accepted"}, 422),
    ("one", decision("accepted", more=1), 422),
)


def test_what_cannot_be_is_refused_and_nothing_is_noted(client: TestClient) -> None:
    for name, given, status in WRONG:
        answer = client.put(f"{API}/dialogues/{name}", json=given)
        assert answer.status_code == status, given
        assert answer.headers["content-type"] == "application/problem+json"
    assert {each["verdict"] for each in client.get(API).json()["dialogues"]} == {None}


def test_a_second_look_is_told_of_the_first_decision(client: TestClient) -> None:
    assert client.put(f"{API}/dialogues/one", json=decision("accepted")).status_code == 200
    assert client.put(f"{API}/dialogues/one", json=decision("rejected")).status_code == 409
    assert client.put(f"{API}/dialogues/one", json=decision("rejected", before="accepted")).status_code == 200


def test_what_was_kept_can_be_downloaded_and_read(client: TestClient, tmp_path: Path) -> None:
    client.put(f"{API}/dialogues/two/2", json=decision("accepted"))
    answer = client.get(f"{API}/kept")
    assert answer.headers["content-disposition"] == 'attachment; filename="made.reviewed.jsonl"'
    (tmp_path / "kept.jsonl").write_bytes(answer.content)
    assert [sample.id for sample in read_chatsearch(tmp_path / "kept.jsonl")[0]] == ["two/2"]


def test_pictures_are_small_copies_of_those_that_are_named(client: TestClient) -> None:
    answer = client.get(f"{API}/pictures/a b.png", params={"size": 320})
    assert answer.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(answer.content)).size == (320, 107)
    assert client.get(f"{API}/pictures/made.jsonl").status_code == 404
    assert client.get(f"{API}/pictures/a b.png", params={"size": 5000}).status_code == 422


def test_a_picture_that_is_gone_is_a_problem_without_a_path(client: TestClient, file: Path) -> None:
    (file.parent / "a b.png").unlink()
    answer = client.get(f"{API}/pictures/a b.png")
    assert answer.status_code == 422
    assert str(file.parent) not in answer.text


def test_a_page_of_another_site_decides_nothing(client: TestClient) -> None:
    foreign = {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}
    assert client.put(f"{API}/dialogues/one", json=decision("accepted"), headers=foreign).status_code == 403
    assert client.get(API, headers={"host": "evil.example"}).status_code == 403
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy


def test_other_machines_need_a_token_of_the_library_and_its_name_is_noted(file: Path, tmp_path: Path) -> None:
    settings = ServerSettings(host="0.0.0.0", _env_file=None)
    library = tmp_path / "library"
    database = Database.open(database_url(library, settings))
    made = Tokens(TokenRows(database), settings)
    reader, writer = (
        made.create(name, scopes).secret for name, scopes in (("r", ["read"]), ("anna", ["read", "write"]))
    )
    database.close()
    with TestClient(create_app(file, None, settings, library), base_url="http://far.example") as client:
        assert client.get(API).status_code == 401
        assert client.get("/").status_code == 200  # the page, which asks for a token
        assert client.get(f"{API}/pictures/a b.png").status_code == 401
        bearer = {"authorization": f"Bearer {reader}"}
        assert client.get(API, headers=bearer).status_code == 200
        assert client.put(f"{API}/dialogues/one", json=decision("accepted"), headers=bearer).status_code == 403
        assert client.post("/api/v1/login", json={"token": writer}).status_code == 204
        answer = client.put(f"{API}/dialogues/one", json=decision("accepted"))
        assert answer.json()["review"]["by"] == "anna"
    assert json.loads((tmp_path / "made.review.jsonl").read_text())["by"] == "anna"


def test_on_this_machine_nothing_is_left_in_a_library(client: TestClient, tmp_path: Path) -> None:
    me = client.get("/api/v1/me").json()
    assert (me["name"], me["scopes"]) == (None, ["read", "write", "download", "tickets", "admin"])
    assert not me["token_needed"]
    assert client.get("/api/v1/health/live").json()["ok"]
    assert not (tmp_path / "library").exists()
