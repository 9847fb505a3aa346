"""Token buckets that several processes of one machine share, so that a limit is the same whichever answers.

They are in a small file that every process maps: a table of slots, found by a hash of the key, each with a level and
its time. Its lock is held for microseconds, so the event loop may wait for it. (A database would be queried for every
small picture.)
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from viewfinder.server.access.limits import refill_bucket

SLOTS, NEIGHBOURS = 8192, 8
"""A key has one of so many neighbouring slots; where all are taken, the one used least recently comes back full."""

_SLOT = struct.Struct("16sdd")


class SharedBuckets:
    """As `TokenBuckets`, in a file that is made if it is absent. `clock`: the same for all processes, never set."""

    def __init__(self, file: Path, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._file = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        weakref.finalize(self, os.close, self._file)
        os.truncate(self._file, SLOTS * _SLOT.size)  # to what it has already, if another was here first
        self._slots = mmap.mmap(self._file, SLOTS * _SLOT.size)

    def take(self, key: str) -> float:
        """Takes one request and gives 0; or, where none is left, takes nothing and gives the seconds until one is."""
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._alone():
            now = self._clock()
            at, level, since = self._find(digest, now)
            level, waiting = refill_bucket(level, now - since, self._per_s, self._burst)
            _SLOT.pack_into(self._slots, at, digest, level, now)
        return waiting

    def _find(self, digest: bytes, now: float) -> tuple[int, float, float]:
        """The key's slot (its place in the file, level, since when), or one that it may have, full."""
        first = int.from_bytes(digest[:4], "little")
        places = [(first + step) % SLOTS * _SLOT.size for step in range(NEIGHBOURS)]
        found = [(at, *_SLOT.unpack_from(self._slots, at)) for at in places]
        for at, owner, level, since in found:
            if owner == digest:
                return at, level, since
        return min(found, key=lambda slot: slot[3])[0], float(self._burst), now

    @contextmanager
    def _alone(self) -> Iterator[None]:
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
