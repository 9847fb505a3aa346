"""What may be asked for with what an answer names, for the OpenAPI document."""

from __future__ import annotations

from dataclasses import dataclass

API = "/api/v1"


@dataclass(frozen=True)
class FollowUp:
    """After `operation` has answered `status`, everything below `address` can be asked for.

    `known`: each parameter of those addresses, as a runtime expression of OpenAPI.
    """

    operation: str
    status: int
    address: str
    known: dict[str, str]


def here(*names: str) -> dict[str, str]:
    """Parameters that are those of the request."""
    return {name: f"$request.path.{name}" for name in names}


ID = {"id": "$response.body#/id"}
SESSION, TURN = f"{API}/sessions/{{id}}", f"{API}/sessions/{{id}}/turns/{{number}}"
JOB, PICTURE = f"{API}/collection/jobs/{{id}}", f"{API}/pictures/{{picture}}"
IN_SESSION = f"{SESSION}/pictures/{{picture}}"
ALBUM = f"{API}/albums/{{id}}"
FOLLOW_UPS = (
    FollowUp("create_session", 201, SESSION, ID),
    FollowUp("import_session", 201, SESSION, ID),
    FollowUp("list_sessions", 200, SESSION, {"id": "$response.body#/sessions/0/id"}),
    FollowUp("take_turn", 201, SESSION, here("id")),
    FollowUp("take_turn", 201, TURN, {**here("id"), "number": "$response.body#/turn"}),
    FollowUp("take_turn", 201, IN_SESSION, {**here("id"), "picture": "$response.body#/results/0/id"}),
    FollowUp("edit_turn", 200, TURN, {**here("id"), "number": "$response.body#/results/turn"}),
    FollowUp("search", 200, PICTURE, {"picture": "$response.body#/results/0/id"}),
    FollowUp("similar_pictures", 200, PICTURE, {"picture": "$response.body#/results/0/id"}),
    FollowUp("upload", 201, f"{API}/uploads/{{upload}}", {"upload": "$response.body#/id"}),
    FollowUp("add_folder", 202, JOB, ID),
    FollowUp("prepare_retriever", 202, JOB, ID),
    FollowUp("list_jobs", 200, JOB, {"id": "$response.body#/jobs/0/id"}),
    FollowUp("create_album", 201, ALBUM, ID),
    FollowUp("list_albums", 200, ALBUM, {"id": "$response.body#/albums/0/id"}),
    FollowUp("change_album", 200, ALBUM, here("id")),
    FollowUp("create_export", 201, f"{API}/exports/{{id}}", ID),
    FollowUp("add_token", 201, f"{API}/tokens/{{name}}", {"name": "$response.body#/name"}),
)
