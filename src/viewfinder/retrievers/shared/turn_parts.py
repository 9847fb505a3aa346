"""The share of each turn in the query of a system that reads a whole dialogue into one vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float32

from viewfinder.query import Part


@dataclass(frozen=True, eq=False)
class TurnVector:
    """A turn that said something: its number, what it said, and the vector of the whole dialogue after it."""

    turn: int
    label: str
    vector_d: Float32[np.ndarray, " d"]


def turn_parts(turns: Sequence[TurnVector], kind: Literal["words", "regions"]) -> tuple[Part, ...]:
    """One part a turn: how far it moved the vector, so that all parts add up to the vector after the last turn.

    With one vector a picture, a score is the mean of the parts' dot products; hence the factor.
    """
    before = [np.zeros_like(on.vector_d) for on in turns[:1]] + [on.vector_d for on in turns[:-1]]
    return tuple(
        Part(kind, on.turn, on.label, 1.0, len(turns) * (on.vector_d - before_d))
        for on, before_d in zip(turns, before, strict=True)
    )
