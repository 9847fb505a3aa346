"""Tokens in a real database."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.errors import BadInput
from viewfinder.server.access.tokens import DAY_S, LOCAL, REMEMBERED_S, SCOPES, Caller, NameTaken, Tokens, hash_secret
from viewfinder.server.database import TokenRows
from viewfinder.server.settings import ServerSettings


def test_a_token_says_who_calls_and_what_they_may_do(tokens: Tokens) -> None:
    made = tokens.create("laptop", ["write", "read"])
    caller = tokens.find_caller(made.secret)
    assert caller is not None
    assert caller == Caller(made.row.id, frozenset({"read", "write"}))
    assert tokens.find_name(caller) == "laptop"
    assert tokens.find_name(LOCAL) is None


def test_the_secret_is_stored_nowhere(tokens: Tokens, token_rows: TokenRows) -> None:
    made = tokens.create("laptop", ["read"])
    (row,) = token_rows.all()
    assert row.hash == hash_secret(made.secret)
    assert made.secret not in repr(row)
    assert made.secret.removeprefix("vf_") not in repr(row)


def test_no_two_secrets_are_alike(tokens: Tokens) -> None:
    secrets = {tokens.create(f"t{number}", ["read"]).secret for number in range(20)}
    assert len(secrets) == 20
    assert {(secret[:3], len(secret)) for secret in secrets} == {("vf_", 46)}


@given(st.text(max_size=60))
def test_no_other_text_is_a_token(said: str) -> None:
    class Untouched:
        def by_hash(self, digest: str) -> Any:
            return None

    rows: Any = Untouched()
    assert Tokens(rows, ServerSettings.model_validate({})).find_caller(said) is None


def test_a_token_that_is_one_letter_off_is_none(tokens: Tokens) -> None:
    secret = tokens.create("laptop", ["read"]).secret
    assert tokens.find_caller(secret[:-1] + ("A" if secret[-1] != "A" else "E")) is None
    assert tokens.find_caller(secret + "A") is None


def test_a_token_expires(tokens: Tokens, clock: Any) -> None:
    secret = tokens.create("guest", ["read"], days=0.5).secret
    clock.now += DAY_S / 2 - 1
    assert tokens.find_caller(secret) is not None
    clock.now += 1
    assert tokens.recall_caller(secret) is None
    assert tokens.find_caller(secret) is None


def test_what_was_looked_up_is_remembered_for_some_seconds(tokens: Tokens, token_rows: TokenRows, clock: Any) -> None:
    secret = tokens.create("laptop", ["read"]).secret
    assert tokens.recall_caller(secret) is None
    caller = tokens.find_caller(secret)
    assert tokens.recall_caller(secret) == caller
    token_rows.revoke("laptop")  # as another process would
    clock.now += REMEMBERED_S - 0.5
    assert tokens.recall_caller(secret) == caller
    clock.now += 0.5
    assert tokens.recall_caller(secret) is None
    assert tokens.find_caller(secret) is None


def test_a_clock_that_is_set_back_keeps_no_token_alive(token_rows: TokenRows, clock: Any) -> None:
    since_start = type(clock)(now=50.0)
    tokens = Tokens(token_rows, ServerSettings.model_validate({}), clock, since_start)
    kept, guest = tokens.create("kept", ["read"]), tokens.create("guest", ["read"], days=1)
    caller = tokens.find_caller(kept.secret)
    assert caller is not None and tokens.find_caller(guest.secret) is not None
    token_rows.revoke("kept")  # as another process would
    clock.now -= 3600
    since_start.now += REMEMBERED_S
    assert tokens.recall_caller(kept.secret) is None
    assert tokens.find_caller(kept.secret) is None
    assert not tokens.is_good(caller)
    since_start.now += DAY_S
    assert tokens.find_caller(guest.secret) is None, "a day has passed, whatever the clock says"


def test_a_token_that_this_process_revokes_ends_at_once(tokens: Tokens) -> None:
    secret = tokens.create("laptop", ["read"]).secret
    tokens.find_caller(secret)
    assert tokens.revoke("laptop")
    assert tokens.recall_caller(secret) is None
    assert tokens.find_caller(secret) is None
    assert not tokens.revoke("laptop")


def test_a_name_is_given_once(tokens: Tokens) -> None:
    tokens.create("laptop", ["read"])
    with pytest.raises(NameTaken, match="laptop"):
        tokens.create("laptop", ["write"])
    assert [row.scopes for row in tokens.all()] == [["read"]]


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", ".", "../x", "a\n", "é", "x" * 101])
def test_a_name_that_would_not_fit_an_address_is_refused(tokens: Tokens, name: str) -> None:
    with pytest.raises(BadInput, match="token name"):
        tokens.create(name, ["read"])
    assert tokens.all() == []


def test_wrong_scopes_and_days_are_refused(tokens: Tokens) -> None:
    unknown: Any = ["read", "root"]
    with pytest.raises(BadInput, match="unknown scope 'root'"):
        tokens.create("a", unknown)
    with pytest.raises(BadInput, match="no scope"):
        tokens.create("a", [])
    for days in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(BadInput, match="days"):
            tokens.create("a", SCOPES, days)


@pytest.mark.parametrize(
    ("hosts", "needed"),
    [("127.0.0.1 127.9.9.9 ::1 localhost", False), ("0.0.0.0 :: 192.168.1.2 pictures.example", True)],
)
def test_a_token_is_needed_as_soon_as_other_machines_can_call(token_rows: TokenRows, hosts: str, needed: bool) -> None:
    for host in hosts.split():
        assert Tokens(token_rows, ServerSettings.model_validate({"host": host})).needed is needed
