from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from api_page import write_page
from fastapi import FastAPI
from javascript_client import SCRIPT, TYPES, make_document, write_script, write_types

from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.document import list_operations
from viewfinder.server.settings import ServerSettings
from viewfinder.store.settings import Settings
from viewfinder.studies.extension import STUDIES

ROOT = Path(__file__).resolve().parents[2]
OPEN = {"live", "ready", "version", "login", "logout", "me"}
"""What may be asked without a token, by the last part of the path."""


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(
        Library(Path("nowhere"), Settings("starter")),
        ServerSettings.model_validate({}),
        extensions=STUDIES,
    )


@pytest.fixture(scope="module")
def made(app: FastAPI) -> dict[str, Any]:
    return app.openapi()


def test_making_an_app_opens_nothing(app: FastAPI) -> None:
    assert not Path("nowhere").exists()
    assert not hasattr(app.state, "services")


def test_the_document_is_openapi_3_1_and_every_reference_in_it_leads_somewhere(made: dict[str, Any]) -> None:
    assert made["openapi"].startswith("3.1")
    for reference in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(made)):
        assert reference in made["components"]["schemas"]


def test_every_operation_lies_below_the_version_and_has_a_name_of_its_own(made: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in list_operations(made)]
    assert len(set(names)) == len(names) > 50
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) for name in names)
    assert all(path.startswith("/api/v1/") for _, path, _ in list_operations(made))


def test_every_operation_but_the_open_ones_asks_for_a_scope(made: dict[str, Any]) -> None:
    free = {path.rsplit("/", 1)[-1] for _, path, operation in list_operations(made) if not operation.get("security")}
    assert free <= OPEN


def test_what_changes_the_collection_is_for_the_scope_admin(made: dict[str, Any]) -> None:
    only_reading = ("/facets", "/timeline", "/folder-tree", "/places")
    for method, path, operation in list_operations(made):
        if path.startswith("/api/v1/collection/") and method != "get" and not path.endswith(only_reading):
            assert operation["security"] == [{"token": ["admin"]}], path


def test_failures_are_problem_documents_everywhere(made: dict[str, Any]) -> None:
    for _, path, operation in list_operations(made):
        for status, answer in operation["responses"].items():
            if status >= "400" and status != "416" and "ready" not in path:  # 416: of a file, by its server
                assert list(answer["content"]) == ["application/problem+json"], (path, status)


def test_the_page_of_the_api_is_that_of_the_code(made: dict[str, Any]) -> None:
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert written == write_page(made), "run `python benchmarks/api_page.py > docs/api.md`"


def test_the_client_for_javascript_is_that_of_the_code() -> None:
    made = make_document()
    for file, written in ((SCRIPT, write_script(made)), (TYPES, write_types(made))):
        assert file.read_text(encoding="utf-8") == written, "run `python benchmarks/javascript_client.py`"


def test_links_lead_to_operations_and_name_all_that_their_addresses_want(made: dict[str, Any]) -> None:
    paths = {operation["operationId"]: path for _, path, operation in list_operations(made)}
    followed = 0
    for _, _, operation in list_operations(made):
        for answer in operation["responses"].values():
            for link in answer.get("links", {}).values():
                followed += 1
                assert set(link["parameters"]) == set(re.findall(r"\{(\w+)\}", paths[link["operationId"]]))
    assert followed > 50


def test_no_operation_claims_what_it_cannot_answer(made: dict[str, Any]) -> None:
    by_name = {operation["operationId"]: set(operation["responses"]) for _, _, operation in list_operations(made)}
    assert by_name["version"] == {"200", "401", "403", "429", "500", "503"}
    assert {"400", "408", "413", "422"} <= by_name["take_turn"]
    assert "413" not in by_name["get_session"]
