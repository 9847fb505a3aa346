"""Ray, begun or joined: the one place where it is started, and where its errors become ours.

Nothing of it is imported before a cluster is asked for: it is the extra `ray`.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from viewfinder.errors import BadInput, ViewfinderError, explain_missing_package

LOCAL = "local"
"""In place of an address: a cluster of this machine alone, which ends with the program."""

STARTED_S = 60.0
"""How long actors may take until they are ready."""


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
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ViewfinderError(explain_missing_package(error)) from error
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


def count_cores(ray: Any) -> int:
    """Cores of the cluster that are free, one at least."""
    return max(int(ray.available_resources().get("CPU", 1)), 1)


def start_actor(ray: Any, kind: type, *given: Any, concurrency: int = 1) -> Any:
    """An actor of a class, with a core to itself; it is not waited for."""
    return ray.remote(num_cpus=1, max_concurrency=concurrency)(kind).remote(*given)
