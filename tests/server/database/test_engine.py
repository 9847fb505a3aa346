"""Opening a database, transactions, and what is said when something fails."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert, literal, select, text

from tests.hostile.postgres import Postgres
from viewfinder.errors import BadInput, DatabaseError
from viewfinder.server.database import Database, TokenRow, TokenRows
from viewfinder.server.database.tables import JOBS, STUDIES

OPENS = """
import sys
from viewfinder.server.database import Database, TokenRow, TokenRows

sys.stdin.readline()
name = sys.argv[2]
TokenRows(Database.open(sys.argv[1])).create(TokenRow(name, name, name, [], 0.0))
"""


def token(name: str) -> TokenRow:
    return TokenRow(name, name, f"hash of {name}", ["read"], 1.0)


def test_what_was_written_is_there_when_the_database_is_opened_again(database: Database, database_url: str) -> None:
    TokenRows(database).create(token("phone"))
    database.close()
    again = Database.open(database_url)
    assert TokenRows(again).all() == [token("phone")]
    again.close()


def test_processes_that_open_a_new_database_at_once_make_it_once(database_url: str) -> None:
    names = ["one", "two"]
    command = [sys.executable, "-c", OPENS, database_url]
    started = [subprocess.Popen([*command, name], stdin=subprocess.PIPE, stderr=subprocess.PIPE) for name in names]
    for process in started:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    assert [(process.communicate()[1], process.returncode) for process in started] == [(b"", 0)] * 2
    database = Database.open(database_url)
    assert {row.name for row in TokenRows(database).all()} == set(names)
    database.close()


def test_a_failed_transaction_leaves_nothing(database: Database) -> None:
    rows = TokenRows(database)
    with pytest.raises(RuntimeError), database.writing() as connection:
        connection.execute(text("DELETE FROM tokens"))
        connection.execute(insert(STUDIES).values(id="s", name="s", plan={}, open=True, created=0.0))
        raise RuntimeError
    with database.reading() as connection:
        assert connection.execute(select(STUDIES)).all() == []
    assert rows.all() == []


def test_readers_do_not_wait_for_the_one_who_writes(database: Database) -> None:
    rows = TokenRows(database)
    with database.writing() as connection:
        connection.execute(text("UPDATE tokens SET revoked = false"))
        connection.execute(insert(STUDIES).values(id="s", name="s", plan={}, open=True, created=0.0))
        assert rows.all() == []


def test_increments_by_many_threads_are_all_counted(database: Database) -> None:
    """Each reads, then writes: in a transaction that began as a reader SQLite would refuse to, or one would be lost."""
    with database.writing() as connection:
        connection.execute(insert(JOBS).values(id="j", kind="add", what={}, state="queued", done=0, created=0.0))

    def increment() -> None:
        for _ in range(10):
            with database.writing() as connection:
                done = connection.execute(select(JOBS.c.done).with_for_update()).scalar_one()
                connection.execute(JOBS.update().values(done=done + 1))

    threads = [threading.Thread(target=increment) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.reading() as connection:
        assert connection.scalar(select(JOBS.c.done)) == 4 * 10


def test_documents_come_back_as_they_were_and_nothing_is_null(database: Database) -> None:
    what = {
        "folder": "été/\U0001f4f7",
        "nul": "\x00",
        "half": "\ud800",
        "list": [1, 2.5, None, True],
        "deep": {"a": {}},
    }
    values = {"id": "j", "kind": "add", "state": "queued", "done": 0, "created": 0.1 + 0.2}
    with database.writing() as connection:
        connection.execute(insert(JOBS).values(**values, what=what, report=None))
    with database.reading() as connection:
        assert connection.execute(select(JOBS.c.what, JOBS.c.created)).one() == (what, 0.1 + 0.2)
        assert connection.scalar(text("SELECT count(*) FROM jobs WHERE report IS NULL")) == 1


def test_half_a_character_cannot_be_stored_and_that_is_said(database: Database) -> None:
    with pytest.raises(BadInput, match="cannot be stored"):
        TokenRows(database).create(token("\ud800"))


def test_connections_that_the_server_dropped_are_made_again(database: Database, database_url: str) -> None:
    if database_url.startswith("sqlite"):
        pytest.skip("a file drops no connections")
    database.check()
    with psycopg.connect(database_url) as connection:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        dropped = connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}".encode())
        assert dropped.fetchall() == [(True,)]
    database.check()
    assert TokenRows(database).all() == []


def test_a_failure_is_said_without_the_drivers_words(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    said = "the server's database does not answer"
    with pytest.raises(DatabaseError, match=said) as caught, database.reading() as connection:
        connection.execute(text("SELECT secret FROM nowhere"))
    assert "nowhere" not in str(caught.value)
    assert "nowhere" in caplog.text


def test_a_file_that_is_gone_does_not_answer(tmp_path: Path) -> None:
    database = Database.open(f"sqlite:///{tmp_path}/server/a.db")
    database.check()
    database.close()  # an open file outlives its name
    shutil.rmtree(tmp_path / "server")
    with pytest.raises(DatabaseError, match="does not answer"):
        database.check()


def test_a_server_without_this_database_any_more_does_not_answer(postgres: Postgres) -> None:
    database = Database.open(postgres.make_database("passing"))
    with psycopg.connect(postgres.connection, autocommit=True) as connection:
        connection.execute("DROP DATABASE passing WITH (FORCE)")
    with pytest.raises(DatabaseError, match="does not answer"):
        database.check()
    database.close()


def test_a_server_that_is_down_does_not_answer_and_does_again_when_it_is_up(postgres: Postgres) -> None:
    database = Database.open(postgres.make_database("restarted"))
    one = database.prepare(select(literal(1).label("one")))
    used = {
        "reading": database.reading,
        "writing": database.writing,
        "reading_prepared": database.reading_prepared,
        "writing_prepared": database.writing_prepared,
    }
    for opened in used.values():  # each has a connection that dies
        with opened():
            pass
    postgres.stop()
    try:
        for name, opened in used.items():
            for _ in range(2):  # with a connection that died, and with none
                with pytest.raises(DatabaseError, match="does not answer"), opened():
                    pytest.fail(f"{name} gave something")
        with pytest.raises(DatabaseError, match="does not answer"):
            database.check()
    finally:
        postgres.start()
    with database.reading_prepared() as cursor:
        assert one.first(cursor, {}) == {"one": 1}
    with database.writing_prepared() as cursor:
        assert one.first(cursor, {}) == {"one": 1}
    database.close()


def test_without_psycopg_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DatabaseError, match=r"pip install 'viewfinder\[postgresql\]'"):
        Database.open("postgresql://me@127.0.0.1:1/name")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("viewfinder.db", "no database URL"),
        ("mysql://me:hush@host/name", "mysql database is not supported"),
        ("sqlite://", "must be a file"),
        ("sqlite:///:memory:", "must be a file"),
        ("postgresql://me:hush@127.0.0.1:1/name", "postgresql://127.0.0.1/name cannot be opened: connection"),
        ("postgresql://127.0.0.1:1/name?password=hush", "postgresql://127.0.0.1/name cannot be opened"),
        ("postgresql://127.0.0.1:1/name?unheard=of", "cannot be opened"),
        ("sqlite:////dev/null/viewfinder.db", "/dev/null/viewfinder.db cannot be opened"),
    ],
)
def test_a_database_that_cannot_be_opened_is_named_in_one_line_without_the_password(url: str, said: str) -> None:
    with pytest.raises(DatabaseError, match=said) as caught:
        Database.open(url)
    assert "hush" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("buy milk and, if there is any, bread\n" * 100)
    with pytest.raises(DatabaseError, match=r"notes\.txt cannot be opened: file is not a database"):
        Database.open(f"sqlite:///{file}")
    assert file.read_text().startswith("buy milk")


def test_a_database_of_a_later_version_is_left_alone(database: Database, database_url: str) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DatabaseError, match="by a later viewfinder: upgrade"):
        Database.open(database_url)


def test_a_busy_database_is_waited_for(tmp_path: Path) -> None:
    """Another process holds the lock for a moment: the write waits and succeeds."""
    database = Database.open(f"sqlite:///{tmp_path}/a.db")
    holder = sqlite3.connect(tmp_path / "a.db", isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    threading.Timer(0.2, lambda: holder.execute("COMMIT")).start()
    TokenRows(database).create(token("phone"))
    assert not holder.in_transaction
    holder.close()
    database.close()


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    Database.open(f"sqlite:///{tmp_path}/deep/er/a.db").close()
    assert oct((tmp_path / "deep" / "er" / "a.db").stat().st_mode & 0o777) == oct(0o600)


def test_what_a_killed_process_committed_is_kept(database_url: str) -> None:
    program = """
import os, signal, sys
from viewfinder.server.database import Database, TokenRow, TokenRows
rows = TokenRows(Database.open(sys.argv[1]))
for number in range(100):
    rows.create(TokenRow(str(number), str(number), str(number), [], 0.0))
    print(number, flush=True)
    if number == 20:
        os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", program, database_url], stdout=subprocess.PIPE, check=False)
    database = Database.open(database_url)
    kept = {row.name for row in TokenRows(database).all()}
    assert kept == set(killed.stdout.decode().split()) == {str(number) for number in range(21)}
    database.close()
