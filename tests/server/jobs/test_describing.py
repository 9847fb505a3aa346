"""Pictures are described over HTTP where the server's owner says by whom, and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from PIL import Image, ImageDraw, ImageFont

from tests.vision_server import Reply, serve_vision
from viewfinder.library import Library
from viewfinder.pictures import text_reader
from viewfinder.pictures.facts.model import Fact
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import tiny_pictures

API = "/api/v1/collection"
PICTURES = 6


def say(jpeg: bytes, number: int) -> Reply:
    return "No idea." if number == 1 else {"caption": f"Picture {number}.", "objects": ["thing"], "text": ["HELLO"]}


Served = Callable[..., Any]


@pytest.fixture
def served(tmp_path: Path, colours_worker: tuple[str, ...], empty: Library) -> Served:
    """Serves a library of a few pictures under these settings."""
    tiny_pictures(tmp_path / "pictures", PICTURES)
    empty.add(tmp_path / "pictures", workers=1)

    @contextmanager
    def serve(**settings: Any) -> Iterator[TestClient]:
        given = ServerSettings(database_url=f"sqlite:///{tmp_path / 'server.sqlite3'}", _env_file=None, **settings)
        app = create_app(empty, given)
        with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50000)) as client:
            yield client

    return serve


def wait_for_end(client: TestClient, job: str) -> dict[str, Any]:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        told: dict[str, Any] = client.get(f"{API}/jobs/{job}").json()
        if told["state"] in ("done", "failed", "cancelled"):
            return told
        time.sleep(0.05)
    raise AssertionError(told)


def test_a_job_describes_pictures_and_they_say_that_a_machine_did(served: Served, empty: Library) -> None:
    with serve_vision(say) as vision, served(describer=f"{vision.url}#tiny") as client:
        answer = client.post(f"{API}/describe", json={"limit": 4})
        assert (answer.status_code, answer.json()["kind"]) == (202, "describe")
        told = wait_for_end(client, answer.json()["id"])
        assert (told["state"], told["done"], told["total"]) == ("done", 4, 4)
        assert told["report"] == {
            "described": 3, "with_text": 3, "unusable": 1, "reasons": {"no JSON object in the answer": 1},
        }  # fmt: skip
        assert vision.url not in answer.text + str(told)
        [picture, *_] = [row.id for row in empty if row.machine]
        known = client.get(f"/api/v1/pictures/{picture}").json()["known"]
        assert [(fact["name"], fact["source"], fact["machine"]) for fact in known] == [
            (name, "described by tiny", True) for name in ("caption", "objects", "text")
        ]
        facets = client.post(f"{API}/facets", json={}).json()["facets"]
        assert {"caption", "objects", "text"}.isdisjoint(facet["column"] for facet in facets)


@pytest.mark.skipif(not text_reader.is_ocr_installed(), reason="the extra ocr is not installed")
@pytest.mark.long
def test_a_job_reads_text_where_the_owner_allows_it(served: Served, empty: Library, tmp_path: Path) -> None:
    sign = Image.new("RGB", (480, 160), "white")
    ImageDraw.Draw(sign).text((40, 50), "HARBOUR STREET", font=ImageFont.load_default(40), fill="black")
    sign.save(tmp_path / "pictures" / "sign.png")
    empty.add(tmp_path / "pictures", workers=1)
    with served(read_text=True) as client:
        told = wait_for_end(client, client.post(f"{API}/describe", json={"text_only": True}).json()["id"])
    assert (told["state"], told["report"]["described"], told["report"]["with_text"]) == ("done", PICTURES + 1, 1)
    [row] = [row for row in empty if row.path.name == "sign.png"]
    assert row.machine[0] == Fact("text", ("HARBOUR STREET",), "read in the picture")


def test_a_model_that_is_away_makes_the_job_fail_with_a_reason(served: Served) -> None:
    with served(describer="http://127.0.0.1:9/v1#tiny") as client:
        told = wait_for_end(client, client.post(f"{API}/describe", json={}).json()["id"])
    assert (told["state"], told["error"]) == ("failed", "tiny cannot be reached: check the endpoint's address")


@pytest.mark.parametrize(
    ("settings", "asked", "said"),
    [
        ({}, {}, "needs VIEWFINDER_DESCRIBER"),
        ({"describer": "http://127.0.0.1:9/v1#m"}, {"text_only": True}, "needs VIEWFINDER_READ_TEXT=true"),
        ({"read_text": True}, {}, "needs VIEWFINDER_DESCRIBER"),
        ({"read_text": True}, {"text_only": True}, "its extra is called ocr"),
        ({"describer": "nonsense"}, {}, "'nonsense' is no endpoint"),
    ],
)
def test_nothing_is_described_that_the_owner_did_not_ask_for(
    served: Served, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], asked: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(text_reader, "find_spec", lambda name: None)
    with served(**settings) as client:
        answer = client.post(f"{API}/describe", json=asked)
        assert answer.status_code == 422
        assert said in answer.text
        assert client.get(f"{API}/jobs").json() == {"jobs": []}


def test_a_client_names_no_endpoint(served: Served, empty: Library) -> None:
    with serve_vision(say) as vision, served(describer="http://127.0.0.1:9/v1#tiny") as client:
        assert client.post(f"{API}/describe", json={"describer": f"{vision.url}#m"}).status_code == 422
        assert vision.asked == []
