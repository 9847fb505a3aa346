"""What people found: data to learn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, tuple_

from viewfinder.server.database import rows
from viewfinder.server.database.engine import Database
from viewfinder.server.database.tables import FEEDBACK

BATCH = 200


@dataclass(frozen=True)
class FeedbackRow:
    """The `picture` that was meant, its `rank` (from 1) after turn `node`, and the talk as it was then."""

    id: str
    owner: str | None
    session: str
    node: int
    picture: str
    rank: int | None
    retriever: str
    conversation: Mapping[str, Any]
    at: float


class FeedbackRows:
    """The feedback in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, row: FeedbackRow) -> None:
        """Notes what was found."""
        with self._database.writing() as connection:
            rows.insert_rows(connection, FEEDBACK, row)

    def all(self) -> Iterator[FeedbackRow]:
        """All of it, oldest first, in batches: whoever reads slowly holds no transaction open."""
        oldest_first = select(FEEDBACK).order_by(FEEDBACK.c.at, FEEDBACK.c.id).limit(BATCH)
        query = oldest_first
        while True:
            with self._database.reading() as connection:
                batch = rows.select_rows(connection, FeedbackRow, query)
            yield from batch
            if len(batch) < BATCH:
                return
            query = oldest_first.where(tuple_(FEEDBACK.c.at, FEEDBACK.c.id) > tuple_(batch[-1].at, batch[-1].id))
