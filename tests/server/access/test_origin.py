"""Which pages may do what: Host, Origin and Sec-Fetch-Site as browsers send them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp

from viewfinder.server.access.gate import allow_origins
from viewfinder.server.access.tokens import Tokens
from viewfinder.server.access.trust import is_loopback_name

Clients = Callable[..., Any]
Guard = Callable[..., ASGIApp]
APP = PlainTextResponse("done")
OURS, FRIEND, EVIL = "http://localhost:8008", "https://friend.example", "https://evil.example"


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8008", "LOCALHOST", "127.0.0.1", "127.0.0.1:1", "127.3.2.1", "[::1]", "[::1]:80"]
)
def test_loopback_names_are_answered(client_of: Clients, guard: Guard, host: str) -> None:
    assert client_of(guard(APP)).ask("GET", "/", headers={"host": host}).text == "done"


NOT_OURS = (
    "evil.example evil.example:8008 localhost.evil.example 127.0.0.1.evil.example 127.1.evil localhost/ evil@localhost "
    "localhost:80:80 10.0.0.1 [::2] [::1 2130706433 0.0.0.0"
)


@pytest.mark.parametrize("host", NOT_OURS.split())
def test_a_name_that_was_pointed_at_this_machine_is_not(client_of: Clients, guard: Guard, host: str) -> None:
    refused = client_of(guard(APP)).ask("GET", "/", headers={"host": host})
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:viewfinder:problem:wrong-host")
    assert client_of(guard(APP)).ask("GET", "/", headers={"host": ""}).status_code == 403


def test_the_name_that_a_proxy_was_asked_for_is_answered_as_a_token_is_needed_there(
    client_of: Clients, guard: Guard
) -> None:
    asked = {"host": "pictures.example", "x-forwarded-for": "203.0.113.9"}
    assert client_of(guard(APP)).ask("GET", "/", headers=asked).text == "done"


def test_two_hosts_are_refused(client_of: Clients, guard: Guard) -> None:
    for hosts in (["localhost", "evil.example"], ["localhost", "localhost"]):
        refused = client_of(guard(APP)).ask("GET", "/", headers=[("host", host) for host in hosts])
        assert (refused.status_code, refused.json()["type"]) == (400, "urn:viewfinder:problem:bad-request")
    assert client_of(guard(APP)).ask("GET", "/").text == "done"


@given(st.text(st.characters(max_codepoint=255), min_size=1, max_size=6), st.sampled_from(["localhost", "[::1]:80"]))
def test_nothing_before_or_after_a_loopback_name_makes_another(more: str, name: str) -> None:
    assert not is_loopback_name(more + name)
    assert not is_loopback_name(name + more) or more.removeprefix(":").isdecimal()


Ask = Callable[..., int]


@pytest.fixture
def ask(client_of: Clients, guard: Guard) -> Ask:
    """The status of a request with these headers, on a server that one foreign origin may use."""

    def status_of(method: str, **headers: str) -> int:
        named = {"host": "localhost:8008", **{name.replace("_", "-"): value for name, value in headers.items()}}
        return int(client_of(guard(APP, origins=[FRIEND])).ask(method, "/", headers=named).status_code)

    return status_of


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PURGE"])
def test_pages_of_other_sites_change_nothing(ask: Ask, method: str) -> None:
    for site in ("cross-site", "same-site"):  # localhost:3000 is the same site as localhost:8008, and another page
        assert ask(method, sec_fetch_site=site, origin=EVIL) == 403
        assert ask(method, sec_fetch_site=site) == 403
    assert ask(method, origin=EVIL) == 403
    assert ask(method, origin="null") == 403
    assert ask(method, origin="http://localhost:3000") == 403
    assert ask(method, origin="http://[") == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_our_page_and_programs_may(ask: Ask, method: str) -> None:
    assert ask(method, sec_fetch_site="same-origin", origin=OURS) == 200
    assert ask(method, origin=OURS) == 200  # over plain http to another machine browsers say only this
    assert ask(method) == 200


def test_a_configured_origin_may(ask: Ask) -> None:
    assert ask("POST", sec_fetch_site="cross-site", origin=FRIEND) == 200


def test_a_bearer_token_may_come_from_anywhere_but_what_a_proxy_adds_is_none(ask: Ask, tokens: Tokens) -> None:
    bearer = f"Bearer {tokens.create('mine', ['write']).secret}"
    assert ask("POST", sec_fetch_site="cross-site", origin=EVIL, authorization=bearer) == 200
    assert ask("POST", sec_fetch_site="cross-site", origin=EVIL, authorization="Basic x") == 403


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_links_from_other_sites_work(ask: Ask, method: str) -> None:
    assert ask(method, sec_fetch_site="cross-site", origin=EVIL) == 200


def test_only_a_configured_origin_may_read_answers(client_of: Clients) -> None:
    client = client_of(allow_origins(APP, [FRIEND]))
    friend, evil = (client.ask("GET", "/", headers={"origin": origin}).headers for origin in (FRIEND, EVIL))
    assert friend["access-control-allow-origin"] == FRIEND
    assert "access-control-allow-credentials" not in friend
    assert "access-control-allow-origin" not in evil


def test_a_configured_origin_may_ask_with_a_token_first(client_of: Clients) -> None:
    asked = {"access-control-request-method": "PUT", "access-control-request-headers": "authorization, content-type"}
    client = client_of(allow_origins(APP, [FRIEND]))
    assert client.ask("OPTIONS", "/", headers={"origin": FRIEND, **asked}).status_code == 200
    assert client.ask("OPTIONS", "/", headers={"origin": EVIL, **asked}).status_code == 400
