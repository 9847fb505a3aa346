"""How the files of a page are sent: scripts without comments, kept by the browser until they change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from viewfinder.server.pages import STATIC, install_pages


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "own.js").write_text(
        "/** Says so. */\nexport const said = `a  // b`; // twice\n", encoding="utf-8"
    )
    app = FastAPI()
    install_pages(app, {tmp_path: {}})
    return TestClient(app)


def test_a_script_is_sent_without_its_comments(client: TestClient) -> None:
    answer = client.get("/static/js/own.js")
    assert answer.text.strip() == "export const said=`a  // b`;"
    assert answer.headers["content-type"].startswith("text/javascript")


def test_a_script_that_has_not_changed_is_not_sent_again_and_one_that_has_is(
    client: TestClient, tmp_path: Path
) -> None:
    first = client.get("/static/js/own.js")
    again = {"If-None-Match": first.headers["etag"]}
    assert client.get("/static/js/own.js", headers=again).status_code == 304
    (tmp_path / "js" / "own.js").write_text("export const said = 2;\n", encoding="utf-8")
    os.utime(tmp_path / "js" / "own.js", ns=(0, 0))
    assert client.get("/static/js/own.js", headers=again).text.strip() == "export const said=2;"


def test_a_style_is_sent_as_it_is(client: TestClient) -> None:
    assert client.get("/static/css/grid.css").content == (STATIC / "css" / "grid.css").read_bytes()
