"""Connections that are cut: a proxy that does so at a chosen moment, and people behind it whose turns count once."""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import Any
from unittest.mock import patch

import viewfinder
from tests.hostile.attack import Outcome, Server
from tests.hostile.conversations import WORDS, library_of
from viewfinder import client
from viewfinder.client import RemoteSession
from viewfinder.conversation import Answer, turn_to_json


class Cut(Enum):
    """When a connection is cut."""

    UNSENT = auto()
    """Before the server has heard of the request."""
    UNDER_WAY = auto()
    """The server has the whole request, and works on it."""
    UNHEARD = auto()
    """The server has answered, and nothing of that has come."""
    HALF_HEARD = auto()
    """Half of the answer has come."""


class CuttingProxy:
    """Passes requests on to a server of this machine; `plan` says of each, by method and path, whether it is cut.

    `taken` counts the requests that the server got. `abruptly`: the client is told by a reset, not by an end.
    """

    def __init__(self, port: int, plan: Callable[[str, str], Cut | None], *, abruptly: bool = False) -> None:
        self._port, self._plan, self._abruptly = port, plan, abruptly
        self._lock = threading.Lock()
        self.taken: list[tuple[str, str]] = []
        self.cut: list[tuple[str, str, Cut]] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Nobody gets through any more."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(30)

    def __enter__(self) -> CuttingProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._pass_on, args=(connection,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        """One request and its answer; then the connection ends."""
        with client, suppress(OSError):
            client.settimeout(60)
            method, path, request = _read_request(client)
            with self._lock:
                cut = self._plan(method, path)
                if cut is not None:
                    self.cut.append((method, path, cut))
            if cut is Cut.UNSENT:
                self._end(client)
                return
            with socket.create_connection(("127.0.0.1", self._port), timeout=60) as server:
                server.sendall(request)
                with self._lock:
                    self.taken.append((method, path))
                if cut is Cut.UNDER_WAY:
                    self._end(client)  # the server is still heard to the end: it must not be told of the cut
                answer = _pass_answer(server, client if cut is None else None)
            if cut is Cut.HALF_HEARD:
                client.sendall(answer[: len(answer) // 2])
            if cut is not None:
                self._end(client)

    def _end(self, client: socket.socket) -> None:
        if self._abruptly:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        else:
            client.shutdown(socket.SHUT_RDWR)


def _read_request(client: socket.socket) -> tuple[str, str, bytes]:
    """Method, path and the whole request, which asks for one answer and no more."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _received(client)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    fields = [line for line in lines[1:] if not line.lower().startswith(b"connection:")]
    length = next((int(line.split(b":")[1]) for line in fields if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += _received(client)
    method, path, _ = lines[0].decode().split(" ", 2)
    return method, path, b"\r\n".join([lines[0], *fields, b"Connection: close", b"", body])


def _received(client: socket.socket) -> bytes:
    more = client.recv(65_536)
    if not more:
        raise ConnectionError("the client has gone")
    return more


def _pass_answer(server: socket.socket, client: socket.socket | None) -> bytes:
    """The whole answer of the server, passed on as it comes if somebody is there to hear it."""
    answer = b""
    while more := server.recv(65_536):
        answer += more
        if client is not None:
            client.sendall(more)
    return answer


TURNS = 10
"""Of a conversation."""


class _Plan:
    """Cuts turns and the events after them, each request for a thing at most `twice`, so that it gets through."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._cuts: dict[tuple[str, str], int] = {}

    def __call__(self, method: str, path: str) -> Cut | None:
        if "/turns" not in path:
            return None
        if self._cuts.get((method, path), 0) >= 2 or self._chance.random() < 0.3:
            self._cuts[method, path] = 0
            return None
        self._cuts[method, path] = self._cuts.get((method, path), 0) + 1
        return self._chance.choice(list(Cut))


def cut_connections(rounds: int, seed: int, home: Path, *, workers: int = 2) -> Outcome:
    """`rounds` turns whose connections are cut, of clients that send them again: none is doubled, none is lost."""
    outcome, chance = Outcome("cut connections"), random.Random(seed)
    with (
        # Sent again at once: more often than not, the server is still at work on what was cut.
        patch.object(client, "PAUSES_S", (0.01, 0.02, 0.05, 0.1)),
        Server(library_of(home, 20), "--workers", workers).wait_until_ready() as server,
    ):
        while outcome.rounds < rounds:
            abruptly = chance.random() < 0.5
            with (
                CuttingProxy(server.port, _Plan(chance), abruptly=abruptly) as proxy,
                viewfinder.connect(proxy.url) as remote,
            ):
                chat, said = remote.chat(n=10), list[dict[str, Any]]()
                while len(said) < TURNS and outcome.rounds < rounds:
                    before = len(proxy.cut)
                    said.append(_speak(chat, chance))
                    outcome.rounds += any(path.endswith("/turns") for _, path, _ in proxy.cut[before:])
                outcome.count("cuts", len(proxy.cut))
                kept = [turn_to_json(node.turn) for node in chat.conversation.nodes[1:] if node.turn is not None]
                outcome.count("turns", len(kept))
                outcome.count("sent_again", sum(path.endswith("/turns") for _, path in proxy.taken) - len(said))
                outcome.check(kept == said, f"said: {said}; kept, with cuts {proxy.cut}: {kept}")
        outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
        outcome.check(not server.traceback(), f"the server logged: {server.traceback()}")
    return outcome


def _speak(chat: RemoteSession, chance: random.Random) -> dict[str, Any]:
    """One turn, as the conversation keeps it; an answer, where something is asked and somebody likes to answer."""
    if chat.question is not None and chance.random() < 0.4:
        question, text = chat.question, chance.choice(["red", "blue", ""])
        if text:
            chat.answer(text)
        else:
            chat.skip()
        return turn_to_json(Answer(question, text))
    text = chance.choice(WORDS)  # the same words more than once, too: they are then meant more than once
    chat.say(text)
    return {"say": text}
