"""A training under way as one file, and back: weights, optimiser, schedule, random numbers, where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor
from torch.optim import Optimizer

from viewfinder.errors import BadInput
from viewfinder.training.checkpoints import CHECKPOINT, fill_network, read_tensors, write_tensors
from viewfinder.training.job import TrainingJob
from viewfinder.training.optimisers import optimiser_state, set_optimiser_state
from viewfinder.training.schedules import PlateauSchedule, TorchSchedule
from viewfinder.training.seeds import random_state, set_random_state
from viewfinder.training.settings import OneCycle, TrainingSettings, WarmupCosine
from viewfinder.training.weights import Card, check_card

FREE = {"patience", "log_every", "save_every", "keep", "validate_epochs", "validate_steps"}
"""Settings that a resumed training may change."""


@dataclass
class RunningMeans:
    """Running means of figures; exact through JSON."""

    counts: dict[str, int] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)

    def add(self, figures: Mapping[str, float]) -> None:
        """The figures of one more batch."""
        for name, number in figures.items():
            self.counts[name] = self.counts.get(name, 0) + 1
            self.sums[name] = self.sums.get(name, 0.0) + number

    def mean(self, name: str) -> float:
        """The mean of one figure over the batches that had it."""
        return self.sums[name] / self.counts[name]

    def take(self) -> dict[str, float]:
        """All means; starts again from nothing."""
        means = {name: self.mean(name) for name in self.sums}
        self.counts, self.sums = {}, {}
        return means


@dataclass
class TrainingProgress:
    """Where a training stands. Epochs count from 1; `batch` counts those of the epoch that each process has used."""

    step: int = 0
    epoch: int = 1
    batch: int = 0
    best: float | None = None  # higher is better here
    best_step: int = 0
    figures: dict[str, float] = field(default_factory=dict)
    waited: int = 0  # validations since the best
    validated: int = 0  # step of the last validation
    rate: float = 0.0
    seconds: float = 0.0
    log_bytes: int = 0
    recent: RunningMeans = field(default_factory=RunningMeans)
    whole: RunningMeans = field(default_factory=RunningMeans)


@dataclass(frozen=True)
class TrainingParts:
    """Everything of a training that has a state."""

    job: TrainingJob
    accelerator: Accelerator
    optimiser: Optimizer
    schedule: TorchSchedule | PlateauSchedule
    at: TrainingProgress
    out: Path

    def card(self) -> Card:
        """The job's card with the best figures so far."""
        return replace(self.job.card, figures={**self.job.card.figures, **self.at.figures})


def newest_checkpoint(out: Path) -> Path | None:
    """The checkpoint in the folder `out` of a training that has the most steps, if there is one."""
    return max((out / "checkpoints").glob("[0-9]*.safetensors"), default=None)


def save_checkpoint(parts: TrainingParts) -> None:
    """Write a checkpoint, then remove all but the last few; every process must call it."""
    # With several processes this brings together one state of random numbers each.
    states: list[tuple[dict[str, Tensor], dict[str, Any]]] = gather_object([random_state()])
    if parts.accelerator.is_main_process:
        tensors, optimiser = optimiser_state(parts.optimiser)
        named = {
            **{f"network.{name}": tensor for name, tensor in parts.job.network.state_dict().items()},
            **{f"optimiser.{name}": tensor for name, tensor in tensors.items()},
            **{f"random.{rank}.{name}": state[name] for rank, (state, _) in enumerate(states) for name in state},
        }
        record = {
            "at": asdict(parts.at),
            "card": asdict(parts.job.card),
            "settings": asdict(parts.job.settings),
            "optimiser": optimiser,
            "schedule": parts.schedule.state(),
            "scaler": parts.accelerator.scaler and parts.accelerator.scaler.state_dict(),
            "random": [state for _, state in states],
        }
        file = parts.out / "checkpoints" / f"{parts.at.step:08d}.safetensors"
        write_tensors(file, named, record, schema=CHECKPOINT)
        _prune(file.parent, parts.job.settings.keep)
    parts.accelerator.wait_for_everyone()


def _prune(folder: Path, keep: int) -> None:
    for file in sorted(folder.glob("[0-9]*.safetensors"))[:-keep]:
        file.unlink()
    for scratch in folder.glob(".*.part"):  # of a process that was killed while writing
        scratch.unlink()


def restore_checkpoint(file: Path, parts: TrainingParts) -> None:
    """Put everything where `save` found it.

    Raises:
        BadInput, EncoderMismatch: the checkpoint is damaged, or of a training with other settings.
    """
    tensors, record = read_tensors(file, schema=CHECKPOINT)
    _check(file, record, parts)
    fill_network(file, parts.job.network, _under("network.", tensors))
    set_optimiser_state(parts.optimiser, _under("optimiser.", tensors), record["optimiser"])
    parts.schedule.load(record["schedule"])
    if parts.accelerator.scaler is not None:
        parts.accelerator.scaler.load_state_dict(record["scaler"])
    at = record["at"] | {name: RunningMeans(**record["at"][name]) for name in ("recent", "whole")}
    vars(parts.at).update(at)
    rank = parts.accelerator.process_index
    set_random_state(_under(f"random.{rank}.", tensors), record["random"][rank])


def _check(file: Path, record: Mapping[str, Any], parts: TrainingParts) -> None:
    """Refuse to go on with something else than was begun."""
    card = parts.job.card
    check_card(file, Card(**record["card"]), system=card.system, encoder=card.encoder)
    settings = parts.job.settings
    before = record["settings"]
    for name, value in _as_json(settings).items():
        if name not in _free(settings) and before.get(name) != value:
            raise BadInput(f"{file}: begun with {name} = {before.get(name)}, not {value}; keep it, or train elsewhere")
    if len(record["random"]) != parts.accelerator.num_processes:
        raise BadInput(f"{file}: begun with {len(record['random'])} processes; go on with as many")


def _free(settings: TrainingSettings) -> set[str]:
    """A training may be made longer, unless its learning rates follow from its length."""
    return FREE if isinstance(settings.schedule, OneCycle | WarmupCosine) else FREE | {"epochs", "steps"}


def _as_json(settings: TrainingSettings) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()}


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
