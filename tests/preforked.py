"""Python processes forked from one that has imported the program, so that tests need not wait for imports again.

`Popen` stands in for `subprocess.Popen` while tests run (tests/conftest.py). A command of this Python (`-c`, `-m` or a
script) is forked by the nursery: it is a process with a pid, streams, an environment and an end of its own. Only its
parent is another one, and the modules that the nursery has imported are there from the beginning. Whatever depends on
either is started as always: the tests marked `afresh`, other programs, and an environment that Python or a library
reads before the first line runs.

The nursery is this file, run as a program. It takes one request a connection: descriptors, and in JSON what to run.
It answers with the pid, and when the process has ended with its wait status.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import inspect
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, AnyStr

IMPORTED = (
    "lancedb", "onnxruntime", "rich.console", "uvloop", "viewfinder.cli", "viewfinder.cli.terminal",
    "viewfinder.cli.typed", "viewfinder.pictures.worker", "viewfinder.server.app", "viewfinder.server.running",
    "viewfinder.server.workers", "viewfinder.studies.extension", "viewfinder.testing", "viewfinder.worlds",
)  # fmt: skip
"""What `add`, `find`, `chat`, `serve` and their workers import. The laboratory, with torch, is left to its verbs."""

READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "OMP_NUM_THREADS", "PROMETHEUS_MULTIPROC_DIR")
"""How the names of variables begin that count only where they are set before Python starts or a library is imported."""

OWN = 512
"""The nursery's own descriptors are numbered from here, so that those of its children can have any number below."""

MAX_REQUEST_BYTES, MAX_DESCRIPTORS = 1 << 20, 64

PLAIN = subprocess.Popen
"""What `Popen` stands in for."""

_before = dict(os.environ)
"""The environment in which the nursery is started."""


# -- in the process of the tests, and in every process that was forked


class Popen(subprocess.Popen[AnyStr]):
    """A `subprocess.Popen` that has the nursery fork what it can."""

    nursery = ""
    """The address of the nursery's socket; "" until it is started."""

    afresh = False
    """Whether every command is started as `subprocess` does it."""

    _ending: socket.socket | None = None

    def _execute_child(self, *given: Any) -> None:
        names = inspect.signature(super()._execute_child).parameters  # type: ignore[misc]
        asked = dict(zip(names, given, strict=True))
        if Popen.afresh or not can_be_forked(asked):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        try:
            self._ending, self.pid = ask_for(asked)
            self._child_created = True
        finally:
            self._close_pipe_fds(*(asked[end] for end in ends))  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._ending is None:
            found: tuple[int, int] = super()._try_wait(wait_flags)  # type: ignore[misc]
            return found
        try:
            status = self._ending.recv(32, socket.MSG_DONTWAIT if wait_flags & os.WNOHANG else 0)
        except BlockingIOError:
            return 0, 0
        self._ending.close()
        return self.pid, int(status or signal.SIGKILL)  # nothing: the nursery was killed, and all with it

    def _internal_poll(self, *given: Any, **more: Any) -> int | None:
        if self._ending is None:
            super()._internal_poll(*given, **more)  # type: ignore[misc]
        elif self.returncode is None and self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


def can_be_forked(asked: Mapping[str, Any]) -> bool:
    """Whether a command would be the same if it were forked; `asked` are the arguments of `Popen._execute_child`."""
    command = asked["args"]
    if not isinstance(command, list | tuple) or len(command) < 2 or os.fspath(command[0]) != sys.executable:
        return False
    first, environment = os.fsdecode(command[1]), os.environ if asked["env"] is None else asked["env"]
    return (
        (first in ("-c", "-m") or first.endswith(".py"))
        and not any(asked[name] for name in ("executable", "preexec_fn", "shell"))
        and asked["close_fds"]
        and all(asked[name] is None for name in ("gid", "gids", "uid"))
        and asked["umask"] < 0
        and os.geteuid() == os.getuid()
        and max(asked["pass_fds"], default=0) < OWN
        and (asked["cwd"] is None or Path(os.fsdecode(asked["cwd"])).is_dir())
        and read_at_start(environment) == read_at_start(_before)
    )


def read_at_start(environment: Mapping[Any, Any]) -> dict[str, str]:
    """The part of an environment that counts only at the start of Python."""
    given = {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}
    # `breakpoint` reads its variable when it is called; Ray sets it in the process that begins a cluster.
    given.pop("PYTHONBREAKPOINT", None)
    return {name: value for name, value in given.items() if value and name.startswith(READ_AT_START)}


def ask_for(asked: Mapping[str, Any]) -> tuple[socket.socket, int]:
    """Has a command forked. Returns where its end will be told, and its pid."""
    streams = (asked["p2cread"], asked["c2pwrite"], asked["errwrite"])
    sent = {place: place if stream == -1 else stream for place, stream in enumerate(streams)}
    sent |= {place: place for place in asked["pass_fds"]}
    environment = os.environ if asked["env"] is None else asked["env"]
    request = {
        "command": [os.fsdecode(part) for part in asked["args"][1:]],
        "environment": {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()},
        "folder": os.fsdecode(asked["cwd"] or Path.cwd()),
        "places": list(sent),
        "session": asked["start_new_session"],
        "group": asked["process_group"],
    }
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(Popen.nursery or start_nursery())
        socket.send_fds(connection, [json.dumps(request).encode()], list(sent.values()))
        return connection, int(connection.recv(32))
    except BaseException:
        connection.close()
        raise


def install() -> None:
    """Lets the tests of this process start their programs that way."""
    _before.update(os.environ)
    subprocess.Popen = Popen  # type: ignore[misc]


def start_nursery() -> str:
    """Starts the nursery of this process. Returns its address; it ends with this process."""
    Popen.nursery = f"\0viewfinder-tests-{os.getpid()}"
    command = [sys.executable, __file__, Popen.nursery[1:]]
    pipe = subprocess.PIPE
    nursery = PLAIN(command, stdin=pipe, stdout=pipe, env=_before, text=True, start_new_session=True)
    assert nursery.stdin is not None and nursery.stdout is not None
    assert nursery.stdout.readline(), "the nursery did not start"
    nursery.stdout.close()
    atexit.register(end_nursery, nursery)
    return Popen.nursery


def end_nursery(nursery: subprocess.Popen[str]) -> None:
    """Ends it, unless this is a fork of the process that started it."""
    assert nursery.stdin is not None
    nursery.stdin.close()
    nursery.wait()


# -- in the nursery


def serve(name: str) -> Callable[[], None]:
    """Forks a process for each request until stdin is closed. Returns in that process, with what it is to run."""
    lifeline, silence, complaints = move(os.dup(0)), move(os.open(os.devnull, os.O_RDWR)), move(os.dup(2))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"\0{name}")
    listener.listen(64)
    listener = socket.socket(fileno=move(listener.detach()))
    asks = listener.fileno()
    wakes, wake = (move(end) for end in os.pipe())
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake)
    print("ready", flush=True)
    running: dict[int, int] = {}
    while True:
        lay_out({0: silence, 1: silence, 2: complaints})
        ready, _, _ = select.select([lifeline, asks, wakes], [], [])
        if lifeline in ready:
            os._exit(0)
        if wakes in ready:
            os.read(wakes, 4096)
            tell_ends(running)
        if asks in ready:
            connection, _ = listener.accept()
            request, received, *_ = socket.recv_fds(connection, MAX_REQUEST_BYTES, MAX_DESCRIPTORS)
            answers = move(connection.detach())
            if not request:  # its process was killed
                os.close(answers)
                continue
            asked = json.loads(request)
            places = {place: move(descriptor) for place, descriptor in zip(asked["places"], received, strict=True)}
            lay_out(places)
            if (pid := os.fork()) == 0:
                listener.detach()
                return become(asked)
            for place, descriptor in places.items():
                os.close(descriptor)
                if place > 2:
                    os.close(place)
            running[pid] = answers
            with suppress(OSError):
                os.write(answers, str(pid).encode())


def move(descriptor: int) -> int:
    """A descriptor among the nursery's own, in place of this one."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, OWN)
    os.close(descriptor)
    return moved


def lay_out(places: Mapping[int, int]) -> None:
    """Puts descriptors where a process expects them, which is before it is forked: afterwards libraries open some."""
    for place, descriptor in places.items():
        os.dup2(descriptor, place)


def tell_ends(running: dict[int, int]) -> None:
    """Tells those who wait for processes that have ended."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        answers = running.pop(pid)
        with suppress(OSError):  # nobody waits any more
            os.write(answers, str(status).encode())
        os.close(answers)


def become(asked: Mapping[str, Any]) -> Callable[[], None]:
    """Makes a fork of the nursery what a new process would be; returns what runs its program."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.closerange(OWN, 2 * OWN)
    if asked["session"]:
        os.setsid()
    elif asked["group"] >= 0:
        os.setpgid(0, asked["group"])
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (as of a new process, it stays open)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    vars(sys).update(__stdin__=sys.stdin, __stdout__=sys.stdout, __stderr__=sys.stderr)
    sys.orig_argv = [sys.executable, *asked["command"]]
    program = sys.modules["__main__"] = ModuleType("__main__")
    first, *rest = asked["command"]
    if first == "-m":
        module, sys.argv = rest[0], rest
        sys.path.insert(0, asked["folder"])
        sys.modules.pop(module, None)  # it is run anew, as the main program
        return lambda: runpy._run_module_as_main(module)  # type: ignore[attr-defined]
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        source = compile(rest[0], "<string>", "exec", dont_inherit=True)
        sys.path.insert(0, "")
    else:
        sys.argv = [first, *rest]
        source = compile(Path(first).read_bytes(), first, "exec", dont_inherit=True)
        sys.path.insert(0, str(Path(first).resolve().parent))
        program.__file__ = first
    return lambda: exec(source, vars(program))


def prepare() -> None:
    """Imports what programs import. No thread of it is left: a fork would have the locks, not the threads."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    for name in IMPORTED:
        import_module(name)
    from lancedb import background_loop

    loop: Any = background_loop.LOOP  # LanceDB starts it anew in each fork
    loop.loop.call_soon_threadsafe(loop.loop.stop)
    loop.thread.join()
    loop.loop.close()
    background_loop._FORK_WARNED = True
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    del sys.path[0]  # this file's folder, which no program would have
    prepare()
    subprocess.Popen = Popen  # type: ignore[misc]
    Popen.nursery = f"\0{sys.argv[1]}"
    serve(sys.argv[1])()
