"""Work cut into batches that take a second or two, whatever the model: what a crash can cost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from time import monotonic
from typing import TypeVar

Item = TypeVar("Item")

FIRST, MOST = 64, 256
"""Pictures in the first batch, and at most in one."""

SECONDS = 1.5
"""Work between two commits, as far as that can be foretold, against some 60 ms a commit."""


def pace_batches(items: Iterator[Item]) -> Iterator[list[Item]]:
    """Batches of `items`; how long the caller is at work with one decides how many the next has."""
    size, started = FIRST, monotonic()
    while batch := list(islice(items, size)):
        yield batch
        size = _next_size(len(batch), monotonic() - started)
        started = monotonic()


def _next_size(done: int, seconds: float) -> int:
    """Pictures in the next batch, at the speed of the last one; a large model gets small batches."""
    return int(min(max(done * SECONDS / max(seconds, 1e-3), FIRST / 8, 1), MOST))
