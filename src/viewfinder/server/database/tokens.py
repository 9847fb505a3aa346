"""Who may call: tokens, of which only hashes are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import or_, select
from sqlalchemy.exc import IntegrityError

from viewfinder.errors import BadInput
from viewfinder.server.database import rows
from viewfinder.server.database.engine import Database
from viewfinder.server.database.tables import TOKENS


@dataclass(frozen=True)
class TokenRow:
    """One token; `hash` is the sha256 of the secret in hexadecimal."""

    id: str
    name: str
    hash: str
    scopes: Sequence[str]
    created: float
    expires: float | None = None
    revoked: bool = False


class TokenRows:
    """The tokens in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, row: TokenRow) -> None:
        """A new token.

        Raises:
            BadInput: there is or was one of this name.
        """
        try:
            with self._database.writing() as connection:
                rows.insert_rows(connection, TOKENS, row)
        except IntegrityError as error:
            raise BadInput(
                f"there is, or was, a token called {row.name!r}: take another name, so that logs stay clear"
            ) from error

    def by_hash(self, hash: str) -> TokenRow | None:
        """The token of which this is the hash, be it live, expired or revoked."""
        with self._database.reading() as connection:
            return rows.select_row(connection, TokenRow, select(TOKENS).where(TOKENS.c.hash == hash))

    def all(self) -> list[TokenRow]:
        """All tokens, oldest first."""
        with self._database.reading() as connection:
            return rows.select_rows(connection, TokenRow, select(TOKENS).order_by(TOKENS.c.created, TOKENS.c.id))

    def revoke(self, name: str) -> bool:
        """Ends a token for good; whether there was a live one of this name."""
        live = TOKENS.update().where(TOKENS.c.name == name, TOKENS.c.revoked.is_(False))
        with self._database.writing() as connection:
            return connection.execute(live.values(revoked=True)).rowcount > 0

    def any_live(self, now: float) -> bool:
        """Whether any token is neither revoked nor expired."""
        lasts = or_(TOKENS.c.expires.is_(None), TOKENS.c.expires > now)
        with self._database.reading() as connection:
            query = select(TOKENS.c.id).where(TOKENS.c.revoked.is_(False), lasts).limit(1)
            return connection.execute(query).first() is not None
