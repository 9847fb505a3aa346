"""How much a request may bring, and how slowly: no client can fill the memory or hold a request open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viewfinder.server.access.wire import header, refuse
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.server.settings import ServerSettings

ENVELOPE = 64 << 10
"""Bytes that a multipart body may have around its file."""

TALK = 16
"""A talk that is imported may be so many times as large as another JSON body: it says what was shown at each turn."""

SLOWEST = 32 << 10
"""Bytes a second that a body must come with, on the whole, once its patience is over."""


@dataclass(frozen=True)
class BodySizes:
    """The largest body in bytes: of the paths named, and of all others."""

    of: Mapping[str, int]
    other: int

    def at(self, path: str) -> int:
        """The largest body that may be sent there."""
        return self.of.get(path, self.other)


def body_sizes(settings: ServerSettings) -> BodySizes:
    """Uploads are large, JSON is small."""
    upload = settings.upload_bytes + ENVELOPE
    large = {
        "/api/v1/uploads": upload,
        "/api/v1/pictures": upload,
        "/api/v1/sessions/import": TALK * settings.body_bytes,
    }
    return BodySizes(large, settings.body_bytes)


class BodyLimit:
    """413 for a body that is too large, declared or not; 408 for one that does not come.

    A client may be silent for `idle_s`; and the whole body may take `patience_s` plus what it needs at `SLOWEST`, so
    that nobody goes on for ever by sending a byte now and then. What the app makes of a refused body is not sent.
    """

    def __init__(self, app: ASGIApp, limits: BodySizes, *, idle_s: float, patience_s: float) -> None:
        self.app = app
        self._limits, self._idle_s, self._patience_s = limits, idle_s, patience_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts while the app reads."""
        largest = self._limits.at(scope["path"])
        declared = header(scope, b"content-length") or ""
        if declared.isdecimal() and int(declared) > largest:
            await refuse(_too_large(largest), scope, receive, send)
            return
        body = _Body(receive, send, largest, self._idle_s, self._patience_s)
        try:
            await self.app(scope, body.receive, body.send)
        except Exception:
            if body.refused is None or body.begun:
                raise
        if body.refused is not None and not body.begun:
            await refuse(body.refused, scope, receive, send)


class _Body:
    """The body of one request as it comes in."""

    def __init__(self, receive: Receive, send: Send, largest: int, idle_s: float, patience_s: float) -> None:
        self._receive, self._send = receive, send
        self._largest, self._idle_s = largest, idle_s
        self._clock = asyncio.get_running_loop().time
        self._until = self._clock() + patience_s
        self._bytes = 0
        self._complete = False
        self.refused: Problem | None = None
        self.begun = False

    async def receive(self) -> Message:
        """The next piece. Once all have come, whoever waits here waits for the client to leave.

        Raises:
            Problem: too large, or too slow.
        """
        if self._complete:
            return await self._receive()
        message = await self._next()
        self._bytes += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._bytes > self._largest:
            raise self._refusal(_too_large(self._largest))
        return message

    async def _next(self) -> Message:
        latest = self._until + self._bytes / SLOWEST
        try:
            async with asyncio.timeout_at(min(self._clock() + self._idle_s, latest)):
                return await self._receive()
        except TimeoutError:
            detail = "the request's body did not come in time: send it again, without pauses"
            raise self._refusal(Problem(408, "slow-body", detail, headers={"Connection": "close"})) from None

    def _refusal(self, problem: Problem) -> Problem:
        self.refused = problem
        return problem

    async def send(self, message: Message) -> None:
        """Passes the answer on, unless it answers a refused body."""
        if self.refused is None or self.begun:
            self.begun = True
            await self._send(message)


def _too_large(largest: int) -> Problem:
    return Problem(413, "too-large", f"the request's body is larger than {largest:,} bytes", limit=largest)
