"""`viewfinder serve --workers 2`: real processes on one port, over SQLite and over PostgreSQL."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.hostile.attack import Client, Server, run_program
from tests.hostile.postgres import Postgres
from tests.waiting import wait_until
from viewfinder.testing import tiny_pictures

pytestmark = [pytest.mark.slow, pytest.mark.afresh]

FORM_TYPE = "multipart/form-data; boundary=x-x-x"
FORM = b'--x-x-x\r\nContent-Disposition: form-data; name="file"; filename="mine.png"\r\n\r\n%s\r\n--x-x-x--\r\n'
SAID = ("something red", "over blue", "not green", "brighter")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of 40 drawings, and a folder of more."""
    home = tmp_path_factory.mktemp("workers")
    tiny_pictures(home / "pictures", 40)
    tiny_pictures(home / "more" / "drawn", 56)
    code, _, complaints = run_program("add", home / "pictures", "--library", home / "library")
    assert code == 0, complaints
    return home


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def database(request: pytest.FixtureRequest, home: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{home / 'server.sqlite3'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.make_database("workers")


@pytest.fixture(scope="module")
def server(home: Path, database: str) -> Iterator[Server]:
    """Two workers."""
    options = ("--workers", 2, "--root", home / "more")
    with Server(home / "library", *options, env={"VIEWFINDER_DATABASE_URL": database}) as server:
        yield server


def workers(server: Server) -> list[psutil.Process]:
    """The processes that serve, the oldest first."""
    found = []
    for child in psutil.Process(server.process.pid).children():
        with suppress(psutil.Error):  # it has just died
            if "viewfinder.server.workers" in " ".join(child.cmdline()):
                found.append(child)
    return sorted(found, key=lambda child: child.create_time())


def client_of(server: Server, worker: psutil.Process, patience_s: float = 60) -> Client:
    """Somebody whose connection one worker has accepted, as soon as it does."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        client = server.client()
        assert client.ask("GET", "/version").status == 200
        ours = client._connection.sock.getsockname()[1]
        if any(held.raddr and held.raddr.port == ours for held in worker.net_connections()):
            return client
        client.close()
    raise AssertionError("a worker accepts no connection")


def job_is_done(client: Client, job: str) -> bool:
    return bool(client.ask("GET", f"/collection/jobs/{job}").json["state"] == "done")


def has_pictures(client: Client, count: int) -> bool:
    return bool(client.ask("POST", "/pictures/browse", {}).json["total"] == count)


def talked(clients: list[Client]) -> list[Any]:
    """A conversation whose requests go to one after another: what it came to, without its ids and times."""
    turn = iter(range(1000))

    def ask(method: str, path: str, body: object = None) -> Any:
        answer = clients[next(turn) % len(clients)].ask(method, path, body)
        assert answer.status < 300, answer.text
        return answer.json if answer.headers["content-type"] == "application/json" else answer.text

    id = ask("POST", "/sessions", {"n": 8})["id"]
    seen: list[Any] = []
    for text in SAID:
        said = ask("POST", f"/sessions/{id}/turns", {"say": text})
        # Two looks: one at the worker that chooses the question, and one at the other.
        events = [ask("GET", f"/sessions/{id}/turns/{said['turn']}/events") for _ in clients]
        questions = [re.findall(r"event: question\r\ndata: (.*)\r\n", text) for text in events]
        assert all(question == questions[0] for question in questions)
        looked = ask("GET", f"/sessions/{id}/turns/{said['turn']}")
        seen.append((said["results"], said["verdict"], said["beliefs"], questions[0], looked["results"]))
    exported = ask("GET", f"/sessions/{id}/export")
    return [*seen, exported["name"], exported["conversation"]["turns"]]


def test_a_conversation_that_alternates_between_workers_is_that_of_one(server: Server) -> None:
    clients = [client_of(server, worker) for worker in workers(server)]
    assert len(clients) == 2
    together, alone = talked(clients), talked(clients[:1])
    assert together == alone


def test_an_upload_is_seen_by_all(server: Server, home: Path) -> None:
    one, other = (client_of(server, worker) for worker in workers(server))
    image = next((home / "pictures").glob("*.png")).read_bytes()
    upload = one.ask("POST", "/uploads", raw=FORM % image, headers={"Content-Type": FORM_TYPE}).json["id"]
    assert other.ask("GET", f"/uploads/{upload}/thumbnail").status == 200
    id = other.ask("POST", "/sessions", {}).json["id"]
    said = other.ask("POST", f"/sessions/{id}/turns", {"show": upload, "but": "red"})
    assert said.status == 201, said.text
    assert one.ask("GET", f"/sessions/{id}/turns/1").json["results"] == said.json["results"]


def test_a_job_is_done_once_and_its_pictures_come_to_all(server: Server) -> None:
    by = client_of(server, workers(server)[0])
    before = by.ask("GET", "/collection").json["pictures"]
    jobs = [
        client_of(server, worker).ask("POST", "/collection/folders", {"root": 0, "folder": "drawn"}).json["id"]
        for worker in workers(server)
    ]
    for job in jobs:
        wait_until(job_is_done, by, job)
    reports = [by.ask("GET", f"/collection/jobs/{job}").json["report"] for job in jobs]
    assert sum(report["found"] for report in reports) == 2 * 56
    after = before + sum(report["added"] for report in reports)
    for worker in workers(server):  # each looks again by itself, some seconds later
        wait_until(has_pictures, client_of(server, worker), after)
    assert by.ask("GET", "/collection").json["pictures"] == after


def test_the_numbers_are_those_of_all(server: Server) -> None:
    def turns(by: Client) -> float:
        return float(re.findall(r"^viewfinder_turn_seconds_count (\S+)$", by.ask("GET", "/metrics").text, re.M)[0])

    clients = [client_of(server, worker) for worker in workers(server)]
    before = turns(clients[0])
    for by in clients:
        id = by.ask("POST", "/sessions", {}).json["id"]
        by.ask("POST", f"/sessions/{id}/turns", {"say": "red"})
    wait_until(lambda: [turns(by) for by in clients] == [before + 2, before + 2])  # counted when the answer is sent


def test_a_killed_worker_is_replaced_and_no_conversation_is_lost(server: Server) -> None:
    killed, other = workers(server)
    client = client_of(server, killed)
    id = client.ask("POST", "/sessions", {"n": 5}).json["id"]
    said = client.ask("POST", f"/sessions/{id}/turns", {"say": "something"}).json
    killed.kill()
    wait_until(lambda: workers(server)[:1] == [other])
    left = client_of(server, other)  # nobody waits for the new one
    assert left.ask("GET", f"/sessions/{id}/turns/1").json["results"] == said["results"]
    wait_until(lambda: len(workers(server)) == 2)
    new = client_of(server, workers(server)[-1])
    assert new.ask("POST", f"/sessions/{id}/turns", {"say": "red"}).json["turn"] == 2
    turns = client_of(server, other).ask("GET", f"/sessions/{id}/export").json["conversation"]["turns"]
    assert [turn["say"] for turn in turns] == ["something", "red"]
    assert "another takes its place" in server.complaints()


def test_sigterm_ends_all_of_them(server: Server) -> None:
    client = server.client()
    id = client.ask("POST", "/sessions", {}).json["id"]
    assert client.ask("POST", f"/sessions/{id}/turns", {"say": "red"}).status == 201
    assert server.end(signal.SIGTERM) < 8
    assert server.process.returncode == 0
    assert server.left_over() == []
    assert server.traceback() == ""


@pytest.mark.long
def test_workers_end_with_the_process_that_started_them(home: Path) -> None:
    with Server(home / "library", "--workers", 2) as server:
        server.process.kill()
        server.process.wait()
        assert server.left_over() == []


def test_what_keeps_a_server_from_starting_is_said_in_one_line(home: Path, tmp_path: Path) -> None:
    wrong = {"VIEWFINDER_DATABASE_URL": f"sqlite:///{home / 'pictures'}"}
    code, said, complaints = run_program("serve", "--workers", 2, "--port", 0, "--library", home / "library", env=wrong)
    assert (code, said, len(complaints.splitlines())) == (1, "", 1)
    assert "cannot be opened" in complaints
    code, _, complaints = run_program("serve", "--workers", 0, "--library", home / "library")
    assert (code, "--workers" in complaints) == (2, True)
