"""Tokens in the database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from viewfinder.errors import BadInput
from viewfinder.server.database import Database, TokenRow, TokenRows


def token(name: str, expires: float | None = None) -> TokenRow:
    return TokenRow(f"id of {name}", name, f"hash of {name}", ["read", "write"], 1.0, expires)


@pytest.fixture
def tokens(database: Database) -> TokenRows:
    return TokenRows(database)


def test_a_token_is_found_by_its_hash_also_when_it_is_revoked(tokens: TokenRows) -> None:
    tokens.create(token("phone"))
    tokens.create(token("laptop", expires=9.5))
    assert tokens.by_hash("hash of laptop") == token("laptop", expires=9.5)
    assert tokens.by_hash("hash of nothing") is None
    assert tokens.revoke("phone")
    assert tokens.by_hash("hash of phone") == replace(token("phone"), revoked=True)
    assert [row.name for row in tokens.all()] == ["laptop", "phone"]  # same age: by id


def test_a_name_is_given_once_and_for_all(tokens: TokenRows) -> None:
    tokens.create(token("phone"))
    tokens.revoke("phone")
    with pytest.raises(BadInput, match="a token called 'phone': take another name"):
        tokens.create(replace(token("phone"), id="other", hash="other"))
    assert len(tokens.all()) == 1


def test_only_a_live_token_can_be_revoked(tokens: TokenRows) -> None:
    tokens.create(token("phone"))
    assert [tokens.revoke("phone"), tokens.revoke("phone"), tokens.revoke("laptop")] == [True, False, False]


def test_a_token_lives_until_it_expires_or_is_revoked(tokens: TokenRows) -> None:
    assert not tokens.any_live(0.0)
    tokens.create(token("phone", expires=10.0))
    assert (tokens.any_live(9.9), tokens.any_live(10.0)) == (True, False)
    tokens.create(token("laptop"))
    assert tokens.any_live(10.0)
    tokens.revoke("laptop")
    assert not tokens.any_live(10.0)
