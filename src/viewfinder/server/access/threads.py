"""Threads that work for an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")


class _Job(NamedTuple):
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[Any]
    work: Callable[[], Any]


class WorkThreads:
    """At most `count` threads, which take work in the order in which it comes; for one event loop.

    As `loop.run_in_executor`, without its two futures of two kinds a work, each with a lock: every turn is two works.
    """

    def __init__(self, count: int, name: str) -> None:
        self._count, self._name = count, name
        self._line: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._closed = False

    def begin(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        """What `work` gives, when a thread has done it. Work that is cancelled while it waits in line is not begun."""
        if self._closed:
            raise RuntimeError("these threads have ended")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()
        self._line.put(_Job(loop, done, work))
        if len(self._threads) < self._count:
            thread = Thread(target=self._serve, name=f"{self._name}_{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        return done

    def close(self) -> None:
        """Cancels what waits in line, and waits for what runs."""
        self._closed = True
        with suppress(Empty):
            while True:
                if (job := self._line.get_nowait()) is not None:
                    _tell(job, job.done.cancel)
        for _ in self._threads:
            self._line.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while (job := self._line.get()) is not None:
            if not job.done.cancelled():
                try:
                    _tell(job, _succeed, job.done, job.work())
                except BaseException as error:  # whoever waits for it is to see it
                    _tell(job, _fail, job.done, error)
            del job  # and with it what it holds, while the next one is waited for


def _tell(job: _Job, what: Callable[..., Any], *given: Any) -> None:
    with suppress(RuntimeError):  # the loop has ended: nobody waits
        job.loop.call_soon_threadsafe(what, *given)


def _succeed(done: asyncio.Future[Result], result: Result) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: asyncio.Future[Any], error: BaseException) -> None:
    if not done.done():
        done.set_exception(error)
