"""Brings the schema up to date, with the steps in `migrations/versions`.

A new step: copy the newest file there, give it the next number, and change `tables.py` alike; a test holds both equal.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text

if TYPE_CHECKING:
    from alembic.config import Config

_LOCK = 0x766965776669  # "viewfi": one number that all servers of a PostgreSQL database know


class UnknownRevision(Exception):
    """The schema has a step that is not here: it was made by a later version."""


def upgrade_schema(connection: Connection, to: str = "head") -> None:
    """Runs the steps that are missing, in the transaction of `connection`: all of them or none.

    Raises:
        UnknownRevision: the schema is newer than this program.
    """
    from alembic import command

    _wait_for_others(connection)
    _check_known(connection)
    command.upgrade(alembic_config(connection), to)


def alembic_config(connection: Connection) -> Config:
    """What alembic needs to know; there is no alembic.ini."""
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    folder = Path(__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _wait_for_others(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL lock_timeout = '30s'"))  # whoever holds it longer hangs: it is said
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def _check_known(connection: Connection) -> None:
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    known = {script.revision for script in ScriptDirectory.from_config(alembic_config(connection)).walk_revisions()}
    if not set(MigrationContext.configure(connection).get_current_heads()) <= known:
        raise UnknownRevision
