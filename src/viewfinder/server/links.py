"""What may be done with what an answer names, as links of the OpenAPI document: an answer's ids go into addresses.

Programs that follow them find their way through the API by themselves (the contract test does).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

API = "/api/v1"
METHODS = ("get", "post", "put", "patch", "delete")

Document = dict[str, Any]


@dataclass(frozen=True)
class Follows:
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
TALK, TURN = f"{API}/sessions/{{id}}", f"{API}/sessions/{{id}}/turns/{{number}}"
JOB, PICTURE = f"{API}/collection/jobs/{{id}}", f"{API}/pictures/{{picture}}"
IN_TALK = f"{TALK}/pictures/{{picture}}"
STUDY = f"{API}/studies/{{study}}"
PARTICIPANT = f"{STUDY}/participants/{{participant}}"
TRIAL = f"{PARTICIPANT}/trials/{{trial}}"

FOLLOWS = (
    Follows("create_session", 201, TALK, ID),
    Follows("import_session", 201, TALK, ID),
    Follows("list_sessions", 200, TALK, {"id": "$response.body#/sessions/0/id"}),
    Follows("take_turn", 201, TALK, _here("id")),
    Follows("take_turn", 201, TURN, {**_here("id"), "number": "$response.body#/turn"}),
    Follows("take_turn", 201, IN_TALK, {**_here("id"), "picture": "$response.body#/results/0/id"}),
    Follows("edit_turn", 200, TURN, {**_here("id"), "number": "$response.body#/results/turn"}),
    Follows("search", 200, PICTURE, {"picture": "$response.body#/results/0/id"}),
    Follows("similar_pictures", 200, PICTURE, {"picture": "$response.body#/results/0/id"}),
    Follows("upload", 201, f"{API}/uploads/{{upload}}", {"upload": "$response.body#/id"}),
    Follows("add_folder", 202, JOB, ID),
    Follows("prepare_retriever", 202, JOB, ID),
    Follows("list_jobs", 200, JOB, {"id": "$response.body#/jobs/0/id"}),
    Follows("add_token", 201, f"{API}/tokens/{{name}}", {"name": "$response.body#/name"}),
    Follows("create_study", 201, STUDY, {"study": "$response.body#/id"}),
    Follows(
        "join_study",
        201,
        PARTICIPANT,
        {**_here("study"), "participant": "$response.body#/id", "trial": "$response.body#/trial/id"},
    ),
    Follows("start_trial", 200, PARTICIPANT, _here("study", "participant", "trial")),
    Follows("take_trial_turn", 201, TRIAL, _here("study", "participant", "trial")),
)


def add_links(document: Document) -> None:
    """Writes them into the answers of a document."""
    operations = {operation["operationId"]: (path, operation) for path, operation in _operations(document)}
    for follows in FOLLOWS:
        links = operations[follows.operation][1]["responses"][str(follows.status)].setdefault("links", {})
        for name, (path, _) in operations.items():
            wanted = re.findall(r"\{(\w+)\}", path)
            if f"{path}/".startswith(f"{follows.address}/") and set(wanted) <= set(follows.known):
                parameters = {parameter: follows.known[parameter] for parameter in wanted}
                links[name] = {"operationId": name, "parameters": parameters}


def _operations(document: Document) -> Iterator[tuple[str, Document]]:
    for path, methods in document["paths"].items():
        yield from ((path, methods[method]) for method in METHODS if method in methods)
