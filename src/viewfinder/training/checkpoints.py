"""Networks and trainings on disk: one safetensors file each, what is not a tensor as JSON in its metadata.

A file appears whole or not at all: it is written beside its place, flushed to disk, and then renamed. A network is
its weights with a card; a training under way also has optimiser, schedule, random numbers and its position.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from viewfinder.errors import BadInput, DiskFull
from viewfinder.training.batches import random_state, set_random_state
from viewfinder.training.optimisers import PlateauSchedule, TorchSchedule
from viewfinder.training.presets import OneCycle, TrainingSettings, WarmupCosine
from viewfinder.weights import (
    NETWORK,
    VERSION,
    Card,
    check_card,
    checksum_arrays,
    explain_damaged_file,
    parse_card,
    read_record,
)
from viewfinder.whole_files import replace_file

if TYPE_CHECKING:
    from accelerate import Accelerator

CHECKPOINT = "viewfinder/checkpoint"


def save_network(path: Path, network: nn.Module, card: Card) -> None:
    """Write the weights and buffers of `network` with its card.

    Raises:
        DiskFull, BadInput: it cannot be written.
    """
    write_tensors(path, network.state_dict(), asdict(card), schema=NETWORK)


def load_network(path: Path, network: nn.Module, *, system: str, encoder: str) -> Card:
    """Fill `network` from a file of `save_network`, every name and shape or none; returns its card.

    Raises:
        EncoderMismatch: it was trained on the vectors of an encoder other than `encoder` (a `raw_version`).
        BadInput: it belongs to another system, has other weights than `network`, or as `read_tensors`.
    """
    tensors, record = read_tensors(path, schema=NETWORK)
    card = parse_card(path, record)
    check_card(path, card, system=system, encoder=encoder)
    fill_network(path, network, tensors)
    return card


def fill_network(path: Path, network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load a state dict strictly; `path` is for the message.

    Raises:
        BadInput: a name is missing or unknown, or a shape differs; the first such name is given.
    """
    wanted = network.state_dict()
    for name in (*wanted, *tensors):
        if name not in tensors:
            raise BadInput(f"{path}: {name} is missing; the file belongs to a network of other settings")
        if name not in wanted:
            raise BadInput(f"{path}: {name} is unknown here; the file belongs to a network of other settings")
        if tensors[name].shape != wanted[name].shape:
            shapes = f"{tuple(tensors[name].shape)}, not {tuple(wanted[name].shape)}"
            raise BadInput(f"{path}: {name} is {shapes}; the file belongs to a network of other settings")
    network.load_state_dict(tensors)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], record: Mapping[str, Any], *, schema: str) -> None:
    """Write tensors and a JSON record as one file, whole or not at all.

    Raises:
        DiskFull, BadInput: it cannot be written.
    """
    # On the CPU, contiguous, and none sharing memory with another: tied weights are written twice.
    ready: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        own = tensor.detach().cpu().contiguous()
        place = own.untyped_storage().data_ptr()
        ready[name] = own.clone() if place in seen else own
        seen.add(place)
    metadata = {"schema": schema, "version": str(VERSION), "crc32": str(_compute_checksum(ready))}
    metadata["record"] = json.dumps(record)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path, lasting=True) as file:
            file.touch()
            mode = file.stat().st_mode
            save_file(ready, str(file), metadata=metadata)
            file.chmod(mode)  # safetensors makes files that only their owner may read
    except (OSError, SafetensorError) as error:
        # safetensors gives the system's error only as text.
        if getattr(error, "errno", None) == errno.ENOSPC or f"os error {errno.ENOSPC}" in str(error):
            raise DiskFull(f"{path}: the disk is full; make room and go on with --resume") from error
        raise BadInput(f"{path}: cannot be written ({error}); choose another folder") from error


def read_tensors(path: Path, *, schema: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors (on the CPU) and the record of a file of `write_tensors`.

    Raises:
        BadInput: the file is missing, damaged, or something else.
        NewerLibrary: written by a later version.
    """
    record, checksum = read_record(path, schema)
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise explain_damaged_file(path, str(error)) from error
    if _compute_checksum(tensors) != checksum:
        raise explain_damaged_file(path, "its checksum differs")
    return tensors, record


def _compute_checksum(tensors: Mapping[str, Tensor]) -> int:
    # As bytes: numpy has no bfloat16.
    return checksum_arrays({name: tensor.reshape(-1).view(torch.uint8).numpy() for name, tensor in tensors.items()})


FREE = {"patience", "keep", "validate_epochs", "validate_steps", "validate_offset"}
"""Settings that a resumed training may change."""


@dataclass
class RunningMeans:
    """Running means of figures; exact through JSON."""

    counts: dict[str, int] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)

    def add(self, figures: Mapping[str, float]) -> None:
        """Add the figures of one more batch."""
        for name, number in figures.items():
            self.counts[name] = self.counts.get(name, 0) + 1
            self.sums[name] = self.sums.get(name, 0.0) + number

    def mean(self, name: str) -> float:
        """The mean of one figure over the batches that had it."""
        return self.sums[name] / self.counts[name]

    def take(self) -> dict[str, float]:
        """All means; starts again from zero."""
        means = {name: self.mean(name) for name in self.sums}
        self.counts, self.sums = {}, {}
        return means


@dataclass
class TrainingProgress:
    """Where a training stands. Epochs count from 1; `batch` counts the epoch's batches that each process has used."""

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
    """Every part of a training that has a state."""

    network: nn.Module
    settings: TrainingSettings
    card: Card
    accelerator: Accelerator
    optimiser: Optimizer
    schedule: TorchSchedule | PlateauSchedule
    at: TrainingProgress
    out: Path


def newest_checkpoint(out: Path) -> Path | None:
    """The checkpoint in the folder `out` of a training that has the most steps, if there is one."""
    return max((out / "checkpoints").glob("[0-9]*.safetensors"), default=None)


def save_checkpoint(parts: TrainingParts) -> None:
    """Write a checkpoint, then remove all but the last few; every process must call it."""
    from accelerate.utils import gather_object  # slow to import, and reading a checkpoint does not need it

    # With several processes this gathers the random state of each.
    states: list[tuple[dict[str, Tensor], dict[str, Any]]] = gather_object([random_state()])
    if parts.accelerator.is_main_process:
        tensors, optimiser = optimiser_state(parts.optimiser)
        named = {
            **{f"network.{name}": tensor for name, tensor in parts.network.state_dict().items()},
            **{f"optimiser.{name}": tensor for name, tensor in tensors.items()},
            **{f"random.{rank}.{name}": state[name] for rank, (state, _) in enumerate(states) for name in state},
        }
        record = {
            "at": asdict(parts.at),
            "card": asdict(parts.card),
            "settings": asdict(parts.settings),
            "optimiser": optimiser,
            "schedule": parts.schedule.state(),
            "scaler": parts.accelerator.scaler and parts.accelerator.scaler.state_dict(),
            "random": [state for _, state in states],
        }
        file = parts.out / "checkpoints" / f"{parts.at.step:08d}.safetensors"
        write_tensors(file, named, record, schema=CHECKPOINT)
        for old in sorted(file.parent.glob("[0-9]*.safetensors"))[: -parts.settings.keep]:
            old.unlink()
        for scratch in file.parent.glob(".*.part"):  # left by a process that was killed while writing
            scratch.unlink()
    parts.accelerator.wait_for_everyone()


def restore_checkpoint(file: Path, parts: TrainingParts) -> None:
    """Restore everything to what `save` wrote.

    Raises:
        BadInput, EncoderMismatch: the checkpoint is damaged, or of a training with other settings.
    """
    tensors, record = read_tensors(file, schema=CHECKPOINT)
    _check_same_training(file, record, parts)
    fill_network(file, parts.network, _take_prefixed("network.", tensors))
    set_optimiser_state(parts.optimiser, _take_prefixed("optimiser.", tensors), record["optimiser"])
    parts.schedule.load(record["schedule"])
    if parts.accelerator.scaler is not None:
        parts.accelerator.scaler.load_state_dict(record["scaler"])
    at = record["at"] | {name: RunningMeans(**record["at"][name]) for name in ("recent", "whole")}
    vars(parts.at).update(at)
    rank = parts.accelerator.process_index
    set_random_state(_take_prefixed(f"random.{rank}.", tensors), record["random"][rank])


def _check_same_training(file: Path, record: Mapping[str, Any], parts: TrainingParts) -> None:
    """Refuse to continue with settings other than those it began with."""
    check_card(file, Card(**record["card"]), system=parts.card.system, encoder=parts.card.encoder)
    # A training may be made longer, unless its learning rates follow from its length.
    fixed_length = isinstance(parts.settings.schedule, OneCycle | WarmupCosine)
    free = FREE if fixed_length else FREE | {"epochs", "steps"}
    before = record["settings"]
    for name, value in asdict(parts.settings).items():
        now = list(value) if isinstance(value, tuple) else value  # as in JSON
        if name not in free and before.get(name) != now:
            raise BadInput(f"{file}: begun with {name} = {before.get(name)}, not {now}; keep it, or train elsewhere")
    if len(record["random"]) != parts.accelerator.num_processes:
        raise BadInput(f"{file}: begun with {len(record['random'])} processes; go on with as many")


def _take_prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def optimiser_state(optimiser: Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An optimiser as tensors ("3.exp_avg" of parameter 3) and the rest as JSON values."""
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
    """Restore an optimiser over the same parameters to an `optimiser_state`."""
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
