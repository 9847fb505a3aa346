"""Health, numbers, version."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import viewfinder
import viewfinder.library
from viewfinder.library import Library
from viewfinder.search.turn_scores import score_turn
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import load_colour_encoder, tiny_pictures


@pytest.fixture(scope="session")
def coloured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of eight drawings."""
    home = tmp_path_factory.mktemp("health")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        tiny_pictures(home / "pictures", 8)
        Library.open(home / "library.vf").add(home / "pictures", workers=1)
    return home / "library.vf"


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)


@pytest.fixture
def client(coloured: Path, tmp_path: Path) -> Iterator[TestClient]:
    settings = ServerSettings(database_url=f"sqlite:///{tmp_path / 'server.sqlite3'}", _env_file=None)
    with TestClient(
        create_app(Library.open(coloured), settings), base_url="http://localhost", client=("127.0.0.1", 50000)
    ) as opened:
        yield opened


@pytest.fixture
def far_client(coloured: Path, tmp_path: Path) -> Iterator[TestClient]:
    """Of a server that other machines can reach, without a token."""
    settings = ServerSettings(host="0.0.0.0", database_url=f"sqlite:///{tmp_path / 'far.sqlite3'}", _env_file=None)
    with TestClient(create_app(Library.open(coloured), settings), base_url="http://pictures.example") as opened:
        yield opened


def _number(text: str, name: str) -> float:
    (line,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return float(line.rsplit(" ", 1)[1])


def test_a_server_that_answers_lives_and_is_ready(client: TestClient) -> None:
    assert client.get("/api/v1/health/live").json() == {"ok": True, "checks": {}}
    checks = {"database": "ok", "library": "ok"}
    assert client.get("/api/v1/health/ready").json() == {"ok": True, "checks": checks}
    assert client.get("/api/v1/version").json() == {"viewfinder": viewfinder.__version__, "api": "v1"}


def test_without_its_database_it_lives_but_is_not_ready(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(database: object) -> None:
        raise viewfinder.errors.DatabaseError("cannot open /srv/secret/server.sqlite3: gone")

    monkeypatch.setattr("viewfinder.server.database.Database.check", away)
    answer = client.get("/api/v1/health/ready")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json()["checks"] == {"database": "cannot open server.sqlite3: gone", "library": "ok"}
    assert client.get("/api/v1/health/live").status_code == 200


def test_health_and_version_need_no_token_and_numbers_do(far_client: TestClient) -> None:
    for path in ("health/live", "health/ready", "version"):
        assert far_client.get(f"/api/v1/{path}").status_code == 200
    assert far_client.get("/api/v1/metrics").status_code == 401


def test_requests_are_counted_by_route_and_status_and_no_id_is_a_label(client: TestClient) -> None:
    for _ in range(3):
        client.get("/api/v1/collection/jobs/a-secret-id")
    client.get("/no/such/secret")
    numbers = client.get("/api/v1/metrics")
    assert numbers.headers["content-type"].startswith("text/plain")
    labels = 'method="GET",route="/api/v1/collection/jobs/{id}",status="404"'
    assert _number(numbers.text, f"viewfinder_requests_total{{{labels}}}") == 3
    assert _number(numbers.text, "viewfinder_pictures") == 8
    assert "secret" not in numbers.text


def test_turns_are_timed_and_open_conversations_counted(client: TestClient) -> None:
    for _ in range(2):
        session = client.post("/api/v1/sessions", json={"questioner": "none"}).json()["id"]
        assert client.post(f"/api/v1/sessions/{session}/turns", json={"say": "red"}).status_code == 201
    numbers = client.get("/api/v1/metrics").text
    assert _number(numbers, "viewfinder_turn_seconds_count") == 2
    assert 0 < _number(numbers, "viewfinder_turn_seconds_sum") < 60
    assert _number(numbers, "viewfinder_open_sessions") == 2
    assert _number(numbers, "viewfinder_states_bytes") > 0
    assert _number(numbers, 'viewfinder_jobs{state="queued"}') == 0


TURN, RESULTS, SEARCH = ("POST", "/turns", {"say": "red"}), ("GET", "/turns/1", None), ("POST", None, {"text": "red"})


@pytest.mark.parametrize("asked", [TURN, RESULTS, SEARCH], ids=["a turn", "its results", "a search"])
def test_the_event_loop_answers_while_pictures_are_scored(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, str | None, dict[str, Any] | None]
) -> None:
    session = client.post("/api/v1/sessions", json={"questioner": "none"}).json()["id"]
    client.post(f"/api/v1/sessions/{session}/turns", json={"say": "blue"})
    begun, answered, in_time = threading.Event(), threading.Event(), list[bool]()

    def score_slowly(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        in_time.append(answered.wait(120))
        return score_turn(*args, **kwargs)

    monkeypatch.setattr("viewfinder.search.ranking.score_turn", score_slowly)
    method, path, body = asked
    address = "/api/v1/search" if path is None else f"/api/v1/sessions/{session}{path}"
    with ThreadPoolExecutor(1) as threads:
        searching = threads.submit(client.request, method, address, json=body)
        assert begun.wait(120)
        assert client.get("/api/v1/health/live").status_code == 200
        answered.set()
        assert searching.result().status_code < 300
    assert in_time == [True], "health was answered when the scoring was over: the event loop itself was at it"
