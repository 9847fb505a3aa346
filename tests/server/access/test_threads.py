"""Threads that work for an event loop: in line, never more than asked for, and not for nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from viewfinder.server.access.limits import ThreadPool


@pytest.fixture
def one() -> Iterator[ThreadPool]:
    """A single thread."""
    threads = ThreadPool(1)
    yield threads
    threads.close()


def test_work_is_done_in_the_order_in_which_it_comes(one: ThreadPool) -> None:
    done: list[int] = []

    async def ask() -> None:
        await asyncio.gather(*(one.run(done.append, at) for at in range(20)))

    asyncio.run(ask())
    assert done == list(range(20))


def test_an_error_reaches_who_waits_and_the_thread_goes_on(one: ThreadPool) -> None:
    async def ask() -> str:
        with pytest.raises(ZeroDivisionError):
            await one.run(lambda: 1 // 0)
        return await one.run(lambda: threading.current_thread().name)

    assert asyncio.run(ask()) == "engine_0"


def test_no_more_threads_than_asked_for_work_at_the_same_time() -> None:
    threads, together = ThreadPool(3), threading.Barrier(3)

    async def ask() -> set[str]:
        def meet() -> str:
            together.wait(timeout=60)
            return threading.current_thread().name

        return set(await asyncio.gather(*(threads.run(meet) for _ in range(6))))

    try:
        assert asyncio.run(ask()) == {"engine_0", "engine_1", "engine_2"}
    finally:
        threads.close()


def test_a_thread_whose_work_nobody_waits_for_any_more_does_nothing_else_meanwhile(one: ThreadPool) -> None:
    begun, held, ended = (threading.Event() for _ in range(3))

    def work() -> None:
        begun.set()
        held.wait(60)
        ended.set()

    async def ask() -> bool:
        first = asyncio.create_task(one.run(work))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        first.cancel()
        second = asyncio.create_task(one.run(ended.is_set))
        await asyncio.sleep(0.05)
        held.set()
        return await second

    assert asyncio.run(ask())


def test_what_is_cancelled_in_line_is_not_begun(one: ThreadPool) -> None:
    held, begun = threading.Event(), threading.Event()

    async def ask() -> None:
        first, second = asyncio.create_task(one.run(held.wait, 60)), asyncio.create_task(one.run(begun.set))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        held.set()
        assert await first
        await one.run(lambda: None)

    asyncio.run(ask())
    assert not begun.is_set()


def test_closing_waits_for_what_runs_and_cancels_what_waits(one: ThreadPool) -> None:
    begun = threading.Event()

    def work() -> str:
        begun.set()
        threading.Event().wait(0.2)
        return "done"

    async def ask() -> str:
        first, waiting = asyncio.create_task(one.run(work)), asyncio.create_task(one.run(work))
        await asyncio.sleep(0)
        assert begun.wait(60)
        one.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(RuntimeError, match="after shutdown"):
            await one.run(work)
        return await first

    assert asyncio.run(ask()) == "done"
