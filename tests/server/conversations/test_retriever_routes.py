"""Who can read a conversation and who can ask, and what stands in their way."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

import viewfinder.library
import viewfinder.retrievers
from tests.waiting import wait_until
from viewfinder.library import Library
from viewfinder.query import Reads
from viewfinder.questioners import QUESTIONERS
from viewfinder.server.app import create_app
from viewfinder.server.conversations import pools
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import ColourEncoder, load_colour_encoder, tiny_pictures

if TYPE_CHECKING:
    from tests.server.conftest import Model

Reader = Callable[[str, int], Any]


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks_at_regions: Reader) -> Iterator[TestClient]:
    """A server over six drawings; `regions` reads regions of them, and nobody has made any."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    monkeypatch.setattr(pools, "MAX_MADE_IN_A_TURN", 3)
    reader = looks_at_regions(ColourEncoder.raw_version, 3)
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "regions", lambda checkpoint: reader)
    other = looks_at_regions("another-raw", 3)
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "other", lambda checkpoint: other)
    library = Library.open(tmp_path / "library.vf")
    tiny_pictures(tmp_path / "pictures", 6)
    library.add(tmp_path / "pictures", workers=1)
    with TestClient(
        create_app(library, ServerSettings(_env_file=None)),
        base_url="http://127.0.0.1:8008",
        client=("127.0.0.1", 50000),
    ) as made:
        yield made


def listed(client: TestClient) -> dict[str, dict[str, Any]]:
    answer = client.get("/api/v1/retrievers")
    assert answer.status_code == 200
    return {info["name"]: info for info in answer.json()["retrievers"]}


def test_every_retriever_is_listed_with_what_it_needs(client: TestClient) -> None:
    found = listed(client)
    assert found["composer"] == {
        "name": "composer", "needs": ["global", "vocabulary"], "reads": [], "ready": True, "missing": 0,
        "problem": None, "leaning": None,
    }  # fmt: skip
    assert (found["regions"]["ready"], found["regions"]["missing"]) == (False, 6)
    assert "was trained on another-raw" in found["other"]["problem"]
    assert "no weights are shipped" in found["hre"]["problem"]
    said = client.get("/api/v1/retrievers").json()
    assert (said["default"], said["advised"]) == ("composer", None)  # of another encoder no world is known


def asking(client: TestClient) -> dict[str, dict[str, Any]]:
    return {info["name"]: info for info in client.get("/api/v1/questioners").json()["questioners"]}


def test_every_questioner_is_listed_with_what_it_lacks_here(client: TestClient) -> None:
    found = asking(client)
    assert set(found) == set(QUESTIONERS)
    assert [name for name, info in found.items() if info["ready"]] == ["information_gain", "none"]
    assert client.get("/api/v1/questioners").json()["default"] == "information_gain"
    assert found["none"]["problem"] is None
    assert found["llm"]["problem"] == (
        "llm needs a language model: start the server with VIEWFINDER_LANGUAGE_MODEL set"
    )
    assert "VIEWFINDER_DIALOGUES" in found["recorded"]["problem"]


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("llm", 409, "questioner-not-ready"),
        ("llm=http://10.0.0.1/v1#x", 422, "bad-input"),
        ("information_gain=/etc/passwd", 422, "bad-input"),
        ("nobody", 422, "unknown-name"),
    ],
)
def test_who_cannot_ask_here_is_refused(client: TestClient, name: str, status: int, kind: str) -> None:
    conversation = client.post("/api/v1/sessions", json={}).json()["id"]
    imported = {"conversation": {"schema": "viewfinder/conversation", "version": 1, "turns": []}}
    for answer in (
        client.post("/api/v1/sessions", json={"questioner": name}),
        client.patch(f"/api/v1/sessions/{conversation}", json={"questioner": name}),
        client.post("/api/v1/sessions/import", json={**imported, "questioner": name}),
    ):
        assert answer.status_code == status, answer.text
        assert answer.json()["type"] == f"urn:viewfinder:problem:{kind}"
        assert "passwd" not in answer.text


@contextlib.contextmanager
def served(library: Path, **settings: Any) -> Iterator[TestClient]:
    """A server over the library of `client` with other settings."""
    app = create_app(Library.open(library), ServerSettings(_env_file=None, **settings))
    with TestClient(app, base_url="http://127.0.0.1:8008", client=("127.0.0.1", 50000)) as made:
        yield made


def test_a_language_model_that_answers_makes_three_ready(client: TestClient, tmp_path: Path, model: Model) -> None:
    with served(tmp_path / "library.vf", language_model=model.source) as other:
        found = asking(other)
        assert all(found[name]["ready"] for name in ("llm", "plugir", "unanswered"))
        assert not found["pool"]["ready"]
        assert other.post("/api/v1/sessions", json={"questioner": "llm"}).json()["questioner"] == "llm"


def test_a_language_model_that_is_away_is_said_to_be(
    client: TestClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "http://127.0.0.1:1/secret/v1#tiny"
    with served(tmp_path / "library.vf", language_model=secret, dialogues=str(tmp_path / "nothing")) as other:
        wait_until(lambda: not asking(other)["llm"]["ready"])
        found = asking(other)
    assert found["llm"]["problem"] == "tiny cannot be reached: check the endpoint's address"
    assert found["recorded"]["problem"].startswith("what is set: no such file or folder")
    assert "secret" not in json.dumps(found) and str(tmp_path) not in json.dumps(found)
    wait_until(lambda: "the questioner recorded cannot be used" in caplog.text)
    assert "the language model cannot be used: tiny cannot be reached" in caplog.text
    assert "nothing is asked by llm, plugir, unanswered" in caplog.text


def test_a_retriever_that_is_not_prepared_is_refused_until_it_is(client: TestClient, tmp_path: Path) -> None:
    refused = client.post("/api/v1/sessions", json={"retriever": "regions"})
    assert refused.status_code == 409
    assert (refused.json()["type"], refused.json()["missing"]) == ("urn:viewfinder:problem:not-prepared", 6)
    assert client.post("/api/v1/sessions", json={"retriever": "other"}).status_code == 409
    library = client.app.state.services.library  # type: ignore[attr-defined]  # as a job would, in its own process
    library.prepare(viewfinder.retrievers.load_retriever("regions"))
    library.look_now()
    wait_until(lambda: listed(client)["regions"]["ready"])
    conversation = client.post("/api/v1/sessions", json={"retriever": "regions", "questioner": "none"}).json()["id"]
    results = client.post(f"/api/v1/sessions/{conversation}/turns", json={"say": "red"}).json()
    assert len(results["results"]) == 6
    assert results["beliefs"][0]["kind"] == "regions"
    reasons = client.post("/api/v1/search", json={"text": "red", "retriever": "regions"}).json()["results"][0]["why"]
    assert len(reasons["regions"]["slots"][0]["weights"]) == 36


@pytest.mark.parametrize("wants", [True, False])
def test_one_that_looks_at_regions_of_some_collections_is_prepared_first_in_those(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, *, wants: bool
) -> None:
    class Sometimes(viewfinder.retrievers.Composer):
        name = "sometimes"
        reads = Reads(regions_in=lambda collection: wants and not collection.has_captions)

    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "sometimes", lambda checkpoint: Sometimes())
    assert listed(client)["sometimes"]["missing"] == (6 if wants else 0)
    answer = client.post("/api/v1/sessions", json={"retriever": "sometimes"})
    assert answer.status_code == (409 if wants else 201), answer.text
    if wants:
        assert answer.json()["type"] == "urn:viewfinder:problem:not-prepared"


OTHERS = """
import viewfinder.retrievers
from viewfinder.questioners import NoQuestions

class Mine(viewfinder.retrievers.Composer):
    name = "mine"

class Asks(NoQuestions):
    def __init__(self, about=""):
        super().__init__("asks " + about)
"""


@pytest.mark.parametrize("name", ["os:system", "viewfinder.retrievers:Composer", "antigravity:fly"])
def test_a_client_names_no_class(client: TestClient, name: str) -> None:
    before = set(sys.modules)
    requests = [
        ("/api/v1/sessions", {"retriever": name}, "no retriever is called"),
        ("/api/v1/sessions", {"questioner": name}, "no questioner is called"),
        ("/api/v1/collection/prepare", {"retriever": name}, "no retriever is called"),
    ]
    for path, body, said in requests:
        answer = client.post(path, json=body)
        assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (422, "unknown-name"), answer.text
        assert f"{said} {name!r}; there are: " in answer.json()["detail"]
    assert "antigravity" not in set(sys.modules) - before


def test_what_is_set_is_served_by_the_name_that_was_set(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "others_of_a_server.py").write_text(OTHERS)
    monkeypatch.syspath_prepend(tmp_path)
    mine, asks = "others_of_a_server:Mine", "others_of_a_server:Asks"
    with served(tmp_path / "library.vf", retrievers=[mine, "gone:Gone"], questioners=[f"{asks}=shapes"]) as server:
        found = listed(server)
        assert found[mine]["ready"]
        assert "cannot be imported" in found["gone:Gone"]["problem"]
        assert asking(server)[asks]["ready"]
        given = {"retriever": mine, "questioner": asks}
        made = server.post("/api/v1/sessions", json=given)
        assert made.status_code == 201, made.text
        turn = server.post(f"/api/v1/sessions/{made.json()['id']}/turns", json={"say": "red"})
        assert len(turn.json()["results"]) > 0
    refused = client.post("/api/v1/sessions", json={"retriever": mine})
    assert refused.status_code == 422
