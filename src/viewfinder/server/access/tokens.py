"""Callers, their scopes and their tokens. A token is shown once, when it is made; only its hash is stored."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from fastapi import Depends, Request

from viewfinder.errors import BadInput
from viewfinder.server.access.seals import TICKET, read_ticket
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.server.database import TokenRow, TokenRows
    from viewfinder.server.settings import ServerSettings

Scope = Literal["read", "write", "download", "tickets", "admin"]
"""read: look, search and talk, in conversations of one's own. write: upload images, delete and import conversations;
with read: take part in studies, keep albums and marks. download: with read, fetch the files themselves. tickets:
with read, make tokens that last minutes, for the browsers of visitors (`tickets`). admin: change the collection,
tokens, studies."""

SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True)
class Caller:
    """The token of a request (None: this machine, no token needed), its scopes, and its name for the log."""

    token: str | None
    scopes: frozenset[Scope]
    name: str | None = field(default=None, compare=False)

    @property
    def is_local(self) -> bool:
        """Whether this is this machine's own user, who needs no token."""
        return self.token is None

    def may_see(self, owner: str | None) -> bool:
        """Whether this caller may see the things that `owner` made: its own, or all with the scope admin."""
        return "admin" in self.scopes or owner == self.token

    def may_download(self, settings: ServerSettings) -> bool:
        """Whether this caller may fetch files of pictures: by its scope, or because the server gives them to all."""
        return settings.originals or "download" in self.scopes

    def check_download(self, settings: ServerSettings) -> None:
        """Raises Problem: 403, this caller may not fetch files of pictures."""
        if not self.may_download(settings):
            detail = (
                "this token has not the scope 'download': make one that has it, or start the server with --originals"
            )
            raise Problem(403, "no-originals", detail)


LOCAL = Caller(None, frozenset(SCOPES))


@dataclass(frozen=True)
class ScopeCheck:
    """A route's dependency: the caller that the access layer found (`request.state.caller`), if it has the scopes."""

    scopes: tuple[Scope, ...]

    async def __call__(self, request: Request) -> Caller:
        """Raises 401 or 403."""
        caller = getattr(request.state, "caller", None)
        if not isinstance(caller, Caller):
            detail = "this server wants a token: send it as `Authorization: Bearer TOKEN`"
            raise Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})
        for scope in self.scopes:
            if scope not in caller.scopes:
                raise Problem(403, "forbidden", f"this token has not the scope {scope!r}")
        return caller


Reader = Annotated[Caller, Depends(ScopeCheck(("read",)))]
Writer = Annotated[Caller, Depends(ScopeCheck(("write",)))]
ReaderWriter = Annotated[Caller, Depends(ScopeCheck(("read", "write")))]
"""For a route that writes and answers with what there is to read: a token that may only write must learn nothing."""
TicketMaker = Annotated[Caller, Depends(ScopeCheck(("read", "tickets")))]
Admin = Annotated[Caller, Depends(ScopeCheck(("admin",)))]


PREFIX = "vf_"
RANDOM_BYTES = 32
LENGTH = len(PREFIX) + 43
"""43 letters hold 32 bytes."""

MAX_REMEMBERED = 10_000
"""Tokens that are remembered at the same time."""

REMEMBERED_S = 5.0
"""Seconds for which a token is not looked up again: how long one that another process revoked may still be used."""

NAME = r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$"
"""Names go into addresses and tables."""

DAY_S = 86_400.0
MAX_DAYS = 36_500.0
MAX_MINUTES = 24 * 60
"""Of a ticket."""


@dataclass(frozen=True)
class NewToken:
    """A token just made: its row, and the secret, which is kept nowhere."""

    row: TokenRow
    secret: str


class Tokens:
    """The tokens of a server. `clock` gives seconds since 1970, `monotonic` those of a clock that is never set."""

    def __init__(
        self,
        rows: TokenRows,
        settings: ServerSettings,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rows, self._clock, self._monotonic = rows, clock, monotonic
        self._latest = clock(), monotonic()
        self._remembered: dict[str, tuple[Caller, float]] = {}  # hash -> caller, until when (monotonic)
        self.needed = settings.needs_tokens
        """Whether every request needs a token (`ServerSettings.needs_tokens`)."""

    def create(self, name: str, scopes: Iterable[str], days: float | None = None) -> NewToken:
        """A new token, good for `days` (None: until it is revoked).

        Raises:
            NameTaken: there is, or was, one of this name.
            BadInput: the name cannot be one, there is no scope or an unknown one, or no days.
        """
        from viewfinder.server.database import TokenRow

        given = set(scopes)
        _check_new_token(name, given, days)
        secret = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
        now = self._clock()
        row = TokenRow(
            str(uuid.uuid4()),
            name,
            hash_secret(secret),
            scopes=sorted(given, key=SCOPES.index),
            created=now,
            expires=None if days is None else now + days * DAY_S,
        )
        try:
            self.rows.create(row)
        except BadInput as error:  # all else was checked
            raise NameTaken(str(error)) from error
        return NewToken(row, secret)

    def find_caller(self, secret: str) -> Caller | None:
        """Finds the caller of a token; None if it is unknown, revoked or expired. Reads the database."""
        if secret.startswith(TICKET):
            return self._find_visitor(secret)
        if len(secret) != LENGTH or not secret.startswith(PREFIX):
            return None
        digest = hash_secret(secret)
        row = self.rows.by_hash(digest)
        if row is None or not hmac.compare_digest(row.hash, digest):
            return None
        left_s = self._count_seconds_left(row)
        if left_s <= 0:
            return None
        return self._remember(digest, _read_caller(row), left_s)

    def _find_visitor(self, secret: str) -> Caller | None:
        """The visitor with a ticket; None: it is not, or no more, good."""
        id, until = read_ticket(self.find_signing_key(), secret) or ("", 0)
        left_s = until - self.read_clock()
        caller = self.find_good(id) if left_s > 0 else None
        return None if caller is None else self._remember(hash_secret(secret), caller, left_s)

    def _remember(self, digest: str, caller: Caller, left_s: float) -> Caller:
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
        self._remembered[digest] = caller, self._monotonic() + min(REMEMBERED_S, left_s)
        return caller

    def is_good(self, caller: Caller) -> bool:
        """Whether the token of a caller is still neither revoked nor expired. Reads the database."""
        return caller.token is not None and self.find_good(caller.token) is not None

    def _count_seconds_left(self, row: TokenRow) -> float:
        """Seconds for which a token is still good; a clock that is set back makes them no more."""
        if row.revoked:
            return 0.0
        now = self.read_clock()
        return math.inf if row.expires is None else row.expires - now

    def read_clock(self) -> float:
        """Seconds since 1970; a clock that is set back stands still until then."""
        wall, since = self._latest
        passed = self._monotonic()
        now = max(self._clock(), wall + passed - since)
        self._latest = now, passed
        return now

    def find_good(self, token: str) -> Caller | None:
        """The caller whose token has this id; None if there is none, or it has ended. Reads the database."""
        row = self.rows.get(token)
        if row is None or self._count_seconds_left(row) <= 0:
            return None
        return _read_caller(row)

    def find_signing_key(self) -> bytes:
        """The key by which addresses are signed (`access.signatures`). Reads the database."""
        return self.rows.find_signing_key()

    def end_signatures(self) -> None:
        """Ends all addresses and tickets that were signed so far, whosever they are; tokens stay good."""
        self.rows.replace_signing_key()

    def recall_caller(self, secret: str) -> Caller | None:
        """The caller of a token that `find_caller` found some seconds ago, without the database; None: look it up."""
        caller, until = self._remembered.get(hash_secret(secret), (None, -math.inf))
        return caller if self._monotonic() < until else None

    def find_name(self, caller: Caller) -> str | None:
        """The name of a caller's token; None for this machine."""
        row = None if caller.token is None else self.rows.get(caller.token)
        return None if row is None else row.name

    def all(self) -> list[TokenRow]:
        """All tokens that were ever made, in the order of their names; without visitors."""
        return sorted(self.rows.all(), key=lambda row: row.name)

    def revoke(self, name: str) -> bool:
        """Ends a token and its tickets; False: there is no live one of that name."""
        revoked = self.rows.revoke(name)
        self._remembered.clear()
        return revoked


def _read_caller(row: TokenRow) -> Caller:
    return Caller(row.id, frozenset(scope for scope in SCOPES if scope in row.scopes), row.name)


class NameTaken(BadInput):
    """Another token has, or had, this name."""


def hash_secret(secret: str) -> str:
    """The hash that is stored of a token. As it has 256 random bits, no salt and no slow hash is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _check_new_token(name: str, scopes: set[str], days: float | None) -> None:
    if not re.fullmatch(NAME, name):
        raise BadInput(
            f"token name {name[:100]!r}: write at most 100 letters, digits and . _ @ - (a letter or digit first)"
        )
    unknown = sorted(scopes - set(SCOPES))
    if unknown or not scopes:
        what = f"unknown scope {unknown[0]!r}" if unknown else "no scope"
        raise BadInput(f"{what}: a token has one or more of {', '.join(SCOPES)}")
    if days is not None and not 0 < days <= MAX_DAYS:
        raise BadInput(f"days {days:g}: a token is good for more than 0 and at most {MAX_DAYS:g} days")
