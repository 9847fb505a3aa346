"""PostgreSQL goes down under a server: every operation that needs it says 503 and when to try again, and none 500."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import viewfinder.library
from tests.hostile.postgres import Postgres
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.studies.extension import STUDIES
from viewfinder.testing import load_colour_encoder, tiny_pictures

API = "/api/v1"


def test_while_the_database_is_down_it_is_said_when_to_try_again(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    tiny_pictures(tmp_path / "pictures", 8)
    library = Library.open(tmp_path / "library")
    library.add(tmp_path / "pictures", workers=1)
    url = postgres.make_database("away")
    settings = ServerSettings.model_validate({"database_url": url, "roots": [tmp_path / "pictures"]})
    app = create_app(library, settings, extensions=STUDIES)
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 5), raise_server_exceptions=False) as client:
        session = client.post(f"{API}/sessions", json={"questioner": "none"}).json()["id"]
        assert client.post(f"{API}/sessions/{session}/turns", json={"say": "red"}).status_code == 201
        bearer = {"authorization": f"Bearer {client.post(f'{API}/tokens', json=TOKEN).json()['token']}"}
        postgres.stop()
        try:
            needed = [
                client.post(f"{API}/sessions", json={"questioner": "none"}),
                client.get(f"{API}/sessions"),
                client.get(f"{API}/sessions/{session}"),
                client.post(f"{API}/sessions/{session}/turns", json={"say": "blue"}),
                client.patch(f"{API}/sessions/{session}", json={"name": "mine"}),
                client.get(f"{API}/feedback"),
                client.get(f"{API}/tokens"),
                client.post(f"{API}/tokens", json=TOKEN | {"name": "other"}),
                client.get(f"{API}/collection/jobs"),
                client.post(f"{API}/collection/folders", json={"root": 0, "folder": ""}),
                client.get(f"{API}/studies"),
                client.get(f"{API}/me", headers=bearer),
                client.get(f"{API}/health/ready"),
            ]
            others = [
                client.request(method, re.sub(r"\{\w+\}", "1", path), json={})
                for path, methods in app.openapi()["paths"].items()
                for method in methods
            ]
        finally:
            postgres.start()
        told = [(it.request.method, it.request.url.path, it.status_code, it.text[:200]) for it in needed]
        assert [it for it in told if it[2] != 503] == []
        for answer in (*needed, *others):
            asked = answer.request.method, answer.request.url.path, answer.text[:200]
            assert answer.status_code != 500, asked
            assert answer.status_code != 503 or int(answer.headers["retry-after"]) > 0, asked
        said = client.post(f"{API}/sessions/{session}/turns", json={"say": "blue"})
        assert (said.status_code, said.json()["turn"]) == (201, 2)


TOKEN = {"name": "ada", "scopes": ["read"]}
