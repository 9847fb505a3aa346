"""The page on operating: a backup taken while people talk, restored elsewhere, is the same; an earlier version refuses.

Its commands for PostgreSQL are run as they stand; those for SQLite also in tests/test_docs.py, as one script.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import make_url

from tests.hostile.postgres import Postgres
from viewfinder.library import Library
from viewfinder.testing import tiny_pictures

PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")
PAGE = Path(__file__).parents[3] / "docs" / "operating.md"

pytestmark = pytest.mark.slow


def blocks_of(kind: str) -> list[str]:
    """The blocks of commands on the page."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run(script: str, home: Path, **settings: str) -> None:
    (home / "bin").mkdir(exist_ok=True)
    for name, program in (("python", f"{sys.executable} "), ("viewfinder", f"{sys.executable} -m viewfinder ")):
        (home / "bin" / name).write_text(f'#!/bin/sh\nexec {program}"$@"\n')
        (home / "bin" / name).chmod(0o755)
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=home, env={**os.environ, "HOME": str(home), "PATH": path, **settings},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person's folder with pictures and a library of them; tests leave it as it is."""
    home = tmp_path_factory.mktemp("backups")
    tiny_pictures(home / "Pictures", 12)
    Library.open(home / "pictures.vf").add(home / "Pictures", workers=1)
    return home


@contextmanager
def serving(library: Path, **settings: str) -> Iterator[httpx.Client]:
    """A real server, asked by a client."""
    command = [*PROGRAM, "serve", "--library", str(library), "--port", "0", "--json"]
    server = subprocess.Popen(
        command, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line, server.communicate()[1]
        with httpx.Client(base_url=json.loads(line)["address"], timeout=60) as client:
            yield client
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=120)


def talk(client: httpx.Client, *said: str) -> str:
    """A conversation; gives its id."""
    id = str(client.post("/api/v1/sessions", json={"questioner": "none"}).json()["id"])
    for words in said:
        assert client.post(f"/api/v1/sessions/{id}/turns", json={"say": words}).status_code == 201
    return id


def said_in(client: httpx.Client, id: str) -> list[Any]:
    found = client.get(f"/api/v1/sessions/{id}")
    assert found.status_code == 200, found.text
    return [node["turn"] for node in found.json()["tree"] if node["turn"] is not None]


@contextmanager
def people_talking(client: httpx.Client) -> Iterator[list[str]]:
    """Somebody begins one conversation after another meanwhile; gives those that are whole."""
    over, begun = threading.Event(), list[str]()

    def go_on() -> None:
        while not over.is_set():
            begun.append(talk(client, "red", "blue"))

    talker = threading.Thread(target=go_on)
    talker.start()
    try:
        yield begun
    finally:
        over.set()
        talker.join()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_taken_while_people_talk_is_restored_beside_what_is_there(
    kind: str, made: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home = tmp_path
    Library.open(home / "pictures.vf").add(made / "Pictures", workers=1)
    before, after = dict[str, str](), dict[str, str]()
    if kind == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        url = server.make_database(f"backed_up_{os.getpid()}")
        before = {"VIEWFINDER_DATABASE_URL": url}
        restored = make_url(url).set(database="restored").render_as_string(hide_password=False)
        after = {"VIEWFINDER_DATABASE_URL": restored}
    [back_up, restore, _], [dump, load] = blocks_of("sh"), blocks_of("bash")
    commands = [line for line in back_up.replace("\\\n", " ").splitlines() if not line.startswith("viewfinder serve")]
    if kind == "postgresql":
        commands = [dump if line.startswith("python -c") else line for line in commands]
    with serving(home / "pictures.vf", **before) as client:
        kept = talk(client, "red", "green")
        with people_talking(client) as begun:
            run("\n".join(commands), home, **before)
        later = talk(client, "blue")
        assert len(begun) > 0
        whole = said_in(client, kept)

    lines = [line for line in restore.splitlines() if not line.startswith("viewfinder serve")]
    if kind == "postgresql":
        lines = [line for line in lines if "server.sqlite3" not in line] + [load]
    run("\n".join(lines), home, **before, RESTORED_DATABASE_URL=after.get("VIEWFINDER_DATABASE_URL", ""))
    with serving(home / "restored" / "pictures.vf", **after) as client:
        assert said_in(client, kept) == whole
        assert client.get(f"/api/v1/sessions/{later}").status_code == 404
        assert client.get("/api/v1/collection").json()["pictures"] == 12
        assert talk(client, "white")
    with serving(home / "pictures.vf", **before) as client:  # what was there is as it was
        assert said_in(client, later)


def test_an_earlier_version_refuses_a_later_database_and_leaves_it_as_it_is(made: Path, tmp_path: Path) -> None:
    library = tmp_path / "pictures.vf"
    Library.open(library)
    with serving(library):
        pass
    file = library / "server" / "server.sqlite3"
    with closing(sqlite3.connect(file)) as later:
        later.execute("UPDATE alembic_version SET version_num = '9999'")
        later.execute("CREATE TABLE only_later (id INTEGER)")
        later.commit()
    done = subprocess.run(
        [*PROGRAM, "serve", "--library", str(library), "--port", "0"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "was written by a later viewfinder" in done.stderr
    assert "written by a later" in PAGE.read_text(encoding="utf-8")
    with closing(sqlite3.connect(file)) as later:
        assert later.execute("SELECT version_num FROM alembic_version").fetchall() == [("9999",)]
        assert later.execute("SELECT count(*) FROM only_later").fetchall() == [(0,)]
