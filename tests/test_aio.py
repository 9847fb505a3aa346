"""The library under asyncio: turns wait for one another, and who is cancelled leaves nothing half done."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import viewfinder.aio
import viewfinder.library
from viewfinder.byte_cache import ByteCache
from viewfinder.errors import EmptyQuery
from viewfinder.library import Library
from viewfinder.query import ResolvedTurn
from viewfinder.retrievers import Composer
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.stopping import stop_if_asked
from viewfinder.testing import COLOURS, ColourEncoder, load_colour_encoder, tiny_pictures, tiny_snapshot

GALLERY = Gallery(tiny_snapshot([(top, bottom) for top in COLOURS for bottom in COLOURS]), ColourEncoder())


class Slow(Composer):
    """A composer that takes its time over a turn, until it is let go; it notes who was there at the same time."""

    def __init__(self) -> None:
        self.let_go, self.begun = threading.Event(), threading.Event()
        self.at_once = self.most_at_once = 0

    def step(self, state: Any, turn: ResolvedTurn) -> Any:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun.set()
        try:
            while not self.let_go.wait(0.01):
                stop_if_asked()
            return super().step(state, turn)
        finally:
            self.at_once -= 1


def slow_session() -> tuple[Session, Slow]:
    slow = Slow()
    return Session(GALLERY, slow, None, memo=ByteCache()), slow


async def begun(slow: Slow) -> None:
    while not slow.begun.is_set():
        await asyncio.sleep(0.005)


def test_a_turn_in_a_thread_finds_what_it_finds_otherwise() -> None:
    chat = Session(GALLERY, Composer(), None)
    assert asyncio.run(viewfinder.aio.run(chat.say, "red")) == Session(GALLERY, Composer(), None).say("red")
    with pytest.raises(EmptyQuery):
        asyncio.run(viewfinder.aio.run(chat.say, " "))


def test_the_event_loop_goes_on_meanwhile_and_turns_of_a_session_wait_for_one_another() -> None:
    chat, slow = slow_session()

    async def conversation() -> None:
        turns = [asyncio.create_task(viewfinder.aio.run(chat.say, colour)) for colour in ("red", "blue", "green")]
        await begun(slow)
        await asyncio.sleep(0.05)  # the loop is free, and the others wait
        slow.let_go.set()
        await asyncio.gather(*turns)

    for _ in range(2):  # in another event loop as well
        asyncio.run(conversation())
    said = [getattr(node.turn, "text", "") for node in chat.conversation.path()]
    assert said == ["red", "blue", "green"] * 2
    assert slow.most_at_once == 1


def test_sessions_do_not_wait_for_one_another() -> None:
    (first, slow), (second, other) = slow_session(), slow_session()
    other.let_go.set()

    async def conversation() -> None:
        waiting = asyncio.create_task(viewfinder.aio.run(first.say, "red"))
        await begun(slow)
        await viewfinder.aio.run(second.say, "blue")
        assert not waiting.done()
        slow.let_go.set()
        await waiting

    asyncio.run(conversation())


def test_a_turn_that_is_cancelled_was_not_taken_and_the_next_one_is() -> None:
    chat, slow = slow_session()

    async def conversation() -> None:
        turn = asyncio.create_task(viewfinder.aio.run(chat.say, "red"))
        await begun(slow)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert slow.at_once == 0, "it was waited for"
        assert len(chat.conversation) == 0
        slow.let_go.set()
        assert await viewfinder.aio.run(chat.say, "blue")

    asyncio.run(conversation())
    assert len(chat.conversation) == 1


def test_who_is_cancelled_twice_still_waits_for_the_work() -> None:
    ended, begun = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        time.sleep(0.2)
        ended.set()

    async def impatient() -> None:
        task = asyncio.create_task(viewfinder.aio.run(work))
        while not begun.is_set():
            await asyncio.sleep(0.005)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.01)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(impatient())


def test_who_waits_for_a_turn_and_gives_up_holds_nobody_up() -> None:
    chat, slow = slow_session()

    async def conversation() -> None:
        first = asyncio.create_task(viewfinder.aio.run(chat.say, "red"))
        await begun(slow)
        second = asyncio.create_task(viewfinder.aio.run(chat.say, "blue"))
        await asyncio.sleep(0)
        second.cancel()
        slow.let_go.set()
        await first
        await viewfinder.aio.run(chat.say, "green")

    asyncio.run(conversation())
    assert [getattr(node.turn, "text", "") for node in chat.conversation.path()] == ["red", "green"]


def test_adding_that_is_cancelled_keeps_what_it_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    monkeypatch.setattr("viewfinder.store.ingest.pace_batches", lambda outcomes: ([one] for one in outcomes))
    tiny_pictures(tmp_path / "pictures", 40)
    library = Library.open(tmp_path / "library")
    acknowledged: list[int] = []

    async def add() -> None:
        loop, first = asyncio.get_running_loop(), asyncio.Event()

        def progress(done: int, total: int) -> None:
            acknowledged.append(done)
            loop.call_soon_threadsafe(first.set)

        adding = asyncio.create_task(
            viewfinder.aio.run(library.add, tmp_path / "pictures", workers=1, progress=progress)
        )
        await first.wait()
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding

    asyncio.run(add())
    assert 0 < len(library) == acknowledged[-1] < 40
    library.add(tmp_path / "pictures", workers=1)
    assert len(library) == 40


def test_a_library_is_searched_by_many_while_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    tiny_pictures(tmp_path / "first", 6)
    more = tiny_pictures(tmp_path / "pictures", 60)
    library = Library.open(tmp_path / "library")
    library.add(tmp_path / "first", workers=1)

    async def grow() -> list[int]:
        adding = asyncio.create_task(viewfinder.aio.run(library.add, tmp_path / "pictures", workers=1))
        found: list[int] = []
        while not adding.done():
            several = [viewfinder.aio.run(library.find, "red", n=100) for _ in range(8)]
            found += [len(hits) for hits in await asyncio.gather(*several)]
        await adding
        return [*found, len(await viewfinder.aio.run(library.find, "red", n=100))]

    found = asyncio.run(grow())
    assert min(found) >= 6 and found[-1] == len(more)
