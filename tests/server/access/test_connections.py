"""Clients that open a connection and do not get to the point."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from viewfinder.server.running import HEAD_BYTES, limit_connections

Serving = Callable[..., Any]


async def patient(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers a request for /early before its body has come, any other after."""
    while scope["path"] != "/early" and (await receive()).get("more_body"):
        pass
    await PlainTextResponse("done")(scope, receive, send)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=120)


def is_closed(connection: socket.socket) -> bool:
    """Waits for the end of what the server has to say."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        return True
    return True


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "])
def test_a_client_that_does_not_finish_its_head_is_closed(serving: Serving, said: bytes) -> None:
    with serving(patient, http=limit_connections(0.2)) as port, closing(connected(port)) as slow:
        slow.sendall(said)
        assert is_closed(slow)


def test_a_byte_now_and_then_does_not_keep_a_head_alive(serving: Serving) -> None:
    with serving(patient, http=limit_connections(0.3)) as port, closing(connected(port)) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        until = time.monotonic() + 120
        with pytest.raises(ConnectionError):
            while time.monotonic() < until:
                slow.sendall(b"x")
                time.sleep(0.02)


def test_a_head_without_end_is_cut_off(serving: Serving) -> None:
    with (
        serving(patient, http=limit_connections(15.0)) as port,
        closing(connected(port)) as greedy,
        pytest.raises(ConnectionError),
    ):
        greedy.sendall(b"GET / HTTP/1.1")
        for number in range(100):
            greedy.sendall(f"\r\nX-{number}: ".encode() + b"x" * (HEAD_BYTES // 8))
            time.sleep(0.02)


def test_a_body_that_nobody_waits_for_is_not_taken_for_ever(serving: Serving) -> None:
    with serving(patient, http=limit_connections(0.3)) as port, closing(connected(port)) as slow:
        slow.sendall(b"POST /early HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        assert slow.recv(100).startswith(b"HTTP/1.1 200")
        until = time.monotonic() + 120
        with pytest.raises(ConnectionError):
            while time.monotonic() < until:
                slow.sendall(b"x")
                time.sleep(0.02)


def test_who_asks_and_sends_in_time_is_served_again_and_again(serving: Serving) -> None:
    """The patience is for each head: four requests on one connection, with pauses, outlast it together."""
    with (
        serving(patient, http=limit_connections(4.0)) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client,
    ):
        for _ in range(4):
            assert client.post("/", content=b"x" * 300_000).text == "done"
            time.sleep(1.1)


def test_work_may_take_longer_than_a_head(serving: Serving) -> None:
    async def slowly(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.5)
        await PlainTextResponse("done")(scope, receive, send)

    with serving(slowly, http=limit_connections(0.2)) as port:
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=120).text == "done"


def test_what_follows_two_requests_at_once_and_is_none_leaves_no_error_behind(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    """uvicorn ends only the newest request of a connection that it closes; the one before wrote to what was gone."""
    asked, answer = threading.Event(), threading.Event()

    async def slowly(scope: Scope, receive: Receive, send: Send) -> None:
        asked.set()
        await asyncio.to_thread(answer.wait, 120)
        await PlainTextResponse("done")(scope, receive, send)

    with serving(slowly, http=limit_connections(15.0)) as port:
        with closing(connected(port)) as hasty:
            hasty.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2 + b"no request\r\n\r\n")
            assert asked.wait(120)
            assert is_closed(hasty)
        answer.set()
        for _ in range(3):  # the answer that nobody waits for is through by then
            assert httpx.get(f"http://127.0.0.1:{port}/", timeout=120).text == "done"
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
