"""The server's persistent state: SQLite in the library's folder, or PostgreSQL by URL.

Stores work inside `reading()` or `writing()`. A writing transaction begins with the lock of the database (SQLite) or
takes the row locks it needs itself (PostgreSQL), so that what it reads stays true until it commits, even with other
threads and server processes.

The schema is brought up to date with the steps in `migrations/versions`. For a new step, copy the newest file there,
give it the next number, and change `tables.py` to match; a test keeps both equal.
"""

from __future__ import annotations

import errno
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from filelock import FileLock
from sqlalchemy import (
    URL,
    ClauseElement,
    Connection,
    Dialect,
    Engine,
    Executable,
    PoolProxiedConnection,
    Table,
    create_engine,
    event,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.selectable import ReturnsRows

from viewfinder.errors import BadInput, DatabaseError, DiskFull, ViewfinderError, advise_extra

if TYPE_CHECKING:
    from alembic.config import Config

_LOCK = 0x766965776669  # "viewfi": one number that all servers of a PostgreSQL database know


MIGRATIONS = Path(__file__).parent / "migrations"


class UnknownRevision(Exception):
    """The schema has a step that is not here: it was made by a later version."""


def upgrade_schema(connection: Connection, to: str = "head") -> None:
    """Runs the steps that are missing, in the transaction of `connection`: all of them or none.

    Raises:
        UnknownRevision: the schema is newer than this program.
    """
    if to == "head" and has_newest_schema(connection):
        return  # nearly always: and alembic is a twentieth of what a server imports before its first page
    from alembic import command
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    if connection.dialect.name == "postgresql":  # servers that start at once wait for one another
        connection.execute(text("SET LOCAL lock_timeout = '30s'"))  # a server that holds it longer hangs: an error
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    config = alembic_config(connection)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if not set(MigrationContext.configure(connection).get_current_heads()) <= known:
        raise UnknownRevision
    command.upgrade(config, to)


def has_newest_schema(connection: Connection) -> bool:
    """Whether the newest step that is here was the last one done, by what alembic keeps in the database."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    done = list(connection.scalars(text("SELECT version_num FROM alembic_version")))
    return done == [find_newest_step()]


def find_newest_step() -> str:
    """The revision of the newest file of `migrations/versions`: their names begin with it.

    >>> find_newest_step() > "0001"
    True
    """
    return max(file.name for file in (MIGRATIONS / "versions").glob("[0-9]*_*.py")).partition("_")[0]


def alembic_config(connection: Connection) -> Config:
    """The configuration of alembic, in place of an alembic.ini."""
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


BUSY_S = 30
"""How long a SQLite transaction waits for one of another process, and how long a PostgreSQL server may be silent."""

PATIENCE = {"connect_timeout": str(BUSY_S), "keepalives_idle": str(BUSY_S), "tcp_user_timeout": str(BUSY_S * 1000)}
"""`BUSY_S` as options of PostgreSQL's client; by default it would wait hours for a lost network."""

_BEGIN_WRITING = "BEGIN IMMEDIATE"
"""SQLite: the lock is taken at once."""

Row = TypeVar("Row")

_LOG = logging.getLogger("viewfinder.server")


# -- statements of every turn
# SQLAlchemy writes them once, for its dialect, and the driver executes them: every turn needs five, and through
# SQLAlchemy alone a turn over HTTP took 0.9 ms more, 6 % (2026-11-28, paired, 50,000 pictures).

Convert = Callable[[Any], Any]


class Prepared:
    """A statement in a dialect's words. Its values and rows are converted as SQLAlchemy would."""

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        written = statement.compile(dialect=dialect)
        assert isinstance(written, SQLCompiler)
        self._dialect = dialect
        self._text = str(written)
        self._constants = dict(written.params)  # None for those to be given
        self._order: Sequence[str] | None = written.positiontup
        self._to_driver = _drop_missing(
            {name: written.binds[name].type.dialect_impl(dialect).bind_processor(dialect) for name in self._constants}
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
            self._from_driver = _drop_missing(
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


def _drop_missing(processors: Mapping[str, Convert | None]) -> dict[str, Convert]:
    return {name: convert for name, convert in processors.items() if convert is not None}


class Database:
    """One open database, at the newest schema; for all threads."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writer = engine.execution_options(writes=True)
        self._aside: list[PoolProxiedConnection] = []
        self._is_sqlite = is_sqlite = engine.dialect.name == "sqlite"
        # A single statement needs no transaction: beginning and ending one takes as long as reading a row. In SQLite
        # none begins unless we begin it, and setting an isolation level would cost one more statement.
        alone: dict[str, Any] = {"begins": False} if is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        self._reader = engine.execution_options(**alone)
        # SQLite has one writer at a time and makes others poll; within one process they queue for this lock.
        self._line: AbstractContextManager[Any] = threading.RLock() if is_sqlite else nullcontext()

    @staticmethod
    def open(url: str) -> Database:
        """Opens a database and brings its schema up to date; of two processes that do so at once, one waits.

        `url`: `sqlite:///FILE` (the folder is made) or `postgresql://user:password@host/name`.

        Raises:
            DatabaseError: it cannot be reached, is no database, or was written by a later viewfinder. The one line
                never holds a password.
            DiskFull: there is no room for it.
        """
        parsed = _parse_url(url)
        try:
            database = Database(_make_engine(parsed))
        except (SQLAlchemyError, ImportError) as error:
            raise _explain_failure(parsed, error) from error
        try:
            with _lock_file(parsed):
                if parsed.drivername == "sqlite":
                    # Outside any transaction; stays with the file. Readers then never wait for the one who writes.
                    with closing(database.engine.raw_connection()) as connection:
                        connection.cursor().execute("PRAGMA journal_mode=WAL")
                with database._writer.begin() as transaction:
                    upgrade_schema(transaction)
        except (SQLAlchemyError, sqlite3.Error, OSError, UnknownRevision) as error:
            database.close()
            raise _explain_failure(parsed, error) from error
        return database

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads, and never waits for a writer."""
        return _begin(self.engine)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes; committed at the end, or undone by an error. Keep it short."""
        with self._line, _begin(self._writer) as connection:
            yield connection

    def prepare(self, statement: ClauseElement) -> Prepared:
        """A statement for `reading_prepared` and `writing_prepared`."""
        return Prepared(statement, self.engine.dialect)

    @contextmanager
    def reading_prepared(self) -> Iterator[Any]:
        """A cursor of the driver for one prepared statement that reads, outside any transaction."""
        with self._driver() as connection:
            if self._is_sqlite:
                yield connection.cursor()
                return
            driver: Any = connection.driver_connection
            driver.autocommit = True
            try:
                yield connection.cursor()
            finally:
                driver.autocommit = False

    @contextmanager
    def writing_prepared(self) -> Iterator[Any]:
        """A cursor of the driver for prepared statements, in a transaction like that of `writing`."""
        with self._line, self._driver() as connection:
            cursor = connection.cursor()
            if self._is_sqlite:
                cursor.execute(_BEGIN_WRITING)
            yield cursor
            connection.commit()  # without it, what was begun is undone when the connection is given back

    @contextmanager
    def _driver(self) -> Iterator[PoolProxiedConnection]:
        """A connection for one thread. Those to SQLite are kept aside: to take one from the pool is half of a read."""
        with _explain_failures():
            try:
                connection = self._take()
                went_well = False
                try:
                    yield connection
                    went_well = True
                finally:
                    if went_well and self._is_sqlite:
                        self._aside.append(connection)
                    else:
                        connection.close()
            except self.engine.dialect.loaded_dbapi.Error as error:
                raise translate_driver_error(error, self.engine.dialect) from error

    def _take(self) -> PoolProxiedConnection:
        """One that is kept, or of the pool: to a server that is down, that raises the driver's own error."""
        try:
            return self._aside.pop()
        except IndexError:
            return self.engine.raw_connection()

    def rows(self, kind: type[Row], query: Executable) -> list[Row]:
        """All rows that a query finds."""
        with _begin(self._reader) as connection:
            return [kind(**found) for found in connection.execute(query).mappings()]

    def row(self, kind: type[Row], query: Executable, given: Mapping[str, Any] | None = None) -> Row | None:
        """The first row that a query finds, if any; `given`: values of its parameters."""
        with _begin(self._reader) as connection:
            return select_row(connection, kind, query, given)

    def check(self) -> None:
        """Whether the database answers.

        Raises:
            DatabaseError: it does not.
        """
        with self.reading() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Closes all connections."""
        while self._aside:
            self._aside.pop().close()
        self.engine.dispose()


@contextmanager
def _begin(engine: Engine) -> Iterator[Connection]:
    """A transaction whose failures become ours."""
    with _explain_failures(), engine.begin() as connection:
        yield connection


@contextmanager
def _explain_failures() -> Iterator[None]:
    """Failures become ours, without the path, host or values in the driver's messages."""
    try:
        yield
    except (DataError, UnicodeEncodeError, OverflowError) as error:
        raise BadInput("this cannot be stored: a text with a character that is none, or a number too large") from error
    except IntegrityError:
        raise  # each store knows which of its rules was broken
    except (SQLAlchemyError, sqlite3.Error) as error:
        _LOG.error("database: %s", _write_in_one_line(error))
        if _is_full(error):
            raise DiskFull(
                "the disk of the server's database is full: make room; what was acknowledged is kept"
            ) from error
        if _is_damaged(error):
            raise DatabaseError("the server's database is damaged: restore a copy of it, or begin a new one") from error
        raise DatabaseError("the server's database does not answer; try again, the server's log says why") from error


def _parse_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise DatabaseError("this is no database URL: write sqlite:///FILE or postgresql://USER@HOST/NAME") from error
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "postgresql+psycopg"):
        raise DatabaseError(f"a {parsed.drivername} database is not supported: take sqlite:///FILE or postgresql://...")
    if parsed.drivername == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise DatabaseError("a server's database must be a file, not in memory: write sqlite:///FILE")
    return parsed


def _make_engine(url: URL) -> Engine:
    if url.drivername != "sqlite":
        # A connection that died while idle is noticed before it is used, and reopened.
        return create_engine(url.update_query_dict(PATIENCE | dict(url.query)), pool_pre_ping=True)
    engine = create_engine(url, connect_args={"timeout": BUSY_S})

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver begins no transactions behind our back
        connection.execute("PRAGMA foreign_keys=ON")
        # With WAL, commits survive a killed process; a power cut may lose the last moments, never the rest.
        connection.execute("PRAGMA synchronous=NORMAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if options.get("begins", True):
            # A transaction that reads first could not get the lock later to write: it takes it at once.
            statement = _BEGIN_WRITING if options.get("writes", False) else "BEGIN"
            connection.connection.cursor().execute(statement)  # by the driver: SQLAlchemy's own way takes twice as long

    return engine


@contextmanager
def _lock_file(url: URL) -> Iterator[None]:
    """Keeps other processes from preparing a SQLite file at the same time; PostgreSQL has an advisory lock for that."""
    if url.drivername != "sqlite":
        yield
        return
    assert url.database is not None
    file = Path(url.database)
    lock = Path(f"{file}.lock")  # stays beside the file
    if lock.exists() and not file.exists():
        raise DatabaseError(
            f"the database {file} is gone, with its conversations and tokens: restore a copy of it, or remove its lock "
            "file and a new one is begun"
        )
    log = Path(f"{file}-wal")
    if file.exists() and not file.stat().st_size and log.exists() and log.stat().st_size:
        # SQLite would take it for a new one, and delete the log.
        raise DatabaseError(
            f"the database {file} is empty, but has a log: restore a copy of it, or move both and its lock file "
            "away and a new one is begun; the library's pictures are not in it"
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)  # other users may not read conversations and token hashes
    with FileLock(lock, timeout=BUSY_S):
        yield


def _is_full(error: Exception) -> bool:
    """Whether the database's disk is full."""
    cause = getattr(error, "orig", None) or error
    return (
        getattr(cause, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL
        or getattr(cause, "sqlstate", None) == "53100"  # PostgreSQL's disk_full
        or getattr(cause, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    )


def _is_damaged(error: Exception) -> bool:
    """Whether the file is not a database, or was overwritten in part."""
    cause = getattr(error, "orig", None) or error
    return getattr(cause, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _explain_failure(url: URL, error: Exception) -> ViewfinderError:
    place = url.database if url.drivername == "sqlite" else f"postgresql://{url.host or ''}/{url.database or ''}"
    if isinstance(error, UnknownRevision):
        return DatabaseError(f"{place} was written by a later viewfinder: upgrade viewfinder to open it")
    if isinstance(error, ImportError):
        return DatabaseError(f"psycopg, which reaches PostgreSQL, is missing: {advise_extra('postgresql')}")
    if _is_full(error):
        return DiskFull(f"the database {place} cannot be opened, its disk is full: make room")
    if _is_damaged(error):
        return DatabaseError(
            f"the database {place} cannot be opened: {_write_in_one_line(error)}. It is damaged: restore a copy of it, "
            "or move it and its lock file away and a new one is begun; the library's pictures are not in it"
        )
    secrets = {url.password, *(value for key, value in url.query.items() if "password" in key)}
    said = _write_in_one_line(error)
    for secret in secrets:
        said = said.replace(str(secret), "***") if secret else said
    return DatabaseError(f"the database {place} cannot be opened: {said}")


def _write_in_one_line(error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    return " ".join(str(cause).split())


class RowStore(Generic[Row]):
    """Rows of one table as frozen dataclasses whose fields are its columns; for any number of threads and processes."""

    table: ClassVar[Table]
    row: type[Row]

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, row: Row) -> None:
        """A new row."""
        with self._database.writing() as connection:
            insert_rows(connection, self.table, row)

    def get(self, id: str) -> Row | None:
        """One row."""
        return self._database.row(self.row, select(self.table).where(self.table.c.id == id))

    def delete(self, id: str) -> bool:
        """Deletes a row, and what belongs to it; whether there was one."""
        with self._database.writing() as connection:
            return connection.execute(self.table.delete().where(self.table.c.id == id)).rowcount > 0


def insert_rows(connection: Connection, table: Table, *rows: Any) -> None:
    """Writes rows; fields that are no columns (counts, say) are left out."""
    if rows:
        connection.execute(
            table.insert(), [{name: value for name, value in vars(row).items() if name in table.c} for row in rows]
        )


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
