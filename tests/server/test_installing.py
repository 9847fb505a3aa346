"""What browsers are told of the page as a program."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from viewfinder.server import installing
from viewfinder.server.installing import describe_program, describe_search_box, write_worker
from viewfinder.server.pages import STATIC, list_languages

NAMES = "{http://a9.com/-/spec/opensearch/1.1/}"


@pytest.mark.parametrize("language", list_languages())
def test_the_manifest_names_files_that_are_as_it_says(language: str) -> None:
    manifest = describe_program(language)
    for icon in manifest["icons"]:
        file = STATIC / icon["src"].removeprefix("/static/")
        with Image.open(file) as image:
            assert f"{image.width}x{image.height}" == icon["sizes"]
        assert file.stat().st_size < 10_000
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    assert all(shortcut["name"] for shortcut in manifest["shortcuts"])
    assert manifest["lang"].startswith(language)


def test_the_worker_keeps_every_script_and_style_of_the_page() -> None:
    worker = write_worker()
    assert "{{" not in worker
    files = re.search(r'FILES = "(.*?)"', worker)
    assert files
    kept = files[1].split()
    assert "/static/js/main.js" in kept
    assert "/static/css/conversation.css" in kept
    assert all((STATIC / name.removeprefix("/static/")).is_file() for name in kept)


def test_the_version_of_the_worker_follows_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sw.js").write_text("{{version}}")
    monkeypatch.setattr(installing, "STATIC", tmp_path)
    versions = []
    for content in ("one", "two", "one"):
        (tmp_path / "main.js").write_text(content)
        versions.append(write_worker.__wrapped__())
    assert versions[0] == versions[2] != versions[1]


def test_the_search_box_leads_to_the_page_of_this_server() -> None:
    told = ElementTree.fromstring(describe_search_box("http://one.example/?a=<b>&/", "en"))
    assert told.tag == f"{NAMES}OpenSearchDescription"
    assert len(told.findtext(f"{NAMES}ShortName") or "") <= 16
    url = told.find(f"{NAMES}Url")
    assert url is not None
    assert url.get("template") == "http://one.example/?a=<b>&/?q={searchTerms}"
