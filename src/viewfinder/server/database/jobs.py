"""Work that takes longer than a request: adding pictures, preparing a retriever."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from viewfinder.server.database import rows
from viewfinder.server.database.engine import Database
from viewfinder.server.database.tables import JOBS


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


class JobRows:
    """The jobs in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, row: JobRow) -> None:
        """A new job."""
        with self._database.writing() as connection:
            rows.insert_rows(connection, JOBS, row)

    def get(self, id: str) -> JobRow | None:
        """One job."""
        with self._database.reading() as connection:
            return rows.select_row(connection, JobRow, select(JOBS).where(JOBS.c.id == id))

    def page(self, count: int) -> list[JobRow]:
        """The newest jobs, newest first."""
        query = select(JOBS).order_by(JOBS.c.created.desc(), JOBS.c.id.desc()).limit(count)
        with self._database.reading() as connection:
            return rows.select_rows(connection, JobRow, query)

    def change(self, id: str, /, *, only_if: Collection[str] | None = None, **fields: Any) -> JobRow | None:
        """Sets columns; gives the job as it is then, or None where there is none.

        `only_if`: states; nothing is changed where the job is in another by now (look at the state that is given).
        """
        with self._database.writing() as connection:
            one = select(JOBS).where(JOBS.c.id == id).with_for_update()
            row = rows.select_row(connection, JobRow, one)
            if row is None or (only_if is not None and row.state not in only_if):
                return row
            rows.update_row(connection, JOBS, id, fields)
            return rows.select_row(connection, JobRow, one)

    def take_next(self, at: float) -> JobRow | None:
        """The oldest job that is queued, which is running from now on; no job is given to two who ask at once."""
        oldest = select(JOBS).where(JOBS.c.state == "queued").order_by(JOBS.c.created, JOBS.c.id).limit(1)
        with self._database.writing() as connection:
            row = rows.select_row(connection, JobRow, oldest.with_for_update(skip_locked=True))
            if row is None:
                return None
            rows.update_row(connection, JOBS, row.id, {"state": "running", "started": at})
            return rows.select_row(connection, JobRow, select(JOBS).where(JOBS.c.id == row.id))

    def unfinished(self) -> list[JobRow]:
        """The jobs that are queued, running or paused, oldest first."""
        waiting = JOBS.c.state.in_(("queued", "running", "paused"))
        with self._database.reading() as connection:
            return rows.select_rows(connection, JobRow, select(JOBS).where(waiting).order_by(JOBS.c.created, JOBS.c.id))
