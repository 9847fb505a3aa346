"""The library and its conversations for programs that run on asyncio: any method, in a thread of its own.

>>> hits = await viewfinder.aio.run(chat.say, "a dog in the snow")       # doctest: +SKIP

A session is for one thread at a time, so its calls run one after another, in the order in which they were made. Calls
of a library, and of different sessions, run concurrently.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from viewfinder.session.session import TurnMethods
from viewfinder.stopping import Stopped, stoppable

Given = ParamSpec("Given")
Result = TypeVar("Result")

_TURNS: WeakKeyDictionary[TurnMethods, WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()
"""One lock per session; a lock belongs to one event loop."""


async def run(work: Callable[Given, Result], /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """Returns or raises what `work(*args, **kwargs)` does, without blocking the event loop.

    If the task is cancelled, the work stops at its next step, and the cancellation goes on only once it has stopped:
    nothing keeps running in the background. A turn is then taken completely or not at all; `Library.add` stops
    after the current batch, and batches that it has acknowledged stay. A request to a server is waited for.
    """
    owner = getattr(work, "__self__", None)
    if not isinstance(owner, TurnMethods):
        return await _run_aside(lambda: work(*args, **kwargs))
    turns = _TURNS.setdefault(owner, WeakKeyDictionary())
    async with turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        return await _run_aside(lambda: work(*args, **kwargs))


async def _run_aside(work: Callable[[], Result]) -> Result:
    given_up = threading.Event()

    def check() -> None:
        if given_up.is_set():
            raise Stopped

    def guarded() -> Result:
        with stoppable(check):
            return work()

    at_work = asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, guarded)
    try:
        return await asyncio.shield(at_work)
    except asyncio.CancelledError:
        given_up.set()
        while not at_work.done():
            try:
                await asyncio.wait([at_work])
            except asyncio.CancelledError:  # cancelled again: that does not end the work any sooner
                continue
        if not at_work.cancelled():
            at_work.exception()  # read, so that asyncio does not report it as lost
        raise
