"""From where a request may come: no foreign page may act in the user's name.

Three ways are closed. A page whose name was pointed at this machine (DNS rebinding): the Host must be a loopback name
while the server is on loopback. A page of another site that sends a form or a `fetch`: what changes something and has
no bearer token (which no foreign page can add) must come from our own page. A page that would read an answer: no CORS
unless configured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from viewfinder.server.access.wire import SAFE, bearer, header, refuse
from viewfinder.server.problems import Problem

_LOOPBACK = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)


def is_loopback_name(host: str) -> bool:
    """Whether a Host header (with or without a port) names this machine.

    >>> [is_loopback_name(host) for host in ("localhost:8008", "127.0.0.1", "[::1]:80", "evil.example")]
    [True, True, True, False]
    """
    return _LOOPBACK.fullmatch(host) is not None


class LoopbackHosts:
    """Answers to loopback names only."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """403 for any other Host, or none."""
        if is_loopback_name(header(scope, b"host") or ""):
            await self.app(scope, receive, send)
            return
        detail = "this server answers on this machine only: call it localhost or 127.0.0.1"
        await refuse(Problem(403, "wrong-host", detail), scope, receive, send)


class SameOrigin:
    """What changes something and has no bearer token comes from our own page, from a configured origin, or from no
    page at all (programs send neither Origin nor Sec-Fetch-Site)."""

    def __init__(self, app: ASGIApp, origins: Sequence[str] = ()) -> None:
        self.app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """403 for pages of other sites."""
        if scope["method"] in SAFE or bearer(scope) is not None or self._is_ours(scope):
            await self.app(scope, receive, send)
            return
        detail = "a page of another site may not do this: open viewfinder's own page, or send a bearer token"
        await refuse(Problem(403, "cross-site", detail), scope, receive, send)

    def _is_ours(self, scope: Scope) -> bool:
        origin, site = header(scope, b"origin"), header(scope, b"sec-fetch-site")
        if origin is not None and origin in self._origins:
            return True
        if site is not None:  # said by the browser itself, no script can set it
            return site in ("same-origin", "none")
        return origin is None or origin.partition("://")[2] == header(scope, b"host")


def allow_origins(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Pages of these origins may call the API with a bearer token; never with the cookie."""
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
        allow_headers=("Authorization", "Content-Type", "If-None-Match", "Last-Event-ID"),
        expose_headers=("ETag", "Location", "Retry-After"),
        allow_private_network=True,
    )
