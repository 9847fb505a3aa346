"""How much a request may bring, and how long it may take: no client can fill the memory, hold a request open, or keep
the event loop from others.

A route that needs more than `SMALL_BODY` declares it (`takes_body`). Nothing is read before it is known who calls and
how much the route takes. Bodies that may be large are received into a file, then decoded aside, one at a time, in
small steps: a single call of a JSON decoder on 16 MB would stop all threads of the process for seconds.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Any, TypeVar

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viewfinder.server.access.tokens import ScopeCheck
from viewfinder.server.problems import Problem, refuse
from viewfinder.stopping import stop_if_asked

if TYPE_CHECKING:
    from viewfinder.server.access.limits import ThreadPool
    from viewfinder.server.settings import ServerSettings

SMALL_BODY = 64 << 10
"""The most bytes of a body whose route declares no other limit."""

WORDY_BODY = 256 << 10
"""The most bytes of a body with filters, a thousand ids, or a question and all its choices."""

ENVELOPE = 64 << 10
"""Bytes that a multipart body may have around its file."""

COLLECT_BYTES = 16 << 20
"""Bytes of refused bodies after which the young objects are collected."""

SLOWEST = 32 << 10
"""Bytes a second that a body must come with, on the whole, once its patience is over."""

Most = Callable[["ServerSettings"], int]
"""How many bytes a body may have."""

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def takes_body(most: Most) -> Callable[[Endpoint], Endpoint]:
    """Declares, below the route's own decorator, how large its body may be."""

    def declare(endpoint: Endpoint) -> Endpoint:
        endpoint.most_bytes = most  # type: ignore[attr-defined]
        return endpoint

    return declare


def json_up_to(most: int) -> Most:
    """A limit for a JSON body: `most` bytes, and never more than the settings allow.

    >>> from viewfinder.server.settings import ServerSettings
    >>> json_up_to(256_000)(ServerSettings(body_bytes=100_000))
    100000
    """
    return lambda settings: min(most, settings.body_bytes)


UNDECLARED = json_up_to(SMALL_BODY)


def find_limit(endpoint: Callable[..., Any]) -> Most:
    """The limit that a route declares for its body, else `UNDECLARED`."""
    most: Most = getattr(endpoint, "most_bytes", UNDECLARED)
    return most


class GuardedRoute(APIRoute):
    """A route of the API: its scope is checked, and the size of its body known, before any of the body is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Puts the checks before the framework's handler."""
        handle = super().get_route_handler()
        most = find_limit(self.endpoint)
        checks = [one.call for one in self.dependant.dependencies if isinstance(one.call, ScopeCheck)]

        async def guard(request: Request) -> Response:
            for check in checks:
                await check(request)
            if (exchange := request.scope.get(_EXCHANGE)) is not None:  # absent where an app has no access layer
                exchange.allow(most)
            return await handle(request)

        return guard


_EXCHANGE = "viewfinder.exchange"
"""Where the scope of a request has its `_Exchange`."""


class RequestLimits:
    """413 for a body that is too large, declared or not; 408 for one that does not come; 503 for an answer that has not
    begun in time, or when the server ends: then the work on it is cancelled.

    A client may be silent for `idle_s`; and the whole body may take `deadline_s` plus what it needs at `SLOWEST`, so
    that none goes on forever by sending a byte now and then. Time spent waiting for the body does not count for the
    answer. An answer that has begun may take any time: a stream of events is open for hours.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self.app = app
        self._settings = settings
        self._refused_bytes = 0  # since the collector was last called for them

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """In the task of the request itself: no other is made."""
        scope[_EXCHANGE] = exchange = _Exchange(scope, receive, send, self._settings)
        try:
            async with asyncio.timeout(self._settings.deadline_s) as exchange.deadline:
                await self.app(scope, exchange.receive, exchange.send)
        except Exception:
            if exchange.deadline.expired():
                exchange.refused = partial(_describe_deadline, self._settings.deadline_s)
            if exchange.refused is None or exchange.begun:
                raise
        except asyncio.CancelledError:
            if exchange.begun:
                raise
            exchange.refused = _describe_ending
        finally:
            if exchange.status >= HTTPStatus.BAD_REQUEST or exchange.refused is not None:
                self._collect_refused(exchange.bytes)
            del scope[_EXCHANGE]  # which would hold the scope in a circle, and all that the request brought
        if exchange.refused is not None and not exchange.begun:
            await refuse(exchange.refused(), scope, receive, send)

    def _collect_refused(self, size: int) -> None:
        """Calls the collector when refused bodies have come to `COLLECT_BYTES`.

        By itself it counts objects, and a few of them may hold a whole body. (`problems` empties errors.)
        """
        self._refused_bytes += size
        if self._refused_bytes >= COLLECT_BYTES:
            self._refused_bytes = 0
            gc.collect(1)


class _Exchange:
    """One request as its body comes in and its answer goes out. `refused` makes the answer in the app's place."""

    deadline: asyncio.Timeout

    def __init__(self, scope: Scope, receive: Receive, send: Send, settings: ServerSettings) -> None:
        self._receive, self._send, self._settings = receive, send, settings
        self._most = UNDECLARED(settings)
        self._clock = asyncio.get_running_loop().time
        self._until = self._clock() + settings.deadline_s
        declared = Headers(scope=scope).get("content-length") or ""
        self._declared = int(declared) if declared.isdecimal() else 0
        self.bytes = self.status = 0
        self._complete = False
        self.refused: Callable[[], Problem] | None = None
        self.begun = False

    def allow(self, most: Most) -> None:
        """Lets the body have as many bytes as its route takes. Raises Problem: it is declared to have more."""
        self._most = most(self._settings)
        self._check_size(self._declared)

    async def receive(self) -> Message:
        """The next piece of the body. After the last one, this waits for the client to leave.

        Raises:
            Problem: too large, or too slow.
        """
        if self._complete:
            return await self._receive()
        self._check_size(self._declared)
        self._set_deadline(None)
        latest = self._until + self.bytes / SLOWEST
        try:
            async with asyncio.timeout_at(min(self._clock() + self._settings.idle_s, latest)):
                message = await self._receive()
        except TimeoutError:
            raise self._refuse(_describe_slow_body) from None
        self._set_deadline(self._clock() + self._settings.deadline_s)
        self.bytes += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        self._check_size(self.bytes)
        return message

    async def send(self, message: Message) -> None:
        """Passes the answer on, unless another takes its place."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        if not self.begun:
            if self.refused is not None or self.deadline.expired():
                return
            self._set_deadline(None)
            self.begun = True
        await self._send(message)

    def _set_deadline(self, when: float | None) -> None:
        """Sets when the answer must have begun; without effect where it has, or where the deadline has passed."""
        if not self.begun and not self.deadline.expired():
            self.deadline.reschedule(when)

    def _check_size(self, size: int) -> None:
        if size > self._most:
            raise self._refuse(partial(_describe_large_body, self._most))

    def _refuse(self, problem: Callable[[], Problem]) -> Problem:
        # Only how to make the problem is kept: one that was raised holds the frames that it passed, and they this.
        self.refused = problem
        return problem()


def _describe_large_body(most: int) -> Problem:
    return Problem(413, "too-large", f"the request's body is larger than {most:,} bytes", limit=most)


def _describe_slow_body() -> Problem:
    detail = "the request's body did not come in time: send it again, without pauses"
    return Problem(408, "slow-body", detail, headers={"Connection": "close"})


def _describe_deadline(deadline_s: float) -> Problem:
    detail = f"this took longer than {deadline_s:g} s: try again, or ask for less"
    return Problem(503, "deadline", detail, headers={"Retry-After": "1"})


def _describe_ending() -> Problem:
    return Problem(503, "ending", "the server ends before this was done: try again when it is back")


# -- large bodies

Shape = TypeVar("Shape", bound=BaseModel)


def json_body(shape: type[BaseModel]) -> dict[str, Any]:
    """Describes the body of a route that reads it by `receive_json`, for `openapi_extra`."""
    schema = {"$ref": f"#/components/schemas/{shape.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


async def receive_json(request: Request, shape: type[Shape], pool: ThreadPool) -> Shape:
    """Reads the JSON body of a request, which may be large, without delaying other requests.

    Raises:
        Problem: 400, it broke off; 413, it is too large; 415, it is not said to be JSON.
        RequestValidationError: it is not JSON, or has not this shape.
    """
    if not re.match(r"application/([\w.+-]+\+)?json\s*(;|$)", request.headers.get("content-type", ""), re.IGNORECASE):
        raise Problem(415, "unsupported-media-type", "send JSON, with the header `Content-Type: application/json`")
    with tempfile.TemporaryFile() as file:
        try:
            async for piece in request.stream():
                await pool.run(file.write, piece)
        except ClientDisconnect:
            raise Problem(400, "interrupted", "the request's body broke off") from None
        return await pool.run_alone(_parse_file, file, shape)


def _parse_file(file: IO[bytes], shape: type[Shape]) -> Shape:
    file.seek(0)
    try:
        return shape.model_validate(decode_in_steps(file.read().decode("utf-8")))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        wrong = [{"loc": ("body", *it["loc"]), "msg": it["msg"]} for it in found]
    except ValueError as error:
        wrong = [{"loc": ("body",), "msg": f"this cannot be read as JSON: {error}"}]
    raise RequestValidationError(wrong)  # outside of `except`: the other error's frames would hold what was read


STEP_CHARS = 64 << 10
"""Characters that one call of the JSON decoder decodes at most, as no other thread computes meanwhile."""

MAX_STEPS = 50_000
"""Parts of a document that are decoded one by one: many times what the longest conversation needs."""

MAX_OPENED = 500_000
"""Brackets and braces of a document: each may become an object of 20 times its size, which the collector looks at."""

MAX_DEPTH = 50
"""Objects and lists in each other, of a document larger than `STEP_CHARS`."""

_SPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


def decode_in_steps(text: str) -> Any:
    """The value of a JSON text, as `json.loads`, with a pause after each small part in which others may compute.

    >>> decode_in_steps('{"a": [1, {"b": null}], "c": "d"}')
    {'a': [1, {'b': None}], 'c': 'd'}

    Raises:
        ValueError: it is not JSON, is nested too deeply, or is large and made of very many small parts.
    """
    if text.count("{") + text.count("[") > MAX_OPENED:
        raise ValueError(f"it has more than {MAX_OPENED:,} objects and lists")
    value, end = _Steps(text).value(_skip_space(text, 0), 0)
    if (end := _skip_space(text, end)) < len(text):
        raise ValueError(f"there is more after its end, at {end}")
    return value


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


class _Steps:
    """Decodes one text: values larger than a step are taken apart, smaller ones are decoded whole."""

    def __init__(self, text: str) -> None:
        self._text, self._left = text, MAX_STEPS

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """Decodes the value that begins at a place; gives it, and where it ends."""
        stop_if_asked()
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"it has more than {MAX_STEPS:,} parts")
        opening = self._text[at : at + 1]
        if opening not in ("{", "["):
            return _decode(self._text, at)
        try:
            value, length = _decode(self._text[at : at + STEP_CHARS])
            return value, at + length
        except (ValueError, RecursionError):  # it goes on after the step, is nested deeply, or is wrong
            if depth >= MAX_DEPTH:
                raise ValueError(f"it is nested more than {MAX_DEPTH} deep, or wrong, at {at}") from None
        return self._decode_members(at, depth) if opening == "{" else self._decode_items(at, depth)

    def _decode_members(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = _skip_space(self._text, at + 1)
        while self._text[at : at + 1] != "}":
            if found:
                at = _skip_space(self._text, self._pass_sign(",", at))
            if self._text[at : at + 1] != '"':
                raise ValueError(f'" is missing at {at}')
            name, at = _decode(self._text, at)
            at = self._pass_sign(":", _skip_space(self._text, at))
            found[name], at = self.value(_skip_space(self._text, at), depth + 1)
            at = _skip_space(self._text, at)
        return found, at + 1

    def _decode_items(self, at: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = _skip_space(self._text, at + 1)
        while self._text[at : at + 1] != "]":
            if found:
                at = self._pass_sign(",", at)
            value, at = self.value(_skip_space(self._text, at), depth + 1)
            found.append(value)
            at = _skip_space(self._text, at)
        return found, at + 1

    def _pass_sign(self, sign: str, at: int) -> int:
        if self._text[at : at + 1] != sign:
            raise ValueError(f"{sign} is missing at {at}")
        return at + 1
