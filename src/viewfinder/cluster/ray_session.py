"""Ray, begun or joined: the one place where it is started, and where its errors become ours.

Nothing of it is imported before a cluster is asked for: it is the extra `ray`.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from viewfinder.errors import BadInput, ViewfinderError, explain_missing_package

LOCAL = "local"
"""In place of an address: a cluster of this machine alone, which ends with the program."""

STARTED_S = 60.0
"""How long actors may take until they are ready."""

LISTENS_S = 5.0
"""How long a cluster may take to accept a connection."""


@contextmanager
def ray_session(address: str = LOCAL, *, cpus: int | None = None) -> Iterator[Any]:
    """The module `ray`, connected to a cluster; what was begun here ends with it.

    Args:
        address: "auto" for the cluster of this machine, HOST:PORT or ray://HOST:PORT for another's, `LOCAL` for one of
            its own.
        cpus: how many cores a local one has; all by default.

    Raises:
        ViewfinderError: Ray is not installed, or there is no cluster.
    """
    # What Ray tells of actors that died would stand among the results, on stdout; who needs to know is told by us.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # or it would be told where and how Ray is used
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
    if address == LOCAL:
        known |= {"num_cpus": cpus, "include_dashboard": False}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**known)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise BadInput(f"--ray {address}: no cluster answers there ({' '.join(str(error).split())[:200]})") from error
    finally:
        if threading.current_thread() is threading.main_thread():  # Ray puts its own in the place of a server's
            signal.signal(signal.SIGTERM, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_listens(address: str) -> None:
    """Raises BadInput where nobody listens at HOST:PORT: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), LISTENS_S).close()
    except OSError as error:
        raise BadInput(f"--ray {address}: no cluster answers there ({error.strerror or error})") from error


def count_cores(ray: Any) -> int:
    """Cores of the cluster that are free, one at least."""
    return max(int(ray.available_resources().get("CPU", 1)), 1)
