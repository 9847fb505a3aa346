"""The scripts that pages of other origins load."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from viewfinder.server.embedding import EMBEDDED, install_embedding
from viewfinder.server.pages import list_languages

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    install_embedding(app)
    return TestClient(app)


@pytest.mark.parametrize("name", sorted(file.name for file in EMBEDDED.iterdir()))
def test_a_page_of_any_origin_may_load_them_and_keeps_them_while_they_are_the_same(
    client: TestClient, name: str
) -> None:
    answer = client.get(f"/embed/{name}", headers={"Origin": "https://shop.example"})
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    again = client.get(f"/embed/{name}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.headers["access-control-allow-origin"]) == (304, "*")


def test_the_element_says_the_same_in_every_language_of_the_page() -> None:
    """As the page does: with the same placeholders, and nothing left out."""
    script = (EMBEDDED / "viewfinder-search.js").read_text(encoding="utf-8")
    texts = {
        language: dict(re.findall(r'^    (\w+): "(.*)",$', said, re.MULTILINE))
        for language, said in re.findall(r"^  (\w\w): \{\n(.*?)^  \},$", script, re.MULTILINE | re.DOTALL)
    }
    assert sorted(texts) == list(list_languages())
    places = {
        language: {key: sorted(re.findall(r"\{\w+\}", text)) for key, text in said.items()}
        for language, said in texts.items()
    }
    assert all(said == places["en"] for said in places.values())
    assert set(re.findall(r'#t\("(\w+)"', script)) <= set(texts["en"])


@pytest.mark.skipif(shutil.which("tsc") is None, reason="TypeScript is not installed")
def test_the_types_of_the_client_hold_what_a_program_does_with_it(tmp_path: Path) -> None:
    for file in (*EMBEDDED.glob("viewfinder-client.*"), Path(__file__).with_name("client_in_use.ts")):
        shutil.copy(file, tmp_path)
    library = "es2023,dom,dom.iterable,dom.asynciterable"
    command = ["tsc", "--strict", "--noEmit", "--target", "es2022", "--module", "esnext"]
    command += ["--moduleResolution", "bundler", "--lib", library, "client_in_use.ts"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_they_are_in_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    kinds = project["tool"]["setuptools"]["package-data"]["viewfinder"]
    assert all(f"**/*{file.suffix}" in kinds for file in EMBEDDED.iterdir())
