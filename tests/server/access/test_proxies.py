"""Real proxies in front of the access layer, set up as docs/server.md says."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from viewfinder.server.access.gate import guard_app
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import Tokens
from viewfinder.server.database import TokenRows
from viewfinder.server.settings import ServerSettings

PAGE = Path(__file__).parents[3] / "docs" / "server.md"
NGINX = "daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}} http {{ access_log off; {server} }}"
HOST = {"host": "pictures.example"}


def written(kind: str) -> str:
    """The set-up that the page shows for a kind of proxy."""
    found = re.search(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found, f"docs/server.md shows none for {kind}"
    return found[1]


def changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


@contextmanager
def nginx(server: str, folder: Path) -> Iterator[None]:
    """nginx with this server; a bare one has nothing but its name and its way to us."""
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, server=server))
    with _program("nginx", "-p", str(folder), "-e", f"{folder}/errors", "-c", f"{folder}/nginx.conf"):
        yield


@contextmanager
def _program(*command: str) -> Iterator[None]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def asked(port: int, **headers: str) -> Any:
    """Who we are taken for, once the proxy is there."""
    until = time.monotonic() + 120
    while True:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/", headers=HOST | headers, timeout=120).json()
        except httpx.TransportError:
            assert time.monotonic() < until
            time.sleep(0.05)


async def who(scope: Scope, receive: Receive, send: Send) -> None:
    caller = scope["state"]["caller"]
    found = None if caller is None else {"token": caller.token, "scheme": scope["scheme"]}
    await JSONResponse(found)(scope, receive, send)


@pytest.fixture
def behind(serving: Callable[..., Any], token_rows: TokenRows, pool: ThreadPool) -> Iterator[int]:
    """A server on loopback that tells who calls."""
    settings = ServerSettings.model_validate({})
    with serving(guard_app(who, settings, Tokens(token_rows, settings), pool)) as port:
        assert asked(port, host="localhost")["token"] is None, "this machine needs none"
        yield port


def check(port: int, tokens: Tokens) -> None:
    """Whoever comes through the proxy needs a token, whatever they say of themselves."""
    assert asked(port) is None
    assert asked(port, **{"x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1"}) is None
    made = tokens.create("ada", ["read"])
    assert asked(port, authorization=f"Bearer {made.secret}")["token"] == made.row.id


def test_nginx_as_the_page_has_it(behind: int, tokens: Tokens, tmp_path: Path) -> None:
    port = free_port()
    server = changed(
        written("nginx"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        ("127.0.0.1:8008", f"127.0.0.1:{behind}"),
        ("$scheme;", "https;"),  # as it would be with a certificate
    )
    server = re.sub(r"ssl_certificate.*?;", "", server)
    with nginx(server, tmp_path):
        check(port, tokens)
        good = tokens.create("page", ["read"]).secret
        assert asked(port, cookie=f"viewfinder_token={good}")["scheme"] == "https"


def test_an_nginx_that_was_told_nothing(behind: int, tokens: Tokens, tmp_path: Path) -> None:
    port = free_port()
    bare = f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{behind}; }} }}"
    with nginx(bare, tmp_path):
        check(port, tokens)


def test_an_nginx_of_1_29_7_that_was_told_nothing(behind: int, tokens: Tokens, tmp_path: Path) -> None:
    """It speaks HTTP/1.1 then and names no connection: older ones do so when they are told to."""
    port = free_port()
    bare = 'proxy_http_version 1.1; proxy_set_header Connection "";'
    server = f"server {{ listen 127.0.0.1:{port}; location / {{ {bare} proxy_pass http://127.0.0.1:{behind}; }} }}"
    with nginx(server, tmp_path):
        assert asked(port, origin="https://pictures.example") is None, "a browser's"
        if sys.platform == "linux" and os.geteuid() == 0:  # then nginx serves under an account of its own
            check(port, tokens)


def test_caddy_as_the_page_has_it(behind: int, tokens: Tokens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    site = changed(
        written("caddy"),
        ("pictures.example {", f"http://pictures.example:{port} {{"),
        ("127.0.0.1:8008", f"127.0.0.1:{behind}"),
    )
    (tmp_path / "Caddyfile").write_text("{\n admin off\n}\n" + site)
    monkeypatch.setenv("HOME", str(tmp_path))
    with _program("caddy", "run", "--adapter", "caddyfile", "--config", str(tmp_path / "Caddyfile")):
        check(port, tokens)
