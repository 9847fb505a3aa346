"""What every answer tells a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import PlainTextResponse, Response

from viewfinder.server.access.gate import SECURITY, SecurityHeaders

Clients = Callable[..., Any]


def test_every_answer_has_them(client_of: Clients) -> None:
    for status in (200, 404, 500):
        headers = client_of(SecurityHeaders(PlainTextResponse("x", status))).ask("GET", "/").headers
        assert {name: headers[name] for name in SECURITY} == SECURITY


def test_the_policy_allows_our_own_scripts_styles_and_pictures_only() -> None:
    rules = dict(rule.split(" ", 1) for rule in SECURITY["content-security-policy"].split("; "))
    assert rules["default-src"] == rules["style-src"] == "'self'"
    assert rules["img-src"] == "'self' blob: data:"
    assert rules["object-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in SECURITY["content-security-policy"]


def test_what_the_app_says_itself_stays(client_of: Clients) -> None:
    app = PlainTextResponse("x", headers={"Referrer-Policy": "origin", "Cache-Control": "max-age=60"})
    headers = client_of(SecurityHeaders(app)).ask("GET", "/api/v1/pictures/x/thumbnail").headers
    assert headers.get_list("referrer-policy") == ["origin"]
    assert headers.get_list("cache-control") == ["max-age=60"]


def test_what_the_api_says_is_kept_by_no_cache(client_of: Clients) -> None:
    client = client_of(SecurityHeaders(PlainTextResponse("x")))
    assert client.ask("GET", "/api/v1/sessions").headers["cache-control"] == "no-store"
    assert "cache-control" not in client.ask("GET", "/static/js/main.js").headers
    unchanged = client_of(SecurityHeaders(Response(status_code=304)))
    assert "cache-control" not in unchanged.ask("GET", "/api/v1/pictures/x/thumbnail").headers


def test_pictures_are_embedded_by_our_page_unless_others_are_welcome(client_of: Clients) -> None:
    for shared, said in ((False, "same-origin"), (True, "cross-origin")):
        headers = client_of(SecurityHeaders(PlainTextResponse("x"), shared=shared)).ask("GET", "/").headers
        assert headers["cross-origin-resource-policy"] == said
