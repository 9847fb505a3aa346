"""Reproducible randomness, and batches drawn with it, by epoch, seed and number, for one process or several."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor, distributed

from viewfinder.errors import BadInput

Batch = TypeVar("Batch")
Rows = Int[np.ndarray, " b"]


@dataclass(frozen=True)
class Batches(Sequence[Batch], Generic[Batch]):
    """Batch i is `make` of the i-th run of `size` row numbers; made on demand."""

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
    """`count` rows in an order given by seed and epoch, in batches; what does not fill the last batch is left out.

    `batch` counts the rows of a batch over all processes: with two, each gets half, and a step sees the same rows as
    with one.

    Raises:
        BadInput: there are fewer rows than a batch has, or the processes cannot share a batch equally.
    """
    if batch < 1 or batch % count_processes():
        raise BadInput(f"a batch of {batch} cannot be shared by {count_processes()} processes; choose a multiple")
    if count < batch:
        raise BadInput(f"{count} samples do not fill a batch of {batch}; choose a smaller batch")
    order_n = np.random.default_rng([seed, epoch]).permutation(count)
    return Batches(order_n[: count - count % batch], batch // count_processes(), make)


def draw_epochs(
    count: int, batch: int, draw: Callable[[Rows, np.random.Generator], Batch]
) -> Callable[[int, int], Batches[Batch]]:
    """The batches of a `TrainingJob`, (epoch, seed) -> `shuffled`; each batch has a random generator of its own."""

    def batches(epoch: int, seed: int) -> Batches[Batch]:
        def make(rows_b: Rows) -> Batch:
            return draw(rows_b, np.random.default_rng([seed, epoch, int(rows_b[0])]))

        return shuffled(count, batch, make, epoch=epoch, seed=seed)

    return batches


def take_share(batches: Iterable[Any], *, rank: int, processes: int, done: int) -> Iterator[Any]:
    """The batches rank, rank + processes, ... without the first `done` of them; the same number for every rank.

    A sequence is asked only for those; any other iterable is read in full.
    """
    if isinstance(batches, Sequence):
        rounds = len(batches) // processes
        yield from (batches[turn * processes + rank] for turn in range(done, rounds))
        return
    rest = islice(batches, done * processes, None)
    while len(turn := list(islice(rest, processes))) == processes:
        yield turn[rank]


def count_processes() -> int:
    """How many processes train together; 1 outside `accelerate launch`."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def gather_with_gradient(local: Shaped[Tensor, "b ..."]) -> Shaped[Tensor, "all ..."]:
    """The rows of all processes, those of process 0 first, (b, ...) -> (processes * b, ...); alone: `local` itself.

    The gradient of a process's own rows is the sum of those from all processes. `fit` averages the gradients of the
    weights over the processes; so the weights get the gradient of the *mean over processes* of the
    losses. That is the gradient of one process with the whole batch, both if every process computes the same loss
    over all rows, and if each computes the mean over its own rows against all columns.

    Raises:
        ValueError: the processes do not have equally many rows.
    """
    if count_processes() == 1:
        return local
    counts = [torch.zeros(1, dtype=torch.int64, device=local.device) for _ in range(count_processes())]
    distributed.all_gather(counts, torch.tensor([len(local)], device=local.device))
    rows = [int(count) for count in counts]
    if len(set(rows)) > 1:
        raise ValueError(f"the processes have {rows} rows: give each equally many")
    gathered: Tensor = _Gather.apply(local)  # type: ignore[no-untyped-call]
    return gathered


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor) -> Tensor:
        ctx.rows = len(local)
        parts = [torch.empty_like(local, memory_format=torch.contiguous_format) for _ in range(count_processes())]
        distributed.all_gather(parts, local.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        summed = gradients[0].contiguous().clone()
        distributed.all_reduce(summed)
        first = distributed.get_rank() * ctx.rows
        return summed[first : first + ctx.rows]


def seed_all(seed: int) -> None:
    """Seed the generators of python, numpy and torch (all devices)."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def random_state() -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The state of all generators: tensors, and the rest as JSON values."""
    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    tensors = {
        "python": torch.tensor(words),
        "numpy": torch.from_numpy(np.asarray(keys).astype(np.int64)),
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        tensors["cuda"] = torch.cuda.get_rng_state()
    return tensors, {"python": [version, gauss], "numpy": [name, int(position), int(has_gauss), float(cached)]}


def set_random_state(tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
    """Restore all generators to a `random_state`."""
    version, gauss = record["python"]
    random.setstate((version, tuple(tensors["python"].tolist()), gauss))
    name, position, has_gauss, cached = record["numpy"]
    np.random.set_state((name, tensors["numpy"].numpy().astype(np.uint32), position, has_gauss, cached))
    torch.set_rng_state(tensors["torch"])
    if "cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["cuda"])


@contextmanager
def own_randomness(seed: int) -> Iterator[None]:
    """Code inside gets the random numbers of `seed` and does not affect those outside."""
    before = random_state()
    seed_all(seed)
    try:
        yield
    finally:
        set_random_state(*before)
