"""Errors as problem documents over HTTP (RFC 9457): the one place where they become answers."""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from viewfinder.errors import (
    BadInput,
    DatabaseError,
    DiskFull,
    EmptyQuery,
    LibraryBusy,
    LibraryError,
    PartFailed,
    PictureError,
    UnknownName,
    ViewfinderError,
)
from viewfinder.plugins import find_fault
from viewfinder.server.redaction import hide_paths, to_unicode
from viewfinder.server.senders import describe_sender

MEDIA_TYPE = "application/problem+json"
MAX_NAMED = 20
"""Things that are wrong with a request, of which a problem tells."""

MISFITS = ("missing", "extra_forbidden")
"""The kinds of errors of a body that was meant as something else."""

UNFORESEEN = "unforeseen"

RETRY_AFTER_S = 5
"""When to try again what cannot be served now, unless more is known."""

_LOG = logging.getLogger("viewfinder.server")


class ProblemDocument(BaseModel):
    """An error: `type` names its kind for programs, `detail` is one line for people."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None


class Problem(Exception):
    """An answer that is a problem: `kind` is the last part of its type, `more` joins the document."""

    def __init__(
        self, status: int, kind: str, detail: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers, self.more = headers or {}, more
        if status == HTTPStatus.SERVICE_UNAVAILABLE:  # it passes: every client may try again by itself
            self.headers.setdefault("Retry-After", str(RETRY_AFTER_S))


def not_found(what: str, name: str) -> Problem:
    """404: there is no such session, picture, job ..."""
    return Problem(404, "not-found", f"there is no {what} {name}")


def problem_response(problem: Problem, instance: str | None = None) -> Response:
    """The problem as a response."""
    document = {
        "type": f"urn:viewfinder:problem:{problem.kind}",
        "title": problem.kind.replace("-", " "),
        "status": problem.status,
        "detail": problem.detail,
        **({} if instance is None else {"instance": instance}),
        **problem.more,
    }
    return JSONResponse(document, problem.status, problem.headers, MEDIA_TYPE)


async def refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the problem where an app would; it never sees the request."""
    await problem_response(problem, scope["path"])(scope, receive, send)


KINDS: dict[type[ViewfinderError], tuple[int, str]] = {
    UnknownName: (422, "unknown-name"),
    EmptyQuery: (422, "empty-query"),
    BadInput: (422, "bad-input"),
    LibraryBusy: (503, "library-busy"),
    DiskFull: (507, "disk-full"),
    LibraryError: (503, "library-error"),
    DatabaseError: (503, "database-error"),
    PictureError: (422, "not-a-picture"),
    PartFailed: (500, "part-failed"),
    ViewfinderError: (500, "failed"),
}
"""The most particular kind first."""


def problem_of(error: ViewfinderError) -> Problem:
    """An error of the engine as a problem; what it says of folders of this machine stays here."""
    status, kind = next(found for known, found in KINDS.items() if isinstance(error, known))
    return Problem(status, kind, to_unicode(hide_paths(str(error))))


ALWAYS = (400, 401, 403, 408, 413, 422, 429, 500, 503, 507)
"""Statuses of any route; `document.build_document` takes out those that need a body, parameters or files."""


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For `responses=` of a route: these statuses are problem documents (beside `ALWAYS`, of which routers speak)."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def install_problems(app: FastAPI) -> None:
    """Makes every failure a problem document."""

    for kind in (Problem, ViewfinderError, RequestValidationError, HTTPException, OSError, Exception):
        app.add_exception_handler(kind, answer_error)


async def answer_error(request: Request, error: Exception) -> Response:
    """A failure as a problem document."""
    if isinstance(error, PartFailed):  # its author needs the whole path, which no answer has
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        trace, sender = trace_of(cause, str(error), _LOG), describe_sender(request.scope)
        _LOG.error("%s at %s", error, request.url.path, exc_info=trace, extra=sender)
    problem = _explain(request, error)
    if problem.kind != UNFORESEEN:
        _let_go(error)
    return problem_response(problem, request.url.path)


def _let_go(error: BaseException | None) -> None:
    """Empties an error, and those behind it, of what the request brought.

    An error holds the frames that it passed, and a frame of the framework holds the error that it raised, beside the
    body as it came and as it was read: a circle, which stays until the collector comes by, hundreds of requests later.
    """
    while error is not None:
        error.__traceback__ = None
        if isinstance(error, RequestValidationError):
            error.body = None
            for wrong in error.errors():
                raised = wrong.get("ctx", {}).get("error")  # by a validator of ours, or a word of the JSON decoder
                _let_go(raised if isinstance(raised, Exception) else None)
                wrong.clear()
        error = error.__cause__ or error.__context__


def _explain(request: Request, error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case ViewfinderError():
            return problem_of(error)
        case RequestValidationError():
            named = find_wrong(error.errors())[:MAX_NAMED]
            errors = [{"where": [str(part) for part in where], "message": message} for where, message in named]
            where, message = named[0]
            if where == ("body",) and "json" not in request.headers.get("content-type", "").lower():
                message = "send JSON, with the header Content-Type: application/json"
            return Problem(422, "invalid", f"{'.'.join(map(str, where))}: {message}", errors=errors)
        case HTTPException(status_code=status):
            headers, detail = dict(error.headers or {}), str(error.detail)
            if status == HTTPStatus.NOT_FOUND:
                detail = "there is nothing at this address: /api/v1/openapi.json lists what there is"
            if status == HTTPStatus.METHOD_NOT_ALLOWED:
                # What may be done here; the framework would name the methods of one of the routes there only.
                paths, template = request.app.openapi()["paths"], getattr(request.scope.get("route"), "path", "")
                methods = {
                    *(paths.get(request.url.path) or paths.get(template) or ("get", "head"))
                }  # the page, its files
                methods |= {"head"} if "get" in methods and request.method != "HEAD" else set()
                headers["Allow"] = ", ".join(sorted(method.upper() for method in methods))
                detail = f"this address does not take {request.method}: it takes {headers['Allow']}"
            kind = HTTPStatus(status).phrase.lower().replace(" ", "-")
            return Problem(status, kind, detail, headers=headers)
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EROFS):
            why = "can only be read" if error.errno == errno.EROFS else "is full; nothing acknowledged is lost"
            return problem_of(DiskFull(f"the server's disk {why}"))
        case _:
            fault = find_fault(error)
            said, sender = fault or "unforeseen error", describe_sender(request.scope)
            _LOG.error("%s at %s", said, request.url.path, exc_info=trace_of(error, fault, _LOG), extra=sender)
            unforeseen = Problem(500, UNFORESEEN, "something unforeseen happened; the server's log says what")
            return unforeseen if fault is None else problem_of(PartFailed(fault))


Wrong = tuple[Sequence[str | int], str]
"""What is wrong with a request: where, and what."""


def find_wrong(errors: Sequence[Mapping[str, Any]]) -> list[Wrong]:
    """What a request has wrong; of a body that may be one of several, what the one lacks that it is most like.

    `{"keep": "colour"}` is no `{"say": ...}` without a text, which comes first of the turns: it lacks `turn`.
    """
    kinds: dict[str | int, list[Mapping[str, Any]]] = {}
    for it in errors:
        if it["loc"][0] == "body" and str(*it["loc"][1:2])[:1].isupper():  # a shape's name: no field has a capital
            kinds.setdefault(it["loc"][1], []).append(it)
    if not kinds:
        return [(it["loc"], it["msg"]) for it in errors]
    misfits = {kind: sum(it["type"] in MISFITS for it in its) for kind, its in kinds.items()}
    likest = [its for kind, its in kinds.items() if misfits[kind] == min(misfits.values())]
    lacking = {kind: next((it["loc"][-1] for it in its if it["type"] == "missing"), "") for kind, its in kinds.items()}
    if len(likest) > 1 and all(lacking.values()):
        return [(("body",), f"one of these is needed: {', '.join(map(str, lacking.values()))}")]
    return [(("body", *it["loc"][2:]), it["msg"]) for it in likest[0]]


def trace_of(error: Exception, fault: str | None, log: logging.Logger) -> Exception | None:
    """What of an error the log is to trace: all but the fault of another package's part, which names its file and line.

    With VIEWFINDER_LOG=debug that is traced, too.
    """
    return error if fault is None or log.isEnabledFor(logging.DEBUG) else None
