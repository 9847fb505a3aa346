"""What the attacks share: what came of one, processes that are attacked, a server, and somebody who calls it.

An attack is a function of `rounds`, `seed` and a folder for its things. It breaks off for nothing that it finds
broken: each is a line of `Outcome.broken`, with what is needed to see it again.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

import viewfinder.library
from viewfinder.testing import load_colour_encoder

ROOT = Path(__file__).resolve().parents[2]
API = "/api/v1"
MARK = "VIEWFINDER_ATTACKED_BY"
"""In the environment of everything that an attack starts: so whatever outlives it is found."""

PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")
VICTIM = (sys.executable, "-m", "tests.hostile.victims")
MOST_TOLD = 20


@dataclass
class Outcome:
    """What came of an attack; `broken` is empty where everything held."""

    attack: str
    rounds: int = 0
    broken: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def check(self, holds: bool, what: str) -> bool:
        """Notes what did not hold; of very many things alike the first are enough."""
        if not holds:
            self.figures["broken"] = self.figures.get("broken", 0) + 1
            if len(self.broken) < MOST_TOLD:
                self.broken.append(" ".join(what.split())[:1500])
        return holds

    def count(self, name: str, more: float = 1) -> None:
        """Adds to a figure."""
        self.figures[name] = self.figures.get(name, 0) + more

    def most(self, name: str, value: float) -> None:
        """Keeps the largest of a figure."""
        self.figures[name] = max(self.figures.get(name, value), value)


@contextmanager
def colours() -> Iterator[None]:
    """Libraries of this process know colours only: no network is loaded, and what is right is known."""
    names = vars(viewfinder.library)
    before = names["load_encoder"]
    names["load_encoder"] = load_colour_encoder
    try:
        yield
    finally:
        names["load_encoder"] = before


# -- processes


class Victim:
    """A process that is attacked; what it complains of goes into a file, so that it never waits for a reader."""

    def __init__(self, command: Sequence[object], *, env: Mapping[str, str] | None = None) -> None:
        self.mark = uuid.uuid4().hex
        self._complaints = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 (see `close`)
        self.process = subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {}), MARK: self.mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
        )

    def line(self) -> str:
        """The next line that it says; "" at its end."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def lines_until_killed(self, after_s: float, by: int = signal.SIGKILL) -> list[str]:
        """Kills it so long from now; what it said until then, in whole lines. It may have ended before."""
        assert self.process.stdout is not None
        timer = threading.Timer(after_s, self.process.send_signal, [by])
        timer.start()
        said = [line.rstrip("\n") for line in self.process.stdout if line.endswith("\n")]
        self.process.wait()
        timer.cancel()
        return said

    def end(self, by: int = signal.SIGTERM, patience_s: float = 60) -> float:
        """Asks it to end; seconds until it has, `inf` where it had to be killed."""
        started = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(by)
        try:
            self.process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return float("inf")
        return time.monotonic() - started

    def complaints(self) -> str:
        """What it wrote to stderr so far."""
        self._complaints.seek(0)
        return self._complaints.read()

    def traceback(self) -> str:
        """The end of the first traceback among its complaints: lines of JSON, and those of its workers; "": none."""
        lines = self.complaints().splitlines()
        for at, line in enumerate(lines):
            if "Traceback" in line:
                told = (
                    str(json.loads(line).get("exception", line))
                    if line.startswith("{")
                    else " ".join(lines[at : at + 40])
                )
                return told[-900:]
        return ""

    def left_over(self, patience_s: float = 20) -> list[str]:
        """Processes that it started and that outlive it, when they had time to end; these are killed."""
        until = time.monotonic() + patience_s
        while (left := self._children()) and time.monotonic() < until:
            time.sleep(0.05)
        for one in left:
            with suppress(psutil.Error):
                one.kill()
        return [_described(one) for one in left]

    def close(self) -> None:
        """Nothing of it is left."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.left_over(0)
        self._complaints.close()

    def __enter__(self) -> Victim:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _children(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.pid != self.process.pid and process.environ().get(MARK) == self.mark:
                    found.append(process)
        return [one for one in found if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def _described(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[-120:]
    except psutil.Error:
        return f"process {process.pid}"


def limited(limit: str, *command: object) -> list[str]:
    """A command under a limit of the shell (`-n 200`: descriptors, `-f 20`: blocks of 512 bytes in a file)."""
    return ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", *map(str, command)]


def peak_bytes(pid: int | str = "self") -> int:
    """The most memory that a process had so far (it is not what `getrusage` tells: that remembers who started it)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def run_program(*arguments: object, limit_s: float = 300, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """The program as people call it: exit code, what it said, what it complained of."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=limit_s,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def is_one_clear_line(complaints: str) -> bool:
    """Whether somebody is told in one line what is wrong: no traceback, no panic, nothing unforeseen."""
    lines = [line for line in complaints.splitlines() if line.strip()]
    raw = ("Traceback", "panicked", "unforeseen", "Error(", "lance::", "LanceError", "sqlite3.", "/rustc/", ".rs:")
    return len(lines) == 1 and lines[0].startswith("viewfinder: ") and not any(it in lines[0] for it in raw)


# -- a server, and somebody who calls it


@dataclass(frozen=True)
class Answer:
    """What a server said, and how long that took."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    seconds: float

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One person with one connection, which is opened anew where it was closed."""

    def __init__(self, port: int, token: str | None = None, *, timeout: float = 60) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def ask(
        self, method: str, path: str, body: object = None, *, raw: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> Answer:
        """A request below /api/v1 (a path that begins with `//`: below /); raises OSError, HTTPException."""
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        sent = {**self._headers, **({} if content is None else {"Content-Type": "application/json"}), **headers}
        started = time.perf_counter()
        try:
            self._connection.request(method, path[1:] if path.startswith("//") else API + path, content, sent)
            found = self._connection.getresponse()
            headers = {name.lower(): value for name, value in found.getheaders()}
            if headers.get("content-type", "").startswith("text/event-stream"):  # may go on for ever
                body = found.read1(65_536)
                self._connection.close()
            else:
                body = found.read()
            if headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            return Answer(found.status, body, headers, time.perf_counter() - started)
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()


class Server(Victim):
    """`viewfinder serve` on a free port, as soon as it is ready; `token` may do everything."""

    def __init__(
        self, library: Path, *options: object, tokens: bool = False, env: Mapping[str, str] | None = None,
        command: Sequence[str] = PROGRAM,
    ) -> None:  # fmt: skip
        self.library, self._clients = library, list[Client]()
        self.token = make_token(library, "attack", "read", "write", "admin") if tokens else None
        free = {"VIEWFINDER_REQUESTS_BURST": "100000000", "VIEWFINDER_REQUESTS_PER_S": "1000000"}
        host = ("--host", "0.0.0.0") if tokens else ()
        wanted = [*command, "serve", "--library", library, "--port", "0", "--json", *host, *options]
        super().__init__(wanted, env={**free, **(env or {})})
        said = self.line()
        if '"address"' not in said:
            raise RuntimeError(f"the server did not start: {said} {self.complaints()}")
        self.port = int(json.loads(said)["address"].rstrip("/").rpartition(":")[2])

    def client(self, *, token: str | None = None, timeout: float = 60) -> Client:
        """Somebody with the server's own token, or with another; gone when the server is."""
        made = Client(self.port, token or self.token, timeout=timeout)
        self._clients.append(made)
        return made

    def close(self) -> None:
        """Nothing of it is left, and nobody who asks it."""
        super().close()
        for client in self._clients:
            client.close()

    def wait_until_ready(self, patience_s: float = 60) -> Server:
        until, client = time.monotonic() + patience_s, self.client()
        while client.ask("GET", "/health/ready").status != 200 and time.monotonic() < until:
            time.sleep(0.05)
        client.close()
        return self

    def bytes(self) -> int:
        """What it has to itself; what it maps of the library is shared with the cache of the disk."""
        return int(psutil.Process(self.process.pid).memory_full_info().uss)

    def __enter__(self) -> Server:
        return self


def make_token(library: Path, name: str, *scopes: str) -> str:
    """The secret of a new token."""
    asked = [part for scope in scopes for part in ("--scope", scope)]
    code, said, complaints = run_program("token", "add", name, *asked, "--library", library, "--json")
    if code:
        raise RuntimeError(complaints)
    return str(json.loads(said)["token"])


class Crowd:
    """People in threads who do `once` again and again, until the block ends; each with a random of their own."""

    def __init__(self, people: int, once: Callable[[int, random.Random], None], seed: int) -> None:
        self._over = threading.Event()
        self.errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._live, args=(number, once, random.Random(seed * 1000 + number)), daemon=True)
            for number in range(people)
        ]

    def _live(self, number: int, once: Callable[[int, random.Random], None], chance: random.Random) -> None:
        while not self._over.is_set():
            try:
                once(number, chance)
            except (OSError, http.client.HTTPException) as error:
                self.errors.append(f"{type(error).__name__}: {error}")
                self._over.wait(0.05)
            except Exception as error:
                self.errors.append(f"{type(error).__name__}: {error}")
                raise

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(120)


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)] if ordered else 0.0
