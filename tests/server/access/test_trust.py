"""Whom the server takes for this machine's own user: real requests over real sockets."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from viewfinder.errors import BadInput
from viewfinder.server import problems
from viewfinder.server.access import trust
from viewfinder.server.access.gate import guard_app
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import Admin, Tokens
from viewfinder.server.access.trust import find_user, is_own_user
from viewfinder.server.database import TokenRows
from viewfinder.server.running import check_guarded, limit_connections
from viewfinder.server.settings import ServerSettings

FRIEND = "https://friend.example"


def admin_app() -> FastAPI:
    app = FastAPI()
    problems.install_problems(app)

    @app.get("/secrets")
    async def look(caller: Admin) -> str:
        return "seen"

    @app.post("/secrets")
    async def change(caller: Admin) -> str:
        return "changed"

    return app


@pytest.fixture
def port(serving: Callable[..., Any], token_rows: TokenRows, pool: ThreadPool) -> Iterator[int]:
    """A server on loopback, as it is started without any setting but an origin that may call it."""
    settings = ServerSettings.model_validate({"origins": [FRIEND]})
    guarded = guard_app(admin_app(), settings, Tokens(token_rows, settings), pool)
    with serving(guarded, http=limit_connections(15)) as port:
        yield port


def answers(port: int, *requests: str) -> list[int]:
    """The status of each of these requests, one after another on one connection."""
    statuses = []
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection, connection.makefile("rb") as said:
        for request in requests:
            connection.sendall(request.replace("\n", "\r\n").replace("PORT", str(port)).encode())
            statuses.append(int(said.readline().split()[1]))
            length = 0
            while (line := said.readline().strip().lower()) != b"":
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            said.read(length)
    return statuses


def request(method: str, *headers: str, host: str = "127.0.0.1:PORT") -> str:
    length = ["Content-Length: 0"] if method == "POST" else []
    return "\n".join([f"{method} /secrets HTTP/1.1", f"Host: {host}", *headers, *length, "", ""])


def test_a_program_and_our_own_page_of_this_machine_need_no_token(port: int) -> None:
    ours = ("Origin: http://127.0.0.1:PORT", "Sec-Fetch-Site: same-origin")
    assert answers(port, request("GET"), request("POST"), request("POST", *ours), request("GET", ours[1])) == [200] * 4
    assert answers(port, request("POST", "Origin: http://localhost:PORT", host="localhost:PORT")) == [200]


# What nginx sends when it is told nothing but where to pass requests: the Host is that of the server, and of the
# browser's own headers only those about the connection are left out.
BEHIND_NGINX = ("Accept: */*", "User-Agent: a browser", "Origin: https://pictures.example")


def test_a_browser_behind_a_proxy_that_says_nothing_of_itself_needs_a_token(port: int) -> None:
    assert answers(port, request("POST", *BEHIND_NGINX, "Sec-Fetch-Site: same-origin")) == [401]
    assert answers(port, request("POST", "Origin: https://127.0.0.1")) == [403]  # another port: another page
    assert answers(port, request("GET", *BEHIND_NGINX)) == [401]


def test_a_name_that_a_proxy_passes_on_is_not_this_machine(port: int) -> None:
    assert answers(port, request("POST", host="pictures.example")) == [403]
    assert answers(port, request("POST", "Forwarded: for=203.0.113.9", host="pictures.example")) == [401]


@pytest.mark.parametrize("site", ["cross-site", "same-site", ""])
def test_a_configured_origin_needs_a_token(port: int, site: str, token_rows: TokenRows) -> None:
    foreign = [f"Origin: {FRIEND}", *([f"Sec-Fetch-Site: {site}"] if site else [])]
    made = Tokens(token_rows, ServerSettings.model_validate({})).create("friend", ["admin"]).secret
    bearer, cookie = f"Authorization: Bearer {made}", f"Cookie: viewfinder_token={made}"
    asked = [request(method, *foreign, *more) for method in ("GET", "POST") for more in ([], [bearer])]
    assert answers(port, *asked) == [401, 200, 401, 200]
    assert answers(port, request("POST", *foreign, cookie)) == [401], "the cookie is that of our own page"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_request_of_another_site_is_trusted_not_even_one_that_only_looks(port: int, site: str) -> None:
    assert answers(port, request("GET", f"Sec-Fetch-Site: {site}")) == [401]
    assert answers(port, request("POST", f"Sec-Fetch-Site: {site}")) == [403]


def test_a_request_that_looks_proxied_is_warned_of_once(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "viewfinder.server"):
        answers(port, request("GET"))
        assert caplog.messages == []
        answers(port, *[request("GET", "X-Forwarded-For: 203.0.113.9")] * 3)
    [said] = caplog.messages
    assert said.startswith("requests come through a proxy")
    assert "VIEWFINDER_TOKENS_ALWAYS=1" in said


# -- the user at the other end


@pytest.mark.skipif(sys.platform != "linux", reason="the system is asked on Linux")
@pytest.mark.parametrize(("listens", "calls"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1")])
def test_the_user_of_a_connection_is_found(listens: str, calls: str) -> None:
    family = socket.AF_INET6 if ":" in listens else socket.AF_INET
    try:
        listener = socket.create_server((listens, 0), family=family, dualstack_ipv6=listens == "::")
    except (OSError, ValueError) as error:
        pytest.skip(f"no {listens} here: {error}")
    with listener, socket.create_connection((calls, listener.getsockname()[1])), listener.accept()[0] as accepted:
        client, server = accepted.getpeername()[:2], accepted.getsockname()[:2]
        assert find_user(client, server) == os.geteuid()
        assert is_own_user({"type": "http", "client": client, "server": server})
    assert find_user((calls, 1), ("127.0.0.1", 1)) is None
    assert is_own_user({"type": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 1)})


ASKS = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=120) as connection:
    lines = [b"POST /secrets HTTP/1.1", b"Host: 127.0.0.1", b"Content-Length: 0", b"Connection: close", b"", b""]
    connection.sendall(bytes([13, 10]).join(lines))
    print(connection.recv(4096).split()[1].decode())
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root may take another user's place")
@pytest.mark.parametrize(("user", "status"), [(33, "401"), (65534, "401"), (1000, "200"), (0, "200")])
def test_a_proxy_that_leaves_no_trace_is_told_by_the_account_that_it_runs_under(
    port: int, user: int, status: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What it sends is to the byte what a local program might send."""
    python = Path("/usr/bin/python3")
    if not python.exists():
        pytest.skip("no Python that every user may run")
    with caplog.at_level(logging.WARNING, "viewfinder.server"):
        done = subprocess.run(
            [python, "-c", ASKS, str(port)], user=user, group=user, extra_groups=[], cwd="/", capture_output=True,
            text=True, check=True,
        )  # fmt: skip
    assert done.stdout.strip() == status
    assert ("account of the system" in caplog.text) == (status == "401")


def test_a_connection_is_asked_about_once(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    found = trust.find_user

    def find(*ends: tuple[str, int]) -> int | None:
        asked.append(ends)
        return found(*ends)

    monkeypatch.setattr(trust, "find_user", find)
    assert answers(port, *[request("GET")] * 3) == [200] * 3
    assert len(asked) == 1
    assert answers(port, request("GET")) == [200]
    assert len(asked) == 2


# -- a proxy that is configured


def test_where_a_proxy_is_configured_everybody_needs_a_token(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ServerSettings.model_validate({}).needs_tokens
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "10.0.0.2")
    settings = ServerSettings.model_validate({})
    assert settings.needs_tokens
    with pytest.raises(BadInput, match="FORWARDED_ALLOW_IPS is set, and there is no token yet"):
        check_guarded(tmp_path, settings)
