"""Tickets: tokens for the browsers of visitors, good for minutes, which a program with the scope `tickets` hands out.

What a page sends to everybody is no secret, so no token that lasts belongs into one. A ticket may only read. Each
visitor is a caller of their own, with conversations and limits of their own, and stays the same one with the next
ticket. The secret is signed and not stored, so that each tab can have one; the visitor is a row among the tokens.
"""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from viewfinder.server.access.seals import write_ticket
from viewfinder.server.access.tokens import Caller, Scope, hash_secret
from viewfinder.server.database import OF_VISITORS, TokenRow
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Tokens

MAX_VISITORS = 100_000
"""Of one token, at the same time: so many rows are no burden."""

KEPT_S = 86_400.0
"""Seconds for which a visitor's conversations are kept after the last ticket."""

TICKET_SCOPES: frozenset[Scope] = frozenset({"read"})
_VISITORS = uuid.UUID("6f1d6a4e-52c1-4d0a-9f0e-0c5a6e0f7b11")


@dataclass(frozen=True)
class Ticket:
    """A ticket just made: its secret, whose it is, and until when it is good (seconds since 1970)."""

    secret: str
    visitor: str
    until: int


def make_ticket(tokens: Tokens, caller: Caller, visitor: str | None, minutes: float) -> Ticket:
    """A ticket of a caller's token, for a visitor that it has had before, or (None) for a new one.

    It ends with that token. Raises Problem: 429, the token has too many visitors.
    """
    row = None if caller.token is None else tokens.rows.get(caller.token)
    name = "" if row is None else row.name
    now = tokens.read_clock()
    until = now + 60 * minutes if row is None or row.expires is None else min(now + 60 * minutes, row.expires)
    visitor = visitor or secrets.token_urlsafe(16)
    id = str(uuid.uuid5(_VISITORS, f"{caller.token or ''}\n{visitor}"))
    known = tokens.rows.get(id)
    if known is None:
        tokens.rows.delete_visitors(now - KEPT_S)
        if tokens.rows.count_visitors(name) >= MAX_VISITORS:
            detail = f"{MAX_VISITORS:,} visitors have tickets of this token: hand out fewer, or shorter ones"
            raise Problem(429, "too-many-requests", detail, headers={"Retry-After": "600"})
        # No secret has this hash: secrets begin otherwise.
        hash = hash_secret(f"ticket {id}")
        known = TokenRow(id, f"{name}{OF_VISITORS}{id}", hash, sorted(TICKET_SCOPES), now, until)
        tokens.rows.keep_visitor(known)
    elif until > (known.expires or 0):
        tokens.rows.keep_visitor(replace(known, expires=until))
    return Ticket(write_ticket(tokens.find_signing_key(), id, int(until)), visitor, int(until))
