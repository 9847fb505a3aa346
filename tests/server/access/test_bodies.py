"""Bodies that are too large or too slow, and large ones: through a client in this process, and over real sockets."""

from __future__ import annotations

import asyncio
import gc
import socket
import time
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from json import dumps, loads
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from starlette.types import ASGIApp, Message

from viewfinder.server import problems
from viewfinder.server.access import bodies
from viewfinder.server.access.bodies import (
    MAX_DEPTH,
    MAX_OPENED,
    MAX_STEPS,
    SLOWEST,
    STEP_CHARS,
    WORDY_BODY,
    GuardedRoute,
    RequestLimits,
    decode_in_steps,
    json_body,
    receive_json,
    takes_body,
)
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import Reader
from viewfinder.server.app import ROUTERS
from viewfinder.server.settings import ServerSettings
from viewfinder.studies.extension import studies_extension

Clients = Callable[..., Any]
Serving = Callable[[ASGIApp], Any]


class Words(BaseModel):
    text: str


def counting(pool: ThreadPool | None = None, **given: Any) -> ASGIApp:
    """An app that says how much it was sent: as a stream, as JSON, as large JSON, or read by nobody."""
    app = FastAPI()
    app.router.route_class = GuardedRoute
    problems.install_problems(app)

    @app.post("/stream")
    @takes_body(lambda settings: settings.upload_bytes)
    async def stream(request: Request) -> dict[str, int]:
        return {"bytes": sum([len(piece) async for piece in request.stream()])}

    @app.post("/json")
    async def json(given: Words) -> dict[str, int]:
        return {"bytes": len(given.text)}

    @app.post("/large", openapi_extra=json_body(Words))
    @takes_body(lambda settings: settings.upload_bytes)
    async def large(request: Request) -> dict[str, int]:
        assert pool is not None
        return {"bytes": len((await receive_json(request, Words, pool)).text)}

    @app.post("/locked")
    async def locked(caller: Reader, given: Words) -> dict[str, int]:
        return {"bytes": len(given.text)}

    @app.post("/deaf")
    async def deaf() -> dict[str, int]:
        return {"bytes": 0}

    settings = {"upload_bytes": 2000, "body_bytes": 1024, "idle_s": 30.0, "deadline_s": 30.0} | given
    return RequestLimits(app, ServerSettings.model_validate(settings))


async def in_pieces(*sizes: int) -> AsyncIterator[bytes]:
    """A body that says nothing of its length beforehand."""
    for size in sizes:
        yield b"x" * size


def test_a_body_may_be_as_large_as_its_route_takes_and_not_a_byte_more(client_of: Clients) -> None:
    client = client_of(counting())
    assert client.ask("POST", "/stream", content=b"x" * 2000).json() == {"bytes": 2000}
    refused = client.ask("POST", "/stream", content=b"x" * 2001)
    assert (refused.status_code, refused.json()["type"]) == (413, "urn:viewfinder:problem:too-large")
    assert refused.json()["limit"] == 2000


def test_a_body_that_does_not_say_how_large_it_is_is_counted(client_of: Clients) -> None:
    client = client_of(counting())
    assert client.ask("POST", "/stream", content=in_pieces(1000, 1000)).json() == {"bytes": 2000}
    refused = client.ask("POST", "/stream", content=in_pieces(1000, 1000, 1))
    assert (refused.status_code, refused.headers["content-type"]) == (413, "application/problem+json")


def test_a_route_that_declares_nothing_takes_64_kb(client_of: Clients) -> None:
    client = client_of(counting(body_bytes=1_000_000))
    most = b'{"text": "' + b"x" * (65_536 - 12) + b'"}'
    headers = {"content-type": "application/json"}
    assert client.ask("POST", "/json", content=most, headers=headers).status_code == 200
    assert client.ask("POST", "/json", content=most + b" ", headers=headers).json()["limit"] == 65_536


def test_a_framework_that_hides_the_reason_does_not_change_the_answer(client_of: Clients) -> None:
    """FastAPI makes a 400 of whatever goes wrong while it reads JSON."""
    client = client_of(counting())
    headers = {"content-type": "application/json"}
    refused = client.ask("POST", "/json", content=in_pieces(600, 600), headers=headers)
    assert (refused.status_code, refused.json()["title"]) == (413, "too large")
    assert client.ask("POST", "/json", json={"text": "snow"}).json() == {"bytes": 4}


def test_of_a_stranger_no_body_is_read(client_of: Clients) -> None:
    sent = [0]

    async def counted() -> AsyncIterator[bytes]:
        for _ in range(100):
            sent[0] += 1
            yield b"x" * 100

    refused = client_of(counting()).ask("POST", "/locked", content=counted(), headers={"content-type": "a/b"})
    assert (refused.status_code, sent[0]) == (401, 0)


def test_an_app_that_reads_nothing_is_not_kept_from_answering(client_of: Clients) -> None:
    assert client_of(counting()).ask("POST", "/deaf", content=in_pieces(10)).json() == {"bytes": 0}


def test_uploads_and_imports_are_large_and_other_json_is_small() -> None:
    """In bytes, as the routes of the server declare it."""
    settings = ServerSettings.model_validate({"upload_bytes": 5_000_000})
    routes = [
        route
        for router in (*ROUTERS, studies_extension().router)
        for route in router.routes
        if isinstance(route, GuardedRoute)
    ]
    takes = {
        route.name: route.endpoint.most_bytes(settings) for route in routes if hasattr(route.endpoint, "most_bytes")
    }
    assert takes["upload"] == takes["add_picture"] == 5_000_000 + 65_536
    assert takes["import_session"] == 16 * settings.body_bytes
    assert takes["create_study"] == settings.body_bytes
    assert takes["take_turn"] == takes["search"] == WORDY_BODY
    assert not {"log_in", "add_token", "found_it", "join_study"} & takes.keys()
    assert all(isinstance(route, GuardedRoute) for router in ROUTERS for route in router.routes)


def test_a_real_client_is_told_that_its_undeclared_body_is_too_large(serving: Serving) -> None:
    sent = [0]

    def endless() -> Any:
        for _ in range(100):
            sent[0] += 10_000
            yield b"x" * 10_000

    with serving(counting(upload_bytes=100_000)) as port:
        refused = httpx.post(f"http://127.0.0.1:{port}/stream", content=endless(), timeout=120)
    assert refused.status_code == 413


def begun(port: int, head: str) -> socket.socket:
    """A connection on which a request has begun."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=120)
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
    with serving(counting(idle_s=5.0, deadline_s=0.5)) as port, closing(begun(port, "Content-Length: 1000")) as slow:
        slow.setblocking(False)
        started, answer = time.monotonic(), b""
        while not answer:
            assert time.monotonic() - started < 120, "the server waits for ever"
            slow.send(b"x")
            time.sleep(0.05)
            try:
                answer = slow.recv(65_536)
            except BlockingIOError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_slow_client_does_not_hold_up_others(serving: Serving) -> None:
    with serving(counting(idle_s=120.0)) as port, closing(begun(port, "Content-Length: 100")):
        answer = httpx.post(f"http://127.0.0.1:{port}/stream", content=b"snow", timeout=100)
        assert answer.json() == {"bytes": 4}


def test_a_body_that_comes_slowly_but_steadily_is_taken() -> None:
    """The patience grows by one second for every `SLOWEST` bytes: 4 pieces, 0.6 s apart, 2 s patience."""
    pieces = iter([SLOWEST, SLOWEST, SLOWEST, SLOWEST])

    async def receive() -> Message:
        await asyncio.sleep(0.6)
        size = next(pieces)
        return {"type": "http.request", "body": b"x" * size, "more_body": True}

    async def ends(scope: Any, receive: Any, send: Any) -> None:
        scope[bodies._EXCHANGE].allow(lambda _: 4 * SLOWEST)
        for _ in range(4):
            await receive()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    app = RequestLimits(ends, ServerSettings(idle_s=120.0, deadline_s=2.0))
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

    app = RequestLimits(listens, ServerSettings(idle_s=0.05, deadline_s=20.0))
    asyncio.run(app({"type": "http", "path": "/", "method": "GET", "headers": []}, receive, send))
    assert heard == ["http.request", "http.disconnect"]


class Held:
    """Something in a circle with what was sent."""

    def __init__(self, body: bytes) -> None:
        self.body, self.itself = body, self


@pytest.mark.parametrize("status", [422, 200])
def test_what_refused_bodies_leave_in_circles_is_collected_by_their_size(client_of: Clients, status: int) -> None:
    app = FastAPI()
    app.router.route_class = GuardedRoute
    held: list[weakref.ref[Held]] = []

    @app.post("/")
    @takes_body(lambda settings: settings.upload_bytes)
    async def refuse(request: Request) -> Response:
        held.append(weakref.ref(Held(await request.body())))
        return Response(status_code=status)

    client = client_of(RequestLimits(app, ServerSettings()))
    gc.disable()
    try:
        for _ in range(5):  # a collection by another thread may make some of them too old for one of ours
            for _ in range(4):
                client.ask("POST", "/", content=b"x" * (bodies.COLLECT_BYTES // 4))
            left = sum(one() is not None for one in held[-4:])
            if not left:
                break
        assert left == (0 if status == 422 else 4)
    finally:
        gc.enable()


# -- large bodies


def test_a_large_body_is_read_as_any_other(client_of: Clients, pool: ThreadPool) -> None:
    client = client_of(counting(pool, upload_bytes=1_000_000))
    assert client.ask("POST", "/large", json={"text": "snow" * 100_000}).json() == {"bytes": 400_000}


@pytest.mark.parametrize(
    ("content", "where", "message"),
    [
        (b'{"text": 5}', ["body", "text"], "Input should be a valid string"),
        (b"{}", ["body", "text"], "Field required"),
        (b"", ["body"], "this cannot be read as JSON: Expecting value: line 1 column 1 (char 0)"),
        (b'{"text": "\xff"}', ["body"], "this cannot be read as JSON: 'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_a_large_body_that_is_wrong_is_refused_as_any_other(
    client_of: Clients, pool: ThreadPool, content: bytes, where: list[str], message: str
) -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    refused = client_of(counting(pool)).ask("POST", "/large", content=content, headers=headers)
    assert (refused.status_code, refused.json()["errors"][0]["where"]) == (422, where)
    assert refused.json()["errors"][0]["message"].startswith(message)


def test_a_large_body_that_is_not_said_to_be_json_is_refused(client_of: Clients, pool: ThreadPool) -> None:
    assert client_of(counting(pool)).ask("POST", "/large", content=b"{}").status_code == 415


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 1]))
def test_json_in_steps_is_json(value: Any, indent: int | None) -> None:
    text = dumps(value, indent=indent)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bodies, "STEP_CHARS", 12)
        assert decode_in_steps(text) == loads(text) == value


@given(st.text(alphabet='{}[]",:1 a', max_size=12))
def test_json_in_steps_refuses_what_json_refuses(text: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bodies, "STEP_CHARS", 4)
        try:
            value = loads(text)
        except ValueError:
            with pytest.raises(ValueError):
                decode_in_steps(text)
        else:
            assert decode_in_steps(text) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" + "0," * MAX_STEPS + "0]", "more than 50,000 parts"),
        ("[" + "[]," * MAX_OPENED + "0]", "more than 500,000 objects and lists"),
        ("[" * 5000 + "]" * 5000, f"nested more than {MAX_DEPTH} deep"),
    ],
)
def test_json_that_would_take_very_long_is_refused(text: str, why: str) -> None:
    assert len(text) < 2_000_000
    with pytest.raises(ValueError, match=why):
        decode_in_steps(text + " " * STEP_CHARS)


def test_no_step_of_decoding_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the decoder reads, no thread computes: it is never given more than a step, whatever the text is."""
    steps: list[int] = []

    def decode(text: str, at: int = 0) -> tuple[Any, int]:
        value, end = original(text, at)
        steps.append(end - at)
        return value, end

    original = bodies._decode
    monkeypatch.setattr(bodies, "_decode", decode)
    turns = [{"say": f"snow {number}", "shown": [f"{shown:032x}" for shown in range(200)]} for number in range(300)]
    text = dumps({"conversation": {"turns": turns}})
    assert decode_in_steps(text) == {"conversation": {"turns": turns}}
    assert len(text) > 30 * STEP_CHARS and max(steps) <= STEP_CHARS
