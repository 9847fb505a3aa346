"""Threads that work for an event loop: in line, and not for nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from viewfinder.server.access.limits import WorkThreads


@pytest.fixture
def one() -> Iterator[WorkThreads]:
    """A single thread."""
    threads = WorkThreads(1, "work")
    yield threads
    threads.close()


def test_work_is_done_in_the_order_in_which_it_comes(one: WorkThreads) -> None:
    done: list[int] = []

    async def ask() -> None:
        await asyncio.gather(*(one.begin(lambda at=at: done.append(at)) for at in range(20)))  # type: ignore[misc]

    asyncio.run(ask())
    assert done == list(range(20))


def test_an_error_reaches_who_waits_and_the_thread_goes_on(one: WorkThreads) -> None:
    async def ask() -> str:
        with pytest.raises(ZeroDivisionError):
            await one.begin(lambda: 1 // 0)
        return await one.begin(lambda: threading.current_thread().name)

    assert asyncio.run(ask()) == "work_0"


def test_no_more_threads_than_asked_for_work_at_the_same_time() -> None:
    threads, together = WorkThreads(3, "work"), threading.Barrier(3)

    async def ask() -> set[str]:
        def meet() -> str:
            together.wait(timeout=60)
            return threading.current_thread().name

        return set(await asyncio.gather(*(threads.begin(meet) for _ in range(6))))

    try:
        assert asyncio.run(ask()) == {"work_0", "work_1", "work_2"}
    finally:
        threads.close()


def test_what_is_cancelled_in_line_is_not_begun(one: WorkThreads) -> None:
    held, begun = threading.Event(), threading.Event()

    async def ask() -> None:
        first, second = one.begin(lambda: held.wait(60)), one.begin(begun.set)
        second.cancel()
        held.set()
        assert await first
        await one.begin(lambda: None)

    asyncio.run(ask())
    assert not begun.is_set()


def test_closing_waits_for_what_runs_and_cancels_what_waits(one: WorkThreads) -> None:
    begun = threading.Event()

    def work() -> str:
        begun.set()
        threading.Event().wait(0.2)
        return "done"

    async def ask() -> str:
        first = one.begin(work)
        assert begun.wait(60)
        waiting = one.begin(work)
        one.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(RuntimeError, match="have ended"):
            one.begin(work)
        return await first

    assert asyncio.run(ask()) == "done"


def test_a_loop_that_has_ended_is_told_nothing(one: WorkThreads) -> None:
    held, finished = threading.Event(), threading.Event()

    def work() -> None:
        held.wait(60)
        finished.set()

    async def leave() -> None:
        one.begin(work)

    asyncio.run(leave())
    held.set()
    assert finished.wait(60)
    assert asyncio.run(_answer(one)) == 3


async def _answer(threads: WorkThreads) -> int:
    return await threads.begin(lambda: 3)
