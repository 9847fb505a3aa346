"""`viewfinder token` beside a server that runs: it says when the server looks for its tokens elsewhere."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from viewfinder.library import Library
from viewfinder.server.serving import ServingNote, explain_other_database, name_database, note_folders, read_notes

Run = Callable[..., Any]
Program = Callable[..., "subprocess.Popen[str]"]
ADD = ("token", "add", "ada", "--scope", "read")


def told_by(server: subprocess.Popen[str]) -> dict[str, str]:
    """What a server says once it answers."""
    assert server.stdout is not None
    told: dict[str, str] = json.loads(server.stdout.readline())
    return told


def serve(program: Program, library: Path) -> tuple[subprocess.Popen[str], str]:
    server = program("serve", "--library", library, "--port", 0, "--json")
    return server, told_by(server)["address"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A library with no picture in it."""
    Library.open(tmp_path / "mine.vf")
    return tmp_path / "mine.vf"


@pytest.mark.slow
def test_a_token_for_another_database_than_the_servers_is_warned_of_and_does_not_open_it(
    viewfinder: Run, program: Program, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIEWFINDER_DATABASE_URL", f"sqlite:///{tmp_path / 'talks.sqlite3'}")
    monkeypatch.setenv("VIEWFINDER_TOKENS_ALWAYS", "1")
    first = viewfinder("token", "add", "first", "--scope", "read", "--library", home)
    server, address = serve(program, home)

    def status_with(secret: str) -> int:
        headers = {"Authorization": f"Bearer {secret.strip()}"}
        return httpx.get(f"{address}api/v1/collection", headers=headers, timeout=60).status_code

    assert status_with(first.out) == 200
    same = viewfinder(*ADD, "--library", home)
    assert status_with(same.out) == 200
    assert "note" not in same.err

    monkeypatch.delenv("VIEWFINDER_DATABASE_URL")
    other = viewfinder(*ADD, "--library", home)
    assert (other.code, other.out[:3], status_with(other.out)) == (0, "vf_", 401)
    [warning] = [line for line in other.err.splitlines() if "note: " in line]
    for part in (address, "server.sqlite3", f"sqlite:///{tmp_path / 'talks.sqlite3'}", "VIEWFINDER_DATABASE_URL"):
        assert part in warning
    for verb in (("token", "list"), ("token", "revoke", "ada"), ("token", "end-addresses")):
        said = viewfinder(*verb, "--library", home, "--json")
        assert warning in said.err
        assert warning not in said.out

    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=120)
    assert "note" not in viewfinder("token", "list", "--library", home).err
    assert [list(folder.glob("*")) for folder in note_folders(home)] == [[], []]


@pytest.mark.slow
def test_a_token_for_another_library_than_the_one_served_is_warned_of(
    viewfinder: Run, program: Program, home: Path, tmp_path: Path
) -> None:
    Library.open(tmp_path / "served.vf")
    server, address = serve(program, tmp_path / "served.vf")
    [warning] = [line for line in viewfinder(*ADD, "--library", home).err.splitlines() if "note: " in line]
    assert address in warning
    assert f"--library {tmp_path / 'served.vf'}" in warning
    server.kill()  # its notes stay, and are seen to be those of no server
    server.wait()
    assert "note" not in viewfinder("token", "list", "--library", home).err
    assert read_notes(note_folders(tmp_path / "served.vf")) == []


def test_a_note_holds_no_credentials_and_a_database_has_one_name_however_it_is_written() -> None:
    written = (
        "postgresql://ada:secret@localhost/talks", "postgresql+psycopg://bob@127.0.0.1:5432/talks",
        "postgresql://ada:secret@/talks?host=localhost&sslmode=require",
    )  # fmt: skip
    assert {name_database(url) for url in written} == {"postgresql://localhost:5432/talks"}
    assert name_database("postgresql://ada@db/talks") != name_database("postgresql://ada@db:5433/talks")
    assert name_database("postgresql://ada@/talks?host=/run/postgresql") == "postgresql:///run/postgresql:5432/talks"


def test_a_server_of_another_machine_counts_and_is_named(tmp_path: Path) -> None:
    """In a container, or on another machine with the library on a network disk: whether it still runs is not known."""
    note = ServingNote("container-7", 1, 1.0, "http://pictures:8008/", str(tmp_path), "postgresql://db:5432/talks")
    folder, _ = note_folders(tmp_path)
    folder.mkdir(parents=True)
    (folder / "container-7-1.json").write_text(json.dumps(asdict(note)))
    said = explain_other_database(tmp_path, f"sqlite:///{tmp_path / 'server' / 'server.sqlite3'}") or ""
    assert "container-7" in said
    assert "postgresql://db:5432/talks" in said
    assert explain_other_database(tmp_path, "postgresql://ada:secret@db/talks") is None


@pytest.mark.parametrize("bad", ["", "{", "[]", "null", '{"host": 3}', "[" * 5000, '{"host": "' + "a" * 50_000 + '"}'])
def test_what_is_no_note_is_none(tmp_path: Path, bad: str) -> None:
    (tmp_path / "x.json").write_text(bad)
    assert read_notes([tmp_path]) == []


def test_another_process_of_the_same_number_is_not_the_server(tmp_path: Path) -> None:
    here = psutil.Process()
    note = ServingNote(socket.gethostname(), here.pid, here.create_time(), "http://a/", "/l", "sqlite:////l/s")
    assert note.runs
    assert not replace(note, began=note.began - 60).runs
    assert not replace(note, process=2**22 + 1).runs
