"""Tickets: what a shop hands to the browsers of its visitors in the place of its own token."""

from __future__ import annotations

from typing import Any

import pytest

from viewfinder.server.access import tickets
from viewfinder.server.access.signatures import Signer, open_address
from viewfinder.server.access.tickets import KEPT_S, make_ticket
from viewfinder.server.access.tokens import DAY_S, LOCAL, Caller, Tokens
from viewfinder.server.database import SessionRow, SessionRows, TokenRows
from viewfinder.server.problems import Problem

MINUTE_S = 60


def find_shop(tokens: Tokens, name: str = "shop", **how: Any) -> Caller:
    caller = tokens.find_caller(tokens.create(name, ["read", "tickets"], **how).secret)
    assert caller is not None
    return caller


def test_a_ticket_may_read_for_its_minutes_and_nothing_else(tokens: Tokens, clock: Any) -> None:
    made = make_ticket(tokens, find_shop(tokens), None, 15)
    found = tokens.find_caller(made.secret)
    assert found is not None and found.scopes == {"read"}
    clock.now += 15 * MINUTE_S - 1
    assert tokens.find_caller(made.secret) == found
    clock.now += 1
    assert tokens.find_caller(made.secret) is None
    assert tokens.recall_caller(made.secret) is None


def test_a_visitor_stays_the_same_with_the_next_ticket_and_another_is_somebody_else(tokens: Tokens, clock: Any) -> None:
    shop = find_shop(tokens)
    first = make_ticket(tokens, shop, None, 15)
    clock.now += MINUTE_S
    second, other = make_ticket(tokens, shop, first.visitor, 15), make_ticket(tokens, shop, None, 15)
    who = [tokens.find_caller(made.secret) for made in (first, second, other)]
    assert first.secret != second.secret and who[0] == who[1] != who[2]
    elsewhere = make_ticket(tokens, find_shop(tokens, "another"), first.visitor, 15)
    assert tokens.find_caller(elsewhere.secret) not in who, "visitors of one token are none of another"


def test_a_shorter_ticket_takes_nothing_from_a_longer_one(tokens: Tokens, clock: Any) -> None:
    shop = find_shop(tokens)
    long = make_ticket(tokens, shop, "ada", 60)
    make_ticket(tokens, shop, "ada", 1)
    clock.now += 30 * MINUTE_S
    assert tokens.find_caller(long.secret) is not None


def test_tickets_end_with_the_token_that_made_them(tokens: Tokens, token_rows: TokenRows, clock: Any) -> None:
    short = make_ticket(tokens, find_shop(tokens, "short", days=10 * MINUTE_S / DAY_S), None, 60)
    assert short.until == clock.now + 10 * MINUTE_S
    shop, namesake = find_shop(tokens), find_shop(tokens, "shop_2")
    ended, stays = make_ticket(tokens, shop, None, 15), make_ticket(tokens, namesake, None, 15)
    assert tokens.revoke("shop")
    assert tokens.find_caller(ended.secret) is None
    assert tokens.find_caller(stays.secret) is not None
    tokens.end_signatures()
    assert Tokens(token_rows, _settings(), clock, clock).find_caller(stays.secret) is None


def _settings() -> Any:
    from viewfinder.server.settings import ServerSettings

    return ServerSettings.model_validate({})


@pytest.mark.parametrize("change", [lambda it: it[:-1], lambda it: it[:-1] + "\n", lambda it: it + "A", str.upper])
def test_a_ticket_that_was_changed_is_none(tokens: Tokens, change: Any) -> None:
    made = make_ticket(tokens, find_shop(tokens), None, 15)
    assert tokens.find_caller(change(made.secret)) is None


def test_nobody_makes_a_ticket_longer_or_another_visitors(tokens: Tokens) -> None:
    shop = find_shop(tokens)
    one, other = make_ticket(tokens, shop, None, 15), make_ticket(tokens, shop, None, 15)
    id, until, mac = one.secret.removeprefix("vft_").split(".")
    for forged in (f"vft_{id}.{int(until) + 1}.{mac}", f"vft_{other.secret[4:40]}.{until}.{mac}"):
        assert tokens.find_caller(forged) is None


def test_an_address_of_a_visitors_picture_is_no_ticket_and_ends_with_it(tokens: Tokens, clock: Any) -> None:
    made = make_ticket(tokens, find_shop(tokens), None, 15)
    visitor = tokens.find_caller(made.secret)
    assert visitor is not None and visitor.token is not None
    path, _, query = Signer(tokens, visitor).sign("/api/v1/pictures/p1/thumbnail").partition("?")
    assert tokens.find_caller("vft_" + query.removeprefix("signature=")) is None
    assert open_address(tokens, path, query.encode()) is not None
    clock.now += 15 * MINUTE_S
    assert open_address(tokens, path, query.encode()) is None


def test_visitors_are_not_listed_and_are_forgotten_a_day_later(
    tokens: Tokens, token_rows: TokenRows, clock: Any
) -> None:
    shop, database = find_shop(tokens), token_rows._database
    gone = tokens.find_caller(make_ticket(tokens, shop, None, 15).secret)
    assert gone is not None
    assert [row.name for row in tokens.all()] == ["shop"]
    assert (tokens.find_name(gone) or "").startswith("shop~"), "logs say whose visitor it was"
    sessions = SessionRows(database)
    for id, owner in (("theirs", gone.token), ("ours", shop.token)):
        sessions.create(SessionRow(id, owner, "", "composer", "none", {}, 24, 0, 0, hidden=False))
    clock.now += 15 * MINUTE_S + KEPT_S + 1
    make_ticket(tokens, shop, None, 15)
    assert token_rows.get(gone.token or "") is None
    assert (sessions.get("theirs"), sessions.get("ours") is not None) == (None, True)
    assert token_rows.count_visitors("shop") == 1


def test_one_token_cannot_fill_the_database(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tickets, "MAX_VISITORS", 2)
    shop = find_shop(tokens)
    for name in ("ada", "eve", "ada"):
        make_ticket(tokens, shop, name, 15)
    with pytest.raises(Problem, match="visitors have tickets"):
        make_ticket(tokens, shop, "joe", 15)


def test_a_program_of_this_machine_can_hand_out_tickets_without_a_token(tokens: Tokens) -> None:
    found = tokens.find_caller(make_ticket(tokens, LOCAL, None, 15).secret)
    assert found is not None and found.token is not None
