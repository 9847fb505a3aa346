"""Addresses that open one thing to who was given them: what a page of another origin shows under required tokens."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.access.seals import compute_mac
from viewfinder.server.access.signatures import STEP_S, ForgedAddress, Signer, open_address
from viewfinder.server.access.tokens import DAY_S, Tokens
from viewfinder.server.app import create_app
from viewfinder.server.database import TokenRows
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import load_colour_encoder, tiny_pictures

PATH = "/api/v1/pictures/p1/thumbnail"
FRIEND, OTHER = "https://shop.example", "https://evil.example"
KEY = bytes(32)

Guard = Callable[..., ASGIApp]


def given_address(tokens: Tokens, name: str = "shop", path: str = PATH, **how: Any) -> str:
    """An address that a new token was given."""
    caller = tokens.find_caller(tokens.create(name, ["read"], **how).secret)
    assert caller is not None
    return Signer(tokens, caller).sign(path)


def opened(tokens: Tokens, address: str) -> Any:
    path, _, query = address.partition("?")
    return open_address(tokens, path, query.encode())


def test_an_address_opens_for_hours_and_not_for_a_day(tokens: Tokens, clock: Any) -> None:
    address = given_address(tokens)
    assert opened(tokens, address) is not None
    clock.now += STEP_S
    assert opened(tokens, address) is not None
    clock.now += STEP_S
    assert opened(tokens, address) is None


def test_for_hours_an_address_stays_the_same_so_that_caches_work(tokens: Tokens, clock: Any) -> None:
    caller = tokens.find_caller(tokens.create("shop", ["read"]).secret)
    assert caller is not None
    clock.now = STEP_S * 100.0
    first = Signer(tokens, caller).sign(PATH)
    clock.now += STEP_S - 1
    assert Signer(tokens, caller).sign(PATH) == first
    clock.now += 1
    assert Signer(tokens, caller).sign(PATH) != first


def test_it_ends_at_once_with_its_token_whoever_revokes_it(tokens: Tokens, token_rows: TokenRows, clock: Any) -> None:
    address, other = given_address(tokens), given_address(tokens, "other", days=STEP_S / DAY_S / 2)
    assert opened(tokens, address) and opened(tokens, other)
    elsewhere = Tokens(token_rows, ServerSettings.model_validate({}))  # another process, of the same database
    elsewhere.revoke("shop")
    assert opened(tokens, address) is None
    clock.now += STEP_S / 2
    assert opened(tokens, other) is None  # its token has expired


def test_every_process_of_a_database_knows_the_key_until_it_is_replaced(
    tokens: Tokens, token_rows: TokenRows, clock: Any
) -> None:
    address = given_address(tokens)
    elsewhere = Tokens(token_rows, ServerSettings.model_validate({}), clock, clock)
    assert opened(elsewhere, address) is not None
    elsewhere.end_signatures()
    with pytest.raises(ForgedAddress):
        opened(tokens, address)
    assert opened(tokens, given_address(tokens, "next")) is not None


def test_it_opens_its_own_path_alone(tokens: Tokens) -> None:
    query = given_address(tokens).partition("?")[2]
    for path in ("/api/v1/pictures/p2/thumbnail", "/api/v1/pictures/p1", "/api/v1/pictures/p1/original", PATH + "/"):
        with pytest.raises(ForgedAddress):
            open_address(tokens, path, query.encode())
    assert open_address(tokens, PATH, f"size=640&{query}".encode()) is not None


def test_nobody_makes_it_longer_or_anothers(tokens: Tokens) -> None:
    address = given_address(tokens)
    token, until, mac = address.partition("signature=")[2].split(".")
    other = tokens.find_caller(tokens.create("other", ["read"]).secret)
    assert other is not None
    for forged in (f"{token}.{int(until) + 1}.{mac}", f"{other.token}.{until}.{mac}", f"{token}.{until}.{mac[:-1]}A"):
        if forged != f"{token}.{until}.{mac}":
            with pytest.raises(ForgedAddress):
                opened(tokens, f"{PATH}?signature={forged}")


@given(st.text(max_size=80))
def test_no_other_text_is_a_signature(tokens_of_nobody: Any, said: str) -> None:
    query = f"signature={said}".encode("utf-8", "surrogatepass")
    with suppress(ForgedAddress):
        assert open_address(tokens_of_nobody, PATH, query) is None  # an empty one is none


@pytest.fixture(scope="module")
def tokens_of_nobody() -> Any:
    class Nobody:
        def find_signing_key(self) -> bytes:
            return KEY

        def read_clock(self) -> float:
            return 0.0

    return Nobody()


@given(st.tuples(st.text(), st.text(), st.integers(0)), st.tuples(st.text(), st.text(), st.integers(0)))
def test_what_is_signed_cannot_be_read_as_something_else(one: Any, other: Any) -> None:
    clean = [part for part in (one[1], other[1]) if "\n" not in part]  # ids of tokens have no line break
    if len(clean) == 2 and one != other:
        assert compute_mac(KEY, *one) != compute_mac(KEY, *other)


# -- at the gate


def counted_app(answer: Response) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        caller = scope["state"]["caller"]
        if caller is None:
            await PlainTextResponse("no", 401)(scope, receive, send)
        else:
            await answer(scope, receive, send)

    return app


def test_an_address_reads_and_does_nothing_else(client_of: Any, guard: Guard, tokens: Tokens) -> None:
    address = given_address(tokens)
    client = client_of(guard(counted_app(PlainTextResponse("here")), host="0.0.0.0"), base="http://pictures.example")
    assert client.ask("GET", address).text == "here"
    assert client.ask("HEAD", address).status_code == 200
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert client.ask(method, address).status_code in (401, 403)


def test_one_that_is_wrong_is_refused_and_counts_as_a_guess(client_of: Any, guard: Guard, tokens: Tokens) -> None:
    app = guard(counted_app(PlainTextResponse("here")), host="0.0.0.0", requests_burst=3, requests_per_s=0.001)
    client = client_of(app, base="http://pictures.example")
    forged = f"{PATH}?signature=x"
    refused = [client.ask("GET", forged) for _ in range(4)]
    assert [answer.status_code for answer in refused] == [401, 401, 401, 429]
    assert refused[0].json()["type"].endswith("address-ended")


def test_what_a_browser_keeps_of_it_ends_with_it(client_of: Any, guard: Guard, tokens: Tokens, clock: Any) -> None:
    address = given_address(tokens)
    forever = PlainTextResponse("here", headers={"Cache-Control": "private, max-age=31536000, immutable"})
    client = client_of(guard(counted_app(forever), host="0.0.0.0"), base="http://pictures.example")
    until = int(address.partition("signature=")[2].split(".")[1])
    answer = client.ask("GET", address)
    assert answer.headers["cache-control"] == f"private, max-age={until - int(clock.now)}, immutable"
    assert "Origin" in answer.headers["vary"]


# -- over the whole server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server that needs tokens, over eight drawings, with pages of one other origin."""
    home = tmp_path_factory.mktemp("signed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        library = Library.open(home / "library.vf")
        tiny_pictures(home / "pictures", 8)
        library.add(home / "pictures", workers=1)
        settings = ServerSettings(_env_file=None, tokens_always=True, origins=(FRIEND,))
        with TestClient(create_app(library, settings), base_url="http://pictures.example") as client:
            yield client


@pytest.fixture
def bearer(server: TestClient, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """A token that may talk, in the headers of a page of the other origin."""
    tokens: Tokens = server.app.state.services.tokens  # type: ignore[attr-defined]
    name = re.sub(r"\W", "-", request.node.name)[:90]
    yield {"Authorization": f"Bearer {tokens.create(name, ['read', 'write']).secret}", "Origin": FRIEND}
    tokens.revoke(name)


def say(server: TestClient, bearer: dict[str, str]) -> dict[str, Any]:
    session = server.post("/api/v1/sessions", json={}, headers=bearer).json()["id"]
    turn = server.post(f"/api/v1/sessions/{session}/turns", json={"say": "red"}, headers=bearer)
    return dict(turn.json())


def test_a_page_of_another_origin_shows_pictures_and_hears_the_question(
    server: TestClient, bearer: dict[str, str]
) -> None:
    results = say(server, bearer)
    for hit in results["results"]:
        picture = server.get(f"{hit['thumbnail']}&size=160")
        assert (picture.status_code, picture.headers["content-type"]) == (200, "image/jpeg")
        assert picture.headers["cross-origin-resource-policy"] == "cross-origin"
        assert server.get(f"/api/v1/pictures/{hit['id']}/thumbnail").status_code == 401
    events = server.get(results["events"], headers={"Origin": FRIEND})
    assert events.headers["access-control-allow-origin"] == FRIEND
    told = dict(re.findall(r"event: (\w+)\r?\ndata: (.*)", events.text))
    question = json.loads(told["question"])
    assert "done" in told and set(question.get("thumbnails", {})) == {
        picture for picture in (question["question"] or {"examples": []})["examples"] if picture
    }
    assert "access-control-allow-origin" not in server.get(results["events"], headers={"Origin": OTHER}).headers
    assert server.get(results["reply_events"]).status_code == 200


def test_everything_that_lists_pictures_has_their_addresses(server: TestClient, bearer: dict[str, str]) -> None:
    hits = server.post("/api/v1/search", json={"text": "red"}, headers=bearer).json()["results"]
    similar = server.get(f"/api/v1/pictures/{hits[0]['id']}/similar", headers=bearer).json()["results"]
    cards = server.post("/api/v1/pictures/browse", json={}, headers=bearer).json()["pictures"]
    listed = server.post("/api/v1/search", json={"where": {"format": "PNG"}}, headers=bearer).json()["results"]
    for card in (hits[0], similar[0], cards[0], listed[0]):
        assert server.get(card["thumbnail"]).status_code == 200
    signed = server.post("/api/v1/pictures/addresses", json={"ids": [hits[0]["id"]]}, headers=bearer).json()
    assert signed["until"] and signed["thumbnails"] == {hits[0]["id"]: hits[0]["thumbnail"]}


def test_an_image_of_ones_own_is_shown_to_who_sent_it(
    server: TestClient, bearer: dict[str, str], tmp_path: Path
) -> None:
    with tiny_pictures(tmp_path, 1)[0].path.open("rb") as file:
        upload = server.post("/api/v1/uploads", files={"file": ("a.png", file, "image/png")}, headers=bearer).json()
    assert server.get(upload["thumbnail"]).status_code == 200
    assert server.get(f"/api/v1/uploads/{upload['id']}/thumbnail").status_code == 401


def test_all_addresses_end_when_an_admin_says_so(server: TestClient, bearer: dict[str, str]) -> None:
    address = server.post("/api/v1/search", json={"text": "red"}, headers=bearer).json()["results"][0]["thumbnail"]
    assert server.get(address).status_code == 200
    assert server.delete("/api/v1/addresses", headers=bearer).status_code == 403
    tokens: Tokens = server.app.state.services.tokens  # type: ignore[attr-defined]
    admin = {"Authorization": f"Bearer {tokens.create('admin-of-addresses', ['admin']).secret}"}
    assert server.delete("/api/v1/addresses", headers=admin).status_code == 204
    assert server.get(address).status_code == 401
    again = server.post("/api/v1/search", json={"text": "red"}, headers=bearer).json()["results"][0]["thumbnail"]
    assert server.get(again).status_code == 200


def test_who_comes_with_a_cookie_gets_none_as_its_browser_sends_it(server: TestClient, bearer: dict[str, str]) -> None:
    cookie = {"Cookie": f"viewfinder_token={bearer['Authorization'].removeprefix('Bearer ')}"}
    listed = server.get(
        "/api/v1/pictures/"
        + server.post("/api/v1/search", json={"text": "red"}, headers=bearer).json()["results"][0]["id"]
        + "/similar",
        headers=cookie,
    ).json()["results"]
    assert [hit["thumbnail"] for hit in listed] == [None] * len(listed) and listed


def test_no_signature_is_in_a_log(server: TestClient, bearer: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    hit = server.post("/api/v1/search", json={"text": "red"}, headers=bearer).json()["results"][0]
    refused = server.get(f"{hit['thumbnail'][:-1]}!")
    server.get(hit["thumbnail"])
    ours = "\n".join(
        record.getMessage() for record in caplog.records if record.name.startswith(("viewfinder", "uvicorn"))
    )
    assert "signature" not in ours
    assert "signature" not in refused.text
