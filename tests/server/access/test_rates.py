"""Buckets of requests, by a clock that the tests turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import ASGIApp, Receive, Scope, Send

from viewfinder.server.access.limits import SLOTS, Buckets
from viewfinder.server.access.tokens import Tokens

Clients = Callable[..., Any]
Guard = Callable[..., ASGIApp]


class Hand:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


async def answer_nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


def test_a_burst_is_allowed_and_then_so_many_a_second() -> None:
    clock = Hand()
    buckets = Buckets(2.0, 3, clock)
    assert [buckets.take("me") for _ in range(5)] == [0.0, 0.0, 0.0, 0.5, 0.5]  # 3 at once; the next in 1/2 s
    clock.now = 0.5
    assert [buckets.take("me"), buckets.take("me")] == [0.0, 0.5]
    clock.now = 100.0  # never more than a burst
    assert [buckets.take("me") > 0 for _ in range(4)] == [False, False, False, True]


def test_who_waits_as_told_is_let_in() -> None:
    clock = Hand()
    buckets = Buckets(0.25, 1, clock)
    assert buckets.take("me") == 0.0
    clock.now = 1.0
    waiting = buckets.take("me")
    assert waiting == 3.0  # a quarter came back in one second, three quarters are missing
    clock.now += waiting
    assert buckets.take("me") == 0.0


def test_one_key_does_not_use_up_another() -> None:
    buckets = Buckets(1.0, 1, Hand())
    assert (buckets.take("a"), buckets.take("a"), buckets.take("b")) == (0.0, 1.0, 0.0)


@given(st.lists(st.sampled_from([0.0, 0.125, 0.5, 2.0]), max_size=60), st.integers(1, 5))
def test_no_stretch_of_time_lets_more_through_than_a_burst_and_its_refill(pauses: list[float], burst: int) -> None:
    clock = Hand()
    buckets = Buckets(1.0, burst, clock)
    passed = []
    for pause in pauses:
        clock.now += pause
        if not buckets.take("me"):
            passed.append(clock.now)
    for first, since in enumerate(passed):
        for last, until in enumerate(passed[first:], first):
            assert last - first + 1 <= burst + (until - since)


def bearer(tokens: Tokens, name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {tokens.create(name, ['read']).secret}"}


def test_a_token_that_asks_too_much_is_told_how_long_to_wait(
    client_of: Clients, guard: Guard, tokens: Tokens, clock: Any
) -> None:
    app = guard(answer_nothing, host="0.0.0.0", requests_per_s=0.4, requests_burst=2)
    client = client_of(app, headers=bearer(tokens, "mine"))
    assert [client.ask("GET", "/").status_code for _ in range(3)] == [204, 204, 429]
    refused = client.ask("GET", "/")
    assert refused.headers["retry-after"] == "3"  # 1 / 0.4 = 2.5 s
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["type"] == "urn:viewfinder:problem:too-many-requests"
    clock.now += 3.0
    assert client.ask("GET", "/").status_code == 204


def test_two_tokens_are_counted_apart_from_one_address(client_of: Clients, guard: Guard, tokens: Tokens) -> None:
    app = guard(answer_nothing, host="0.0.0.0", requests_burst=1)
    clients = [client_of(app, headers=bearer(tokens, name)) for name in "ab"]
    assert [client.ask("GET", "/").status_code for client in (*clients, *clients)] == [204, 204, 429, 429]


def test_who_has_no_token_is_counted_by_address(client_of: Clients, guard: Guard) -> None:
    app = guard(answer_nothing, host="0.0.0.0", requests_burst=1)
    one, other = client_of(app, address="10.0.0.1"), client_of(app, address="10.0.0.2")
    assert [client.ask("GET", "/").status_code for client in (one, one, other)] == [204, 429, 204]


def test_this_machine_is_not_counted(client_of: Clients, guard: Guard) -> None:
    client = client_of(guard(answer_nothing, requests_burst=1))
    assert {client.ask("GET", "/").status_code for _ in range(5)} == {204}


KEYS = st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 3)), max_size=60)


@given(asked=KEYS)
def test_processes_that_share_buckets_count_as_one_does(
    asked: list[tuple[str, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    clock, file = Hand(), tmp_path_factory.mktemp("buckets") / "requests.buckets"
    shared = [Buckets(2.0, 3, clock, file) for _ in range(2)]
    alone = Buckets(2.0, 3, clock)
    for at, (key, later) in enumerate(asked):
        clock.now += later
        assert shared[at % 2].take(key) == alone.take(key)


def test_of_more_keys_than_there_is_room_the_oldest_come_back_full() -> None:
    clock = Hand()
    buckets = Buckets(1e-9, 1, clock)
    for number in range(4 * SLOTS):
        clock.now += 1
        assert buckets.take(f"somebody {number}") == 0.0
    assert buckets.take(f"somebody {4 * SLOTS - 1}") > 0
    assert buckets.take("somebody 0") == 0.0
