"""Trained networks on disk, read without torch: what a search needs. `training.checkpoints` writes these files.

One safetensors file a network; what is not a tensor is JSON in its metadata.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from viewfinder.errors import BadInput, EncoderMismatch, NewerLibrary
from viewfinder.training.training_list import read_list_beside

NETWORK = "viewfinder/network"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a trained network is.

    `encoder` is the `raw_version` of the encoder on whose vectors it was trained. `settings` is whatever JSON is
    needed to rebuild the network (the preset's `asdict`, a vocabulary); `figures` what was measured with it.
    `trained_on` is the list of the pictures that it was trained on (`TrainingList.encode`); "": unknown.
    """

    system: str
    preset: str
    encoder: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    trained_on: str = field(default="", repr=False)


@dataclass(frozen=True, eq=False)
class Weights:
    """The arrays of a network by name, its card, and a fingerprint that changes with every number in it."""

    arrays: Mapping[str, np.ndarray]
    card: Card
    fingerprint: str


def read_weights(path: Path) -> Weights:
    """A network's weights, those stored in half precision converted to single.

    Raises:
        BadInput: the file is missing, damaged, or something else.
        NewerLibrary: written by a later version.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    record, checksum = read_record(path, NETWORK)
    try:
        arrays = load_file(str(path))
    except (OSError, SafetensorError) as error:
        raise damaged_file(path, str(error)) from error
    if checksum_arrays(arrays) != checksum:
        raise damaged_file(path, "its checksum differs")
    wide = {name: array.astype(np.float32) if array.dtype == np.float16 else array for name, array in arrays.items()}
    return Weights(wide, parse_card(path, record), f"{checksum:08x}")


def read_card(path: Path) -> Card:
    """The card of a network, without its weights.

    Raises:
        BadInput, NewerLibrary: as `read_weights`.
    """
    return parse_card(path, read_record(path, NETWORK)[0])


def check_card(path: Path, card: Card, *, system: str, encoder: str | None = None) -> None:
    """Refuse weights trained for something else; `encoder` is a `raw_version`.

    Raises:
        BadInput: it belongs to another system.
        EncoderMismatch: it was trained on the vectors of another encoder.
    """
    if card.system != system:
        raise BadInput(f"{path}: this is a network of {card.system}, not of {system}; name another file")
    if encoder is not None and card.encoder != encoder:
        raise EncoderMismatch(
            f"{path}: trained on vectors of the encoder {card.encoder!r}, not {encoder!r}; "
            "use that encoder, or train again with this one"
        )


def read_record(path: Path, schema: str) -> tuple[dict[str, Any], int]:
    """The JSON record of a file, and the checksum of its tensors.

    Raises:
        BadInput, NewerLibrary: as `read_weights`.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise BadInput(f"{path}: no such file")
    try:
        with safe_open(str(path), framework="np") as file:
            metadata = file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise damaged_file(path, str(error)) from error
    if metadata.get("schema") != schema:
        kind = schema.partition("/")[2]
        raise BadInput(f"{path}: this is no {kind} of viewfinder; name a file that `viewfinder train` wrote")
    try:
        if int(metadata["version"]) > VERSION:
            raise NewerLibrary(f"{path}: written by a later version of viewfinder; update viewfinder")
        return json.loads(metadata["record"]), int(metadata["crc32"])
    except (KeyError, ValueError) as error:
        raise damaged_file(path, f"metadata: {error}") from error


def parse_card(path: Path, record: Mapping[str, Any]) -> Card:
    """The card that a record holds.

    Raises:
        BadInput: it has other fields.
    """
    if {*record, "trained_on"} != {item.name for item in fields(Card)}:  # earlier records have no such list
        raise damaged_file(path, f"a card of {', '.join(record)}")
    card = Card(**record)
    if not card.trained_on and (beside := read_list_beside(path)) is not None:
        card = replace(card, trained_on=beside.encode())
    return card


def checksum_arrays(arrays: Mapping[str, np.ndarray]) -> int:
    """CRC-32 over names and bytes, by name; safetensors checks lengths only."""
    total = 0
    for name in sorted(arrays):
        total = zlib.crc32(arrays[name].reshape(-1).view(np.uint8).data, zlib.crc32(name.encode(), total))
    return total


def damaged_file(path: Path, reason: str) -> BadInput:
    """What to tell a user about a file that cannot be read."""
    return BadInput(f"{path}: damaged ({reason}); delete it and use another copy, or train again")


def load_system_weights(system: str, checkpoint: Path | None, shipped: Path | None = None) -> Weights:
    """The weights in `checkpoint`; None: the `shipped` ones.

    Raises:
        BadInput: none are shipped and none are given; or no such file, or it is damaged or of another system.
    """
    path = checkpoint or shipped
    if path is None or (checkpoint is None and not path.is_file()):
        raise BadInput(
            f"{system}: no weights are shipped; train some (`viewfinder train {system}`) and name them (--checkpoint)"
        )
    weights = read_weights(path)
    check_card(path, weights.card, system=system)
    return weights
