"""Conversations over HTTP: statuses, events, who may do what, a client that leaves in the middle."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from fastapi.testclient import TestClient

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves, load_colour_encoder

SESSIONS = "/api/v1/sessions"


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The 64 pairs of colours, which have no files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        library, encoder = Library.open(tmp_path_factory.mktemp("talks") / "library.vf"), ColourEncoder()
        looks = [(top, bottom) for top in COLOURS for bottom in COLOURS]
        rows = [
            PictureRow(f"p{at:03}", (FileRecord(f"/secret/folder/{at}.png", 1, 1),), 24, 16, "PNG", 1)
            for at in range(len(looks))
        ]
        raw_nd = encoder.pictures([draw_halves(top, bottom) for top, bottom in looks]).global_bd
        library.store.add(rows, {encoder.raw_version: raw_nd, encoder.version: encoder.project(raw_nd)})
        library.switch(encoder.version, None)
        yield library


@pytest.fixture(scope="module")
def client(colours: Library) -> Iterator[TestClient]:
    with TestClient(
        create_app(colours, ServerSettings(_env_file=None)),
        base_url="http://127.0.0.1:8008",
        client=("127.0.0.1", 50000),
    ) as client:
        yield client


@pytest.fixture
def conversation(client: TestClient) -> str:
    """The address of a conversation in which one thing was said."""
    address = f"{SESSIONS}/{client.post(SESSIONS, json={'n': 30}).json()['id']}"
    assert client.post(f"{address}/turns", json={"say": "something colourful"}).status_code == 201
    return address


def events(text: str) -> list[tuple[str, Any]]:
    """Server-sent events as (name, data)."""
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in text.replace("\r", "").split("\n\n")
    ]
    return [(block["event"], json.loads(block["data"])) for block in blocks if "event" in block]


def test_a_turn_is_answered_with_results_and_beliefs_and_no_path(client: TestClient, conversation: str) -> None:
    answer = client.post(f"{conversation}/turns", json={"say": "red over blue"})
    assert answer.status_code == 201
    results = answer.json()
    assert (results["turn"], results["asking"], len(results["results"]), results["next"]) == (2, True, 30, "30")
    assert results["results"][0]["name"] == "2.png"
    assert "/secret" not in answer.text


def test_events_are_the_question_then_reasons_then_the_end(client: TestClient, conversation: str) -> None:
    answer = client.get(f"{conversation}/turns/1/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    (first, *reasons, last) = events(answer.text)
    shown = [hit["id"] for hit in client.get(f"{conversation}/turns/1").json()["results"]]
    assert first[0] == "question"
    assert first[1]["question"] == client.get(conversation).json()["tree"][1]["asked"]
    assert {name for name, _ in reasons} == {"why"}
    assert [picture for _, data in reasons for picture in data["why"]] == shown
    assert reasons[0][1]["why"][shown[0]]["turns"][0]["parts"] == ["something colourful"]
    assert last == ("done", {})


def test_events_after_the_last_one_heard_are_sent(client: TestClient, conversation: str) -> None:
    address = f"{conversation}/turns/1/events"
    whole = events(client.get(address).text)
    for heard in range(len(whole)):
        rest = events(client.get(address, headers={"Last-Event-ID": str(heard)}).text)
        assert rest == whole[heard:]
    for late in ("1000", "999999999"):
        assert events(client.get(address, headers={"Last-Event-ID": late}).text) == whole[-1:]
    for strange in ("-1", "x", "1e3", "9" * 50):
        assert events(client.get(address, headers={"Last-Event-ID": strange}).text) == whole


def test_a_turn_with_a_key_is_taken_once_and_the_key_means_that_turn(client: TestClient, conversation: str) -> None:
    address = f"{conversation}/turns"
    first = client.post(address, json={"say": "red"}, headers={"Idempotency-Key": '"k-1"'})
    for again in ('"k-1"', "k-1"):
        answer = client.post(
            address,
            content=b'{ "say" : "red" }',
            headers={"Idempotency-Key": again, "Content-Type": "application/json"},
        )
        assert (answer.status_code, answer.json()["turn"]) == (201, 2)
        assert answer.json()["results"] == first.json()["results"]
    refused = client.post(address, json={"say": "blue"}, headers={"Idempotency-Key": "k-1"})
    assert refused.status_code == 422
    assert refused.json()["type"] == "urn:viewfinder:problem:key-reused"
    assert "which is turn 2: give each turn a new key" in refused.json()["detail"]
    assert client.get(conversation).json()["turns"] == 2


@pytest.mark.parametrize("key", ["", '""', "two words", "x" * 129, 'a"b', "\xe9"])
def test_a_key_that_is_none_is_refused(client: TestClient, conversation: str, key: str) -> None:
    answer = client.post(
        f"{conversation}/turns", json={"say": "red"}, headers=[(b"Idempotency-Key", key.encode("latin-1"))]
    )
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:viewfinder:problem:invalid")
    assert client.get(conversation).json()["turns"] == 1


def test_the_start_has_neither_question_nor_reasons(client: TestClient, conversation: str) -> None:
    assert events(client.get(f"{conversation}/turns/0/events").text) == [("question", {"question": None}), ("done", {})]
    assert client.get(f"{conversation}/turns/0").json()["results"] == []


def test_pages_and_other_retrievers(client: TestClient, conversation: str) -> None:
    first = client.get(f"{conversation}/turns/1", params={"n": 40}).json()
    second = client.get(f"{conversation}/turns/1", params={"n": 40, "cursor": first["next"]}).json()
    assert (len(first["results"]), len(second["results"]), second["next"]) == (40, 24, None)
    other = client.get(f"{conversation}/turns/1", params={"retriever": "clip-i"}).json()
    assert other["adapters"] == ["drop: clip-i has no use for words"]


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        ({"say": " "}, "empty-query"),
        ({"like": "nobody"}, "unknown-name"),
        ({"show": "/etc/passwd"}, "unknown-name"),
        ({"back_to": 99}, "bad-input"),
        ({"say": "red", "like": "p000"}, "invalid"),
        ({"sing": "red"}, "invalid"),
        ({"say": "x" * 2001}, "invalid"),
        ({"say": "nul\0"}, "invalid"),
    ],
)
def test_what_cannot_be_said_is_a_problem(
    client: TestClient, conversation: str, turn: dict[str, Any], kind: str
) -> None:
    answer = client.post(f"{conversation}/turns", json=turn)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == f"urn:viewfinder:problem:{kind}"
    assert client.get(conversation).json()["turns"] == 1


def test_a_turn_can_be_changed_and_taken_back(client: TestClient, conversation: str) -> None:
    client.post(f"{conversation}/turns", json={"say": "red"})
    changed = client.put(f"{conversation}/turns/1", json={"say": "blue"})
    assert (changed.status_code, changed.json()["numbers"]) == (200, {"1": 4, "2": 5})
    deleted = client.delete(f"{conversation}/turns/4")
    assert (deleted.status_code, deleted.json()["numbers"]) == (200, {"5": 7})
    assert [chip["label"] for chip in deleted.json()["results"]["beliefs"]] == ["red"]
    assert client.put(f"{conversation}/turns/3", json={"say": "blue"}).status_code == 422  # a way back
    assert client.delete(f"{conversation}/turns/70").status_code == 404


def test_a_conversation_is_listed_renamed_exported_imported_and_forgotten(
    client: TestClient, conversation: str
) -> None:
    id = conversation.removeprefix(f"{SESSIONS}/")
    assert client.get(SESSIONS, params={"n": 1}).json()["sessions"][0]["id"] == id
    assert client.patch(conversation, json={"name": "mine"}).json()["name"] == "mine"
    document = client.get(f"{conversation}/export").json()
    assert (document["schema"], document["name"]) == ("viewfinder/session", "mine")
    copy = client.post(f"{SESSIONS}/import", json=document)
    assert (copy.status_code, copy.json()["turns"]) == (201, 1)
    assert client.delete(conversation).status_code == 204
    assert client.get(conversation).status_code == client.delete(conversation).status_code == 404


def test_what_was_found_comes_out_as_lines(client: TestClient, conversation: str) -> None:
    before = client.get("/api/v1/feedback").text.splitlines()
    best = client.get(f"{conversation}/turns/1").json()["results"][2]["id"]
    noted = client.post(f"{conversation}/found", json={"picture": best})
    assert (noted.status_code, noted.json()["rank"]) == (201, 3)
    answer = client.get("/api/v1/feedback")
    assert answer.headers["content-type"].startswith("application/jsonl")
    lines = answer.text.splitlines()
    assert len(lines) == len(before) + 1
    assert json.loads(lines[-1])["picture"] == best
    assert client.post(f"{conversation}/found", json={"picture": "nobody"}).status_code == 422
    missing = client.post(f"{conversation}/found", json={"picture": best, "turn": 99})
    assert (missing.status_code, missing.json()["type"]) == (422, "urn:viewfinder:problem:bad-input")
    assert "turn 99 does not exist: this conversation has turns 0 to 1" in missing.json()["detail"]


def test_a_conversation_that_was_deleted_answers_nowhere(client: TestClient, conversation: str) -> None:
    best = client.get(f"{conversation}/turns/1").json()["results"][0]["id"]
    found = client.post(f"{conversation}/found", json={"picture": best}).json()["id"]
    known = {"id": conversation.rpartition("/")[2], "number": "1", "picture": best, "found": found}
    bodies: dict[str, dict[str, Any]] = {"change_session": {"name": "x"}, "found_it": {"picture": best}}
    assert client.delete(conversation).status_code == 204
    document = client.get("/api/v1/openapi.json").json()
    asked = 0
    for path, methods in document["paths"].items():
        if not path.startswith("/api/v1/sessions/{id}"):
            continue
        address = path.format(**known)
        for method, operation in methods.items():
            body = bodies.get(operation["operationId"], {"say": "red"}) if "requestBody" in operation else None
            answer = client.request(method, address, json=body)
            assert answer.status_code == 404, f"{method} {path}: {answer.text[:200]}"
            asked += 1
    assert asked > 10


@pytest.mark.parametrize("path", ["nobody", "nobody/export", "nobody/turns/0", "nobody/turns/0/events", "%00", "a%2Fb"])
def test_a_conversation_that_does_not_exist_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(f"{SESSIONS}/{path}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_client_that_leaves_in_the_middle_costs_nobody_else_anything(colours: Library) -> None:
    app = create_app(colours, ServerSettings(_env_file=None))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        with TestClientOf(port) as client:
            address = f"{SESSIONS}/{client.call('POST', SESSIONS, {'n': 50})['id']}"
            client.call("POST", f"{address}/turns", {"say": "red"})
        for _ in range(8):  # more than there are threads
            leave_early(port, f"{address}/turns/1/events")
            leave_early(port, f"{address}/turns/1")
        with TestClientOf(port) as client:
            assert client.call("POST", f"{address}/turns", {"say": "blue"})["turn"] == 2
    finally:
        server.should_exit = True
        thread.join()


class TestClientOf:
    """Calls a server on this machine."""

    __test__ = False

    def __init__(self, port: int) -> None:
        import httpx

        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)

    def __enter__(self) -> TestClientOf:
        return self

    def __exit__(self, *raised: object) -> None:
        self._client.close()

    def call(self, method: str, path: str, body: Any) -> Any:
        answer = self._client.request(method, path, json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()


def leave_early(port: int, path: str) -> None:
    """Asks, reads the first bytes of the answer, and is gone."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert connection.recv(20).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("turn", "detail"),
    [
        ({"keep": "colour"}, "body.turn: Field required"),
        ({"like": 5}, "body.like: Input should be a valid string"),
        ({"skip": False}, "body.skip: Input should be True"),
        ({"say": "a dog", "parent": -1}, "body.parent: Input should be greater than or equal to 0"),
        ({"say": "a dog", "like": "p001"}, "body.like: Extra inputs are not permitted"),
        ({}, "body: one of these is needed: say, answer, skip, like, show, reject, keep, back_to"),
        ({"sya": "a dog"}, "body: one of these is needed: say, answer, skip, like, show, reject, keep, back_to"),
        ("a dog", "body: Input should be a valid dictionary or object to extract fields from"),
    ],
)
def test_what_is_wrong_with_a_turn_is_told_of_the_turn_that_was_meant(
    client: TestClient, conversation: str, turn: object, detail: str
) -> None:
    answer = client.post(f"{conversation}/turns", json=turn)
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
    assert "Turn" not in answer.text


def test_a_header_that_is_wrong_is_named(client: TestClient, conversation: str) -> None:
    answer = client.post(f"{conversation}/turns", json={"say": "a dog"}, headers={"Idempotency-Key": "a" * 400})
    assert answer.status_code == 422 and "Idempotency-Key" in answer.json()["detail"]


@pytest.mark.parametrize("kind", [{}, {"Content-Type": "application/x-www-form-urlencoded"}])
@pytest.mark.parametrize("content", [b'{"say": "a dog"}', b""])
def test_json_without_its_header_is_told_which_it_lacks(
    client: TestClient, conversation: str, kind: dict[str, str], content: bytes
) -> None:
    answer = client.post(f"{conversation}/turns", content=content, headers=kind)
    assert answer.status_code == 422
    assert answer.json()["detail"] == "body: send JSON, with the header Content-Type: application/json"
