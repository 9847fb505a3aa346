"""The OpenAPI document: FastAPI's, with the scope that each operation asks for, and with links.

Links say what may be done with what an answer names: an answer's ids go into addresses. Programs that follow them find
their way through the API by themselves (the contract test does).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, APIRouter

from viewfinder.server.access.tokens import ScopeCheck
from viewfinder.server.problems import ProblemDocument

Document = dict[str, Any]

API = "/api/v1"
METHODS = ("get", "post", "put", "patch", "delete")
TOKEN = {"type": "http", "scheme": "bearer", "description": "Not needed on loopback; made by `viewfinder token add`."}


@dataclass(frozen=True)
class FollowUp:
    """After `operation` has answered `status`, everything below `address` can be asked for.

    `known`: each parameter of those addresses, as a runtime expression of OpenAPI.
    """

    operation: str
    status: int
    address: str
    known: dict[str, str]


def _here(*names: str) -> dict[str, str]:
    return {name: f"$request.path.{name}" for name in names}


ID = {"id": "$response.body#/id"}
SESSION, TURN = f"{API}/sessions/{{id}}", f"{API}/sessions/{{id}}/turns/{{number}}"
JOB, PICTURE = f"{API}/collection/jobs/{{id}}", f"{API}/pictures/{{picture}}"
IN_SESSION = f"{SESSION}/pictures/{{picture}}"
STUDY = f"{API}/studies/{{study}}"
PARTICIPANT = f"{STUDY}/participants/{{participant}}"
TRIAL = f"{PARTICIPANT}/trials/{{trial}}"

FOLLOW_UPS = (
    FollowUp("create_session", 201, SESSION, ID),
    FollowUp("import_session", 201, SESSION, ID),
    FollowUp("list_sessions", 200, SESSION, {"id": "$response.body#/sessions/0/id"}),
    FollowUp("take_turn", 201, SESSION, _here("id")),
    FollowUp("take_turn", 201, TURN, {**_here("id"), "number": "$response.body#/turn"}),
    FollowUp("take_turn", 201, IN_SESSION, {**_here("id"), "picture": "$response.body#/results/0/id"}),
    FollowUp("edit_turn", 200, TURN, {**_here("id"), "number": "$response.body#/results/turn"}),
    FollowUp("search", 200, PICTURE, {"picture": "$response.body#/results/0/id"}),
    FollowUp("similar_pictures", 200, PICTURE, {"picture": "$response.body#/results/0/id"}),
    FollowUp("upload", 201, f"{API}/uploads/{{upload}}", {"upload": "$response.body#/id"}),
    FollowUp("add_folder", 202, JOB, ID),
    FollowUp("prepare_retriever", 202, JOB, ID),
    FollowUp("list_jobs", 200, JOB, {"id": "$response.body#/jobs/0/id"}),
    FollowUp("add_token", 201, f"{API}/tokens/{{name}}", {"name": "$response.body#/name"}),
    FollowUp("create_study", 201, STUDY, {"study": "$response.body#/id"}),
    FollowUp(
        "join_study",
        201,
        PARTICIPANT,
        {**_here("study"), "participant": "$response.body#/id", "trial": "$response.body#/trial/id"},
    ),
    FollowUp("start_trial", 200, PARTICIPANT, _here("study", "participant", "trial")),
    FollowUp("take_trial_turn", 201, TRIAL, _here("study", "participant", "trial")),
)


def build_document(app: FastAPI, routers: Sequence[APIRouter]) -> Document:
    """The OpenAPI 3.1 document of an app with these routers, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        shapes = made.setdefault("components", {}).setdefault("schemas", {})
        shapes["ProblemDocument"] = ProblemDocument.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            shapes.pop(unused, None)
        made["components"]["securitySchemes"] = {"token": TOKEN}
        for _, _, operation in list_operations(made):
            # What `problems.responses` says of every operation and this one never answers.
            without_body = () if "requestBody" in operation else ("400", "408", "413")
            without_words = () if "requestBody" in operation or "parameters" in operation else ("422",)
            without_files = ("507",) if {"access", "health"} & set(operation["tags"]) else ()
            for status in (*without_body, *without_words, *without_files):
                operation["responses"].pop(status, None)
        add_links(made)
        for route in (route for router in routers for route in router.routes):
            if isinstance(route, APIRoute) and route.include_in_schema:
                checks = [one.call for one in route.dependant.dependencies if isinstance(one.call, ScopeCheck)]
                for method in (route.methods or ()) if checks else ():
                    made["paths"][route.path_format][method.lower()]["security"] = [{"token": [checks[0].scope]}]
        app.openapi_schema = made
    return app.openapi_schema


def list_operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    """Method, path and description of each operation."""
    for path, methods in document["paths"].items():
        yield from ((method, path, methods[method]) for method in METHODS if method in methods)


def add_links(document: Document) -> None:
    """Writes `FOLLOW_UPS` into the answers of a document."""
    operations = {operation["operationId"]: (path, operation) for _, path, operation in list_operations(document)}
    for follows in FOLLOW_UPS:
        links = operations[follows.operation][1]["responses"][str(follows.status)].setdefault("links", {})
        for name, (path, _) in operations.items():
            wanted = re.findall(r"\{(\w+)\}", path)
            if f"{path}/".startswith(f"{follows.address}/") and set(wanted) <= set(follows.known):
                parameters = {parameter: follows.known[parameter] for parameter in wanted}
                links[name] = {"operationId": name, "parameters": parameters}
