"""Optimisers by name, and their states as tensors and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

from viewfinder.training.settings import TrainingSettings

OPTIMISERS: dict[str, Callable[..., Optimizer]] = {"adam": Adam, "adamw": AdamW}


def make_optimiser(settings: TrainingSettings, parameters: Sequence[nn.Parameter]) -> Optimizer:
    """The optimiser that `settings` names, over `parameters`."""
    return OPTIMISERS[settings.optimiser](
        parameters,
        lr=settings.learning_rate,
        betas=settings.betas,
        eps=settings.eps,
        weight_decay=settings.weight_decay,
    )


def optimiser_state(optimiser: Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An optimiser as tensors ("3.exp_avg" of parameter 3) and what else there is, fit for JSON."""
    state = optimiser.state_dict()
    tensors: dict[str, Tensor] = {}
    values: list[list[Any]] = []
    for number, entries in state["state"].items():
        for name, value in entries.items():
            if isinstance(value, Tensor):
                tensors[f"{number}.{name}"] = value
            else:
                values.append([number, name, value])
    return tensors, {"groups": state["param_groups"], "values": values}


def set_optimiser_state(optimiser: Optimizer, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
    """Put an optimiser over the same parameters where `optimiser_state` found it."""
    state: dict[int, dict[str, Any]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = tensor
    for number, name, value in record["values"]:
        state.setdefault(number, {})[name] = value
    # JSON has no tuples, and the optimisers take betas as one.
    groups = [
        {key: tuple(value) if isinstance(value, list) and key != "params" else value for key, value in group.items()}
        for group in record["groups"]
    ]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
