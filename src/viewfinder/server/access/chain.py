"""The way of a request to the app: one layer after another, each an ASGI app around the next."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from viewfinder.server.access.bodies import BodyLimit, body_sizes
from viewfinder.server.access.deadlines import Deadline
from viewfinder.server.access.headers import SecurityHeaders
from viewfinder.server.access.identity import Authentication
from viewfinder.server.access.origin import LoopbackHosts, SameOrigin, allow_origins
from viewfinder.server.access.rates import RateLimit, TokenBuckets
from viewfinder.server.access.wire import refuse
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.services import BaseServices, Pool
    from viewfinder.server.settings import ServerSettings

_NOT_TEXT = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "image/*", "application/octet-stream")


def install_access(app: FastAPI, services_of: Callable[[], BaseServices | None]) -> None:
    """Guards an app; `services_of` gives None until the app has started."""
    app.add_middleware(Access, services_of=services_of)


class Access:
    """All layers, built when the first request comes: settings and tokens are not there earlier."""

    def __init__(self, app: ASGIApp, services_of: Callable[[], BaseServices | None]) -> None:
        self.app = app
        self._services_of = services_of
        self._built: tuple[BaseServices, ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what is not HTTP."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        services = self._services_of()
        if services is None:
            problem = Problem(503, "starting", "the server is still starting: try again", headers={"Retry-After": "1"})
            await refuse(problem, scope, receive, send)
            return
        if self._built is None or self._built[0] is not services:
            self._built = services, guard_app(self.app, services.settings, services.tokens, services.pool)
        await self._built[1](scope, receive, send)


def guard_app(
    app: ASGIApp, settings: ServerSettings, tokens: Tokens, pool: Pool, clock: Callable[[], float] = time.monotonic
) -> ASGIApp:
    """The app inside its layers; the outermost is written last.

    Whatever refuses a request stands inside `Headers` (every answer has them) and inside CORS (a page of a configured
    origin can read why). Who calls is known before rates are counted, both before a body is read.
    """
    app = Deadline(app, settings.deadline_s)
    app = BodyLimit(app, body_sizes(settings), idle_s=settings.idle_s, patience_s=settings.deadline_s)
    app = SameOrigin(app, settings.origins)
    app = RateLimit(app, TokenBuckets(settings.requests_per_s, settings.requests_burst, clock))
    app = Authentication(app, tokens, pool, TokenBuckets(settings.requests_per_s, settings.requests_burst, clock))
    if not settings.is_loopback:  # within one machine, packing costs more than it saves
        app = GZipMiddleware(app, compresslevel=4, exclude_content_types=_NOT_TEXT)
    if settings.origins:
        app = allow_origins(app, settings.origins)
    if settings.is_loopback:
        app = LoopbackHosts(app)
    return SecurityHeaders(app, shared=bool(settings.origins))
