"""What weights were trained on: pictures and products by a hash of their names, small enough to travel with weights.

    listed = TrainingList.of(["1163", "scenes/4/ab/000000000001"])
    listed.encode()                  # text for a card; `TrainingList.decode` reads it back
    listed.count_seen([("1163",)])   # how many pictures share something with the list: 1

A name that is not listed is mistaken for one of `n` with probability n / 2**32.

Of some older weights only a superset of what they were trained on is known: a list "at most" (`TrainingList.at_most`).
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt32

from viewfinder.errors import BadInput

BESIDE = ".trained_on.txt"
"""Name ending of the file beside weights with their list, for weights whose own file has none."""

AT_MOST = "at-most:"
"""What the text of an upper bound begins with; no other list does."""

REMARK = "# "
"""What a line of the file begins with that is for people."""


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
        """How many of these pictures, each given by all its names, have a listed name."""
        known = set(self.hashes_n.tolist())
        return sum(any(_hash_name(name) in known for name in names) for names in pictures)


def _hash_name(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest())


def read_list_beside(weights: Path) -> TrainingList | None:
    """The list in the file beside weights; None if there is none.

    Raises:
        BadInput: it is damaged.
    """
    file = weights.with_name(f"{weights.stem}{BESIDE}")
    if not file.is_file():
        return None
    try:
        lines = file.read_text(encoding="ascii").splitlines()
        return TrainingList.decode("".join(line.strip() for line in lines if not line.startswith(REMARK)))
    except ValueError as error:
        raise BadInput(f"{file}: damaged ({error}); delete it or use another copy") from error


def write_list_beside(weights: Path, listed: TrainingList, remarks: Iterable[str] = ()) -> Path:
    """Writes the list of weights beside them, in lines of 120 characters below the remarks; returns the file."""
    file, text = weights.with_name(f"{weights.stem}{BESIDE}"), listed.encode()
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
