"""Jobs, tokens, uploads: plain rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.exc import IntegrityError

from viewfinder.errors import BadInput
from viewfinder.server.database.engine import Store, select_row, update_row
from viewfinder.server.database.tables import JOBS, TOKENS, UPLOADS


@dataclass(frozen=True)
class JobRow:
    """One job: `what` it is about, how far it is, and what came of it."""

    id: str
    kind: str
    what: Mapping[str, Any]
    state: str
    created: float
    done: int = 0
    total: int | None = None
    report: Mapping[str, Any] | None = None
    error: str | None = None
    started: float | None = None
    ended: float | None = None


class JobRows(Store[JobRow]):
    """The jobs in a database."""

    table, row = JOBS, JobRow

    def page(self, count: int) -> list[JobRow]:
        """The newest jobs, newest first."""
        newest_first = select(JOBS).order_by(JOBS.c.created.desc(), JOBS.c.id.desc())
        return self._database.rows(JobRow, newest_first.limit(count))

    def change(self, id: str, /, *, only_if: Collection[str] | None = None, **fields: Any) -> JobRow | None:
        """Sets columns; gives the job as it is then, or None where there is none.

        `only_if`: states; nothing is changed where the job is in another by now (look at the state that is given).
        """
        with self._database.writing() as connection:
            one = select(JOBS).where(JOBS.c.id == id).with_for_update()
            row = select_row(connection, JobRow, one)
            if row is None or (only_if is not None and row.state not in only_if):
                return row
            update_row(connection, JOBS, id, fields)
            return select_row(connection, JobRow, one)

    def take_next(self, at: float) -> JobRow | None:
        """Takes the oldest queued job and marks it as running; no two callers get the same job."""
        oldest = select(JOBS).where(JOBS.c.state == "queued").order_by(JOBS.c.created, JOBS.c.id).limit(1)
        with self._database.writing() as connection:
            row = select_row(connection, JobRow, oldest.with_for_update(skip_locked=True))
            if row is None:
                return None
            update_row(connection, JOBS, row.id, {"state": "running", "started": at})
            return select_row(connection, JobRow, select(JOBS).where(JOBS.c.id == row.id))

    def unfinished(self) -> list[JobRow]:
        """The jobs that are queued, running or paused, oldest first."""
        waiting = JOBS.c.state.in_(("queued", "running", "paused"))
        return self._database.rows(JobRow, select(JOBS).where(waiting).order_by(JOBS.c.created, JOBS.c.id))


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


class TokenRows(Store[TokenRow]):
    """The tokens in a database."""

    table, row = TOKENS, TokenRow

    def create(self, row: TokenRow) -> None:
        """A new token.

        Raises:
            BadInput: there is or was one of this name.
        """
        try:
            super().create(row)
        except IntegrityError as error:
            raise BadInput(
                f"there is, or was, a token called {row.name!r}: take another name, so that logs stay clear"
            ) from error

    def by_hash(self, hash: str) -> TokenRow | None:
        """The token of which this is the hash, be it live, expired or revoked."""
        return self._database.row(TokenRow, select(TOKENS).where(TOKENS.c.hash == hash))

    def all(self) -> list[TokenRow]:
        """All tokens, oldest first."""
        return self._database.rows(TokenRow, select(TOKENS).order_by(TOKENS.c.created, TOKENS.c.id))

    def revoke(self, name: str) -> bool:
        """Ends a token for good; whether there was a live one of this name."""
        live = TOKENS.update().where(TOKENS.c.name == name, TOKENS.c.revoked.is_(False))
        with self._database.writing() as connection:
            return connection.execute(live.values(revoked=True)).rowcount > 0

    def any_live(self, now: float) -> bool:
        """Whether any token is neither revoked nor expired."""
        lasts = or_(TOKENS.c.expires.is_(None), TOKENS.c.expires > now)
        live = select(TOKENS).where(TOKENS.c.revoked.is_(False), lasts).limit(1)
        return self._database.row(TokenRow, live) is not None


@dataclass(frozen=True)
class UploadRow:
    """One upload; two of the same content share the file `picture`."""

    id: str
    owner: str | None
    picture: str
    bytes: int
    width: int
    height: int
    created: float


class UploadRows(Store[UploadRow]):
    """The uploads in a database; their files lie elsewhere, named by the hash of their content."""

    table, row = UPLOADS, UploadRow

    def oldest_beyond(self, count: int, owner: str | None) -> list[UploadRow]:
        """What `owner` has beyond the newest `count`, oldest first."""
        mine = select(UPLOADS).where(UPLOADS.c.owner.is_not_distinct_from(owner))
        newest_first = mine.order_by(UPLOADS.c.created.desc(), UPLOADS.c.id.desc())
        return self._database.rows(UploadRow, newest_first.offset(count))[::-1]

    def pictures(self) -> set[str]:
        """The files that any upload needs."""
        with self._database.reading() as connection:
            return set(connection.scalars(select(UPLOADS.c.picture)))
