"""A database whose disk is full, and one that was written into."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg.errors
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

import viewfinder.library
from viewfinder.errors import DatabaseError, DiskFull
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.database import Database, SessionRow, SessionRows
from viewfinder.server.database import engine as module
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import load_colour_encoder, tiny_pictures


def have_no_room(database: Database) -> None:
    """From now on the file cannot grow: SQLite says what it says where a disk is full."""
    with database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    event.listen(database.engine, "connect", lambda connection, _: connection.execute(f"PRAGMA max_page_count={pages}"))
    database.engine.dispose()


def conversation(number: int) -> SessionRow:
    return SessionRow(f"{number:036}", None, "x" * 200, "composer", "none", {}, 5, 1.0, 1.0, False)


def test_a_full_disk_is_said_and_what_was_acknowledged_can_be_read(tmp_path: Path) -> None:
    database = Database.open(f"sqlite:///{tmp_path}/server.sqlite3")
    rows = SessionRows(database)
    have_no_room(database)
    kept: list[str] = []
    with pytest.raises(DiskFull, match="make room"):
        for number in range(10_000):
            rows.create(conversation(number))
            kept.append(f"{number:036}")
    assert kept and all(rows.get(id) is not None for id in kept)
    database.close()


def test_over_http_a_full_disk_is_507(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    tiny_pictures(tmp_path / "pictures", 3)
    library = Library.open(tmp_path / "library")
    library.add(tmp_path / "pictures", workers=1)
    app = create_app(library, ServerSettings(_env_file=None))
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50000)) as client:
        have_no_room(app.state.services.database)
        told = [client.post("/api/v1/sessions", json={"name": "x" * 200}) for _ in range(200)]
        full = next(answer for answer in told if answer.status_code != 201)
        assert (full.status_code, full.json()["type"]) == (507, "urn:viewfinder:problem:disk-full")
        assert str(tmp_path) not in full.text
        assert client.post("/api/v1/search", json={"text": "red"}).status_code == 200
        assert client.get("/api/v1/health/ready").status_code == 200


@pytest.mark.parametrize("full", [psycopg.errors.DiskFull("could not extend file"), OSError(errno.ENOSPC, "full")])
def test_what_other_databases_say_of_a_full_disk_is_understood(full: Exception) -> None:
    assert module._is_full(OperationalError("INSERT", {}, full))
    assert not module._is_full(OperationalError("INSERT", {}, sqlite3.OperationalError("locked")))


def random_head(content: bytearray) -> None:
    content[:100] = os.urandom(100)


def random_pages(content: bytearray) -> None:
    for at in range(4096, len(content), 4096):
        content[at : at + 200] = os.urandom(200)


def another_file(content: bytearray) -> None:
    content[:] = b"these are no conversations\n" * 100


@pytest.mark.parametrize("damage", [random_head, random_pages, another_file])
def test_a_damaged_file_is_said_in_one_line_with_what_to_do(tmp_path: Path, damage: Callable[..., Any]) -> None:
    file = tmp_path / "server.sqlite3"
    database = Database.open(f"sqlite:///{file}")
    for number in range(50):
        SessionRows(database).create(conversation(number))
    database.close()
    content = bytearray(file.read_bytes())
    damage(content)
    file.write_bytes(content)
    with pytest.raises(DatabaseError, match="is damaged") as caught:
        Database.open(f"sqlite:///{file}")
    said = str(caught.value)
    assert "\n" not in said
    assert str(file) in said and "move it and its lock file away" in said and "pictures are not in it" in said
    assert file.read_bytes() == bytes(content), "it is left as it is"


def test_an_emptied_database_whose_log_is_there_is_not_begun_anew_unasked(tmp_path: Path) -> None:
    file = tmp_path / "server.sqlite3"
    Database.open(f"sqlite:///{file}").close()
    file.write_bytes(b"")
    log = Path(f"{file}-wal")
    log.write_bytes(b"what was said last")
    with pytest.raises(DatabaseError, match="is empty, but has a log"):
        Database.open(f"sqlite:///{file}")
    assert log.read_bytes() == b"what was said last"


def test_a_database_that_is_gone_is_not_begun_anew_unasked(tmp_path: Path) -> None:
    file = tmp_path / "server.sqlite3"
    Database.open(f"sqlite:///{file}").close()
    file.unlink()
    with pytest.raises(DatabaseError, match="is gone, with its conversations and tokens"):
        Database.open(f"sqlite:///{file}")
    Path(f"{file}.lock").unlink()
    Database.open(f"sqlite:///{file}").close()


def test_damage_that_comes_while_it_is_open_is_said_without_a_path(tmp_path: Path) -> None:
    file = tmp_path / "server.sqlite3"
    database = Database.open(f"sqlite:///{file}")
    for number in range(200):
        SessionRows(database).create(conversation(number))
    database.close()
    content = bytearray(file.read_bytes())
    another_file(content)
    file.write_bytes(content)
    with pytest.raises(DatabaseError, match="is damaged") as caught:
        SessionRows(database).page(owner=None, everyone=True, count=5, cursor=None)
    assert str(tmp_path) not in str(caught.value)
