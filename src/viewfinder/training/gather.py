"""Several processes (`accelerate launch`) as one: rows of all of them, with gradients."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor, distributed


def count_processes() -> int:
    """How many processes train together; 1 outside `accelerate launch`."""
    return distributed.get_world_size() if _together() else 1


def gather_with_gradient(local: Shaped[Tensor, "b ..."]) -> Shaped[Tensor, "all ..."]:
    """The rows of all processes, those of process 0 first, (b, ...) -> (processes * b, ...); alone: `local` itself.

    The gradient that reaches a process's own rows is the sum of what all processes send to them. `fit` averages the
    gradients of the weights over the processes; so the weights get the gradient of the *mean over processes* of the
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


def _together() -> bool:
    return distributed.is_available() and distributed.is_initialized()
