"""Optimisers by name, and learning-rate schedules: torch's schedulers where they exist, and Fashion IQ's rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from torch import nn
from torch.optim import Adam, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, OneCycleLR

from viewfinder.errors import BadInput
from viewfinder.training.presets import (
    Constant,
    Exponential,
    HalveOnPlateau,
    Noam,
    OneCycle,
    TrainingSettings,
    WarmupCosine,
)


def make_optimiser(settings: TrainingSettings, parameters: Sequence[nn.Parameter]) -> Optimizer:
    """The optimiser that `settings` names, over `parameters`."""
    kind: Callable[..., Optimizer] = {"adam": Adam, "adamw": AdamW}[settings.optimiser]
    rate, decay = settings.learning_rate, settings.weight_decay
    return kind(parameters, lr=rate, betas=settings.betas, eps=settings.eps, weight_decay=decay)


def make_schedule(
    settings: TrainingSettings, optimiser: Optimizer, *, total_steps: int | None
) -> TorchSchedule | PlateauSchedule:
    """The schedule that `settings` names, set on `optimiser` for its first step.

    Raises:
        BadInput: it needs the total number of steps, and `total_steps` is None.
    """
    schedule = settings.schedule
    if isinstance(schedule, OneCycle | WarmupCosine) and total_steps is None:
        raise BadInput(
            f"the schedule {schedule.kind} must know the number of steps: set steps, or give batches a length"
        )
    total = total_steps or 0
    # For LambdaLR: a share of the learning rate by the number of steps (or epochs) done so far.
    match schedule:
        case HalveOnPlateau():
            return PlateauSchedule(schedule, optimiser)
        case OneCycle():
            # torch divides by the length of the rise, which one step does not have.
            rising = schedule.rising if schedule.rising * total > 1 else 0.0
            rate, divisor = settings.learning_rate, schedule.start_divisor
            one_cycle = OneCycleLR(optimiser, rate, total_steps=total, pct_start=rising, div_factor=divisor)
            return TorchSchedule(one_cycle, most=total)
        case Exponential(factor=factor):
            floor = schedule.floor / settings.learning_rate  # the floor is a rate
            return TorchSchedule(LambdaLR(optimiser, lambda epoch: max(factor**epoch, floor)), by="epoch")
        case Noam(width=width, warmup=warmup):  # at step done + 1
            scale = width**-0.5
            noam = LambdaLR(optimiser, lambda done: scale * min((done + 1) ** -0.5, (done + 1) * warmup**-1.5))
            return TorchSchedule(noam)
        case WarmupCosine(warmup=warmup):
            shares = partial(warmup_cosine_share, warmup=warmup, total=total)
            return TorchSchedule(LambdaLR(optimiser, lambda done: shares(done + 1)))
        case Constant():
            return TorchSchedule(LambdaLR(optimiser, lambda done: 1.0))


def warmup_cosine_share(step: int, *, warmup: int, total: int) -> float:
    """step / warmup up to 1, then half a cosine that reaches 0 at step `total`; steps from 1.

    >>> [round(warmup_cosine_share(step, warmup=2, total=6), 2) for step in range(1, 7)]
    [0.5, 1.0, 0.85, 0.5, 0.15, 0.0]
    """
    if step <= warmup:
        return step / warmup
    done = min((step - warmup) / max(total - warmup, 1), 1.0)
    return 0.5 * (1 + math.cos(math.pi * done))


@dataclass(eq=False)
class TorchSchedule:
    """A torch scheduler, advanced by step or by epoch, at most `most` times (then the rate stays)."""

    over: ClassVar[bool] = False  # whether the schedule ends the training
    scheduler: LRScheduler
    by: Literal["step", "epoch"] = "step"
    most: int | None = None

    def after_step(self) -> None:
        """An update of the weights was made."""
        if self.by == "step" and (self.most is None or self.scheduler.last_epoch + 1 < self.most):
            self.scheduler.step()

    def after_epoch(self, figures: Mapping[str, float]) -> None:
        """An epoch ended, with these means over its batches."""
        if self.by == "epoch":
            self.scheduler.step()

    def after_validation(self, *, best: bool) -> None:
        """A validation was made, with or without a new best."""

    def state(self) -> dict[str, Any]:
        """Its state, as JSON values."""
        return self.scheduler.state_dict()

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        self.scheduler.load_state_dict(state)


class PlateauSchedule:
    """Runs `HalveOnPlateau` (counters as in Fashion IQ's retriever)."""

    def __init__(self, settings: HalveOnPlateau, optimiser: Optimizer) -> None:
        self._settings = settings
        self._optimiser = optimiser
        self._first = float(optimiser.param_groups[0]["lr"])
        self._best: float | None = None
        self._counted = 0
        self.over = False

    def after_step(self) -> None:
        """Nothing changes within an epoch."""

    def after_epoch(self, figures: Mapping[str, float]) -> None:
        """Count an epoch without gain, and halve after enough of them."""
        rule = self._settings
        if rule.watches == "validation":
            return
        if rule.figure not in figures:
            raise BadInput(f"the schedule watches {rule.figure!r}; the training has: {', '.join(figures)}")
        now = figures[rule.figure] if rule.higher else -figures[rule.figure]
        if self._best is not None and now < self._best + rule.gain:
            self._counted += 1
            if self._counted >= rule.patience:
                self._halve_rate()
                self._optimiser.state.clear()  # like a new optimiser: no moments
        self._best = now if self._best is None else max(self._best, now)

    def after_validation(self, *, best: bool) -> None:
        """When it watches the training, only a new best resets the count; when validation, only a halving."""
        if self._settings.watches == "training":
            self._counted = 0 if best else self._counted
        elif not best:
            self._counted += 1
            if self._counted >= self._settings.patience:
                self._halve_rate()
                self._counted = 0

    def _halve_rate(self) -> None:
        for group in self._optimiser.param_groups:
            group["lr"] *= self._settings.factor
        self.over = self._optimiser.param_groups[0]["lr"] < self._first * self._settings.floor

    def state(self) -> dict[str, Any]:
        """Its state, as JSON values."""
        return {"first": self._first, "best": self._best, "counted": self._counted, "over": self.over}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        self._first, self._best = state["first"], state["best"]
        self._counted, self.over = state["counted"], state["over"]
