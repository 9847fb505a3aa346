"""A folder of many small pictures, and an empty library to add them to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import viewfinder.library
from viewfinder.library import Library
from viewfinder.server.database import Database, JobRows
from viewfinder.server.jobs import worker
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import load_colour_encoder, tiny_pictures

MANY, FEW = 600, 100
"""The first batch is of 16, no other of more than 256, and one is stored while the next is encoded: after a stop in the
first, some of many are left."""

COLOURS_WORKER = """
import sys, time
import viewfinder.library
from viewfinder.server.jobs.worker import main
from viewfinder.testing import ColourEncoder

class Unhurried(ColourEncoder):
    def pictures(self, batch, *, regions=False):
        time.sleep(0.004 * len(batch))
        return super().pictures(batch, regions=regions)

viewfinder.library.load_encoder = lambda name, head_file=None: Unhurried(name)
sys.exit(main())
"""
"""A worker (`viewfinder.server.jobs.worker`) that knows colours only, and takes a quarter of a second for a batch."""


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with two folders of pictures, `drawn` and `few`."""
    root = tmp_path_factory.mktemp("jobs") / "root"
    tiny_pictures(root / "drawn", MANY)
    tiny_pictures(root / "few", FEW)
    return root


@pytest.fixture
def colours_worker(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """How workers are started in this test: each is a real one, over a library of colours."""
    command = (sys.executable, "-c", COLOURS_WORKER)
    monkeypatch.setattr(worker, "COMMAND", command)
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    return command


@pytest.fixture
def empty(tmp_path: Path, colours_worker: tuple[str, ...]) -> Library:
    """A library of colours without pictures."""
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
