"""The bugs of parts that other packages bring, over HTTP: the part, its file and its line in one line, and no more."""

from __future__ import annotations

import json
import logging
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

CODE = """
from viewfinder.retrievers import Composer

class Raises(Composer):
    name = "raises"
    def step(self, state, turn):
        return {}["nothing is here"]  # line 7

class ReadsNothing(Composer):
    name = "reads-nothing"
    reads = "everything"

class Asks:
    name = "asks"
    def ask(self, view):
        return 1 / 0  # line 16
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with parts that fail, of a name that no other test has."""
    name = f"faulty_{tmp_path.name}".replace("-", "_")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / f"{name}.py").write_text(CODE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return name


@pytest.fixture
def client(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    tiny_pictures(tmp_path / "pictures", 8)
    Library.open(tmp_path / "library.vf").add(tmp_path / "pictures", workers=1)
    settings = ServerSettings(
        retrievers=(f"{module}:Raises", f"{module}:ReadsNothing"), questioners=(f"{module}:Asks",), _env_file=None
    )
    app = create_app(Library.open(tmp_path / "library.vf"), settings)
    local: Any = {"base_url": "http://localhost", "client": ("127.0.0.1", 50000)}
    with TestClient(app, raise_server_exceptions=False, **local) as opened:
        yield opened


def begin(client: TestClient, **how: str) -> str:
    made = client.post("/api/v1/sessions", json=how)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def lines_of(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("level", ["WARNING", "DEBUG"])
def test_a_bug_of_a_retriever_is_named_and_traced_only_if_one_wants_to_know(
    client: TestClient, module: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, level: str
) -> None:
    session = begin(client, retriever=f"{module}:Raises", questioner="none")
    with caplog.at_level(level, "viewfinder"):
        answer = client.post(f"/api/v1/sessions/{session}/turns", json={"say": "red"})
    problem = answer.json()
    assert (answer.status_code, problem["title"]) == (500, "part failed")
    assert f"(KeyError: 'nothing is here', {module}.py:7)" in problem["detail"]
    assert str(tmp_path) not in answer.text
    [line] = lines_of(caplog)
    assert f"{tmp_path}/site/{module}.py:7" in line.getMessage()
    assert (line.exc_info is not None) == (level == "DEBUG")
    assert getattr(line, "who", None) == "this machine"


def test_one_that_does_not_say_what_it_reads_is_listed_with_the_reason_beside_the_others(
    client: TestClient, module: str, tmp_path: Path
) -> None:
    answer = client.get("/api/v1/retrievers")
    listed = {one["name"]: one for one in answer.json()["retrievers"]}
    broken = listed[f"{module}:ReadsNothing"]
    assert not broken["ready"]
    assert f"{module}.py:9" in broken["problem"]
    assert "not Reads" in broken["problem"]
    assert str(tmp_path) not in answer.text
    assert listed["composer"]["ready"]


def test_a_questioner_that_fails_costs_the_question_and_is_named_in_its_place(
    client: TestClient, module: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = begin(client, questioner=f"{module}:Asks")
    assert client.post(f"/api/v1/sessions/{session}/turns", json={"say": "red"}).status_code == 201
    events = client.get(f"/api/v1/sessions/{session}/turns/1/events").text
    told: dict[str, Any] = json.loads(
        next(line for line in events.splitlines() if line.startswith('data: {"question"')).removeprefix("data: ")
    )
    assert told["question"] is None
    assert f"division by zero, {module}.py:16)" in told["problem"]
    assert str(tmp_path) not in events
    [line] = lines_of(caplog)
    assert line.exc_info is None
    assert f"{tmp_path}/site/{module}.py:16" in line.getMessage()
