"""What the parts of the access layer share: reading a header, answering in the app's place."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from viewfinder.server.problems import Problem, problem_response

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of that name (lower case), or None."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value).decode("latin-1")
    return None


def bearer(scope: Scope) -> str | None:
    """The bearer token of a request; None where there is none (what a proxy's Basic login adds is none)."""
    scheme, _, secret = (header(scope, b"authorization") or "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def address(scope: Scope) -> str:
    """Where a request comes from; "" for a socket of the file system."""
    client = scope.get("client")
    return str(client[0]) if client else ""


async def refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the problem; the app never sees the request."""
    await problem_response(problem, scope["path"])(scope, receive, send)
