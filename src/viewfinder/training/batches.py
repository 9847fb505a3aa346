"""Shuffled batches that can be found again: by epoch, seed and number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Int

from viewfinder.errors import BadInput
from viewfinder.training.gather import count_processes

Batch = TypeVar("Batch")
Rows = Int[np.ndarray, " b"]


@dataclass(frozen=True)
class Batches(Sequence[Batch], Generic[Batch]):
    """Batch i is `make` of the i-th run of `size` row numbers; made only when asked for."""

    order_n: Int[np.ndarray, " n"]
    size: int
    make: Callable[[Rows], Batch]

    def __len__(self) -> int:
        return len(self.order_n) // self.size

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.make(self.order_n[index * self.size : (index + 1) * self.size])


def shuffled(count: int, batch: int, make: Callable[[Rows], Batch], *, epoch: int, seed: int) -> Batches[Batch]:
    """`count` rows in an order given by seed and epoch, in batches; what does not fill a last batch is left out.

    `batch` counts the rows of a batch over all processes: with two of them each gets halves, and a step sees the same
    rows as with one.

    Raises:
        BadInput: fewer rows than a batch has, or a batch that the processes cannot share equally.
    """
    if batch < 1 or batch % count_processes():
        raise BadInput(f"a batch of {batch} cannot be shared by {count_processes()} processes; choose a multiple")
    if count < batch:
        raise BadInput(f"{count} samples do not fill a batch of {batch}; choose a smaller batch")
    order_n = np.random.default_rng([seed, epoch]).permutation(count)
    return Batches(order_n[: count - count % batch], batch // count_processes(), make)


def take_share(batches: Iterable[Any], *, rank: int, processes: int, done: int) -> Iterator[Any]:
    """The batches rank, rank + processes, ... without the first `done` of them; the same number for every rank.

    A sequence is asked only for those; from anything else all are drawn.
    """
    if isinstance(batches, Sequence):
        rounds = len(batches) // processes
        yield from (batches[turn * processes + rank] for turn in range(done, rounds))
        return
    rest = islice(batches, done * processes, None)
    while len(turn := list(islice(rest, processes))) == processes:
        yield turn[rank]


def group_batches(batches: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Lists of `size` batches in a row; the last may be shorter."""
    while group := list(islice(batches, size)):
        yield group
