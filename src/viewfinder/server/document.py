"""The OpenAPI document of the server, made when it is first asked for.

It is FastAPI's, with the scope that each operation asks for, and with links. They say what may be done with what an
answer names: an answer's ids go into addresses. Programs that follow them find their way through the API by themselves
(the contract test does).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, APIRouter

from viewfinder.server.access.bodies import find_limit
from viewfinder.server.access.tokens import ScopeCheck
from viewfinder.server.follow_ups import FOLLOW_UPS, FollowUp
from viewfinder.server.problems import ProblemDocument
from viewfinder.server.settings import ServerSettings

Document = dict[str, Any]

METHODS = ("get", "post", "put", "patch", "delete")
TOKEN = {"type": "http", "scheme": "bearer", "description": "Not needed on loopback; made by `viewfinder token add`."}


def build_document(
    app: FastAPI, routers: Sequence[APIRouter], follow_ups: Sequence[FollowUp], settings: ServerSettings
) -> Document:
    """The OpenAPI 3.1 document of an app with these routers, made once; `x-max-bytes` says how large a body may be.

    `follow_ups`: those of what is served beside the rest.
    """
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
        add_links(made, (*FOLLOW_UPS, *follow_ups))
        for route in (route for router in routers for route in router.routes):
            if isinstance(route, APIRoute) and route.include_in_schema:
                checks = [one.call for one in route.dependant.dependencies if isinstance(one.call, ScopeCheck)]
                for method in route.methods or ():
                    operation = made["paths"][route.path_format][method.lower()]
                    if checks:
                        operation["security"] = [{"token": list(checks[0].scopes)}]
                    if "requestBody" in operation:
                        operation["requestBody"]["x-max-bytes"] = find_limit(route.endpoint)(settings)
        app.openapi_schema = made
    return app.openapi_schema


def list_operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    """Method, path and description of each operation."""
    for path, methods in document["paths"].items():
        yield from ((method, path, methods[method]) for method in METHODS if method in methods)


def add_links(document: Document, follow_ups: Sequence[FollowUp]) -> None:
    """Writes what may follow into the answers of a document."""
    operations = {operation["operationId"]: (path, operation) for _, path, operation in list_operations(document)}
    for follows in follow_ups:
        links = operations[follows.operation][1]["responses"][str(follows.status)].setdefault("links", {})
        for name, (path, _) in operations.items():
            wanted = re.findall(r"\{(\w+)\}", path)
            if f"{path}/".startswith(f"{follows.address}/") and set(wanted) <= set(follows.known):
                parameters = {parameter: follows.known[parameter] for parameter in wanted}
                links[name] = {"operationId": name, "parameters": parameters}
