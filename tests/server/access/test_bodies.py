"""Bodies that are too large or too slow: through a client in this process, and over real sockets."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from pydantic import BaseModel
from starlette.types import ASGIApp, Message

from viewfinder.server import problems
from viewfinder.server.access.limits import SLOWEST, BodyLimit, largest_body
from viewfinder.server.settings import ServerSettings

Clients = Callable[..., Any]
Serving = Callable[[ASGIApp], Any]


class Words(BaseModel):
    text: str


def counting(*, largest: int = 1000, idle_s: float = 30.0, patience_s: float = 30.0) -> ASGIApp:
    """An app that says how much it was sent: as a stream, as JSON, or read by nobody."""
    app = FastAPI()
    problems.install_problems(app)

    @app.post("/stream")
    async def stream(request: Request) -> dict[str, int]:
        return {"bytes": sum([len(piece) async for piece in request.stream()])}

    @app.post("/json")
    async def json(given: Words) -> dict[str, int]:
        return {"bytes": len(given.text)}

    @app.post("/deaf")
    async def deaf() -> dict[str, int]:
        return {"bytes": 0}

    return BodyLimit(app, lambda _: largest, idle_s=idle_s, patience_s=patience_s)


async def in_pieces(*sizes: int) -> AsyncIterator[bytes]:
    """A body that says nothing of its length beforehand."""
    for size in sizes:
        yield b"x" * size


def test_a_body_may_be_as_large_as_the_limit_and_not_a_byte_more(client_of: Clients) -> None:
    client = client_of(counting(largest=1000))
    assert client.ask("POST", "/stream", content=b"x" * 1000).json() == {"bytes": 1000}
    refused = client.ask("POST", "/stream", content=b"x" * 1001)
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:viewfinder:problem:too-large")
    assert refused.json()["limit"] == 1000


def test_a_body_that_does_not_say_how_large_it_is_is_counted(client_of: Clients) -> None:
    client = client_of(counting(largest=1000))
    assert client.ask("POST", "/stream", content=in_pieces(500, 500)).json() == {"bytes": 1000}
    refused = client.ask("POST", "/stream", content=in_pieces(500, 500, 1))
    assert (refused.status_code, refused.headers["content-type"]) == (413, "application/problem+json")


def test_a_framework_that_hides_the_reason_does_not_change_the_answer(client_of: Clients) -> None:
    """FastAPI makes a 400 of whatever goes wrong while it reads JSON."""
    client = client_of(counting(largest=1000))
    headers = {"content-type": "application/json"}
    refused = client.ask("POST", "/json", content=in_pieces(600, 600), headers=headers)
    assert (refused.status_code, refused.json()["title"]) == (413, "too large")
    assert client.ask("POST", "/json", json={"text": "snow"}).json() == {"bytes": 4}


def test_an_app_that_reads_nothing_is_not_kept_from_answering(client_of: Clients) -> None:
    assert client_of(counting()).ask("POST", "/deaf", content=in_pieces(10)).json() == {"bytes": 0}


def test_uploads_are_large_and_json_is_small() -> None:
    settings = ServerSettings.model_validate({"upload_bytes": 5_000_000, "body_bytes": 2000})

    def largest(path: str) -> int:
        return largest_body(settings, path)

    assert largest("/api/v1/uploads") == largest("/api/v1/pictures") == 5_000_000 + 65_536
    assert largest("/api/v1/sessions/import") == 32_000
    assert largest("/api/v1/sessions") == largest("/api/v1/uploads/x") == largest("/") == 2000


def test_a_real_client_is_told_that_its_undeclared_body_is_too_large(serving: Serving) -> None:
    sent = [0]

    def endless() -> Any:
        for _ in range(100):
            sent[0] += 10_000
            yield b"x" * 10_000

    with serving(counting(largest=100_000)) as port:
        refused = httpx.post(f"http://127.0.0.1:{port}/stream", content=endless())
    assert refused.status_code == 413


def begun(port: int, head: str) -> socket.socket:
    """A connection on which a request has begun."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(f"POST /stream HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode())
    return connection


def all_of(connection: socket.socket) -> str:
    """What comes until the server closes the connection."""
    pieces = []
    while piece := connection.recv(65_536):
        pieces.append(piece)
    return b"".join(pieces).decode()


@pytest.mark.parametrize("head", ["Content-Length: 100", "Transfer-Encoding: chunked"])
def test_a_client_that_falls_silent_is_sent_away(serving: Serving, head: str) -> None:
    with serving(counting(idle_s=0.2)) as port, closing(begun(port, head)) as connection:
        answer = all_of(connection)
    assert answer.startswith("HTTP/1.1 408 ")
    assert "connection: close" in answer.lower()
    assert "urn:viewfinder:problem:slow-body" in answer


def test_a_client_that_sends_a_byte_now_and_then_is_sent_away_too(serving: Serving) -> None:
    with serving(counting(idle_s=5.0, patience_s=0.5)) as port, closing(begun(port, "Content-Length: 1000")) as slow:
        slow.setblocking(False)
        started, answer = time.monotonic(), b""
        while not answer:
            assert time.monotonic() - started < 20, "the server waits for ever"
            slow.send(b"x")
            time.sleep(0.05)
            try:
                answer = slow.recv(65_536)
            except BlockingIOError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_slow_client_does_not_hold_up_others(serving: Serving) -> None:
    with serving(counting(idle_s=10.0)) as port, closing(begun(port, "Content-Length: 100")):
        answer = httpx.post(f"http://127.0.0.1:{port}/stream", content=b"snow", timeout=9)
        assert answer.json() == {"bytes": 4}


def test_a_body_that_comes_slowly_but_steadily_is_taken() -> None:
    """The patience grows by one second for every `SLOWEST` bytes: 4 pieces, 0.1 s apart, 0.25 s patience."""
    pieces = iter([SLOWEST, SLOWEST, SLOWEST, SLOWEST])

    async def receive() -> Message:
        await asyncio.sleep(0.1)
        size = next(pieces)
        return {"type": "http.request", "body": b"x" * size, "more_body": True}

    async def ends(scope: Any, receive: Any, send: Any) -> None:
        for _ in range(4):
            await receive()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    app = BodyLimit(ends, lambda _: 10 * SLOWEST, idle_s=20.0, patience_s=0.25)
    scope = {"type": "http", "path": "/", "method": "POST", "headers": []}
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 204


def test_a_client_that_listens_after_its_body_may_be_silent_for_long() -> None:
    messages = [{"type": "http.request", "body": b"", "more_body": False}]
    heard = []

    async def receive() -> Message:
        if messages:
            return messages.pop()
        await asyncio.sleep(0.3)
        return {"type": "http.disconnect"}

    async def listens(scope: Any, receive: Any, send: Any) -> None:
        heard.extend([(await receive())["type"], (await receive())["type"]])

    async def send(message: Message) -> None:
        raise AssertionError(message)

    app = BodyLimit(listens, lambda _: 1000, idle_s=0.05, patience_s=0.05)
    asyncio.run(app({"type": "http", "path": "/", "method": "GET", "headers": []}, receive, send))
    assert heard == ["http.request", "http.disconnect"]
