"""Logging in, who one is, and tokens over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from viewfinder.server import problems
from viewfinder.server.access.gate import Access
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.routes import router
from viewfinder.server.access.tokens import Tokens
from viewfinder.server.database import TokenRows
from viewfinder.server.services import Services
from viewfinder.server.settings import ServerSettings

Clients = Callable[..., Any]
Serve = Callable[..., FastAPI]
BASE = "https://pictures.example"
ELSEWHERE = {"told_paths": False, "opens": False}
"""What they are told who do not sit at the server's machine."""


@pytest.fixture
def serve(token_rows: TokenRows, pool: ThreadPool, clock: Any) -> Serve:
    """An app with these routes behind the access layer, in which no other part of a server is."""

    def app_with(shared: Path | None = None, **given: Any) -> FastAPI:
        settings = ServerSettings.model_validate(given)
        services = object.__new__(Services)
        parts = {"settings": settings, "tokens": Tokens(token_rows, settings, clock), "pool": pool}
        services.__dict__.update(parts)
        app = FastAPI()
        app.state.services = services
        problems.install_problems(app)
        app.add_middleware(Access, services_of=lambda: app.state.services, shared=shared)
        app.include_router(router)
        return app

    return app_with


@pytest.fixture
def far(serve: Serve, client_of: Clients) -> Any:
    """A client of a server that other machines can reach, without a token."""
    return client_of(serve(host="0.0.0.0"), base=BASE)


def with_token(client: Any, secret: str) -> Any:
    return type(client)(client.app, base=client.base, headers={"authorization": f"Bearer {secret}"})


def test_logging_in_sets_a_cookie_that_works_and_no_script_can_read(far: Any, tokens: Tokens) -> None:
    secret = tokens.create("phone", ["read"]).secret
    answer = far.ask("POST", "/api/v1/login", json={"token": secret})
    name, *manner = answer.headers["set-cookie"].split("; ")
    assert (answer.status_code, answer.content, name) == (204, b"", f"viewfinder_token={secret}")
    assert {"HttpOnly", "SameSite=strict", "Path=/", "Secure"} <= set(manner)
    me = far.ask("GET", "/api/v1/me", headers={"cookie": name})
    assert me.json() == {"name": "phone", "scopes": ["read"], "token_needed": True, **ELSEWHERE}


def test_without_https_the_cookie_is_sent_all_the_same(serve: Serve, client_of: Clients, tokens: Tokens) -> None:
    secret = tokens.create("phone", ["read"]).secret
    answer = client_of(serve(host="0.0.0.0"), base="http://10.0.0.5:8008").ask(
        "POST", "/api/v1/login", json={"token": secret}
    )
    assert "secure" not in answer.headers["set-cookie"].lower()


def test_a_wrong_token_logs_nobody_in(far: Any) -> None:
    answer = far.ask("POST", "/api/v1/login", json={"token": "vf_wrong"})
    assert (answer.status_code, answer.json()["type"]) == (401, "urn:viewfinder:problem:unauthorized")
    assert "set-cookie" not in answer.headers


def test_wrong_tokens_are_counted_together_over_all_workers_and_ways_to_send_them(
    serve: Serve, client_of: Clients, tokens: Tokens, tmp_path: Path
) -> None:
    few: dict[str, Any] = {"host": "0.0.0.0", "requests_burst": 4, "requests_per_s": 1e-9, "shared": tmp_path}
    workers = [client_of(serve(**few), base=BASE, address="10.0.0.1") for _ in range(2)]
    mine = {"authorization": f"Bearer {tokens.create('phone', ['read']).secret}"}

    def guess(number: int) -> int:
        """By turns at either worker, to log in (with a good token for the request itself) or as a bearer."""
        worker = workers[number % 2]
        if number < 3:
            return int(worker.ask("POST", "/api/v1/login", json={"token": "vf_wrong"}, headers=mine).status_code)
        return int(worker.ask("GET", "/api/v1/me", headers={"authorization": "Bearer vf_wrong"}).status_code)

    assert [guess(number) for number in range(6)] == [401, 401, 401, 401, 429, 429]
    elsewhere = client_of(workers[0].app, base=BASE, address="10.0.0.2")
    assert elsewhere.ask("POST", "/api/v1/login", json={"token": "vf_wrong"}).status_code == 401


def test_who_has_the_right_token_logs_in_whatever_others_guessed(
    serve: Serve, client_of: Clients, tokens: Tokens
) -> None:
    client = client_of(serve(host="0.0.0.0", requests_burst=3, requests_per_s=1e-9), base=BASE)
    secret = tokens.create("phone", ["read"]).secret
    mine = {"authorization": f"Bearer {secret}"}
    for _ in range(5):
        client.ask("GET", "/api/v1/me", headers={"authorization": "Bearer vf_wrong"})
    assert client.ask("POST", "/api/v1/login", json={"token": secret}, headers=mine).status_code == 204
    assert client.ask("POST", "/api/v1/login", json={"token": "vf_wrong"}, headers=mine).status_code == 429


def test_another_site_cannot_log_anybody_in(far: Any, tokens: Tokens) -> None:
    secret = tokens.create("evil", ["read"]).secret
    headers = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    assert far.ask("POST", "/api/v1/login", json={"token": secret}, headers=headers).status_code == 403


def test_logging_out_takes_the_cookie_away_and_works_with_a_bad_one(far: Any) -> None:
    answer = far.ask("DELETE", "/api/v1/login", headers={"cookie": "viewfinder_token=vf_old"})
    assert answer.status_code == 204
    assert "Max-Age=0" in answer.headers["set-cookie"]


def test_everybody_may_ask_who_they_are(
    far: Any, serve: Serve, client_of: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert far.ask("GET", "/api/v1/me").json() == {"name": None, "scopes": [], "token_needed": True, **ELSEWHERE}
    monkeypatch.setattr("viewfinder.server.access.routes.has_desktop", lambda: True)
    near = client_of(serve())
    scopes = ["read", "write", "download", "tickets", "admin"]
    here = {"name": None, "scopes": scopes, "token_needed": False, "told_paths": True, "opens": True}
    assert near.ask("GET", "/api/v1/me").json() == here
    assert far.ask("GET", "/api/v1/me").json()["opens"] is False
    monkeypatch.setattr("viewfinder.server.access.routes.has_desktop", lambda: False)
    assert near.ask("GET", "/api/v1/me").json() == {**here, "opens": False}


def test_an_admin_makes_lists_and_revokes_tokens(far: Any, tokens: Tokens, clock: Any) -> None:
    admin = with_token(far, tokens.create("root", ["admin"]).secret)
    clock.now += 1
    made = admin.ask("POST", "/api/v1/tokens", json={"name": "guest", "scopes": ["write", "read"], "days": 2.0})
    assert (made.status_code, made.json()["scopes"]) == (201, ["read", "write"])
    assert (made.json()["created"], made.json()["expires"]) == ("1970-01-12T13:46:41Z", "1970-01-14T13:46:41Z")
    listed = admin.ask("GET", "/api/v1/tokens")
    assert [(token["name"], token["revoked"]) for token in listed.json()["tokens"]] == [
        ("guest", False),
        ("root", False),
    ]
    assert "vf_" not in listed.text
    guest = with_token(far, made.json()["token"])
    assert guest.ask("GET", "/api/v1/me").json()["name"] == "guest"
    assert admin.ask("DELETE", "/api/v1/tokens/guest").status_code == 204
    assert guest.ask("GET", "/api/v1/me").status_code == 401
    assert admin.ask("DELETE", "/api/v1/tokens/guest").status_code == 404


@pytest.mark.parametrize("scopes", [["read"], ["write"], ["read", "write"]])
def test_others_do_not_see_or_change_tokens(far: Any, tokens: Tokens, scopes: list[str]) -> None:
    client = with_token(far, tokens.create("user", scopes).secret)
    given = {"name": "more", "scopes": ["admin"]}
    assert client.ask("GET", "/api/v1/tokens").status_code == 403
    assert client.ask("POST", "/api/v1/tokens", json=given).status_code == 403
    assert client.ask("DELETE", "/api/v1/tokens/user").status_code == 403
    assert [row.name for row in tokens.all() if not row.revoked] == ["user"]


@pytest.mark.parametrize(
    "wrong",
    [{"name": "a/b"}, {"name": ""}, {"scopes": []}, {"scopes": ["root"]}, {"days": 0}, {"days": 1e9}, {"more": 1}],
)
def test_a_token_that_cannot_be_is_refused(far: Any, tokens: Tokens, wrong: dict[str, Any]) -> None:
    admin = with_token(far, tokens.create("root", ["admin"]).secret)
    refused = admin.ask("POST", "/api/v1/tokens", json={"name": "x", "scopes": ["read"], **wrong})
    assert (refused.status_code, refused.json()["title"]) == (422, "invalid")
    assert len(tokens.all()) == 1


def test_a_name_that_is_taken_is_a_conflict(far: Any, tokens: Tokens) -> None:
    admin = with_token(far, tokens.create("root", ["admin"]).secret)
    refused = admin.ask("POST", "/api/v1/tokens", json={"name": "root", "scopes": ["read"]})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:viewfinder:problem:name-taken")


def test_only_the_scope_tickets_makes_tickets_and_no_ticket_makes_another(far: Any, tokens: Tokens) -> None:
    reader, shop = (tokens.create(name, some).secret for name, some in MAY_READ.items())
    assert with_token(far, reader).ask("POST", "/api/v1/tickets", json={}).status_code == 403
    made = with_token(far, shop).ask("POST", "/api/v1/tickets", json={"visitor": "ada", "minutes": 5})
    assert (made.status_code, made.json()["visitor"]) == (201, "ada")
    visitor = with_token(far, made.json()["token"])
    assert visitor.ask("GET", "/api/v1/me").json()["scopes"] == ["read"]
    assert visitor.ask("POST", "/api/v1/tickets", json={}).status_code == 403


MAY_READ = {"reader": ["read"], "shop": ["read", "tickets"]}


@pytest.mark.parametrize("body", [{"minutes": 0}, {"minutes": 1441}, {"visitor": ""}, {"scopes": ["admin"]}])
def test_a_ticket_for_longer_than_a_day_or_for_more_than_reading_is_refused(
    far: Any, tokens: Tokens, body: dict[str, Any]
) -> None:
    shop = with_token(far, tokens.create("shop", ["read", "tickets"]).secret)
    assert shop.ask("POST", "/api/v1/tickets", json=body).status_code == 422
