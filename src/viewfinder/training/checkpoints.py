"""Networks and checkpoints on disk: one safetensors file each, what is no tensor as JSON in its metadata.

A file appears whole or not at all: it is written beside its place, brought to the disk, and then renamed.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from viewfinder.errors import BadInput, DiskFull
from viewfinder.training.weights import (
    NETWORK,
    VERSION,
    Card,
    check_card,
    checksum_arrays,
    damaged_file,
    parse_card,
    read_record,
)

CHECKPOINT = "viewfinder/checkpoint"


def save_network(path: Path, network: nn.Module, card: Card) -> None:
    """Write the weights and buffers of `network` with its card.

    Raises:
        DiskFull, BadInput: it cannot be written.
    """
    write_tensors(path, network.state_dict(), asdict(card), schema=NETWORK)


def load_network(path: Path, network: nn.Module, *, system: str, encoder: str) -> Card:
    """Fill `network` from a file of `save_network`, every name and shape or none; its card.

    Raises:
        EncoderMismatch: it was trained on the vectors of another encoder than `encoder` (a `raw_version`).
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
        BadInput: a name is missing or too many, or a shape differs; the first such name is told.
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
    ready = _separate(tensors)
    metadata = {
        "schema": schema,
        "version": str(VERSION),
        "crc32": str(_checksum(ready)),
        "record": json.dumps(record),
    }
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.touch()
        mode = scratch.stat().st_mode
        save_file(ready, str(scratch), metadata=metadata)
        scratch.chmod(mode)  # safetensors makes files that nobody else may read
        _sync(scratch)
        scratch.replace(path)
        _sync(path.parent)
    except (OSError, SafetensorError) as error:
        scratch.unlink(missing_ok=True)
        # safetensors tells the system's error in words only.
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
        with safe_open(str(path), framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (OSError, SafetensorError) as error:
        raise damaged_file(path, str(error)) from error
    if _checksum(tensors) != checksum:
        raise damaged_file(path, "its checksum differs")
    return tensors, record


def _separate(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Contiguous tensors on the CPU, none sharing memory with another (tied weights are written twice)."""
    seen: set[int] = set()
    ready: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        own = tensor.detach().cpu().contiguous()
        place = own.untyped_storage().data_ptr()
        ready[name] = own.clone() if place in seen else own
        seen.add(place)
    return ready


def _checksum(tensors: Mapping[str, Tensor]) -> int:
    return checksum_arrays(
        (name, tensor.reshape(-1).view(torch.uint8).numpy().data) for name, tensor in tensors.items()
    )


def _sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
