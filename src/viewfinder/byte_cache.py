"""A cache that is bounded by the bytes of what it holds."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")


class ByteCache:
    """A cache of what is costly to compute, bounded in bytes: the least recently used goes first, the newest stays.

    Thread-safe. None of the libraries that we use bounds a cache by the size of its entries.
    """

    def __init__(self, max_bytes: int = 256 << 20) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Any | None:
        """The value, or None if it must be computed."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def remember(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The value, computed if it is not known; None is a value too."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                known: Value = self._entries[key][0]
                return known
        value = compute()
        self.put(key, value)
        return value

    def put(self, key: Hashable, value: Any) -> None:
        """Keeps a value."""
        size = size_of(value)
        with self._lock:
            self.bytes += size - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = (value, size)
            self._shrink()

    def limit(self, max_bytes: int) -> None:
        """Limits the cache to this many bytes from now on."""
        with self._lock:
            self.max_bytes = max_bytes
            self._shrink()

    def _shrink(self) -> None:
        while self.bytes > self.max_bytes and len(self._entries) > 1:
            self.bytes -= self._entries.popitem(last=False)[1][1]


_LEAVES = frozenset({str, int, float, bool, bytes, type(None)})


def size_of(value: Any) -> int:
    """The size of a value in bytes, each object once; what several values share counts in each, so this is an upper
    bound.

    Functions and the like (an encoder that a state refers to) belong to others and count nothing.
    """
    size, seen, waiting = 0, set[int](), [value]
    while waiting:  # no recursion: the state of a long conversation is nested thousands deep
        one = waiting.pop()
        kind = type(one)
        if id(one) in seen:
            continue
        if kind in _LEAVES:  # most objects
            seen.add(id(one))
            size += sys.getsizeof(one)
        elif kind is np.ndarray:
            seen.add(id(one))
            size += one.nbytes + 128
        elif not callable(one):
            seen.add(id(one))
            size += one.nbytes + 128 if isinstance(one, np.ndarray) else sys.getsizeof(one, 64)
            if isinstance(one, tuple | list | set | frozenset):
                waiting += one
            elif isinstance(one, Mapping):
                waiting += chain.from_iterable(one.items())
            elif is_dataclass(one):
                if kind not in _names:
                    _names[kind] = tuple(field.name for field in fields(one))
                waiting += [getattr(one, name) for name in _names[kind]]
    return size


_names: dict[type[Any], tuple[str, ...]] = {}
"""The fields of dataclasses seen so far: looking them up takes longer than all the rest."""
