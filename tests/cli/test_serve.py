"""`viewfinder serve`: what it refuses, and a server that is started, asked, and ended as people do."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from viewfinder.cli import serve as verb
from viewfinder.errors import BadInput
from viewfinder.library import Library
from viewfinder.server import running
from viewfinder.server.monitoring import LEVEL
from viewfinder.server.settings import ServerSettings
from viewfinder.store.settings import write_settings

Start = Callable[..., subprocess.Popen[str]]
Run = Callable[..., Any]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of this machine on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


def _address(process: subprocess.Popen[str]) -> str:
    """Where a server that was started says it is; it answers from then on."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://[\w.:\[\]-]+/", line)
    assert found, f"{line!r}, then {process.communicate()}"
    return found[0]


def _ended(process: subprocess.Popen[str], by: int) -> tuple[int, str, str]:
    process.send_signal(by)
    out, complaints = process.communicate(timeout=120)  # its workers are nice: on a busy machine they end late
    return process.returncode, out, complaints


def test_a_port_in_use_is_said_in_one_line(taken: int) -> None:
    with pytest.raises(BadInput, match=f"port {taken} of 127.0.0.1 is in use"):
        running.open_listener("127.0.0.1", taken)


def test_a_model_that_first_searches_wait_for_is_told(viewfinder: Run, taken: int, tmp_path: Path) -> None:
    settings = Library.open(tmp_path / "library").settings
    write_settings(tmp_path / "library", replace(settings, encoder="owner/model"))
    serve = ("serve", "--library", tmp_path / "library", "--port", taken)
    assert "viewfinder: the encoder owner/model is loaded once the server answers" in viewfinder(*serve).err
    assert "owner/model" not in viewfinder(*serve, "--json").err


def test_a_server_looks_for_no_garbage_before_it_is_ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usual, found = gc.get_threshold(), list[int]()

    def run_server(*_: object, **__: object) -> int:
        found.append(gc.get_threshold()[0])
        return 0

    monkeypatch.setattr(running, "run_server", run_server)
    try:
        assert verb.serve_library(tmp_path, ServerSettings(_env_file=None)) == 0
    finally:
        gc.set_threshold(*usual)
    assert found == [verb.OBJECTS_OF_START] and found[0] > running.COLLECT_AFTER[0]


def test_a_name_of_no_address_is_refused() -> None:
    with pytest.raises(BadInput, match="no address of this machine has that name"):
        running.open_listener("nowhere.invalid", 0)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(BadInput, match=r"port 0 of 192\.0\.2\.1 cannot be had"):
        running.open_listener("192.0.2.1", 0)


@pytest.mark.parametrize(
    ("host", "begins"),
    [("127.0.0.1", "http://127.0.0.1:"), ("localhost", "http://localhost:"), ("::1", "http://[::1]:")],
)
def test_the_address_is_what_one_types_into_a_browser(host: str, begins: str) -> None:
    try:
        listener = running.open_listener(host, 0)
    except BadInput:
        pytest.skip(f"this machine has no {host}")
    with listener:
        address = running.address_shown(host, listener)
    assert address == f"{begins}{address[len(begins) : -1]}/"
    assert int(address[len(begins) : -1]) > 0


def test_another_host_than_this_machine_is_refused_until_there_is_a_token(viewfinder: Run, tmp_path: Path) -> None:
    library, database = tmp_path / "library", f"sqlite:///{tmp_path / 'tokens.sqlite3'}"
    settings = ServerSettings(host="0.0.0.0", database_url=database, _env_file=None)
    with pytest.raises(BadInput, match="viewfinder token add NAME --scope"):
        running.check_guarded(library, settings)
    from viewfinder.server.access.tokens import Tokens
    from viewfinder.server.database import Database, TokenRows

    opened = Database.open(database)
    Tokens(TokenRows(opened), settings).create("phone", ["read"])
    opened.close()
    running.check_guarded(library, settings)


def test_settings_come_from_options_first_then_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIEWFINDER_PORT", "9001")
    monkeypatch.setenv("VIEWFINDER_THREADS", "3")
    settings = verb.read_server_settings({"port": 9002})
    assert (settings.port, settings.threads, settings.host) == (9002, 3, "127.0.0.1")


def test_a_setting_that_cannot_be_is_named_by_where_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"^--port: input should be less than or equal to 65535, not 99999$"):
        verb.read_server_settings({"port": 99999})
    monkeypatch.setenv("VIEWFINDER_DEADLINE_S", "soon")
    with pytest.raises(BadInput, match=r"^the environment variable VIEWFINDER_DEADLINE_S: "):
        verb.read_server_settings({})


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    assert verb.check_roots([tmp_path / "."]) == [tmp_path]
    with pytest.raises(BadInput, match="there is no such folder"):
        verb.check_roots([tmp_path / "no"])


@pytest.mark.slow
def test_a_first_start_makes_the_library_if_told_to_and_serves_it_empty(program: Start, tmp_path: Path) -> None:
    process = program("serve", "--create", "--library", tmp_path / "new.vf", "--port", "0", "--json")
    told = json.loads(process.stdout.readline() if process.stdout else "")
    assert told["library"] == str(tmp_path / "new.vf")
    page = httpx.get(told["address"], timeout=60)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "server" not in page.headers
    assert "date" in page.headers
    assert httpx.get(f"{told['address']}api/v1/collection", timeout=60).json()["pictures"] == 0
    code, out, complaints = _ended(process, signal.SIGTERM)
    assert (code, out, complaints) == (0, "", "")


HELD = """
import sys, time
from pathlib import Path
from viewfinder.cli.app import run
from viewfinder.session.session import Session

take_turn, folder = Session.take_turn, Path(sys.argv.pop(1))
def held(self, turn):
    (folder / "begun").touch()
    while not (folder / "go on").exists():
        time.sleep(0.02)
    return take_turn(self, turn)
Session.take_turn = held
sys.exit(run(sys.argv[1:]))
"""
"""The program, whose searches say in a folder that they have begun, and wait there until they may go on."""


def _sent(address: str, request: str) -> socket.socket:
    """A request on a connection of its own, of which the answer is still to be read."""
    host, port = address.removeprefix("http://").rstrip("/").rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=120)
    connection.sendall(request.replace("\n", "\r\n").encode())
    return connection


def _answer(connection: socket.socket) -> str:
    """All that comes until the server closes."""
    with connection, connection.makefile("rb") as file:
        return file.read().decode()


@pytest.mark.slow
def test_sigterm_finishes_running_turns_and_ends_streams(indexed: Path, tmp_path: Path) -> None:
    patience = {"VIEWFINDER_SHUTDOWN_S": "240", "VIEWFINDER_DEADLINE_S": "240"}
    database = {"VIEWFINDER_DATABASE_URL": f"sqlite:///{tmp_path / 'server.sqlite3'}", LEVEL: "info", **patience}
    arguments = ["serve", "--library", str(indexed), "--port", "0", "--root", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-c", HELD, str(tmp_path), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **database},
    )
    try:
        address = _address(process)
        client = httpx.Client(base_url=f"{address}api/v1", timeout=60)
        session = client.post("/sessions", json={"questioner": "none"}).json()["id"]
        job = client.post("/collection/prepare", json={"retriever": "drilldown"}).json()["id"]
        client.post(f"/collection/jobs/{job}/pause")
        client.close()
        stream = _sent(address, f"GET /api/v1/collection/jobs/{job}/events HTTP/1.1\nHost: localhost\n\n")
        body = json.dumps({"say": "a very secret thing"})
        turn = _sent(
            address,
            f"POST /api/v1/sessions/{session}/turns HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"
            f"Content-Length: {len(body)}\n\n{body}",
        )
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        streamed = _answer(stream)  # it ends, so the signal has been heard
        (tmp_path / "go on").touch()
        turned = _answer(turn)
        code, _, log = _ended(process, signal.SIGTERM)
    finally:
        process.kill()
        process.communicate()
    assert turned.startswith("HTTP/1.1 201 ")
    assert json.loads(turned.split("\r\n\r\n", 1)[1])["results"]
    assert "event: job" in streamed
    assert streamed.endswith("0\r\n\r\n")  # ended, not cut off
    assert code == 0
    assert {"POST", "GET"} == {json.loads(line)["method"] for line in log.splitlines() if line.startswith("{")}
    assert "secret" not in log
    assert session not in log


@pytest.mark.slow
def test_ctrl_c_ends_it_as_asked(program: Start, library: Path) -> None:
    process = program("serve", "--library", library, "--port", "0")
    _address(process)
    code, _, complaints = _ended(process, signal.SIGINT)
    assert (code, complaints) == (0, "viewfinder: stopped\n")


def test_a_library_that_is_not_there_is_not_served(viewfinder: Run, tmp_path: Path) -> None:
    ended = viewfinder("serve", "--library", tmp_path / "typo.vf", "--port", "0")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"viewfinder: there is no library in {tmp_path / 'typo.vf'}")
    assert not (tmp_path / "typo.vf").exists()


@pytest.mark.slow
def test_a_server_that_cannot_start_says_why_in_one_line(viewfinder: Run, taken: int, library: Path) -> None:
    ended = viewfinder("serve", "--library", library, "--port", taken)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"viewfinder: port {taken} of 127.0.0.1 is in use")
    assert ended.err.count("\n") == 1


def test_a_database_that_cannot_be_had_is_said_in_one_line(library: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from viewfinder.cli import main; main()",
            "serve",
            "--library",
            str(library),
            "--port",
            "0",
        ],
        env={**os.environ, "VIEWFINDER_DATABASE_URL": "mysql://someone:secret@host/x"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("viewfinder: a mysql database is not supported") and "secret" not in line
