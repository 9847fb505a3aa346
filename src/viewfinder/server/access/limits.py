"""How many requests there may be, and the threads that work for them: no client can ask without end, or keep the
threads that others need. (How large a request may be, and how long it may take: `bodies`.)

Requests are counted in token buckets. They are a table of slots, found by a hash of the key, each with a level and its
time. Several processes of one machine share theirs, so that a limit is the same whichever answers: in a small file that
every process maps. Its lock is held for microseconds, so the event loop may wait for it. (A database would be queried
for every small picture.)
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import mmap
import os
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from viewfinder.server.problems import Problem
from viewfinder.stopping import Stopped, stoppable

Given = ParamSpec("Given")
Result = TypeVar("Result")

BRIEF_S = 0.25
"""How long work may compute in a shared thread before it must go aside.

On a busy machine that is longer by the clock, where it may take up to `BUSY` times as long.
"""

BUSY = 8

GIVE_WAY = 3.0
"""While brief work is awaited, work that went aside rests so many times as long as its last step took."""


class Overlong(Stopped):
    """This work is longer than `BRIEF_S`."""


class ThreadPool:
    """A pool of threads that do work for the event loop; beside them a few for long work, and one for large bodies.

    The event loop itself never searches, decodes or reads the database.
    """

    # Not anyio's: a deadline would free its limiter's place while the thread goes on, and others would join it.
    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "engine")
        self._aside = ThreadPoolExecutor(max(threads // 2, 2), "long")
        self._alone = ThreadPoolExecutor(1, "alone")
        self._awaited = 0  # works of the shared threads, running or in line
        self._unwanted: set[threading.Event] = set()  # one for each work that can be stopped; set to stop it

    async def run(self, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """Does work in a shared thread, and gives its result."""
        return await self._run_in(self._threads, partial(work, *args, **kwargs))

    async def run_stoppable(self, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """Does work that calls `stop_if_asked`, which stops it once its result is not awaited any more.

        Work that turns out to be long is restarted aside (`run_aside`), so that a few long ones do not delay the rest.
        """
        try:
            return await self._run_stoppable(self._threads, BRIEF_S, partial(work, *args, **kwargs))
        except Overlong:
            return await self.run_aside(work, *args, **kwargs)

    async def run_aside(self, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """Does work that is known to be long: little at a time, and giving way to all that is brief."""
        return await self._run_stoppable(self._aside, math.inf, partial(work, *args, **kwargs))

    async def run_alone(self, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """Does work that needs much memory: one at a time, and giving way to all that is brief."""
        return await self._run_stoppable(self._alone, math.inf, partial(work, *args, **kwargs))

    def stop(self) -> None:
        """Ends all work that can be stopped."""
        for unwanted in tuple(self._unwanted):
            unwanted.set()

    def close(self) -> None:
        """Ends what can be stopped, and waits for the rest of what runs."""
        self.stop()
        for threads in (self._threads, self._aside, self._alone):
            threads.shutdown(cancel_futures=True)

    async def _run_stoppable(self, threads: ThreadPoolExecutor, brief_s: float, work: Callable[[], Result]) -> Result:
        unwanted = threading.Event()

        def work_with_checks() -> Result:
            rested = begun = time.monotonic()
            computed = time.thread_time()
            until = begun + BUSY * brief_s

            def check() -> None:
                nonlocal rested
                now = time.monotonic()
                # CPU time cannot exceed wall time, and a thread's CPU clock is slow to read.
                if now > until or (now - begun > brief_s and time.thread_time() - computed > brief_s):
                    raise Overlong
                if threads is not self._threads and self._awaited:
                    unwanted.wait(GIVE_WAY * (now - rested))
                rested = time.monotonic()
                if unwanted.is_set():
                    raise Stopped

            with stoppable(check):
                return work()

        self._unwanted.add(unwanted)
        try:
            return await self._run_in(threads, work_with_checks)
        except BaseException:  # the request has ended, though a thread may still work for it
            unwanted.set()
            raise
        finally:
            self._unwanted.discard(unwanted)

    async def _run_in(self, threads: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
        shared = threads is self._threads
        self._awaited += shared
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, work)
        finally:
            self._awaited -= shared


SLOTS, NEIGHBOURS = 8192, 8
"""A key has one of so many neighbouring slots; where all are taken, the one used least recently comes back full."""

_SLOT = struct.Struct("16sdd")


def refill_bucket(level: float, passed_s: float, per_s: float, burst: int) -> tuple[float, float]:
    """Takes one request out of a bucket that was at `level` some seconds ago: its level now, and the seconds to wait.

    >>> refill_bucket(0.0, 0.5, 4.0, 10), refill_bucket(0.0, 0.125, 4.0, 10)
    ((1.0, 0.0), (0.5, 0.125))
    """
    level = min(float(burst), level + passed_s * per_s)
    return (level - 1, 0.0) if level >= 1 else (level, (1 - level) / per_s)


class Buckets:
    """A token bucket a key: `burst` at once, `per_s` more each second.

    Processes that count together name the same `file`, which is made if it is absent; their `clock` is never set.
    """

    # The package limits counts for several processes only in a server beside them (Redis, memcached, MongoDB).
    def __init__(
        self, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic, file: Path | None = None
    ) -> None:
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._file = -1 if file is None else os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        if file is not None:
            weakref.finalize(self, os.close, self._file)
            os.truncate(self._file, SLOTS * _SLOT.size)  # to what it has already, if another was here first
        self._slots = mmap.mmap(self._file, SLOTS * _SLOT.size)

    def take(self, key: str) -> float:
        """Takes one request and gives 0; where none is left, takes nothing and gives the seconds until one is."""
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock():
            now = self._clock()
            at, level, since = self._find_slot(digest, now)
            level, waiting = refill_bucket(level, now - since, self._per_s, self._burst)
            _SLOT.pack_into(self._slots, at, digest, level, now)
        return waiting

    def _find_slot(self, digest: bytes, now: float) -> tuple[int, float, float]:
        """The slot of a key (its place in the file, level, since when), or one that it may have, full."""
        first = int.from_bytes(digest[:4], "little")
        places = [(first + step) % SLOTS * _SLOT.size for step in range(NEIGHBOURS)]
        found = [(at, *_SLOT.unpack_from(self._slots, at)) for at in places]
        for at, owner, level, since in found:
            if owner == digest:
                return at, level, since
        return min(found, key=lambda slot: slot[3])[0], float(self._burst), now

    @contextmanager
    def _lock(self) -> Iterator[None]:
        if self._file < 0:
            yield
            return
        import fcntl  # of systems where processes can share a socket

        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


def count_request(buckets: Buckets, key: str) -> None:
    """Takes one request out of the bucket of a key. Raises Problem: 429, there were too many; with the time to wait."""
    if waiting_s := buckets.take(key):
        wait = str(max(1, math.ceil(waiting_s)))
        raise Problem(429, "too-many-requests", f"too many requests: wait {wait} s", headers={"Retry-After": wait})
