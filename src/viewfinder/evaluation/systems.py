"""What can be evaluated: every retriever, and the least that any of them must beat."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers import RETRIEVERS, Part, Query, RegionSpace, ResolvedTurn, Retriever, load_retriever

RANDOM = "random"


class RandomChoice:
    """Looks in a direction drawn afresh at every turn: the papers' "random choice" row."""

    needs: ClassVar[tuple[str, ...]] = ("global",)

    def __init__(self, seed: int = 0) -> None:
        self.name = RANDOM
        self._seed = seed

    def begin(self) -> tuple[Part, ...]:
        """Nothing drawn yet."""
        return ()

    def step(self, state: tuple[Part, ...], turn: ResolvedTurn) -> tuple[Part, ...]:
        """A direction that depends on the seed and on what was said, and has nothing to do with it."""
        said = f"{self._seed}/{turn.number}/{turn.turn!r}/{len(state)}"
        digest = hashlib.blake2b(said.encode(), digest_size=8).digest()
        width = turn.words(["anything"]).shape[1]
        drawn_d = np.random.default_rng(int.from_bytes(digest, "big")).standard_normal((width,), dtype=np.float32)
        drawn_d /= np.linalg.norm(drawn_d)
        return (Part("words", turn.number, "a draw", 1.0, drawn_d),)

    def query(self, state: tuple[Part, ...]) -> Query:
        """The direction drawn last."""
        return Query(state)


def load_system(name: str, seed: int = 0, checkpoint: Path | None = None) -> Retriever[Any]:
    """The retriever of this name, with weights of one's own where it has weights; or random choice.

    Raises:
        UnknownName: there is none; the message lists those there are.
        BadInput: the checkpoint cannot be used, as `load_retriever` says.
    """
    if name == RANDOM:
        if checkpoint is not None:
            raise BadInput(f"--checkpoint {checkpoint}: {name} has nothing to load, it is not trained")
        return RandomChoice(seed)
    if name not in RETRIEVERS:
        raise UnknownName(f"no system is called {name!r}; there are: {', '.join(sorted((*RETRIEVERS, RANDOM)))}")
    return load_retriever(name, checkpoint)


def region_space(retriever: Retriever[Any]) -> RegionSpace | None:
    """The space that a trained system looks in; None for those that compare one vector a picture of the encoder's."""
    space = retriever.query(retriever.begin()).space
    return space if isinstance(space, RegionSpace) else None


def weights_label(checkpoint: Path) -> str:
    """Which weights these are, for people and for telling runs apart: the file's name and eight digits of its hash."""
    with checkpoint.open("rb") as file:
        return f"{checkpoint.name} {hashlib.file_digest(file, 'blake2b').hexdigest()[:8]}"
