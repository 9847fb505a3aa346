"""The way of a request to the app: one layer after another, each an ASGI app around the next.

No foreign page may act in the user's name; three ways are closed. A page whose name was pointed at this machine (DNS
rebinding): a request without a token must name the Host by a loopback name. A page of another site that sends a form or
a `fetch`: a request that changes something without a bearer token (which no foreign page can add) must come from our
own page. A page that would read an answer: no CORS unless configured.

`trust` decides which requests are those of this machine's own user, and need no token. Requests of pages of another
origin never are: pages of a configured origin may ask, with a bearer token.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viewfinder.errors import ViewfinderError
from viewfinder.server.access.bodies import RequestLimits
from viewfinder.server.access.limits import Buckets, count_request
from viewfinder.server.access.signatures import SIGNED, ForgedAddress, open_address
from viewfinder.server.access.tokens import LOCAL, REMEMBERED_S, Caller
from viewfinder.server.access.trust import RequestHead, is_own_user, read_head
from viewfinder.server.problems import Problem, problem_of, refuse

if TYPE_CHECKING:
    from viewfinder.server.access.limits import ThreadPool
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.services import BaseServices
    from viewfinder.server.settings import ServerSettings

_LOG = logging.getLogger("viewfinder.server")

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""

POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' blob: data:",
        "style-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

SECURITY = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}

Pairs = list[tuple[bytes, bytes]]


class SecurityHeaders:
    """Adds the headers that protect a browser, except those that an answer has already.

    No cache keeps an answer of the API, unless its route says otherwise (thumbnails do). `shared`: pages of other
    origins are welcome (CORS), and may embed pictures too.
    """

    def __init__(self, app: ASGIApp, *, shared: bool = False) -> None:
        self.app = app
        wanted = SECURITY | {"cross-origin-resource-policy": "cross-origin" if shared else "same-origin"}
        self._pairs: Pairs = [(name.encode(), value.encode()) for name, value in wanted.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Changes only the start of the answer."""
        private = scope["path"].startswith("/api/")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers: Pairs = list(message.get("headers", ()))
                there = {name.lower() for name, _ in headers}
                headers += [pair for pair in self._pairs if pair[0] not in there]
                # A 304 would change what the cache holds.
                if private and b"cache-control" not in there and message["status"] != 304:
                    headers.append((b"cache-control", b"no-store"))
                message["headers"] = headers
            await send(message)

        await self.app(scope, receive, send_with_headers)


def allow_origins(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Lets pages of these origins call the API with a bearer token; never with the cookie."""
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
        allow_headers=("Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID"),
        expose_headers=("ETag", "Location", "Retry-After"),
        allow_private_network=True,
    )


COOKIE = "viewfinder_token"

BEHIND_A_PROXY = "behind a proxy set VIEWFINDER_TOKENS_ALWAYS=1, as not every proxy can be told from a local program"


class Gate:
    """Lets a request in, or says why not: to which name it may be sent, who calls, how often, and from which page.

    It sets `request.state.caller`: a `Caller`, or None where a token is needed and there is none. An invalid bearer
    token is answered with 401 on every route, so that its sender knows. An invalid cookie counts as none, so that the
    page can be loaded to log in again.

    `requests` counts by token, or by address where there is none; requests of this machine itself are not counted.
    `guesses` counts invalid tokens by address: a valid one is never refused for the guesses of others.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        tokens: Tokens,
        pool: ThreadPool,
        requests: Buckets,
        guesses: Buckets,
    ) -> None:
        self.app = app
        self._tokens, self._pool, self._requests, self._guesses = tokens, pool, requests, guesses
        self._origins = frozenset(settings.origins)
        self._is_for_this_machine = settings.is_loopback and not tokens.needed
        self._warned = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers in the app's place where a request is not let in, or its token cannot be looked up."""
        head, state = read_head(scope), scope.setdefault("state", {})
        state.update(head=head, guesses=self._guesses)  # for the routes of logging in
        try:
            self._check_host(head)
            state["caller"] = caller = await self._find_caller(head, scope)
            self._count_request(head, caller)
            self._check_page(head, scope["method"])
        except Problem as problem:
            await refuse(problem, scope, receive, send)
        except ViewfinderError as error:  # the database does not answer
            await refuse(problem_of(error), scope, receive, send)
        else:
            if caller is None or caller.token is None:
                await self.app(scope, receive, send)
            elif (left_s := state.get("address_left_s")) is not None:
                await self._serve_while_good(caller, scope, receive, shorten_cache(send, left_s))
            else:
                await self._serve_while_good(caller, scope, receive, send)

    def _check_host(self, head: RequestHead) -> None:
        """Raises Problem for several Host headers, and where only this machine is served, for a name that it has not.

        Behind a proxy the name is that of the proxy; a token is needed there.
        """
        if head.host_count > 1:  # a proxy before us may go by a different one than we do (RFC 9112, 3.2)
            raise Problem(400, "bad-request", "a request has one Host header")
        if self._is_for_this_machine and not head.names_this_machine and not head.is_forwarded:
            detail = (
                "this server answers on this machine only: call it localhost or 127.0.0.1; a proxy must say it is one"
            )
            raise Problem(403, "wrong-host", detail)

    async def _find_caller(self, head: RequestHead, scope: Scope) -> Caller | None:
        secret, caller = head.bearer, None
        # What a page of another origin changes, it changes in its own name: by a bearer token, never with our cookie.
        if secret is None and head.cookies is not None and (scope["method"] in SAFE or head.is_of_own_page):
            secret = cookie_parser(head.cookies).get(COOKIE)
        if secret is not None:
            caller = self._tokens.recall_caller(secret) or await self._pool.run(self._tokens.find_caller, secret)
        if caller is None and head.bearer is not None:
            count_request(self._guesses, head.address)
            detail = "this token is unknown, has been revoked or has expired: ask for a new one"
            raise Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
        scope["state"]["signs"] = head.bearer is not None
        if caller is None and not self._tokens.needed and await self._is_trusted(head, scope):
            return LOCAL
        if caller is None and scope["method"] in ("GET", "HEAD") and SIGNED in scope["query_string"]:
            return await self._open_address(head, scope)
        return caller

    async def _open_address(self, head: RequestHead, scope: Scope) -> Caller:
        """The caller who was given this address. Raises Problem: 401, it is not, or no more, good."""
        try:
            opened = await self._pool.run(open_address, self._tokens, scope["path"], scope["query_string"])
        except ForgedAddress:
            count_request(self._guesses, head.address)
            opened = None
        if opened is None:
            detail = "this address has ended, or its token has: ask for the results again"
            raise Problem(401, "address-ended", detail)
        scope["state"].update(signs=True, address_left_s=opened.left_s)
        return opened.caller

    async def _is_trusted(self, head: RequestHead, scope: Scope) -> bool:
        """Whether a request is of this machine's own user; says once that there is a proxy, if there is one."""
        if not head.is_local:
            if head.is_forwarded:
                self._warn_of_proxy("it says so")
            return False
        # A connection keeps its user: the system is asked once for each.
        known: dict[str, bool] = scope["state"].setdefault("connection", {})
        if "own" not in known:
            known["own"] = await self._pool.run(is_own_user, scope)
        if not known["own"]:
            self._warn_of_proxy("it runs under an account of the system")
        return known["own"]

    def _warn_of_proxy(self, sign: str) -> None:
        if not self._warned:
            self._warned = True
            _LOG.warning("requests come through a proxy (%s) and need a token; %s", sign, BEHIND_A_PROXY)

    def _count_request(self, head: RequestHead, caller: Caller | None) -> None:
        if caller is not LOCAL:
            count_request(self._requests, f"address {head.address}" if caller is None else f"token {caller.token}")

    def _check_page(self, head: RequestHead, method: str) -> None:
        """Raises Problem where a page of another site would change something.

        Without a bearer token only our own page may, pages of the configured origins, and programs.
        """
        if method in SAFE or head.bearer is not None or head.origin in self._origins or head.is_of_own_page:
            return
        detail = "a page of another site may not do this: open viewfinder's own page, or send a bearer token"
        raise Problem(403, "cross-site", detail)

    async def _serve_while_good(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Runs the app; if it answers with events, these end when the token of the request does."""
        watch: asyncio.Task[None] | None = None
        whole = False

        async def send_watched(message: Message) -> None:
            nonlocal watch, whole
            if message["type"] == "http.response.start" and _are_events(message):
                watch = asyncio.create_task(self._end_after_token(caller, ending))
            whole = whole or (message["type"] == "http.response.body" and not message.get("more_body", False))
            await send(message)

        try:
            async with asyncio.timeout(None) as ending:
                await self.app(scope, receive, send_watched)
        except TimeoutError:
            if not ending.expired():
                raise
            if not whole:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if watch is not None:
                watch.cancel()

    async def _end_after_token(self, caller: Caller, ending: asyncio.Timeout) -> None:
        good = True
        while good:
            await asyncio.sleep(REMEMBERED_S)
            with suppress(ViewfinderError):  # the database does not answer: it is asked again
                good = await self._pool.run(self._tokens.is_good, caller)
        ending.reschedule(0)


def shorten_cache(send: Send, left_s: int) -> Send:
    """What is kept of an answer at a signed address is kept no longer than that holds, and apart for each origin."""

    async def send_shortened(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message.get("headers", ())))
            if "max-age=" in headers.get("cache-control", ""):
                headers["cache-control"] = f"private, max-age={left_s}, immutable"
            headers.add_vary_header("Origin")  # a picture that an `<img>` has loaded lacks what `fetch` asks for
            message["headers"] = headers.raw
        await send(message)

    return send_shortened


def _are_events(start: Message) -> bool:
    return (Headers(raw=start.get("headers", [])).get("content-type") or "").startswith("text/event-stream")


_NOT_TEXT = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "image/*", "application/octet-stream", "application/zip")


class Packing:
    """Packs texts for other machines: `always`, or where a request says that it comes through a proxy.

    Within one machine, packing costs more than it saves. Events, pictures and archives are sent as they are.
    """

    def __init__(self, app: ASGIApp, *, always: bool) -> None:
        self._plain = app
        self._packed = GZipMiddleware(app, compresslevel=4, exclude_content_types=_NOT_TEXT)
        self._always = always

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reads the head of the request, where that decides."""
        packs = self._always or read_head(scope).is_forwarded
        await (self._packed if packs else self._plain)(scope, receive, send)


class Access:
    """All layers, built when the first request comes; before the app has started, `services_of` gives None.

    `shared`: the folder in which several processes that serve the same count their requests together.
    """

    def __init__(
        self, app: ASGIApp, services_of: Callable[[], BaseServices | None], shared: Path | None = None
    ) -> None:
        self.app = app
        self._services_of, self._shared = services_of, shared
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
            guarded = guard_app(self.app, services.settings, services.tokens, services.pool, shared=self._shared)
            self._built = services, guarded
        await self._built[1](scope, receive, send)


def guard_app(
    app: ASGIApp,
    settings: ServerSettings,
    tokens: Tokens,
    pool: ThreadPool,
    clock: Callable[[], float] = time.monotonic,
    shared: Path | None = None,
) -> ASGIApp:
    """Puts the layers around an app; the outermost is written last.

    The gate stands inside `SecurityHeaders` (every answer has them) and inside CORS (a page of a configured origin can
    read why it is refused). It asks who calls before it counts, and does both before a body is read.
    """
    requests, guesses = (
        Buckets(settings.requests_per_s, settings.requests_burst, clock, shared and shared / f"{name}.buckets")
        for name in ("requests", "guesses")
    )
    app = Gate(RequestLimits(app, settings), settings, tokens, pool, requests, guesses)
    app = Packing(app, always=settings.needs_tokens)
    if settings.origins:
        app = allow_origins(app, settings.origins)
    return SecurityHeaders(app, shared=bool(settings.origins))
