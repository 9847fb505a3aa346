"""Who can read a talk and who can ask, and what stands in their way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import viewfinder.library
import viewfinder.retrievers
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.server.talks import engines
from viewfinder.testing import ColourEncoder, load_colours, tiny_pictures

Reader = Callable[[str, int], Any]


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks_at_regions: Reader) -> Iterator[TestClient]:
    """A server over six drawings; `regions` reads regions of them, and nobody has made any."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colours)
    monkeypatch.setattr(engines, "AT_ONCE", 3)
    reader = looks_at_regions(ColourEncoder.raw_version, 3)
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "regions", lambda checkpoint: reader)
    other = looks_at_regions("another-raw", 3)
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "other", lambda checkpoint: other)
    library = Library.open(tmp_path / "library.vf")
    tiny_pictures(tmp_path / "pictures", 6)
    library.add(tmp_path / "pictures", workers=1)
    with TestClient(create_app(library, ServerSettings(_env_file=None)), base_url="http://127.0.0.1:8008") as made:
        yield made


def listed(client: TestClient) -> dict[str, dict[str, Any]]:
    answer = client.get("/api/v1/retrievers")
    assert answer.status_code == 200
    return {info["name"]: info for info in answer.json()["retrievers"]}


def test_every_retriever_is_listed_with_what_it_needs(client: TestClient) -> None:
    found = listed(client)
    assert found["composer"] == {
        "name": "composer", "needs": ["global", "vocabulary"], "ready": True, "missing": 0, "problem": None,
    }  # fmt: skip
    assert (found["regions"]["ready"], found["regions"]["missing"]) == (False, 6)
    assert "was trained on another-raw" in found["other"]["problem"]
    assert "none is in the box" in found["hre"]["problem"]
    assert client.get("/api/v1/retrievers").json()["default"] == "composer"


def test_questioners_are_listed(client: TestClient) -> None:
    answer = client.get("/api/v1/questioners").json()
    assert answer == {"questioners": ["information_gain", "none"], "default": "information_gain"}


def test_a_retriever_that_is_not_prepared_is_refused_until_it_is(client: TestClient, tmp_path: Path) -> None:
    refused = client.post("/api/v1/sessions", json={"retriever": "regions"})
    assert refused.status_code == 409
    assert (refused.json()["type"], refused.json()["missing"]) == ("urn:viewfinder:problem:not-prepared", 6)
    assert client.post("/api/v1/sessions", json={"retriever": "other"}).status_code == 409
    library = client.app.state.services.library  # type: ignore[attr-defined]  # as a job would, in its own process
    library.prepare(viewfinder.retrievers.load_retriever("regions"))
    library.look_now()
    wait_until(lambda: listed(client)["regions"]["ready"])
    talk = client.post("/api/v1/sessions", json={"retriever": "regions", "questioner": "none"}).json()["id"]
    results = client.post(f"/api/v1/sessions/{talk}/turns", json={"say": "red"}).json()
    assert len(results["results"]) == 6
    assert results["beliefs"][0]["kind"] == "regions"
    reasons = client.post("/api/v1/search", json={"text": "red", "retriever": "regions"}).json()["results"][0]["why"]
    assert len(reasons["regions"]["slots"][0]["weights"]) == 36


def wait_until(done: Callable[[], bool]) -> None:
    import time

    for _ in range(600):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("it never came true")
