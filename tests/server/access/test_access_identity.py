"""Who calls: bearer tokens, the page's cookie, this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from viewfinder.errors import DatabaseError
from viewfinder.server.access.gate import guard_app
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import Caller, Tokens
from viewfinder.server.settings import ServerSettings

Clients = Callable[..., Any]
Guard = Callable[..., ASGIApp]


async def who(scope: Scope, receive: Receive, send: Send) -> None:
    caller: Caller | None = scope["state"]["caller"]
    found = None if caller is None else {"token": caller.token, "scopes": sorted(caller.scopes)}
    await JSONResponse(found)(scope, receive, send)


@pytest.fixture
def far(guard: Guard) -> ASGIApp:
    """On a server that other machines can reach."""
    return guard(who, host="0.0.0.0", requests_per_s=1.0, requests_burst=5)


@pytest.fixture
def near(guard: Guard) -> ASGIApp:
    """On a server that only this machine can reach."""
    return guard(who)


def test_a_bearer_token_says_who_calls(client_of: Clients, far: ASGIApp, tokens: Tokens) -> None:
    made = tokens.create("laptop", ["read"])
    for scheme in ("Bearer", "bearer", "BEARER"):
        answer = client_of(far).ask("GET", "/", headers={"authorization": f"{scheme} {made.secret}"})
        assert answer.json() == {"token": made.row.id, "scopes": ["read"]}


def test_so_does_the_cookie_of_the_page(client_of: Clients, far: ASGIApp, tokens: Tokens) -> None:
    made = tokens.create("laptop", ["read"])
    answer = client_of(far).ask("GET", "/", headers={"cookie": f"theme=dark; viewfinder_token={made.secret}"})
    assert answer.json()["token"] == made.row.id


def test_the_bearer_comes_before_the_cookie(client_of: Clients, far: ASGIApp, tokens: Tokens) -> None:
    one, two = tokens.create("one", ["read"]), tokens.create("two", ["read"])
    headers = {"authorization": f"Bearer {one.secret}", "cookie": f"viewfinder_token={two.secret}"}
    assert client_of(far).ask("GET", "/", headers=headers).json()["token"] == one.row.id


@pytest.mark.parametrize("secret", ["", "vf_x", "vf_" + 43 * "A", "vf_" + 43 * "é"])
def test_a_bearer_token_that_is_not_good_is_refused_at_once(client_of: Clients, near: ASGIApp, secret: str) -> None:
    headers = {"authorization": f"Bearer {secret}".encode("latin-1")}
    refused = client_of(near).ask("GET", "/", headers=headers)
    assert (refused.status_code, refused.json()["title"]) == (401, "unauthorized")
    assert refused.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert secret == "" or secret not in refused.text


def test_a_cookie_that_is_not_good_counts_as_none(client_of: Clients, near: ASGIApp, far: ASGIApp) -> None:
    headers = {"cookie": "viewfinder_token=vf_old"}
    assert client_of(far).ask("GET", "/", headers=headers).json() is None
    assert client_of(near).ask("GET", "/", headers=headers).json() == {
        "token": None,
        "scopes": ["admin", "download", "read", "tickets", "write"],
    }


def test_this_machine_needs_no_token_and_others_do(client_of: Clients, near: ASGIApp, far: ASGIApp) -> None:
    assert client_of(near).ask("GET", "/").json()["scopes"] == ["admin", "download", "read", "tickets", "write"]
    assert client_of(far).ask("GET", "/").json() is None


def test_whom_a_proxy_asks_for_is_another_machine(client_of: Clients, near: ASGIApp) -> None:
    """The server behind a proxy is told the address of the proxy's client."""
    assert client_of(near, address="::1").ask("GET", "/").json() is not None
    assert client_of(near, address="203.0.113.9").ask("GET", "/").json() is None


def test_on_this_machine_a_token_still_limits(client_of: Clients, near: ASGIApp, tokens: Tokens) -> None:
    secret = tokens.create("careful", ["read"]).secret
    answer = client_of(near).ask("GET", "/", headers={"authorization": f"Bearer {secret}"})
    assert answer.json()["scopes"] == ["read"]


def test_guessing_is_bounded_and_does_not_lock_others_out(client_of: Clients, far: ASGIApp, tokens: Tokens) -> None:
    good = {"authorization": f"Bearer {tokens.create('laptop', ['read']).secret}"}
    client = client_of(far)
    assert client.ask("GET", "/", headers=good).status_code == 200  # looked up, which is no guess
    guesses = [client.ask("GET", "/", headers={"authorization": f"Bearer vf_{number}"}) for number in range(6)]
    assert [guess.status_code for guess in guesses] == [401] * 5 + [429]
    assert guesses[-1].headers["retry-after"] == "1"
    assert client.ask("GET", "/", headers=good).status_code == 200  # remembered
    other = client_of(far, address="10.0.0.2")
    assert other.ask("GET", "/", headers={"authorization": "Bearer vf_1"}).status_code == 401


def test_a_good_token_that_is_not_remembered_is_not_refused_for_the_guesses_of_its_address(
    client_of: Clients, far: ASGIApp, tokens: Tokens
) -> None:
    good = {"authorization": f"Bearer {tokens.create('laptop', ['read']).secret}"}
    client = client_of(far)
    for number in range(8):
        client.ask("GET", "/", headers={"authorization": f"Bearer vf_{number}"})
    assert client.ask("GET", "/", headers={"authorization": "Bearer vf_8"}).status_code == 429
    assert client.ask("GET", "/", headers=good).status_code == 200


FORWARDED = {
    "Forwarded": "for=203.0.113.9",
    "X-Forwarded-For": "203.0.113.9",
    "x-forwarded-for": "unknown",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "pictures.example",
    "X-Forwarded": "127.0.0.1",
    "X-Forward-For": "203.0.113.9",
    "X-Envoy-External-Address": "203.0.113.9",
    "Forwarded-For": "127.0.0.1",
    "X-Real-IP": "127.0.0.1",
    "Via": "1.1 proxy",
    "X-Client-IP": "127.0.0.1",
    "True-Client-IP": "127.0.0.1",
    "CF-Connecting-IP": "203.0.113.9",
    "CDN-Loop": "cloud",
    "X-Original-Forwarded-For": "",
}


@pytest.mark.parametrize("name", FORWARDED)
def test_what_a_proxy_forwards_is_not_this_machine_whatever_it_says(
    client_of: Clients, near: ASGIApp, tokens: Tokens, name: str
) -> None:
    client = client_of(near, headers={name: FORWARDED[name]})
    assert client.ask("GET", "/").json() is None
    good = {"authorization": f"Bearer {tokens.create('laptop', ['read']).secret}"}
    assert client.ask("GET", "/", headers=good).json()["scopes"] == ["read"]


@pytest.mark.parametrize(
    "address", ["", "unknown", "_hidden", "testclient", "127.0.0.1:80", "localhost", "::ffff:1.2.3.4"]
)
def test_an_address_that_cannot_be_read_is_not_this_machine(client_of: Clients, near: ASGIApp, address: str) -> None:
    assert client_of(near, address=address).ask("GET", "/").json() is None


def test_a_proxy_that_says_nothing_but_speaks_http_1_0_is_not_this_machine(serving: Any, near: ASGIApp) -> None:
    with serving(near) as port:
        for version, scopes in (("1.0", b"null"), ("1.1", b'"scopes"')):
            with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
                asked = f"GET / HTTP/{version}\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
                connection.sendall(asked.encode())
                answer = b"".join(iter(lambda: connection.recv(4096), b""))
            assert scopes in answer, answer


def test_this_machine_by_its_other_addresses_is(client_of: Clients, near: ASGIApp) -> None:
    for address in ("127.0.0.2", "::1", "::ffff:127.0.0.1"):
        assert client_of(near, address=address).ask("GET", "/").json() is not None


def test_a_server_may_want_tokens_of_this_machine_too(client_of: Clients, guard: Guard) -> None:
    assert client_of(guard(who, tokens_always=True)).ask("GET", "/").json() is None


def test_a_database_that_does_not_answer_is_a_problem_document(client_of: Clients, pool: ThreadPool) -> None:
    class Gone:
        def by_hash(self, digest: str) -> Any:
            raise DatabaseError("the server's database does not answer")

    rows: Any = Gone()
    settings = ServerSettings.model_validate({})
    app = guard_app(who, settings, Tokens(rows, settings), pool)
    failed = client_of(app).ask("GET", "/", headers={"authorization": f"Bearer vf_{43 * 'A'}"})
    assert failed.status_code == 503
    assert failed.json()["detail"] == "the server's database does not answer"
