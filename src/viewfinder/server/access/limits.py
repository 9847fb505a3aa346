"""How much a request may bring, how long it may take, and how many there may be: no client can fill the memory, hold a
request open, or ask without end."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viewfinder.server.access.tokens import LOCAL
from viewfinder.server.problems import Problem, refuse

if TYPE_CHECKING:
    from viewfinder.server.settings import ServerSettings

ENVELOPE = 64 << 10
"""Bytes that a multipart body may have around its file."""

IMPORTED = 16
"""An imported conversation may be so many times as large as another JSON body: it says what was shown at each turn."""

SLOWEST = 32 << 10
"""Bytes a second that a body must come with, on the whole, once its patience is over."""


def largest_body(settings: ServerSettings, path: str) -> int:
    """In bytes: uploads are large, JSON is small."""
    match path:
        case "/api/v1/uploads" | "/api/v1/pictures":
            return settings.upload_bytes + ENVELOPE
        case "/api/v1/sessions/import":
            return IMPORTED * settings.body_bytes
        case _:
            return settings.body_bytes


class BodyLimit:
    """413 for a body that is too large, declared or not; 408 for one that does not come.

    A client may be silent for `idle_s`; and the whole body may take `patience_s` plus what it needs at `SLOWEST`, so
    that nobody goes on for ever by sending a byte now and then. What the app makes of a refused body is not sent.

    `largest`: how many bytes may be sent to a path.
    """

    def __init__(self, app: ASGIApp, largest: Callable[[str], int], *, idle_s: float, patience_s: float) -> None:
        self.app = app
        self._largest, self._idle_s, self._patience_s = largest, idle_s, patience_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts while the app reads."""
        largest = self._largest(scope["path"])
        declared = Headers(scope=scope).get("content-length") or ""
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
        latest = self._until + self._bytes / SLOWEST
        try:
            async with asyncio.timeout_at(min(self._clock() + self._idle_s, latest)):
                message = await self._receive()
        except TimeoutError:
            detail = "the request's body did not come in time: send it again, without pauses"
            self.refused = Problem(408, "slow-body", detail, headers={"Connection": "close"})
            raise self.refused from None
        self._bytes += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._bytes > self._largest:
            self.refused = _too_large(self._largest)
            raise self.refused
        return message

    async def send(self, message: Message) -> None:
        """Passes the answer on, unless it answers a refused body."""
        if self.refused is None or self.begun:
            self.begun = True
            await self._send(message)


def _too_large(largest: int) -> Problem:
    return Problem(413, "too-large", f"the request's body is larger than {largest:,} bytes", limit=largest)


class Deadline:
    """503 when the answer has not begun in time; then what worked on it is cancelled.

    Time spent waiting for the client's body does not count (`Bodies` sees to that). An answer that has begun goes on
    as long as it will: a stream of events is open for hours.
    """

    def __init__(self, app: ASGIApp, deadline_s: float) -> None:
        self.app = app
        self._deadline_s = deadline_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """In the task of the request itself: no other is made."""
        begun = arrived = False
        clock = asyncio.get_running_loop().time

        async def told(message: Message) -> None:
            nonlocal begun
            if not begun:
                if timeout.expired():  # 503 is the answer; this is what the app says while it is cancelled
                    return
                begun = True
                timeout.reschedule(None)
            await send(message)

        async def heard() -> Message:
            nonlocal arrived
            if begun or arrived or timeout.expired():
                return await receive()
            timeout.reschedule(None)
            message = await receive()
            arrived = not message.get("more_body", False)
            if not begun and not timeout.expired():
                timeout.reschedule(clock() + self._deadline_s)
            return message

        try:
            async with asyncio.timeout(self._deadline_s) as timeout:
                await self.app(scope, heard, told)
        except TimeoutError:
            if begun or not timeout.expired():
                raise
            detail = f"this took longer than {self._deadline_s:g} s: try again, or ask for less"
            await refuse(Problem(503, "deadline", detail, headers={"Retry-After": "1"}), scope, receive, send)


MOST = 10_000
"""Buckets that are kept; the one that was used least recently goes first, and comes back full."""


class TokenBuckets:
    """A token bucket a key: `burst` at once, `per_s` more each second. For one event loop."""

    def __init__(self, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key -> level, when

    def take(self, key: str) -> float:
        """Takes one request and gives 0; or, where none is left, takes nothing and gives the seconds until one is."""
        now = self._clock()
        level, since = self._levels.pop(key, (float(self._burst), now))
        level = min(float(self._burst), level + (now - since) * self._per_s)
        waiting = 0.0 if level >= 1 else (1 - level) / self._per_s
        self._levels[key] = (level if waiting else level - 1), now
        if len(self._levels) > MOST:
            self._levels.popitem(last=False)
        return waiting


def too_many_requests(waiting_s: float) -> Problem:
    """429, with the whole seconds to wait."""
    wait = max(1, math.ceil(waiting_s))
    return Problem(429, "too-many-requests", f"too many requests: wait {wait} s", headers={"Retry-After": str(wait)})


def client_address(scope: Scope) -> str:
    """Where a request comes from; "" for a socket of the file system."""
    client = scope.get("client")
    return str(client[0]) if client else ""


class RateLimit:
    """Counts by token; who has none, by address. This machine itself is not counted."""

    def __init__(self, app: ASGIApp, buckets: TokenBuckets) -> None:
        self.app = app
        self._buckets = buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """429 with Retry-After when the bucket is empty. Reads what `Identity` found."""
        caller = scope["state"]["caller"]
        if caller is LOCAL:
            await self.app(scope, receive, send)
            return
        key = f"address {client_address(scope)}" if caller is None else f"token {caller.token}"
        waiting = self._buckets.take(key)
        if waiting:
            await refuse(too_many_requests(waiting), scope, receive, send)
        else:
            await self.app(scope, receive, send)
