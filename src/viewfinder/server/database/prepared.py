"""Statements of every turn, executed by the database's driver itself.

SQLAlchemy writes them once, for its dialect; executing one through it takes several times as long as the database does,
and every turn needs five.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import BindParameter, ClauseElement, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.selectable import ReturnsRows

Convert = Callable[[Any], Any]


class Prepared:
    """A statement in a dialect's words. Its values and rows are converted as SQLAlchemy would."""

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        written = statement.compile(dialect=dialect)
        self._dialect = dialect
        self._text = str(written)
        self._constants = dict(written.params)  # None for those to be given
        self._order: Sequence[str] | None = getattr(written, "positiontup", None)
        binds: Mapping[str, BindParameter[Any]] = getattr(written, "binds")  # noqa: B009 (of SQL alone)
        self._to_driver = _known(
            {name: binds[name].type.dialect_impl(dialect).bind_processor(dialect) for name in self._constants}
        )
        self._columns = list(statement.exported_columns) if isinstance(statement, ReturnsRows) else []
        self._names = [column.key for column in self._columns]
        self._from_driver: dict[str, Convert] | None = None

    def run(self, cursor: Any, given: Mapping[str, Any]) -> int:
        """Executes it on a driver's cursor; gives how many rows were changed, where the driver knows."""
        cursor.execute(self._text, self._values(given))
        return int(cursor.rowcount)

    def run_each(self, cursor: Any, many: Sequence[Mapping[str, Any]]) -> None:
        """Executes it once for each of these values, together where the driver can."""
        cursor.executemany(self._text, [self._values(given) for given in many])

    def first(self, cursor: Any, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """The first row that it finds, by the names of its columns."""
        self.run(cursor, given)
        rows = cursor.fetchall()  # to the end: what is read in part keeps SQLite from clearing its log
        if not rows:
            return None
        found = dict(zip(self._names, rows[0], strict=True))
        if self._from_driver is None:  # the driver says with the first row what type a column has there
            kinds = zip(self._columns, cursor.description, strict=True)
            self._from_driver = _known(
                {
                    column.key: column.type.dialect_impl(self._dialect).result_processor(self._dialect, told[1])
                    for column, told in kinds
                }
            )
        for name, convert in self._from_driver.items():
            found[name] = convert(found[name])
        return found

    def _values(self, given: Mapping[str, Any]) -> Mapping[str, Any] | Sequence[Any]:
        """By name or in order, as the driver takes them."""
        values = {**self._constants, **given}
        for name, convert in self._to_driver.items():
            values[name] = convert(values[name])
        return values if self._order is None else [values[name] for name in self._order]


def translate_driver_error(error: Exception, dialect: Dialect) -> Exception:
    """The error as SQLAlchemy would have raised it, without the statement and its values."""
    kind = dialect.loaded_dbapi.Error
    return DBAPIError.instance("", None, error, kind, hide_parameters=True, dialect=dialect)


def _known(processors: Mapping[str, Convert | None]) -> dict[str, Convert]:
    return {name: convert for name, convert in processors.items() if convert is not None}
