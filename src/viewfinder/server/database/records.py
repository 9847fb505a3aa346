"""Jobs, tokens, uploads; studies with people: plans, participants and their trials. Plain rows."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.exc import IntegrityError

from viewfinder.errors import BadInput, UnknownName
from viewfinder.server.database.engine import RowStore, insert_rows, select_row, update_row
from viewfinder.server.database.tables import (
    JOBS,
    PARTICIPANTS,
    SESSIONS,
    SIGNING_KEYS,
    STUDIES,
    TOKENS,
    TRIALS,
    UPLOADS,
)


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


class JobRows(RowStore[JobRow]):
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


OF_VISITORS = "~"
"""Stands in the names of visitors with tickets, "shop~5f0c…", and in none that a person can give to a token."""

ADDRESSES = "addresses"
"""The name of the key that signs them."""


def _visitors_of(name: str) -> ColumnElement[bool]:
    return TOKENS.c.name.startswith(name + OF_VISITORS, autoescape=True)


class TokenRows(RowStore[TokenRow]):
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
        """All tokens, oldest first; without visitors."""
        of_people = select(TOKENS).where(~TOKENS.c.name.contains(OF_VISITORS))
        return self._database.rows(TokenRow, of_people.order_by(TOKENS.c.created, TOKENS.c.id))

    def revoke(self, name: str) -> bool:
        """Ends a token for good, and those of its visitors; whether there was a live one of this name."""
        live = TOKENS.update().where(TOKENS.c.revoked.is_(False)).values(revoked=True)
        with self._database.writing() as connection:
            connection.execute(live.where(_visitors_of(name)))
            return connection.execute(live.where(TOKENS.c.name == name)).rowcount > 0

    def keep_visitor(self, row: TokenRow) -> None:
        """Writes a visitor; of one that is there already, only until when their tickets hold, if that is longer."""
        longer = TOKENS.update().where(TOKENS.c.id == row.id, TOKENS.c.expires < row.expires)
        try:
            super().create(row)
        except IntegrityError:
            with self._database.writing() as connection:
                connection.execute(longer.values(expires=row.expires))

    def count_visitors(self, name: str) -> int:
        """How many visitors the token of this name has."""
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).where(_visitors_of(name))) or 0

    def delete_visitors(self, before: float) -> None:
        """Forgets the visitors whose tickets ended before that time, and their conversations."""
        ended = select(TOKENS.c.id).where(TOKENS.c.name.contains(OF_VISITORS), TOKENS.c.expires < before)
        with self._database.writing() as connection:
            connection.execute(SESSIONS.delete().where(SESSIONS.c.owner.in_(ended)))
            connection.execute(TOKENS.delete().where(TOKENS.c.id.in_(ended)))

    def find_signing_key(self) -> bytes:
        """The key by which addresses are signed; a database that has lost it gets another."""
        named = select(SIGNING_KEYS.c.secret).where(SIGNING_KEYS.c.name == ADDRESSES)
        with self._database.reading() as connection:
            secret = connection.scalar(named)
        return self.replace_signing_key() if secret is None else bytes.fromhex(secret)

    def replace_signing_key(self) -> bytes:
        """Makes another key: no address that was signed before is good any more."""
        secret = secrets.token_bytes(32)
        with self._database.writing() as connection:
            connection.execute(SIGNING_KEYS.delete().where(SIGNING_KEYS.c.name == ADDRESSES))
            connection.execute(SIGNING_KEYS.insert().values(name=ADDRESSES, secret=secret.hex(), made=time.time()))
        return secret

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


class UploadRows(RowStore[UploadRow]):
    """The uploads in a database; their files lie elsewhere, named by the hash of their content."""

    table, row = UPLOADS, UploadRow

    def oldest_beyond(self, count: int, owner: str | None) -> list[UploadRow]:
        """The uploads of `owner` beyond the newest `count`, oldest first."""
        mine = select(UPLOADS).where(UPLOADS.c.owner.is_not_distinct_from(owner))
        newest_first = mine.order_by(UPLOADS.c.created.desc(), UPLOADS.c.id.desc())
        return self._database.rows(UploadRow, newest_first.offset(count))[::-1]

    def pictures(self) -> set[str]:
        """The files that any upload needs."""
        with self._database.reading() as connection:
            return set(connection.scalars(select(UPLOADS.c.picture)))


@dataclass(frozen=True)
class StudyRow:
    """One study; `open`: whether people may take part."""

    id: str
    name: str
    plan: Mapping[str, Any]
    open: bool
    created: float


@dataclass(frozen=True)
class ParticipantRow:
    """One who takes part: the `number` (1, 2, 3 ...) and the text that was agreed to."""

    id: str
    study: str
    number: int
    consent: str
    at: float


@dataclass(frozen=True)
class TrialRow:
    """One search for one target; `ranks`: [best, worst] after each round."""

    id: str
    participant: str
    number: int
    arm: int
    target: str
    session: str | None = None
    outcome: str | None = None
    chosen: str | None = None
    started: float | None = None
    ended: float | None = None
    ranks: Sequence[Sequence[int]] = ()


class StudyRows(RowStore[StudyRow]):
    """The studies in a database, with participants and trials."""

    table, row = STUDIES, StudyRow

    def all(self) -> list[StudyRow]:
        """All studies, newest first."""
        return self._database.rows(StudyRow, select(STUDIES).order_by(STUDIES.c.created.desc(), STUDIES.c.id.desc()))

    def close(self, id: str) -> bool:
        """Closes a study for new participants; whether there is such a study."""
        with self._database.writing() as connection:
            return connection.execute(STUDIES.update().where(STUDIES.c.id == id).values(open=False)).rowcount > 0

    def add_participant(self, study: str, consent: str, at: float) -> ParticipantRow:
        """One more, with the next number: none is left out or given twice, however many come at once.

        Raises:
            UnknownName: there is no such study.
            BadInput: the study is closed.
        """
        with self._database.writing() as connection:
            # Holds the study's row, so that those who come at the same time are numbered one after another.
            is_open = connection.scalar(select(STUDIES.c.open).where(STUDIES.c.id == study).with_for_update())
            if is_open is None:
                raise UnknownName(f"there is no study {study}")
            if not is_open:
                raise BadInput("this study is closed: nobody else can take part")
            so_far = connection.scalar(select(func.count()).where(PARTICIPANTS.c.study == study)) or 0
            row = ParticipantRow(str(uuid.uuid4()), study, so_far + 1, consent, at)
            insert_rows(connection, PARTICIPANTS, row)
        return row

    def participant(self, id: str) -> ParticipantRow | None:
        """One who takes part."""
        return self._database.row(ParticipantRow, select(PARTICIPANTS).where(PARTICIPANTS.c.id == id))

    def participants(self, study: str) -> list[ParticipantRow]:
        """All who take part, by number."""
        query = select(PARTICIPANTS).where(PARTICIPANTS.c.study == study).order_by(PARTICIPANTS.c.number)
        return self._database.rows(ParticipantRow, query)

    def add_trials(self, trials: Sequence[TrialRow]) -> None:
        """New trials: all of them or none."""
        with self._database.writing() as connection:
            insert_rows(connection, TRIALS, *trials)

    def trials(self, participant: str) -> list[TrialRow]:
        """The trials of one participant, in order."""
        return self._database.rows(
            TrialRow, select(TRIALS).where(TRIALS.c.participant == participant).order_by(TRIALS.c.number)
        )

    def change_trial(self, id: str, /, **fields: Any) -> TrialRow | None:
        """Sets columns; gives the trial as it is then, or None where there is none."""
        with self._database.writing() as connection:
            update_row(connection, TRIALS, id, fields)
            return select_row(connection, TrialRow, select(TRIALS).where(TRIALS.c.id == id))

    def trials_of(self, study: str) -> list[TrialRow]:
        """All trials of a study, by participant and number."""
        of_study = select(TRIALS).join(PARTICIPANTS).where(PARTICIPANTS.c.study == study)
        return self._database.rows(TrialRow, of_study.order_by(PARTICIPANTS.c.number, TRIALS.c.number))
