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
TALK, TURN = f"{API}/sessions/{{id}}", f"{API}/sessions/{{id}}/turns/{{number}}"
JOB, PICTURE = f"{API}/collection/jobs/{{id}}", f"{API}/pictures/{{picture}}"
IN_TALK = f"{TALK}/pictures/{{picture}}"
STUDY = f"{API}/studies/{{study}}"
PARTICIPANT = f"{STUDY}/participants/{{participant}}"
TRIAL = f"{PARTICIPANT}/trials/{{trial}}"

FOLLOW_UPS = (
    FollowUp("create_session", 201, TALK, ID),
    FollowUp("import_session", 201, TALK, ID),
    FollowUp("list_sessions", 200, TALK, {"id": "$response.body#/sessions/0/id"}),
    FollowUp("take_turn", 201, TALK, _here("id")),
    FollowUp("take_turn", 201, TURN, {**_here("id"), "number": "$response.body#/turn"}),
    FollowUp("take_turn", 201, IN_TALK, {**_here("id"), "picture": "$response.body#/results/0/id"}),
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


def add_links(document: Document) -> None:
    """Writes them into the answers of a document."""
    operations = {operation["operationId"]: (path, operation) for path, operation in _operations(document)}
    for follows in FOLLOW_UPS:
        links = operations[follows.operation][1]["responses"][str(follows.status)].setdefault("links", {})
        for name, (path, _) in operations.items():
            wanted = re.findall(r"\{(\w+)\}", path)
            if f"{path}/".startswith(f"{follows.address}/") and set(wanted) <= set(follows.known):
                parameters = {parameter: follows.known[parameter] for parameter in wanted}
                links[name] = {"operationId": name, "parameters": parameters}


def _operations(document: Document) -> Iterator[tuple[str, Document]]:
    for path, methods in document["paths"].items():
        yield from ((path, methods[method]) for method in METHODS if method in methods)
