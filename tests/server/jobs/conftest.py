"""A folder of many small pictures, and an empty library to add them to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from viewfinder.library import Library
from viewfinder.server.database import Database, JobRows
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import tiny_pictures

MANY, FEW = 340, 100
"""The first batch is of 64, no other of more than 256: after a stop in the first, some of many are left."""


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with two folders of pictures, `drawn` and `few`."""
    root = tmp_path_factory.mktemp("jobs") / "root"
    tiny_pictures(root / "drawn", MANY)
    tiny_pictures(root / "few", FEW)
    return root


@pytest.fixture
def empty(tmp_path: Path) -> Library:
    """A library without pictures."""
    return Library.open(tmp_path / "library")


@pytest.fixture
def job_rows(tmp_path: Path) -> Iterator[JobRows]:
    """The jobs of a database of its own."""
    database = Database.open(f"sqlite:///{tmp_path / 'server.sqlite3'}")
    yield JobRows(database)
    database.close()


@pytest.fixture
def any_job_rows(database: Database) -> JobRows:
    """The jobs of a database, once in SQLite and once in PostgreSQL."""
    return JobRows(database)


@pytest.fixture
def job_settings(many: Path) -> ServerSettings:
    """Pictures may be added from that root."""
    return ServerSettings(roots=(many,))
