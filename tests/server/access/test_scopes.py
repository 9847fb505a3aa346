"""Every operation of the real server against every scope, and against none."""

from __future__ import annotations

import asyncio
import re

import httpx
import pytest
from fastapi import FastAPI

from viewfinder.library import Library
from viewfinder.server.access.tokens import SCOPES, Scope
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.studies.extension import STUDIES

OPEN = {"log_in", "log_out", "who_am_i", "live", "ready", "version"}
ADMIN = {
    *(
        "feedback",
        "add_picture",
        "add_folder",
        "add_demo",
        "remove_demo",
        "describe_pictures",
        "prepare_retriever",
        "pause_job",
        "resume_job",
        "cancel_job",
    ),
    *("list_tokens", "add_token", "revoke_token", "end_addresses", "list_studies", "create_study", "close_study"),
    *("study_figures", "export_study", "export_study_runs", "remove_picture", "open_picture"),
}
WRITE = {"import_session", "delete_session", "upload", "delete_upload", "create_album", "delete_album"}
READ_AND_WRITE = {
    *("rename_album", "change_album", "mark_pictures"),
    *("join_study", "start_trial", "take_trial_turn", "end_trial"),
}
"""They write, and answer with pictures or their places. All others want the scope read."""
MAKES_TICKETS = {"add_ticket"}
ON_THIS_MACHINE = {"list_folders"}
"""What is asked here is for the user of the server's machine alone."""
TOKENS: dict[str, set[Scope]] = {
    **{scope: {scope} for scope in SCOPES},
    "both": {"read", "write"},
    "shop": {"read", "tickets"},
}

Answers = dict[str, dict[str, int]]
"""Operation -> name in `TOKENS` ("" for no token) -> status."""


def operations(app: FastAPI) -> list[tuple[str, str, str]]:
    """Method, path and name; whatever the path names does not exist."""
    found = []
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items():
            found.append((method.upper(), re.sub(r"\{number\}", "1", path), operation["operationId"]))
    return [(method, re.sub(r"\{\w+\}", "nobody", path), name) for method, path, name in found]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What a server that other machines can reach says to each."""
    settings = ServerSettings.model_validate({"host": "0.0.0.0", "originals": True, "requests_burst": 10_000})
    app = create_app(Library.open(tmp_path_factory.mktemp("scopes") / "library"), settings, extensions=STUDIES)
    return asyncio.run(_asked(app))


async def _asked(app: FastAPI) -> Answers:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://pictures.example") as client,
    ):
        tokens = app.state.services.tokens
        headers: dict[str, dict[str, str]] = {
            name: {"authorization": f"Bearer {tokens.create(name, scopes).secret}"} for name, scopes in TOKENS.items()
        }
        return {
            name: {
                token: (await client.request(method, path, headers=headers.get(token))).status_code
                for token in ("", *TOKENS)
            }
            for method, path, name in operations(app)
        }


def test_the_lists_name_what_there_is(answers: Answers) -> None:
    assert len(answers) > 50
    assert set(answers) >= OPEN | ADMIN | WRITE | READ_AND_WRITE | MAKES_TICKETS


def test_each_operation_wants_its_own_scopes_and_no_others_will_do(answers: Answers) -> None:
    def needed(name: str) -> set[Scope]:
        if name in READ_AND_WRITE:
            return {"read", "write"}
        if name in ON_THIS_MACHINE:
            return set(SCOPES)
        if name in MAKES_TICKETS:
            return {"read", "tickets"}
        return {"admin"} if name in ADMIN else {"write"} if name in WRITE else {"read"}

    wrong = {
        (name, token): status
        for name, by_token in answers.items()
        for token, status in by_token.items()
        if name not in OPEN and token and (status == 403) == (needed(name) <= TOKENS[token])
    }
    assert wrong == {}


def test_without_a_token_only_what_is_open_answers(answers: Answers) -> None:
    closed = {name for name, by_scope in answers.items() if by_scope[""] == 401}
    assert closed == set(answers) - OPEN


def test_nothing_breaks_when_what_is_named_does_not_exist(answers: Answers) -> None:
    assert {(name, status) for name, by in answers.items() for status in by.values() if status >= 500} == set()
