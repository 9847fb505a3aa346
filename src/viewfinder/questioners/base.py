"""What the rest of the library knows of a questioner: it sees the candidates and asks, or does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int32

from viewfinder.conversation import Question

Column = tuple[tuple[str, ...], Int32[np.ndarray, " c"]]
"""A catalogue column: its values, and for each candidate the index of its value (-1: not known)."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The pictures that are still in question, and what was said so far.

    Attributes:
        probabilities_c: how likely each is the one meant; sums to 1. At most about 1,000 candidates.
        vectors_cd: their unit vectors in the space of the words.
        columns: catalogue columns by name, restricted to these candidates.
        said: the texts of the conversation so far, answers included.
        asked: the questions asked so far.
        settled: names of attributes that are no longer open (filtered on, kept, answered).
    """

    probabilities_c: Float[np.ndarray, " c"]
    vectors_cd: Float[np.ndarray, "c d"]
    columns: Mapping[str, Column] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    asked: tuple[Question, ...] = ()
    settled: frozenset[str] = frozenset()


@runtime_checkable
class Questioner(Protocol):
    """Decides what to ask next. It keeps nothing between calls: all it may know is in the view."""

    @property
    def name(self) -> str:
        """By which it is chosen, and which its questions carry in `by`."""
        ...

    def ask(self, view: Candidates) -> Question | None:
        """The next question, or None where none is worth the user's time."""
        ...


@dataclass(frozen=True)
class NoQuestions:
    """The questioner called "none"."""

    name: str = "none"

    def ask(self, view: Candidates) -> Question | None:
        """None, whatever the view."""
        return None
