"""Networks and checkpoints on disk: one safetensors file each, what is no tensor as JSON in its metadata.

A file appears whole or not at all: it is written beside its place, brought to the disk, and then renamed.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from viewfinder.errors import BadInput, DiskFull, EncoderMismatch, NewerLibrary

NETWORK = "viewfinder/network"
CHECKPOINT = "viewfinder/checkpoint"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a trained network is.

    `encoder` is the `raw_version` of the encoder on whose vectors it was trained. `settings` is whatever JSON is
    needed to build the network again (the preset's `asdict`, a vocabulary); `figures` what was measured with it.
    """

    system: str
    preset: str
    encoder: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)


def save_network(path: Path, network: nn.Module, card: Card) -> None:
    """Write the weights and buffers of `network` with its card.

    Raises:
        DiskFull, BadInput: it cannot be written.
    """
    write_tensors(path, network.state_dict(), asdict(card), schema=NETWORK)


def read_card(path: Path) -> Card:
    """The card of a network, without its weights.

    Raises:
        BadInput, NewerLibrary: as `read_tensors`.
    """
    return _card(path, _record(path, NETWORK)[0])


def load_network(path: Path, network: nn.Module, *, system: str, encoder: str) -> Card:
    """Fill `network` from a file of `save_network`, every name and shape or none; its card.

    Raises:
        EncoderMismatch: it was trained on the vectors of another encoder than `encoder` (a `raw_version`).
        BadInput: it belongs to another system, has other weights than `network`, or as `read_tensors`.
    """
    tensors, record = read_tensors(path, schema=NETWORK)
    card = _card(path, record)
    check_card(path, card, system=system, encoder=encoder)
    fill(path, network, tensors)
    return card


def check_card(path: Path, card: Card, *, system: str, encoder: str) -> None:
    """Refuse what was trained for something else.

    Raises:
        BadInput, EncoderMismatch: as `load_network`.
    """
    if card.system != system:
        raise BadInput(f"{path}: this is a network of {card.system}, not of {system}; name another file")
    if card.encoder != encoder:
        raise EncoderMismatch(
            f"{path}: trained on vectors of the encoder {card.encoder!r}, not {encoder!r}; "
            "use that encoder, or train again with this one"
        )


def fill(path: Path, network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
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
    record, checksum = _record(path, schema)
    try:
        with safe_open(str(path), framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (OSError, SafetensorError) as error:
        raise _damaged(path, str(error)) from error
    if _checksum(tensors) != checksum:
        raise _damaged(path, "its checksum differs")
    return tensors, record


def _record(path: Path, schema: str) -> tuple[dict[str, Any], int]:
    """The JSON record of a file, and the checksum of its tensors."""
    if not path.is_file():
        raise BadInput(f"{path}: no such file")
    try:
        with safe_open(str(path), framework="pt") as file:
            metadata = file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise _damaged(path, str(error)) from error
    if metadata.get("schema") != schema:
        kind = schema.partition("/")[2]
        raise BadInput(f"{path}: this is no {kind} of viewfinder; name a file that `viewfinder train` wrote")
    try:
        if int(metadata["version"]) > VERSION:
            raise NewerLibrary(f"{path}: written by a later version of viewfinder; update viewfinder")
        return json.loads(metadata["record"]), int(metadata["crc32"])
    except (KeyError, ValueError) as error:
        raise _damaged(path, f"metadata: {error}") from error


def _card(path: Path, record: Mapping[str, Any]) -> Card:
    if record.keys() != {item.name for item in fields(Card)}:
        raise _damaged(path, f"a card of {', '.join(record)}")
    return Card(**record)


def _damaged(path: Path, reason: str) -> BadInput:
    return BadInput(f"{path}: damaged ({reason}); delete it and use another copy, or train again")


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
    """CRC-32 over names and bytes; safetensors checks lengths only."""
    total = 0
    for name in sorted(tensors):
        total = zlib.crc32(name.encode(), total)
        total = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, total)
    return total


def _sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
