"""The schema that the steps make is the one of `tables.py`, forth and back."""

from __future__ import annotations

from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, Integer, MetaData, Table, inspect, text

from viewfinder.server.database import Database, TokenRow, TokenRows
from viewfinder.server.database.engine import alembic_config, find_newest_step, has_newest_schema, upgrade_schema
from viewfinder.server.database.tables import METADATA


def described(connection: Connection) -> dict[str, Any]:
    """All that the database itself knows of our tables."""
    seen = inspect(connection)
    return {
        table: {
            "columns": [{**column, "type": repr(column["type"])} for column in seen.get_columns(table)],
            "key": seen.get_pk_constraint(table),
            "refers": seen.get_foreign_keys(table),
            "unique": sorted(map(repr, seen.get_unique_constraints(table))),
            "indexes": sorted(map(repr, seen.get_indexes(table))),
        }
        for table in seen.get_table_names()
        if table != "alembic_version"
    }


def test_the_steps_make_what_the_tables_say(database: Database) -> None:
    with database.writing() as connection:
        by_steps = described(connection)
        METADATA.drop_all(connection)
        METADATA.create_all(connection)
        assert by_steps == described(connection)
    assert set(by_steps) == set(METADATA.tables)


def test_alembic_finds_no_difference_and_would_find_one(database: Database) -> None:
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, METADATA) == []
        other = MetaData()
        Table("sessions", other, Column("id", Integer, primary_key=True))
        assert compare_metadata(context, other) != []


def test_all_steps_can_be_undone_and_done_again(database: Database) -> None:
    with database.writing() as connection:
        before = described(connection)
        command.downgrade(alembic_config(connection), "base")
        assert described(connection) == {}
        upgrade_schema(connection)
        assert described(connection) == before


def test_a_step_that_fails_halfway_leaves_everything_as_it_was(database: Database) -> None:
    TokenRows(database).create(TokenRow("t", "t", "t", [], 0.0))
    with pytest.raises(RuntimeError), database.writing() as connection:
        command.downgrade(alembic_config(connection), "base")
        raise RuntimeError
    assert [row.name for row in TokenRows(database).all()] == ["t"]


def test_a_schema_has_the_newest_step_unless_one_is_missing_or_unknown(database: Database) -> None:
    with database.writing() as connection:
        assert ScriptDirectory.from_config(alembic_config(connection)).get_heads() == [find_newest_step()]
        assert has_newest_schema(connection)
        command.downgrade(alembic_config(connection), "-1")
        assert not has_newest_schema(connection)
        upgrade_schema(connection)
        assert has_newest_schema(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        assert not has_newest_schema(connection)
        connection.execute(text("DROP TABLE alembic_version"))
        assert not has_newest_schema(connection)
