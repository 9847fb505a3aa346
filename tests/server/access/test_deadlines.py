"""How long a request may take: until its answer begins, and not a moment of its client's time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viewfinder.server.access.bodies import SLOWEST, RequestLimits
from viewfinder.server.settings import ServerSettings

Clients = Callable[..., Any]


def limited(app: ASGIApp, deadline_s: float) -> ASGIApp:
    return RequestLimits(app, ServerSettings(deadline_s=deadline_s))


def taking(seconds: float) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(seconds)
        await PlainTextResponse("done")(scope, receive, send)

    return app


def test_what_takes_too_long_is_answered_in_its_place(client_of: Clients) -> None:
    late = client_of(limited(taking(60.0), 0.1)).ask("GET", "/somewhere")
    assert (late.status_code, late.headers["content-type"]) == (503, "application/problem+json")
    assert late.json()["type"] == "urn:viewfinder:problem:deadline"
    assert late.json()["instance"] == "/somewhere"


def test_what_is_in_time_is_left_alone(client_of: Clients) -> None:
    assert client_of(limited(taking(0.0), 20.0)).ask("GET", "/").text == "done"


def test_the_work_is_cancelled_and_what_it_says_then_is_not_sent(client_of: Clients) -> None:
    seen = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            await PlainTextResponse("too late")(scope, receive, send)
            raise

    late = client_of(limited(app, 0.05)).ask("GET", "/")
    assert (late.status_code, seen) == (503, ["cancelled"])


def test_an_answer_that_has_begun_goes_on_for_as_long_as_it_will(client_of: Clients) -> None:
    async def ticks() -> AsyncIterator[str]:
        for _ in range(4):
            yield "tick "
            await asyncio.sleep(0.5)

    streaming = limited(StreamingResponse(ticks()), 1.5)
    assert client_of(streaming).ask("GET", "/").text == "tick tick tick tick "


def test_time_that_the_client_takes_for_its_body_does_not_count() -> None:
    sizes = iter([1, 1, 1, 0])

    async def receive() -> Message:
        await asyncio.sleep(0.5)
        size = next(sizes)
        return {"type": "http.request", "body": b"x" * size * (SLOWEST // 4), "more_body": size > 0}

    async def reads(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            pass
        await PlainTextResponse("read")(scope, receive, send)

    assert status_of(limited(reads, 1.5), receive) == 200  # 2 s of waiting for the body, none of work


def test_after_the_body_the_clock_goes_again() -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def reads_and_thinks(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await asyncio.sleep(60)

    assert status_of(limited(reads_and_thinks, 0.1), receive) == 503


def status_of(app: ASGIApp, receive: Receive) -> int:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def ask() -> None:
        await app({"type": "http", "path": "/", "method": "POST", "headers": []}, receive, send)

    asyncio.run(ask())
    return int(sent[0]["status"])


def test_a_timeout_of_the_work_itself_is_no_deadline() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise TimeoutError("the app's own")

    async def receive() -> Message:
        raise AssertionError("nobody reads")

    with pytest.raises(TimeoutError, match="the app's own"):
        status_of(limited(app, 20.0), receive)
