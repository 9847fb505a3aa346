"""Talks in several processes, each of which makes what it needs of its own."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar, cast

from viewfinder.errors import ViewfinderError

Item = TypeVar("Item")
Result = TypeVar("Result")

Work = Callable[[Item], Result]


def run_in_processes(
    make: Callable[[], Work[Item, Result]], items: Sequence[Item], processes: int
) -> Iterator[tuple[int, Result]]:
    """The place of each item and what comes of it, as it is done; process k takes every `processes`-th item.

    `make` is called once in each process, which is started afresh; it, the items and the results must be of a kind that
    can travel. With one process everything is done in this one.

    Raises:
        ViewfinderError: a process died; or what the work raised.
    """
    if processes == 1 or len(items) < 2:
        work = make()
        yield from ((place, work(item)) for place, item in enumerate(items))
        return
    # Started afresh, not forked: this process has threads, and locks that they hold.
    context = multiprocessing.get_context("spawn")
    hired: dict[Connection, BaseProcess] = {}
    try:
        for first in range(min(processes, len(items))):
            here, there = context.Pipe(duplex=False)
            share = [(place, items[place]) for place in range(first, len(items), processes)]
            process: BaseProcess = context.Process(target=_serve, args=(make, share, there), daemon=True)
            process.start()
            there.close()
            hired[here] = process
        yield from _as_done(set(hired))
    finally:
        for connection, process in hired.items():
            process.terminate()
            connection.close()
            process.join()


def _as_done(listening: set[Connection]) -> Iterator[tuple[int, Any]]:
    while listening:
        for connection in cast("list[Connection]", wait(list(listening))):
            try:
                found = connection.recv()
            except (EOFError, OSError) as error:
                raise ViewfinderError(
                    "a process that led talks died (out of memory?); try again with --processes 1"
                ) from error
            if isinstance(found, BaseException):
                raise found
            if found is None:
                listening.remove(connection)
            else:
                yield found


def _serve(make: Callable[[], Work[Any, Any]], share: Sequence[tuple[int, Any]], there: Connection) -> None:
    """Does a share, in a process of its own. It ends when nobody listens any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1):  # as many processes as cores: threads of each would only wait for one another
            work = make()
            for place, item in share:
                there.send((place, work(item)))
        there.send(None)
    except BrokenPipeError:
        return
    except Exception as error:
        there.send(error)
