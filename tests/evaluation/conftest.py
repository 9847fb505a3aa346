"""Two small worlds, made once, and a small system that looks at regions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from jaxtyping import Float, Float32

from viewfinder.conversation import Reject
from viewfinder.query import NOTHING_MORE, Part, Query, RawPictures, Reads, RegionSpace, ResolvedTurn
from viewfinder.retrievers import RETRIEVERS
from viewfinder.testing import COLOURS, ColourEncoder

PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")


def made(folder: Path, *arguments: str) -> Path:
    """A world of a kind."""
    command = [*PROGRAM, "world", str(folder), *arguments, "--seed", "5", "--workers", "1"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """39 scenes, 4 of them for testing."""
    return made(tmp_path_factory.mktemp("evaluation") / "scenes", "--kind", "scenes", "--count", "39")


@pytest.fixture(scope="session")
def goods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drawn catalogue."""
    return made(tmp_path_factory.mktemp("evaluation") / "goods", "--kind", "catalogue", "--count", "120")


Said = tuple[tuple[int, str, Float32[np.ndarray, " d"]], ...]
"""Turn, text and vector of every sentence so far."""


@dataclass(frozen=True)
class Looking:
    """Every sentence is the colour it names, and the last `slots` of them look at the colours of the regions.

    Older sentences count less. `projected` notes how many pictures were projected at a time.
    """

    compare: Literal["late_interaction", "rank_fusion"] = "late_interaction"
    slots: int = 3
    raw_version: str = ColourEncoder.raw_version
    projected: list[int] = field(default_factory=list, compare=False)

    @property
    def name(self) -> str:
        return f"looking-{self.compare}-{self.slots}"

    @property
    def space(self) -> RegionSpace:
        return RegionSpace(self.name, self.raw_version, self._project, regions=36, width=3)

    @property
    def reads(self) -> Reads:
        return Reads(self.space)

    def begin(self) -> tuple[Said, frozenset[str]]:
        return (), frozenset()

    def step(self, state: tuple[Said, frozenset[str]], turn: ResolvedTurn) -> tuple[Said, frozenset[str]]:
        said, excluded = state
        if isinstance(turn.turn, Reject):
            return said, excluded | set(turn.turn.pictures)
        assert turn.sentences is not None
        grid_163 = turn.sentences.encode([turn.text])[0].reshape(16, 3)
        return (*said, (turn.number, turn.text, unit(grid_163.mean(axis=0)))), excluded

    def query(self, state: tuple[Said, frozenset[str]]) -> Query:
        said, excluded = state
        kept = list(reversed(said[-self.slots :]))
        parts = (Part("regions", turn, text, 1 / age, vector_3) for age, (turn, text, vector_3) in enumerate(kept, 1))
        return Query(tuple(parts), self.space, self.compare, excluded)

    def _project(self, raw: RawPictures) -> Float32[np.ndarray, "n k d"]:
        assert raw.regions_nre is not None
        self.projected.append(len(raw.regions_nre))
        return unit(raw.regions_nre[:, :, :3])


def unit(vectors: Float[np.ndarray, "*n d"]) -> Float32[np.ndarray, "*n d"]:
    """Vectors of length 1."""
    wide = np.asarray(vectors, np.float32)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=-1, keepdims=True), 1e-12), np.float32)


@pytest.fixture
def looking() -> Callable[..., Looking]:
    """Makes the small system, with other settings where some are given."""
    return lambda **settings: replace(Looking(projected=[]), **settings)


@pytest.fixture
def looking_by_name(monkeypatch: pytest.MonkeyPatch) -> Looking:
    """The small system under the name "looking"; a checkpoint is a file with the number of its slots."""
    import viewfinder.retrievers

    system = Looking(projected=[])

    def load(checkpoint: Path | None) -> Any:
        return system if checkpoint is None else replace(system, slots=int(checkpoint.read_text()))

    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "looking", load)
    return system


@dataclass(frozen=True)
class Seer:
    """Sees what colour is on top of the last picture that was named, and says so; without one it says red.

    A question ("...?") speaks for words by 2, anything else for pictures by 2.
    """

    picture_bias: float = 0.0
    name: str = "seer"
    reads: Reads = NOTHING_MORE

    def with_picture_bias(self, pictures: float) -> Seer:
        return replace(self, picture_bias=pictures)

    def begin(self) -> tuple[str, bool]:
        return "red", True

    def step(self, state: tuple[str, bool], turn: ResolvedTurn) -> tuple[str, bool]:
        top = _top(turn) if turn.pictures else state[0]
        return top, (-2 if turn.text.endswith("?") else 2) + self.picture_bias >= 0

    def query(self, state: tuple[str, bool]) -> Query:
        return Query(())

    def shows(self, state: tuple[str, bool]) -> bool:
        return state[1]

    def reply(self, state: tuple[str, bool]) -> Iterator[str]:
        if not state[1]:
            yield "It is "
            yield f"{state[0]}."


def _top(turn: ResolvedTurn) -> str:
    pairs = list(product(COLOURS, repeat=2))
    likeness = turn.words([f"{top} over {bottom}" for top, bottom in pairs]) @ turn.pictures[0].vectors["global"]
    return pairs[int(likeness.argmax())][0]


@pytest.fixture
def seer(monkeypatch: pytest.MonkeyPatch) -> Seer:
    """A system called "seer"."""
    monkeypatch.setitem(RETRIEVERS, "seer", lambda checkpoint: Seer())
    return Seer()
