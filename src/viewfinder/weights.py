"""Trained networks on disk, read without torch: what a search needs. `training.checkpoints` writes these files.

One safetensors file a network; what is not a tensor is JSON in its metadata. What they were trained on is listed too:
pictures and products by a hash of their names, small enough to travel with weights.

    listed = TrainingList.of(["1163", "scenes/4/ab/000000000001"])
    listed.encode()                  # text for a card; `TrainingList.decode` reads it back
    listed.count_seen([("1163",)])   # how many pictures share something with the list: 1

A name that is not listed is mistaken for one of `n` with probability n / 2**32. Of some older weights only a superset
of what they were trained on is known: a list "at most" (`TrainingList.at_most`).
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt32

from viewfinder.errors import BadInput, EncoderMismatch, NewerLibrary

NETWORK = "viewfinder/network"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Card:
    """The description of a trained network, kept in its file.

    `encoder` is the `raw_version` of the encoder on whose vectors it was trained. `settings` is all JSON that
    rebuilding the network needs (the preset's `asdict`, a vocabulary); `figures` are measurements of it.
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
        raise explain_damaged_file(path, str(error)) from error
    if checksum_arrays(arrays) != checksum:
        raise explain_damaged_file(path, "its checksum differs")
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
        raise explain_damaged_file(path, str(error)) from error
    if metadata.get("schema") != schema:
        kind = schema.partition("/")[2]
        raise BadInput(f"{path}: this is no {kind} of viewfinder; name a file that `viewfinder train` wrote")
    try:
        if int(metadata["version"]) > VERSION:
            raise NewerLibrary(f"{path}: written by a later version of viewfinder; update viewfinder")
        return json.loads(metadata["record"]), int(metadata["crc32"])
    except (KeyError, ValueError) as error:
        raise explain_damaged_file(path, f"metadata: {error}") from error


def parse_card(path: Path, record: Mapping[str, Any]) -> Card:
    """The card that a record holds.

    Raises:
        BadInput: it has other fields.
    """
    if {*record, "trained_on"} != {item.name for item in fields(Card)}:  # earlier records have no such list
        raise explain_damaged_file(path, f"a card of {', '.join(record)}")
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


def explain_damaged_file(path: Path, reason: str) -> BadInput:
    """The error for a file that cannot be read, with advice."""
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


# -- what weights were trained on

LIST_ENDING = ".trained_on.txt"
"""Name ending of the file beside weights with their list, for weights whose own file has none."""

AT_MOST = "at-most:"
"""Begins the text of an upper bound, and of no other list."""

REMARK = "# "
"""Begins a line of the file that is for people."""


@dataclass(frozen=True, eq=False)
class TrainingList:
    """Hashes of names, ascending and distinct; `at_most`: an upper bound, with names that may not have been seen."""

    hashes_n: UInt32[np.ndarray, " n"]
    at_most: bool = False

    @classmethod
    def of(cls, names: Iterable[str], *, at_most: bool = False) -> TrainingList:
        """The list of these names, in any order."""
        return cls(np.unique(np.array([_hash_name(name) for name in names], np.uint32)), at_most)

    @classmethod
    def decode(cls, text: str) -> TrainingList:
        """The list that `encode` wrote.

        Raises:
            ValueError: the text is something else.
        """
        at_most, text = text.startswith(AT_MOST), text.removeprefix(AT_MOST)
        try:
            planes_4n = np.frombuffer(zlib.decompress(base64.b85decode(text)), np.uint8).reshape(4, -1)
        except zlib.error as error:
            raise ValueError(f"no list of training pictures: {error}") from error
        steps_n = np.ascontiguousarray(planes_4n.T).view("<u4").reshape(-1)
        return cls(np.cumsum(steps_n, dtype=np.uint32), at_most)

    def encode(self) -> str:
        """ASCII text, about three and a half characters a name: the steps between hashes, compressed byte by byte."""
        steps_n = np.diff(self.hashes_n, prepend=np.uint32(0)).astype("<u4")
        planes_4n = steps_n.view(np.uint8).reshape(-1, 4).T
        return AT_MOST * self.at_most + base64.b85encode(zlib.compress(planes_4n.tobytes(), 9)).decode()

    def __len__(self) -> int:
        return len(self.hashes_n)

    def __or__(self, other: TrainingList) -> TrainingList:
        return TrainingList(np.union1d(self.hashes_n, other.hashes_n), self.at_most or other.at_most)

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that identify the list."""
        return hashlib.blake2b(self.hashes_n.astype("<u4").tobytes(), digest_size=4).hexdigest()

    def count_seen(self, pictures: Iterable[Iterable[str]]) -> int:
        """The number of pictures, each given by all its names, of which a name is listed."""
        known = set(self.hashes_n.tolist())
        return sum(any(_hash_name(name) in known for name in names) for names in pictures)


def _hash_name(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest())


def read_list_beside(weights: Path) -> TrainingList | None:
    """The list in the file beside weights; None if there is none.

    Raises:
        BadInput: it is damaged.
    """
    file = weights.with_name(f"{weights.stem}{LIST_ENDING}")
    if not file.is_file():
        return None
    try:
        lines = file.read_text(encoding="ascii").splitlines()
        return TrainingList.decode("".join(line.strip() for line in lines if not line.startswith(REMARK)))
    except ValueError as error:
        raise BadInput(f"{file}: damaged ({error}); delete it or use another copy") from error


def write_list_beside(weights: Path, listed: TrainingList, remarks: Iterable[str] = ()) -> Path:
    """Writes the list of weights beside them, in lines of 120 characters below the remarks; returns the file."""
    file, text = weights.with_name(f"{weights.stem}{LIST_ENDING}"), listed.encode()
    lines = [*(f"{REMARK}{remark}" for remark in remarks), *(text[at : at + 120] for at in range(0, len(text), 120))]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return file


def join_lists(*lists: str | None) -> str | None:
    """The list of parts that work together, from the list of each: "" if one is unknown, None if none was trained."""
    known = [one for one in lists if one is not None]
    if not known or "" in known:
        return "" if known else None
    joined = TrainingList.decode(known[0])
    for one in known[1:]:
        joined |= TrainingList.decode(one)
    return joined.encode()
