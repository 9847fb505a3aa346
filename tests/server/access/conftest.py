"""Real tokens in a real database, apps behind the access layer, a client in this process and a server on a port."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.types import ASGIApp

from viewfinder.server.access.gate import guard_app
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import Tokens
from viewfinder.server.database import Database, TokenRows
from viewfinder.server.settings import ServerSettings


@dataclass
class Clock:
    """A clock that goes when it is told to."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    threads = ThreadPool(2)
    yield threads
    threads.close()


@pytest.fixture
def token_rows(tmp_path: Path) -> Iterator[TokenRows]:
    database = Database.open(f"sqlite:///{tmp_path / 'tokens.sqlite'}")
    yield TokenRows(database)
    database.close()


NEAR = ServerSettings.model_validate({})
FAR = ServerSettings.model_validate({"host": "0.0.0.0"})


@pytest.fixture
def tokens(token_rows: TokenRows, clock: Clock) -> Tokens:
    """Those of a server that other machines can reach."""
    return Tokens(token_rows, FAR, clock, clock)


@pytest.fixture
def guard(token_rows: TokenRows, pool: ThreadPool, clock: Clock) -> Callable[..., ASGIApp]:
    """Puts an app behind all layers, with settings of one's own and the tests' clock."""

    def around(app: ASGIApp, **given: Any) -> ASGIApp:
        settings = ServerSettings.model_validate(given)
        return guard_app(app, settings, Tokens(token_rows, settings, clock, clock), pool, clock)

    return around


@dataclass(frozen=True)
class Client:
    """Asks an app in this process, one request after another; every argument is httpx's."""

    app: ASGIApp
    base: str = "http://localhost"
    address: str = "127.0.0.1"
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        return asyncio.run(self._ask(method, path, given))

    async def _ask(self, method: str, path: str, given: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(self.address, 123))
        async with httpx.AsyncClient(transport=transport, base_url=self.base, headers=self.headers) as client:
            return await client.request(method, path, **given)


@pytest.fixture
def client_of() -> Callable[..., Client]:
    """Makes clients; so that test files need not import from here."""
    return Client


@contextmanager
def _serving(app: ASGIApp, **given: Any) -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False, **given)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
        thread.start()
        try:
            while not server.started:
                time.sleep(0.005)
            yield int(listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def serving() -> Callable[..., Any]:
    """`with serving(app) as port`: a real server on a free port of this machine; more arguments are uvicorn's."""
    return _serving
