"""A library of a drawn world with its catalogue, a server over it that wants tokens, and clients of the SDK."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.hostile.attack import Server, make_token, run_program

PROGRAM = ("-c", "from viewfinder.cli import main; main()")
PICTURES = 40

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("mcp")
    for command in (
        ("world", home / "world", "--count", PICTURES, "--seed", 3),
        ("add", home / "world" / "images", "--library", home / "library", "--catalogue", home / "world/catalogue.csv"),
    ):
        code, _, complaints = run_program(*command)
        assert code == 0, complaints
    return home / "library"


@pytest.fixture(scope="session")
def server(library: Path) -> Iterator[Server]:
    with Server(library, "--mcp", tokens=True) as server:
        yield server.wait_until_ready()


@pytest.fixture(scope="session")
def reader(server: Server, library: Path) -> str:
    """A token that may only read."""
    return make_token(library, "reader", "read")


def start_local(library: Path, **env: str) -> StdioServerParameters:
    """How an assistant starts the program."""
    import os

    args = [*PROGRAM, "mcp", "--library", str(library)]
    return StdioServerParameters(command=sys.executable, args=args, env={**os.environ, **env})


STDIN, STDIN_OLDER = (
    # anyio waits for the process that it has started: it can be nobody else's child.
    pytest.param("stdin", marks=pytest.mark.afresh),
    pytest.param("stdin, as older assistants", marks=[pytest.mark.afresh, pytest.mark.long]),
)


@pytest.fixture(params=["http", "http, as older assistants", STDIN, STDIN_OLDER])
def connect(request: pytest.FixtureRequest, library: Path) -> Connect:
    """Connects an assistant: by the newest protocol, or by the one that begins with `initialize`."""
    mode: Any = "legacy" if "older" in request.param else "auto"
    if request.param.startswith("stdin"):
        return lambda: Client(start_local(library), mode=mode)
    server: Server = request.getfixturevalue("server")
    return lambda: connect_http(server, server.token, mode)


@asynccontextmanager
async def connect_http(server: Server, token: str | None, mode: Any = "auto") -> AsyncIterator[Client]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    address = f"http://127.0.0.1:{server.port}/mcp"
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client
