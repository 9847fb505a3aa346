"""The contract between a session and a retriever: the only thing that all systems must agree on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import PictureId, Turn

State = TypeVar("State")
Words = Callable[[Sequence[str]], Float[np.ndarray, "n d"]]
"""Texts to unit vectors in the retriever's space."""


@dataclass(frozen=True, eq=False)
class Picture:
    """What a retriever may know of a picture that a turn names or that was shown.

    `vectors` holds the representations in the retriever's `needs` ("global": (d,), "vocabulary": (l,)), as far as
    the encoder gives them, `attributes` what the catalogue says of it.
    """

    id: PictureId | None
    vectors: Mapping[str, Float[np.ndarray, ...]]
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """A value that a "but ..." asks for, what else it might be, and the catalogue column it stands in, if any."""

    value: str
    rivals: tuple[str, ...]
    column: str | None = None


@dataclass(frozen=True, eq=False)
class ResolvedTurn:
    """A turn with everything it refers to looked up by the session.

    `number` is the node's number; `text` what the turn says in words, answers to questions spelt out; `pictures`
    are those the turn names, in its order (for `Keep`: those on the screen after the turn it names); `shown` what
    was on the screen when the user spoke; `attribute_values` what an answer or a kept attribute comes to in the
    catalogue: column -> values; `changes` what a "but ..." names by value, and then `text` is the rest of it.
    """

    turn: Turn
    number: int
    words: Words
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    shown: tuple[Picture, ...] = ()
    attribute_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    vocabulary: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Part:
    """One ingredient of a query: what it is like, how much it counts, and the turn it came from.

    words, picture   likeness: dot product of `vector_d`; a `centred` part's counts from the picture's background:
                     how well that picture answers anything at all
    value            likeness: 1 if the picture has the catalogue column and value `value`, else 0
    vocabulary       likeness: what the encoder's vocabulary says of a picture, compared with `vector_d`, over words
    contrast         likeness: log-probability of `vector_d` against its `rivals_rd` (itself among them)
    """

    kind: Literal["words", "picture", "value", "vocabulary", "contrast"]
    turn: int
    label: str
    weight: float
    vector_d: Float[np.ndarray, " d"] | None = None
    value: tuple[str, str] | None = None
    rivals_rd: Float[np.ndarray, "r d"] | None = None
    centred: bool = False


@dataclass(frozen=True, eq=False)
class Query:
    """What is compared with pictures: a picture's score is the weighted sum of its likeness to the parts.

    `excluded` pictures come last, whatever their score. `adapters` says which turns were not taken as they were
    given, and what was done instead.
    """

    parts: tuple[Part, ...]
    space: Literal["global"] = "global"
    compare: Literal["dot"] = "dot"
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


@runtime_checkable
class Retriever(Protocol[State]):
    """Reads a conversation into a query, one turn at a time. No method changes `state`."""

    @property
    def name(self) -> str:
        """By which it is chosen."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Representations it reads: "global", "regions", "tokens", "attributes", "captions"."""
        ...

    def begin(self) -> State:
        """The state before anything was said."""
        ...

    def step(self, state: State, turn: ResolvedTurn) -> State:
        """The state after one more turn."""
        ...

    def query(self, state: State) -> Query:
        """What to look for in this state."""
        ...
