"""Prepared statements do what SQLAlchemy does with them, in both databases."""

from __future__ import annotations

import time
import uuid

import pytest
from sqlalchemy import bindparam, select
from sqlalchemy.exc import IntegrityError

from viewfinder.errors import BadInput, DatabaseError
from viewfinder.server.database import Database, SessionRow, SessionRows
from viewfinder.server.database.tables import SESSIONS

FOUND = select(SESSIONS).where(SESSIONS.c.id == bindparam("session"))


@pytest.fixture
def row(database: Database) -> SessionRow:
    """A conversation in the database, with a document, a truth and no owner."""
    made = SessionRow(
        str(uuid.uuid4()), None, "100 % \u00fc", "composer", "none", {"colour": "red"}, 50, time.time(), 2.0, True, 0.25
    )
    SessionRows(database).create(made)
    return made


def test_a_row_is_what_sqlalchemy_finds(database: Database, row: SessionRow) -> None:
    with database.reading_prepared() as cursor:
        found = database.prepare(FOUND).first(cursor, {"session": row.id})
    assert found is not None
    assert SessionRow(**found) == database.row(SessionRow, FOUND, {"session": row.id}) == row
    assert isinstance(found["hidden"], bool)


def test_nothing_found_is_none(database: Database) -> None:
    with database.reading_prepared() as cursor:
        assert database.prepare(FOUND).first(cursor, {"session": "nobody"}) is None


def test_what_an_error_interrupts_is_undone(database: Database, row: SessionRow) -> None:
    rename = database.prepare(SESSIONS.update().where(SESSIONS.c.id == row.id).values(name=bindparam("called")))
    with pytest.raises(RuntimeError, match="no more"), database.writing_prepared() as cursor:
        assert rename.run(cursor, {"called": "other"}) == 1
        raise RuntimeError("no more")
    assert SessionRows(database).get(row.id) == row
    with database.writing_prepared() as cursor:
        assert rename.run(cursor, {"called": "other"}) == 1
    found = SessionRows(database).get(row.id)
    assert found is not None
    assert found.name == "other"


def test_errors_of_the_driver_are_those_of_sqlalchemy_or_ours(database: Database, row: SessionRow) -> None:
    again = database.prepare(SESSIONS.insert())
    values = {name: value for name, value in vars(row).items() if name in SESSIONS.c}
    with pytest.raises(IntegrityError), database.writing_prepared() as cursor:
        again.run_each(cursor, [values])
    with pytest.raises(BadInput), database.writing_prepared() as cursor:
        again.run(cursor, values | {"id": "other", "name": "\ud800"})
    with pytest.raises(DatabaseError, match="does not answer"), database.reading_prepared() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")
