"""Rows of the tables as frozen dataclasses, which have the columns as fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable, Table

Row = TypeVar("Row")


def insert_rows(connection: Connection, table: Table, *rows: Any) -> None:
    """Writes rows; fields that are no columns (counts, say) are left out."""
    if rows:
        connection.execute(
            table.insert(), [{name: value for name, value in vars(row).items() if name in table.c} for row in rows]
        )


def select_rows(connection: Connection, kind: type[Row], query: Executable) -> list[Row]:
    """All rows that a query finds."""
    return [kind(**found) for found in connection.execute(query).mappings()]


def select_row(
    connection: Connection, kind: type[Row], query: Executable, given: Mapping[str, Any] | None = None
) -> Row | None:
    """The first row that a query finds, if any; `given`: values of its parameters."""
    found = connection.execute(query, dict(given or {})).mappings().first()
    return None if found is None else kind(**found)


def update_row(connection: Connection, table: Table, id: str, fields: Mapping[str, Any]) -> None:
    """Sets columns of one row; where there is no such row, nothing happens."""
    if fields:
        connection.execute(table.update().where(table.c.id == id).values(fields))
