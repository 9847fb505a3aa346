"""Ray, begun or joined, and actors of one kind: the one place where it is started, and where its errors become ours.

Nothing of it is imported before a cluster is asked for: it is the extra `ray`. An actor that cannot be relied on is
replaced, and asked again when it is ready.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.errors import BadInput, ViewfinderError, explain_missing_package
from viewfinder.processors import count_processors
from viewfinder.scratch import scratch_folder

LOCAL = "local"
"""In place of an address: a cluster of this machine alone, which ends with the program."""

MAX_START_S = 60.0
"""The time in which actors must be ready."""

MAX_CONNECT_S = 5.0
"""The time in which a cluster must accept a connection."""

_LOG = logging.getLogger("viewfinder.cluster")


@contextmanager
def ray_session(address: str = LOCAL, *, cpus: int | None = None) -> Iterator[Any]:
    """The module `ray`, connected to a cluster; what was begun here ends with it.

    Args:
        address: "auto" for the cluster of this machine, HOST:PORT or ray://HOST:PORT for another's, `LOCAL` for one of
            its own.
        cpus: how many cores a local one has; all that this process may use by default.

    Raises:
        ViewfinderError: Ray is not installed, or there is no cluster.
    """
    # What Ray tells of actors that died would stand among the results, on stdout; our own log tells of them.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # or it would be told where and how Ray is used
    if address == LOCAL and "ray" not in sys.modules:
        _close_doors()
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ViewfinderError(explain_missing_package(error)) from error
    _check_listens(address)
    if ray.is_initialized():  # by the program that we are a part of: it ends it
        yield ray
        return
    known: dict[str, Any] = {"address": address, "namespace": "viewfinder", "log_to_driver": False}
    known |= {"logging_level": logging.ERROR}
    with ExitStack() as stack:
        if address == LOCAL:
            _check_closed()
            folder = stack.enter_context(_cluster_folder())
            known |= {"num_cpus": cpus or count_processors(), "include_dashboard": False, "_temp_dir": str(folder)}
        _begin_cluster(ray, known)
        stack.callback(ray.shutdown)
        # One that wants a token would not have let us in without.
        if address != LOCAL and os.environ.get("RAY_AUTH_MODE", "").lower() in ("", "disabled"):
            _LOG.warning("the cluster at %s wants no token: whoever reaches its ports can run code there", address)
        yield ray


CLOSED = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}
"""On every system, the first makes 127.0.0.1 the address of a node: Ray takes no such address when it is given one."""


def _close_doors() -> None:
    """Makes Ray listen on this machine alone; it reads some of these settings only when it is imported.

    Otherwise each of its processes listens on all addresses, and up to Ray 2.58 runs what it is sent from anywhere.
    """
    os.environ.update(CLOSED)
    if not os.environ.get("RAY_AUTH_TOKEN_PATH"):
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # else Ray makes one for good, in ~/.ray


def _begin_cluster(ray: Any, known: Mapping[str, Any]) -> None:
    """Begins or joins a cluster. Raises BadInput."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**known)
    except ray.exceptions.AuthenticationError as error:
        what = "it wants a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to that of the cluster"
        raise BadInput(f"--ray {known['address']}: {what}") from error
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        said = " ".join(str(error).split())[:200]
        raise BadInput(f"--ray {known['address']}: no cluster answers there ({said})") from error
    finally:
        if threading.current_thread() is threading.main_thread():  # Ray puts its own in the place of a server's
            signal.signal(signal.SIGTERM, handler)


def _check_closed() -> None:
    """Raises BadInput where the program imported Ray before, without what `_close_doors` would have asked of it."""
    open_doors = [f"{name}={value}" for name, value in CLOSED.items() if os.environ.get(name) != value]
    if open_doors:
        raise BadInput(
            f"--ray {LOCAL}: the program imported ray, which would let other machines in: "
            f"set {' and '.join(open_doors)} before it does"
        )


MAX_HOME = 16
"""Letters of a folder in which that of a cluster can be: a socket's path has at most 107, and Ray's has 90 below it."""


@contextmanager
def _cluster_folder() -> Iterator[Path]:
    """A folder for the sockets and logs of a cluster, and a process that sees to it if this one is killed."""
    home = Path(tempfile.gettempdir())
    with scratch_folder("ray", home if len(str(home)) <= MAX_HOME or os.name == "nt" else Path("/tmp")) as folder:
        # Not in the terminal's group: Ctrl-C is for this process, which ends the cluster in order.
        command = [sys.executable, "-P", str(Path(__file__).with_name("keeper.py")), str(folder)]  # it imports little
        keeper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            yield folder
        finally:
            keeper.communicate()  # its stdin is at its end


def _check_listens(address: str) -> None:
    """Raises BadInput if no cluster listens at HOST:PORT; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), MAX_CONNECT_S).close()
    except OSError as error:
        raise BadInput(f"--ray {address}: no cluster answers there ({error.strerror or error})") from error


def count_cores(ray: Any) -> int:
    """Cores of the cluster that are free, one at least."""
    return max(int(ray.available_resources().get("CPU", 1)), 1)


@dataclass(eq=False)
class Seat:
    """An actor, and what tells when it can be asked: a reference, None once it can."""

    actor: Any
    opening: Any


def start_actor(ray: Any, kind: type, *given: Any, concurrency: int = 1) -> Any:
    """An actor of a class, with a core to itself; it is not waited for."""
    return ray.remote(num_cpus=1, max_concurrency=concurrency)(kind).remote(*given)


class Actors:
    """The actors that do one thing for this process; for all of its threads."""

    def __init__(self, ray: Any, count: int, start: Callable[[], Seat], what: str) -> None:
        """`what`: what they do, for the log."""
        self._ray, self._start, self._what = ray, start, what
        self._lock = threading.Lock()
        self._seats = [start() for _ in range(count)]

    @property
    def seats(self) -> list[Seat]:
        """All of them; one that is replaced leaves its place in this order to the next."""
        with self._lock:
            return list(self._seats)

    def close(self) -> None:
        """Ends them."""
        with self._lock:
            seats, self._seats = self._seats, []
        for seat in seats:
            self._ray.kill(seat.actor)

    def settle(self, opening: Mapping[Any, Seat]) -> str:
        """Waits until calls that make actors ready are done; "" where one of them is, else why none is.

        Actors that are late join when they are ready.
        """
        done, late = self._ray.wait(list(opening), num_returns=len(opening), timeout=MAX_START_S)
        for reference in late:
            opening[reference].opening = reference
        failures = [failure for reference in done if (failure := self.failure(reference, opening[reference]))]
        for reference in done:
            opening[reference].opening = None
        if len(failures) < len(done):
            return ""
        return failures[0] if failures else f"none was ready within {MAX_START_S:g} s: has the cluster free cores?"

    def ready(self, patience_s: float) -> list[Seat]:
        """Those that can be asked; where there are none, the first that can within this time."""
        waited = {seat.opening: seat for seat in self.seats if seat.opening is not None}
        none_yet = len(waited) == len(self.seats)
        if waited:
            done, _ = self._ray.wait(
                list(waited), num_returns=1 if none_yet else len(waited), timeout=patience_s if none_yet else 0
            )
            for reference in done:
                if not self.failure(reference, waited[reference]):
                    waited[reference].opening = None
        return [seat for seat in self.seats if seat.opening is None]

    def failure(self, reference: Any, seat: Seat) -> str:
        """The reason why a call that is done failed, "" if it did not; the actor of a failed call is replaced."""
        try:
            self._ray.get(reference)
        except Exception as error:  # of whatever kind: another actor is asked
            said = str(error.cause if isinstance(error, self._ray.exceptions.RayTaskError) else error)
            why = " ".join(said.split())[:300] or type(error).__name__
            self.replace(seat, why)
            return why
        return ""

    def replace(self, seat: Seat, why: str) -> None:
        """Another actor in the place of this one."""
        with self._lock:
            if seat not in self._seats:  # another thread was first, or all are ended
                return
            self._seats[self._seats.index(seat)] = self._start()
        _LOG.warning("an actor that %s is replaced: %s", self._what, why)
        self._ray.kill(seat.actor)
