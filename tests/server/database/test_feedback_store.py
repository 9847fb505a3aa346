"""Feedback in the database."""

from __future__ import annotations

import pytest

from viewfinder.server.database import Database, FeedbackRow, FeedbackRows
from viewfinder.server.database import sessions as module


def found(id: str, at: float, rank: int | None = 3) -> FeedbackRow:
    return FeedbackRow(id, None, "a talk", 2, "p", rank, "composer", {"turns": [{"say": "a dog"}]}, at)


@pytest.mark.parametrize("batch", [1, 2, 3, 200])
def test_all_feedback_comes_once_oldest_first_in_batches_of_any_size(
    database: Database, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(module, "BATCH", batch)
    rows = FeedbackRows(database)
    assert list(rows.all()) == []
    given = [found("c", 1.0), found("a", 2.0, None), found("b", 2.0), found("d", 2.5)]
    for row in reversed(given):
        rows.create(row)
    assert list(rows.all()) == given


def test_who_stops_reading_holds_nothing_up(database: Database) -> None:
    rows = FeedbackRows(database)
    rows.create(found("a", 1.0))
    left = rows.all()
    assert next(left) == found("a", 1.0)
    rows.create(found("b", 2.0))
    assert "Checked out connections: 0" in database.engine.pool.status()
