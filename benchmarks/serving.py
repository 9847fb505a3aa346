"""Measures what the server costs beyond the engine, and with many people at once; writes results/serving.json.

    python benchmarks/serving.py PICTURES          # a folder of at least 600 photos

The server is `viewfinder serve` in a process of its own, reached over loopback. Where a figure is a ratio, both sides
were measured in turn, in one run.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from measuring import measure_parts, time_call
from speed import SIZE, library_of_vectors, phrases
from threadpoolctl import threadpool_limits

import viewfinder
from viewfinder.conversation import Say

PEOPLE = 32
SECONDS = 60
SHOWN = 50
"""Results of a turn: what the page asks for."""

PROGRAM = str(Path(sys.executable).with_name("viewfinder"))


# -- one person


def measure_turns(files: Sequence[Path]) -> dict[str, Any]:
    """Text to first results over HTTP, over the same turn of a session in process; in turn, on different words.

    Both with products on one thread, as the server has them.
    """
    del files
    one_thread = threadpool_limits(1, user_api="blas")
    with library_of_vectors(SIZE) as library, serve_library(library.folder) as server, one_thread:
        client = Client(server.port)
        talk, chat = client.talk(), library.chat(n=SHOWN)
        over_http, in_process = [], []
        for at, text in enumerate(phrases(260)):
            if at % 10 == 0:  # talks of ten turns
                talk, chat = client.talk(), library.chat(n=SHOWN)
            over_http.append(client.say(talk, f"{text} please"))
            client.events(talk, at % 10 + 1)  # the question is there before the next turn
            in_process.append(time_call(chat.search, Say(text))[1])
            chat.follow_up()
        over_http, in_process = over_http[20:], in_process[20:]
        p50, p99 = percentiles(over_http, 50, 99)
        return {
            "pictures": SIZE,
            "turns": len(over_http),
            "ratio": round(p50 / statistics.median(in_process), 3),
            "p50_ms": round(p50, 2),
            "p99_ms": round(p99, 2),
            "p99_over_p50": round(p99 / p50, 2),
            "engine_ms": round(statistics.median(in_process), 2),
        }


# -- many people


def measure_crowd(files: Sequence[Path], processes: int = 1) -> dict[str, Any]:
    """32 people who talk without a pause for a minute, over the same turns of sessions in as many processes.

    The engine alone is measured before and after the people: what else the machine does changes with time.
    """
    del files
    with library_of_vectors(SIZE) as library, serve_library(library.folder, "--workers", str(processes)) as server:
        for text in phrases(8 * processes):  # warms every worker: a connection may reach any of them
            warming = Client(server.port)
            warming.say(warming.talk(), f"{text} warm")
        client = Client(server.port)
        talk = client.talk()
        alone = [client.say(talk, f"{text} alone") for text in phrases(40)][10:]
        before = _engine_throughput(library.folder, processes)
        spent = server.cpu_s()
        measured = _locust(server.port)
        spent = server.cpu_s() - spent
        after = _engine_throughput(library.folder, processes)
    p50, turns = statistics.median(alone), measured["turns"]
    engine = (before["turns_per_s"] + after["turns_per_s"]) / 2
    engine_cpu_ms = (before["cpu_ms"] + after["cpu_ms"]) / 2
    return {
        "people": PEOPLE,
        "seconds": SECONDS,
        "workers": processes,
        "turns": turns,
        "errors": measured["errors"],
        "single_p50_ms": round(p50, 2),
        "p95_ms": round(measured["p95_ms"], 1),
        "p95_over_single_p50": round(measured["p95_ms"] / p50, 1),
        "turns_per_s": round(turns / SECONDS, 1),
        "engine_turns_per_s": round(engine, 1),
        "engine_turns_per_s_before_and_after": [round(it["turns_per_s"], 1) for it in (before, after)],
        "throughput_ratio": round(turns / SECONDS / engine, 3),
        "cpu_ms_a_turn": round(spent / turns * 1000, 2),
        "engine_cpu_ms_a_turn": round(engine_cpu_ms, 2),
        "cpu_ratio": round(engine_cpu_ms / (spent / turns * 1000), 3),
        "locust_share_of_cores": round(measured["share_of_cores"], 3),
        "throughput_ratio_of_what_locust_left": round(turns / SECONDS / engine / (1 - measured["share_of_cores"]), 3),
    }


def _locust(port: int) -> dict[str, Any]:
    """A minute of locust; every turn's time, measured by each of its people."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "turns.json"
        command = [
            sys.executable, "-m", "locust", "--headless", "--only-summary", "--users", str(PEOPLE), "--spawn-rate",
            str(PEOPLE), "--run-time", f"{SECONDS}s", "--host", f"http://127.0.0.1:{port}", "--locustfile",
            str(Path(__file__).with_name("serving_people.py")),
        ]  # fmt: skip
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env={**os.environ, "TURNS_OUT": str(out)}, capture_output=True, check=False)
        if not out.exists():
            sys.exit(done.stderr.decode())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        said: dict[str, Any] = json.loads(out.read_text())
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**said, "share_of_cores": spent / SECONDS / (os.cpu_count() or 1)}


def _engine_throughput(library: Path, processes: int) -> dict[str, float]:
    """Turns a second of as many threads as the machine has cores, in so many processes, and what a turn costs them.

    Each thread has talks of its own, questions included.
    """
    command = [sys.executable, str(Path(__file__).with_name("engine.py")), str(library), str(processes)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(processes)]
    said = [json.loads(one.communicate()[0]) for one in running]
    turns = sum(one["turns"] for one in said)
    cpu_s = sum(one["cpu_s"] for one in said)
    return {"turns_per_s": sum(one["turns"] / one["seconds"] for one in said), "cpu_ms": cpu_s / turns * 1000}


# -- while pictures come in


def measure_indexing(files: Sequence[Path]) -> dict[str, Any]:
    """Turns of one person at 50,000 pictures, while a folder of photos is being added and while none is."""
    with library_of_vectors(SIZE) as library, tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "photos"
        root.mkdir()
        for copy in range(6):
            for file in files[:600]:  # a few bytes after the end of a JPEG make it a different picture
                (root / f"{copy}-{file.name}").write_bytes(file.read_bytes() + bytes([copy]))
        with serve_library(library.folder, "--root", str(root)) as server:
            client = Client(server.port)
            idle = _paced_turns(client, "idle", 150)
            job = client.post("/collection/folders", {"root": 0, "folder": ""})
            client.until(lambda: client.get(f"/collection/jobs/{job['id']}")["done"] > 0)
            busy = _paced_turns(client, "busy", 150)
            ended = client.get(f"/collection/jobs/{job['id']}")
    (idle_p95,), (busy_p95,) = percentiles(idle, 95), percentiles(busy, 95)
    return {
        "pictures": SIZE,
        "added_meanwhile": ended["done"],
        "still_running": ended["state"] == "running",
        "idle_p50_ms": round(statistics.median(idle), 2),
        "busy_p50_ms": round(statistics.median(busy), 2),
        "idle_p95_ms": round(idle_p95, 2),
        "busy_p95_ms": round(busy_p95, 2),
        "ratio": round(busy_p95 / idle_p95, 2),
    }


def _paced_turns(client: Client, word: str, count: int) -> list[float]:
    """One person, ten turns a talk, a tenth of a second between them: long enough to see many batches."""
    spent = []
    for at, text in enumerate(phrases(count)):
        if at % 10 == 0:
            talk = client.talk()
        spent.append(client.say(talk, f"{text} {word}"))
        time.sleep(0.1)
    return spent


# -- memory


def measure_memory(files: Sequence[Path]) -> dict[str, Any]:
    """Memory of an open talk of ten turns in a server, beyond the states of its retriever, which are bounded."""
    del files
    sessions = 200
    with library_of_vectors(SIZE) as library, serve_library(library.folder) as server:
        client = Client(server.port)
        texts = phrases(80)
        for number in range(20):  # warmed up: threads, buffers, the memory of the encoder
            _talk_of_ten(client, texts, f"warm {number}")
        before, states_before = server.own_bytes(), client.states_bytes()
        for number in range(sessions):
            _talk_of_ten(client, texts, f"talk {number}")
        after, states = server.own_bytes(), client.states_bytes()
    return {
        "sessions": sessions,
        "turns_each": 10,
        "kb_per_session": round((after - before - (states - states_before)) / sessions / 1024, 1),
        "states_mb": round(states / 2**20, 1),
        "states_limit_mb": 256,
    }


def _talk_of_ten(client: Client, texts: Sequence[str], word: str) -> None:
    talk = client.talk()
    for at in range(10):
        client.say(talk, f"{texts[at * 7 % 80]} {word}")


# -- people who say nothing


def measure_idle(files: Sequence[Path]) -> dict[str, Any]:
    """The costs of 500 conversations of two turns each, with a client that waits for the events of each."""
    del files
    people, seconds = 500, 30
    with library_of_vectors(SIZE) as library, serve_library(library.folder) as server, ExitStack() as stack:
        # What is remembered of texts (64 MB at most, 0.2 a text here) is full before people come.
        for number in range(40):
            _talk_of_ten(Client(server.port), phrases(80), f"warm {number}")
        without_people = _share_of_a_core(server, seconds)
        before, states_before = server.own_bytes(), Client(server.port).states_bytes()
        for number in range(people):
            talker = Client(server.port)
            talk = talker.talk()
            for turn, text in enumerate(phrases(2), start=1):
                talker.say(talk, f"{text} {number}")
                talker.events(talk, turn)
            # Like a page that is left open: it asks for the events of its last turn and stays connected.
            waiting = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            path = f"/api/v1/sessions/{talk}/turns/2/events"
            waiting.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            talker.close()
        with_people = _share_of_a_core(server, seconds)
        after, states = server.own_bytes(), Client(server.port).states_bytes()
    return {
        "conversations": people,
        "seconds": seconds,
        "share_of_a_core_without": round(without_people, 4),
        "share_of_a_core_with": round(with_people, 4),
        "kb_per_conversation": round((after - before - (states - states_before)) / people / 1024, 1),
        "sessions_in_memory": 256,
    }


def _share_of_a_core(server: Server, seconds: float) -> float:
    before = server.cpu_s()
    time.sleep(seconds)
    return (server.cpu_s() - before) / seconds


# -- the page


def measure_paint(files: Sequence[Path]) -> dict[str, Any]:
    """A talk's address opened: until its 200 results are on the screen, and until all their pictures are."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        library = viewfinder.open(Path(folder) / "library")
        library.add(*files[:700])
        with serve_library(library.folder) as server, sync_playwright() as playwright:
            client = Client(server.port)
            talk = client.talk(n=RESULTS)
            client.say(talk, "people")
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            address = f"http://127.0.0.1:{server.port}/talk/{talk}/1"
            rows = [_time_page(browser, address) for _ in range(8)][1:]  # the first makes the thumbnails
            browser.close()
    static = Path(viewfinder.__file__).parent / "server" / "static"
    whole = sum(file.stat().st_size for kind in ("js", "css") for file in static.rglob(f"*.{kind}"))
    middle = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    return {
        "results": RESULTS,
        "results_on_screen": int(middle["tiles"]),
        "first_paint_s": round(middle["first"] / 1000, 3),
        "results_painted_s": round(middle["painted"] / 1000, 3),
        "all_pictures_s": round(middle["pictures"] / 1000, 3),
        "first_kb": round(middle["bytes"] / 1000, 1),
        "script_and_style_kb": round(whole / 1000, 1),
    }


def _time_page(browser: Any, address: str) -> dict[str, float]:
    """Opens an address in a browser with an empty cache; milliseconds from the click, by the page's own clock."""
    context = browser.new_context(viewport={"width": 1920, "height": 1080})
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(address)
    end = time.monotonic() + 60
    while not page.evaluate(COMPLETE):
        if time.monotonic() > end:
            sys.exit("the pictures of the page did not come")
        page.wait_for_timeout(50)
    times: dict[str, float] = page.evaluate(TIMES)
    context.close()
    return times


RESULTS = 200


def find_chromium() -> str | None:
    """The browser that pages are opened in: the one without windows, where it is installed."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip

WATCH = """
localStorage.setItem("viewfinder-size", "0");  // the smallest pictures: 200 and more have room
addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  window.tiles = document.querySelectorAll("vf-grid .tile").length;
  if (window.tiles >= 200 && !window.asked) {
    window.asked = true;
    requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = performance.now(); }));
  }
}).observe(document.body, { childList: true, subtree: true }));
"""

COMPLETE = """() => {
  const images = [...document.querySelectorAll("vf-grid .tile img")].filter((image) => {
    const box = image.getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight;
  });
  const there = Boolean(window.painted) && images.length > 100 && images.every((it) => it.complete && it.naturalWidth);
  if (there) window.pictures ??= performance.now();
  return there;
}"""

TIMES = """() => {
  const loaded = performance.getEntriesByType("resource");
  const first = Math.min(...loaded.filter((it) => it.name.includes("/thumbnail")).map((it) => it.startTime));
  const needed = loaded.filter((it) => /[.](js|css)$/.test(it.name) && it.startTime < first);
  return {
    first: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    painted: window.painted,
    pictures: window.pictures,
    tiles: window.tiles,
    bytes: needed.reduce((sum, it) => sum + it.decodedBodySize, 0),
  };
}"""


# -- a server, and someone who talks to it


class Server:
    """A running `viewfinder serve`."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process, self.port = process, port

    def own_bytes(self) -> int:
        """Bytes that the server has to itself (what it maps of the library is shared with the disk's cache)."""
        return sum(int(one.memory_full_info().uss) for one in self._processes())

    def cpu_s(self) -> float:
        """Seconds that it has computed."""
        times = [one.cpu_times() for one in self._processes()]
        return float(sum(time.user + time.system for time in times))

    def _processes(self) -> list[psutil.Process]:
        first = psutil.Process(self.process.pid)
        return [first, *first.children(recursive=True)]


@contextmanager
def serve_library(library: Path, *options: str) -> Iterator[Server]:
    """A server over a library, on a free port, ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [PROGRAM, "serve", "--library", str(library), "--port", str(port), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        client = Client(port)
        client.until(lambda: client.get("/health/ready")["ok"])
        yield Server(process, port)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


class Client:
    """One person with one connection, kept open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def get(self, path: str) -> Any:
        """JSON of a GET."""
        return self._request("GET", path)

    def post(self, path: str, body: Any) -> Any:
        """JSON of a POST."""
        return self._request("POST", path, json.dumps(body))

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def talk(self, n: int = SHOWN) -> str:
        """A new talk's id."""
        return str(self.post("/sessions", {"n": n})["id"])

    def say(self, talk: str, text: str) -> float:
        """One turn; the milliseconds until its results were read."""
        body = json.dumps({"say": text})
        return time_call(self._bytes, "POST", f"/sessions/{talk}/turns", body)[1]

    def events(self, talk: str, number: int) -> str:
        """Waits for the question and the reasons."""
        return self._bytes("GET", f"/sessions/{talk}/turns/{number}/events").decode()

    def states_bytes(self) -> int:
        """Bytes of the retrievers' states, by the server's own metrics."""
        [found] = re.findall(r"^viewfinder_states_bytes ([\d.e+]+)$", self._bytes("GET", "/metrics").decode(), re.M)
        return int(float(found))

    def until(self, ready: Callable[[], bool], seconds: float = 120) -> None:
        """Waits until a condition holds."""
        end = time.monotonic() + seconds
        while True:
            try:
                if ready():
                    return
            except (OSError, http.client.HTTPException, RuntimeError):
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port)
            if time.monotonic() > end:
                sys.exit("the server was not ready in time")
            time.sleep(0.1)

    def _request(self, method: str, path: str, body: str | None = None) -> Any:
        return json.loads(self._bytes(method, path, body))

    def _bytes(self, method: str, path: str, body: str | None = None) -> bytes:
        headers = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
        self._connection.request(method, f"/api/v1{path}", body, headers)
        answer = self._connection.getresponse()
        data = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {data.decode()}")
        return data


def percentiles(numbers: Sequence[float], *which: float) -> tuple[float, ...]:
    """Percentiles of some numbers."""
    return tuple(float(found) for found in np.percentile(numbers, which))


PARTS: dict[str, Callable[[Sequence[Path]], dict[str, Any]]] = {
    "turns": measure_turns,
    "crowd": measure_crowd,
    "workers": partial(measure_crowd, processes=2),
    "idle": measure_idle,
    "indexing": measure_indexing,
    "memory": measure_memory,
    "paint": measure_paint,
}

if __name__ == "__main__":
    measure_parts("serving", __doc__, PARTS)
