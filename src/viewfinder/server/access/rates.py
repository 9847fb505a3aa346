"""How much one token may ask: a bucket of requests that is filled again as time goes by."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from viewfinder.server.access.caller import LOCAL
from viewfinder.server.access.wire import address, refuse
from viewfinder.server.problems import Problem

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
        key = f"address {address(scope)}" if caller is None else f"token {caller.token}"
        waiting = self._buckets.take(key)
        if waiting:
            await refuse(too_many_requests(waiting), scope, receive, send)
        else:
            await self.app(scope, receive, send)
