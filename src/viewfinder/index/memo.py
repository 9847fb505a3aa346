"""States of retrievers after turns, kept within a number of bytes: a turn costs one step, going back nothing."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

MAX_BYTES = 256 << 20


class ByteCache:
    """States by retriever and node key; the least recently used go first, the newest stays. For all threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._states: OrderedDict[tuple[str, ...], tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._states)

    def get(self, key: tuple[str, ...]) -> Any | None:
        """The state, or None where it must be computed."""
        with self._lock:
            if key not in self._states:
                return None
            self._states.move_to_end(key)
            return self._states[key][0]

    def put(self, key: tuple[str, ...], state: Any) -> None:
        """Keeps a state."""
        size = size_of(state)
        with self._lock:
            self.bytes += size - self._states.pop(key, (None, 0))[1]
            self._states[key] = (state, size)
            self._shrink()

    def limit(self, max_bytes: int) -> None:
        """From now on, this many bytes at most."""
        with self._lock:
            self.max_bytes = max_bytes
            self._shrink()

    def _shrink(self) -> None:
        while self.bytes > self.max_bytes and len(self._states) > 1:
            _, (_, size) = self._states.popitem(last=False)
            self.bytes -= size


MEMO = ByteCache()
"""The one cache of the process."""


def size_of(state: Any) -> int:
    """Bytes of a state, each object once; what states share among themselves counts in each, so this is an upper bound.

    Functions and the like (an encoder that a state refers to) belong to others and count nothing.
    """
    return _size_of(state, set())


def _size_of(value: Any, seen: set[int]) -> int:
    if id(value) in seen or callable(value):
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return value.nbytes + 128
    size = sys.getsizeof(value, 64)
    if isinstance(value, tuple | list | set | frozenset):
        return size + sum(_size_of(item, seen) for item in value)
    if isinstance(value, Mapping):
        return size + sum(_size_of(item, seen) for pair in value.items() for item in pair)
    if is_dataclass(value):
        return size + sum(_size_of(getattr(value, one.name), seen) for one in fields(value))
    return size
