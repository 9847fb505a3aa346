"""Several processes that serve one library on one port: started, watched, and ended together.

Each worker is a whole server over the same folder and the same database, and accepts connections from one shared
socket. Common state is shared where it is stored: conversations, jobs, tokens and feedback in the database, images and
small copies in the library's folder, numbers for Prometheus in a folder of their own. A worker that dies is replaced;
no conversation is lost, as none lives in a worker alone.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType

from prometheus_client.multiprocess import mark_process_dead

from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.library import Library
from viewfinder.scratch import scratch_folder
from viewfinder.server import monitoring
from viewfinder.server.database import Database
from viewfinder.server.running import LAST, Extensions, address_shown, check_guarded, open_app, open_listener, serve_on
from viewfinder.server.settings import ServerSettings, database_url

COMMAND = (sys.executable, "-P", "-m", "viewfinder.server.workers")

DELAY_S = 1.0
"""The delay before restarting a worker that died while starting; it doubles each time."""

MAX_DELAY_S = 30.0

FORGIVEN_S = 0.25
"""How long to wait after the workers' own time to end before they are killed."""

_LOG = logging.getLogger("viewfinder.server")


def run_workers(
    library_folder: Path,
    settings: ServerSettings,
    *,
    extensions: Extensions = (),
    ready: Callable[[str], None] = lambda address: None,
) -> int:
    """Serves a library by `settings.workers` processes until SIGTERM or Ctrl-C, then ends them in order.

    `ready` is told the address once all of them answer requests. A second Ctrl-C ends at once.

    Raises:
        BadInput: the port is in use or not ours to have, or another machine could reach the server without a token;
            or this is Windows, or a cluster searches.
        ViewfinderError: what is served cannot be opened.
    """
    if sys.platform == "win32":
        raise BadInput("--workers: several processes serve on Linux and macOS only; leave it out")
    if settings.ray is not None:
        raise BadInput(
            "--workers: with --ray one process serves, and the cluster's actors search; leave one of them out"
        )
    monitoring.configure_log()
    with open_listener(settings.host, settings.port) as listener, _open_shared_folder() as shared:
        Library.open(library_folder)
        Database.open(database_url(library_folder, settings)).close()  # its schema is brought up to date here, once
        check_guarded(library_folder, settings)
        start = partial(ServerWorker, listener, library_folder, settings, shared, extensions)
        with _receive_signals() as signals:
            workers = Workers(start, settings, signals, shared)
            try:
                if workers.begin():
                    ready(address_shown(settings.host, listener))
                    workers.keep()
            finally:
                workers.end()
    return 0


# Not by uvicorn's supervisor: it leaves workers behind when it is killed, and cannot say why one does not start.
class ServerWorker:
    """One process, from its start to its end; `ready` when it has said so."""

    def __init__(
        self,
        listener: socket.socket,
        library_folder: Path,
        settings: ServerSettings,
        shared: Path,
        extensions: Extensions = (),
    ) -> None:
        # Not by `multiprocessing`: it would run the program's main module again, whatever that is. Not a fork: threads
        # and native libraries of this process would be in it, half alive.
        self.said, its_end = multiprocessing.Pipe()
        places = (its_end.fileno(), listener.fileno())
        self.process = subprocess.Popen([*COMMAND, *map(str, places)], stdin=subprocess.DEVNULL, pass_fds=places)
        its_end.close()  # it alone has it now: when it dies, `said` ends
        with suppress(OSError):  # it has died already: that is heard
            self.said.send((library_folder, settings, shared, tuple(extensions)))
        self.ready = False

    def listen(self) -> None:
        """Waits for its message: that it is ready, or why it cannot be.

        Raises:
            ViewfinderError: why it cannot be.
            EOFError: it has died.
        """
        try:
            failure = self.said.recv()
        except OSError as error:
            raise EOFError from error
        if failure is not None:
            raise ViewfinderError(failure)
        self.ready = True

    def has_ended(self) -> bool:
        """Whether it is gone, as soon as it says something or dies."""
        with suppress(EOFError, ViewfinderError):
            while self.said.poll():
                self.listen()
            return False
        return True


class Workers:
    """A fixed number of workers: one that dies is replaced."""

    def __init__(
        self, start: Callable[[], ServerWorker], settings: ServerSettings, signals: Connection, shared: Path
    ) -> None:
        self._start, self._settings, self._signals, self._shared = start, settings, signals, shared
        self._running: list[ServerWorker] = []
        self._delay_s = DELAY_S
        self._start_at = 0.0  # of those that are missing

    def begin(self) -> bool:
        """Starts all, and waits until they are ready; False: it was asked to end before.

        Raises:
            ViewfinderError: one of them cannot serve.
        """
        self._running += [self._start() for _ in range(self._settings.workers)]
        while not all(worker.ready for worker in self._running):
            for worker in self._wait_for_workers():
                try:
                    worker.listen()
                except EOFError:
                    raise ViewfinderError("a worker ended before it could serve; the log says why") from None
            if self._signals.poll():
                return False
        return True

    def keep(self) -> None:
        """Replaces workers that die, until a signal comes."""
        while not self._signals.poll():
            missing = self._settings.workers - len(self._running)
            if missing and time.monotonic() >= self._start_at:
                self._running += [self._start() for _ in range(missing)]
                missing = 0
            for worker in self._wait_for_workers(max(0.0, self._start_at - time.monotonic()) if missing else None):
                try:
                    worker.listen()
                    self._delay_s = DELAY_S
                except (EOFError, ViewfinderError) as error:
                    self._bury(worker, str(error))

    def end(self) -> None:
        """Asks all to end, and kills those still running when their time is over, or at a second Ctrl-C."""
        for worker in self._running:
            worker.process.terminate()
        until = time.monotonic() + self._settings.shutdown_s * LAST + FORGIVEN_S
        left, interrupts = list(self._running), 0
        while left and interrupts < 2 and (patience_s := until - time.monotonic()) > 0:
            if self._signals in wait([self._signals, *(worker.said for worker in left)], patience_s):
                interrupts += self._signals.recv() == signal.SIGINT
            left = [worker for worker in left if not worker.has_ended()]
        for worker in left:
            worker.process.kill()
        for worker in self._running:
            worker.process.wait()

    def _wait_for_workers(self, patience_s: float | None = None) -> list[ServerWorker]:
        """Workers that have said something, or died; none if a signal came, or on timeout."""
        heard = wait([self._signals, *(worker.said for worker in self._running)], patience_s)
        return [worker for worker in self._running if worker.said in heard]

    def _bury(self, worker: ServerWorker, said: str) -> None:
        worker.process.wait()
        worker.said.close()
        self._running.remove(worker)
        # Its counts stay, what it held does not.
        mark_process_dead(worker.process.pid, str(self._shared))  # type: ignore[no-untyped-call]
        if not worker.ready:
            self._start_at = time.monotonic() + self._delay_s
            self._delay_s = min(2 * self._delay_s, MAX_DELAY_S)
        _LOG.error(
            "worker %s ended (%s): another takes its place", worker.process.pid, said or worker.process.returncode
        )


@contextmanager
def _receive_signals() -> Iterator[Connection]:
    """SIGTERM and SIGINT come out of a pipe, beside what workers say."""
    heard, tell = multiprocessing.Pipe(duplex=False)

    def handle(number: int, frame: FrameType | None) -> None:
        tell.send(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _open_shared_folder() -> Iterator[Path]:
    """A folder in which all workers count what they do, and how much each client asks."""
    with scratch_folder("workers") as folder:
        # Read when prometheus-client is imported: the workers import it anew.
        os.environ[monitoring.SHARED] = str(folder)
        try:
            yield folder
        finally:
            del os.environ[monitoring.SHARED]


# -- in a worker


def main() -> None:
    """Serves on the shared socket until SIGTERM, or until its parent is gone; tells the parent when it is ready."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes of a terminal: the first one sees to it
    places = [int(place) for place in sys.argv[1:]]
    for place in places:
        os.set_inheritable(place, False)  # not for processes that are started here
    supervisor, listener = Connection(places[0]), socket.socket(fileno=places[1])
    try:
        library_folder, settings, shared, extensions = supervisor.recv()
    except (EOFError, OSError):  # it was killed before it could say what is served
        return
    threading.Thread(target=_end_after_parent, args=(supervisor,), name="supervisor", daemon=True).start()
    try:
        make = partial(open_app, library_folder, settings, shared, extensions)
        serve_on(listener, make, settings, ready=lambda: supervisor.send(None), by_terminal=False)
    except ViewfinderError as error:
        with suppress(OSError):
            supervisor.send(str(error))
    logging.shutdown()
    # Without waiting for threads that still wait for a language model (see `leave_if_waiting`): all else has ended.
    os._exit(0)


def _end_after_parent(supervisor: Connection) -> None:
    with suppress(EOFError, OSError):
        supervisor.recv()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
