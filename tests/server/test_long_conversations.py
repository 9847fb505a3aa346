"""Long conversations, and what is asked of them: nobody else waits, and the work ends when nobody waits for it."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

import viewfinder.library
from viewfinder.conversation import Conversation, Say
from viewfinder.library import Library
from viewfinder.server.access.limits import BRIEF_S, BUSY, ThreadPool
from viewfinder.server.app import create_app
from viewfinder.server.conversations.editing import repeat_turns
from viewfinder.server.settings import ServerSettings
from viewfinder.stopping import Stopped, stop_if_asked, stoppable
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.testing import ColourEncoder, draw_halves, load_colour_encoder

API = "/api/v1"
COLOURS = ("red", "green", "blue", "white")


def written(turns: int) -> dict[str, Any]:
    """A conversation of so many turns, each of other words."""
    said = [
        {"say": f"{COLOURS[at % 4]} {at}", "parent": at, "shown": ["p001", "p002"], "asked": None}
        for at in range(turns)
    ]
    return {"schema": "viewfinder/conversation", "version": 1, "turns": said}


def document(turns: int, more: str = "") -> dict[str, Any]:
    """To be imported; with `more` said at the start, no step of it is known from another."""
    conversation = written(turns)
    conversation["turns"][0]["say"] += more
    return {"schema": "viewfinder/session", "conversation": conversation}


def goes_on(seen: threading.Event, ended: threading.Event, at_most_s: float = 120.0) -> None:
    """Work of many steps."""
    until = time.monotonic() + at_most_s
    try:
        while time.monotonic() < until:
            seen.set()
            time.sleep(0.005)
            stop_if_asked()
    except Stopped:
        ended.set()
        raise


# -- the threads


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    threads = ThreadPool(1)
    yield threads
    threads.close()


def test_work_is_not_stopped_where_nobody_asks_it_to() -> None:
    stop_if_asked()
    with stoppable(None):
        stop_if_asked()


def test_work_for_which_nobody_waits_any_more_ends(pool: ThreadPool) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def give_up() -> None:
        waiting = asyncio.create_task(pool.run_stoppable(goes_on, begun, ended))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        waiting.cancel()

    asyncio.run(give_up())
    assert ended.wait(60), "a deadline that only ends the waiting leaves the thread taken"


def test_long_work_leaves_the_shared_threads_and_is_done_all_the_same(pool: ThreadPool) -> None:
    short_is_done = threading.Event()

    async def ask() -> tuple[float, str]:
        long = asyncio.create_task(pool.run_stoppable(long_work))
        await asyncio.sleep(0)
        started = time.monotonic()
        await pool.run(short_is_done.set)  # there is one shared thread, and long work came first
        return time.monotonic() - started, await long

    def long_work() -> str:
        until = time.monotonic() + 60
        while time.monotonic() < until and not short_is_done.is_set():
            stop_if_asked()
        return "done" if short_is_done.is_set() else "kept the thread"

    waited_s, came = asyncio.run(ask())
    assert came == "done"
    assert waited_s > BRIEF_S / 2


def test_a_pool_that_closes_ends_long_work_first(pool: ThreadPool) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def close_meanwhile() -> float:
        waiting = asyncio.create_task(pool.run_aside(goes_on, begun, ended))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        started = time.monotonic()
        pool.close()
        took_s = time.monotonic() - started
        with pytest.raises(Stopped):
            await waiting
        return took_s

    assert asyncio.run(close_meanwhile()) < 60
    assert ended.is_set()


# -- in one process


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Pictures known by their vectors alone."""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        opened, encoder = Library.open(tmp_path_factory.mktemp("long") / "library.vf"), ColourEncoder()
        rows = [
            PictureRow(f"p{at:03}", (FileRecord(f"/nowhere/{at}.png", 1, 1),), 24, 16, "PNG", 1)
            for at in range(len(COLOURS) ** 2)
        ]
        raw_nd = encoder.pictures([draw_halves(top, bottom) for top in COLOURS for bottom in COLOURS]).global_bd
        opened.store.add(rows, {encoder.raw_version: raw_nd, encoder.version: encoder.project(raw_nd)})
        opened.switch(encoder.version, None)
        yield opened


Clients = Callable[..., TestClient]


@pytest.fixture
def client_with(library: Library, tmp_path: Path) -> Iterator[Clients]:
    """A client of a server with one thread for all, and other settings as given."""
    opened = []

    def client(**settings: Any) -> TestClient:
        given: dict[str, Any] = {"threads": 1, "database_url": f"sqlite:///{tmp_path / 'server.sqlite3'}"} | settings
        made = TestClient(
            create_app(library, ServerSettings(_env_file=None, **given)),
            base_url="http://localhost",
            client=("127.0.0.1", 50000),
        )
        opened.append(made)
        return made.__enter__()

    yield client
    for one in opened:
        one.__exit__(None, None, None)


def test_a_replay_that_is_given_up_takes_no_thread_from_others(client_with: Clients) -> None:
    before = client_with()
    ids = [before.post(f"{API}/sessions/import", json=document(2000)).json()["id"] for _ in range(2)]
    client = client_with(deadline_s=3.0)

    def edit(id: str) -> int:
        return int(client.put(f"{API}/sessions/{id}/turns/1", json={"say": "blue"}).status_code)

    with ThreadPoolExecutor(2) as people:
        edits = [people.submit(edit, id) for id in ids]
        waited_s = []
        for _ in range(8):
            started = time.monotonic()
            assert client.post(f"{API}/search", json={"text": "red"}).status_code == 200
            assert client.get(f"{API}/health/ready").status_code == 200
            waited_s.append(time.monotonic() - started)
        assert [edit.result() for edit in edits] == [503, 503]
    assert max(waited_s) < len(ids) * BUSY * BRIEF_S, "each goes aside after that at the latest"
    for id in ids:  # all is as it was
        assert before.get(f"{API}/sessions/{id}").json()["turns"] == 2000


def test_a_turn_of_a_long_conversation_that_is_given_up_was_not_said(client_with: Clients) -> None:
    before = client_with()
    id = before.post(f"{API}/sessions/import", json=document(2000, " once")).json()["id"]
    client = client_with(deadline_s=0.3)
    assert client.post(f"{API}/sessions/{id}/turns", json={"say": "blue"}).status_code == 503
    assert before.get(f"{API}/sessions/{id}").json()["turns"] == 2000


def test_an_edit_that_another_turn_overtakes_is_a_conflict(
    client_with: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_with(threads=2)
    id = client.post(f"{API}/sessions", json={"questioner": "none"}).json()["id"]
    for text in ("red", "green"):
        client.post(f"{API}/sessions/{id}/turns", json={"say": text}).raise_for_status()

    def overtaken(*given: Any) -> Any:
        done = repeat_turns(*given)
        assert client.post(f"{API}/sessions/{id}/turns", json={"say": "white"}).status_code == 201
        return done

    monkeypatch.setattr("viewfinder.server.conversations.conversations.repeat_turns", overtaken)
    refused = client.put(f"{API}/sessions/{id}/turns/1", json={"say": "blue"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:viewfinder:problem:conflict")
    assert [node["told"] for node in client.get(f"{API}/sessions/{id}").json()["tree"]] == [
        "", '"red"', '"green"', '"white"'
    ]  # fmt: skip


def test_more_turns_than_an_import_may_have_are_refused(client_with: Clients) -> None:
    refused = client_with().post(f"{API}/sessions/import", json=document(2001))
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:viewfinder:problem:bad-input")


def test_a_conversation_does_not_grow_without_end(client_with: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewfinder.server.conversations import answers

    monkeypatch.setattr(answers, "MAX_NODES", 4)
    client = client_with()
    id = client.post(f"{API}/sessions", json={"questioner": "none"}).json()["id"]
    for text in ("red", "green", "blue", "white"):
        assert client.post(f"{API}/sessions/{id}/turns", json={"say": text}).status_code == 201
    for refused in (
        client.post(f"{API}/sessions/{id}/turns", json={"say": "black"}),
        client.put(f"{API}/sessions/{id}/turns/2", json={"say": "black"}),
    ):
        assert refused.status_code == 422
        assert refused.json()["detail"].startswith("a conversation has at most 4 turns")


# -- reading


def test_reading_a_conversation_takes_as_long_as_it_is() -> None:
    def read_s(turns: int) -> float:
        given = written(turns)

        def once() -> float:
            started = time.process_time()
            assert len(Conversation.from_json(given)) == turns
            return time.process_time() - started

        return min(once() for _ in range(3))

    # Copying the list at each turn, four times the turns took eleven times as long.
    assert read_s(8000) < 7 * read_s(2000)


def test_a_conversation_that_is_read_is_the_one_that_was_said() -> None:
    said = Conversation()
    for turn in range(50):
        said = said.then(Say(f"{COLOURS[turn % 4]} {turn}")).recorded(shown=("p001", "p002"), asked=None)
    assert Conversation.from_json(written(50)) == said


# -- a server in a process of its own

PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")
WATCHED_S = 8.0

HANGING = """
import asyncio, time
from viewfinder.server.running import run_app
from viewfinder.server.settings import ServerSettings

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        for answer in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{answer}.complete"})
        return
    await asyncio.to_thread(time.sleep, 300)

settings = ServerSettings(port=0, shutdown_s=2, _env_file=None)
run_app(lambda: app, settings, ready=lambda address: print(address, flush=True))
"""


def test_a_server_ends_though_a_thread_hangs() -> None:
    with subprocess.Popen([sys.executable, "-c", HANGING], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            with pytest.raises(httpx.ReadTimeout):
                httpx.get(address, timeout=0.5)
            started = time.monotonic()
            server.send_signal(signal.SIGTERM)
            assert server.wait(20) == 0
            assert time.monotonic() - started < 6.0, "two seconds, and what a busy machine adds"
        finally:
            server.kill()


@pytest.mark.long
def test_two_requests_do_not_stop_a_server_and_it_ends_when_told(tmp_path: Path) -> None:
    run = [*PROGRAM, "world", str(tmp_path / "world"), "--count", "24", "--seed", "1"]
    subprocess.run(run, check=True, capture_output=True)
    library = str(tmp_path / "library")
    add = [*PROGRAM, "add", str(tmp_path / "world" / "images"), "--library", library]
    subprocess.run(add, check=True, capture_output=True)
    with subprocess.Popen(
        [*PROGRAM, "serve", "--library", library, "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://[\w.:]+", server.stdout.readline())
            assert found
            client = httpx.Client(base_url=f"{found[0]}{API}", timeout=60)
            client.post("/search", json={"text": "a house"}).raise_for_status()
            ids = [client.post("/sessions/import", json=document(2000)).json()["id"] for _ in range(2)]

            def edit(id: str) -> None:
                client.put(f"/sessions/{id}/turns/1", json={"say": "a green boat"})

            for id in ids:
                threading.Thread(target=edit, args=(id,), daemon=True).start()
            time.sleep(0.5)
            waited_s, until = [], time.monotonic() + WATCHED_S
            while time.monotonic() < until:
                started = time.monotonic()
                assert client.post("/search", json={"text": "a red car"}).status_code == 200
                assert client.get("/health/ready").status_code == 200
                waited_s.append(time.monotonic() - started)
            assert sorted(waited_s)[int(len(waited_s) * 0.95)] < 2.0, "one search and one look at readiness"
            server.send_signal(signal.SIGTERM)
            assert server.wait(10) == 0
        finally:
            server.kill()
