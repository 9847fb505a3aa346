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


@dataclass(frozen=True)
class Picture:
    """What a retriever may know of a picture that a turn names or that was shown.

    `vectors` holds the representations in the retriever's `needs` ("global": (d,), "regions": (r, d)), `attributes`
    what the catalogue (or, failing that, zero-shot tags) says of it.
    """

    id: PictureId | None
    vectors: Mapping[str, Float[np.ndarray, ...]]
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ResolvedTurn:
    """A turn with everything it refers to looked up by the session.

    `number` is the node's number; `text` what the turn says in words, answers to questions spelt out; `pictures`
    are those the turn names, in its order (for `Keep`: those on the screen after the turn it names); `shown` what
    was on the screen when the user spoke; `attribute_values` what an answer or a kept attribute comes to in the
    catalogue: column -> values.
    """

    turn: Turn
    number: int
    words: Words
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    shown: tuple[Picture, ...] = ()
    attribute_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One ingredient of a query: what it is like, how much it counts, and the turn it came from.

    A "words" or "picture" part has a unit vector; its likeness to a picture is the dot product. A "value" part has
    a catalogue column and value; its likeness is 1 or 0. The likeness of a `centred` part counts from the
    picture's background: how well that picture answers anything at all.
    """

    kind: Literal["words", "picture", "value"]
    turn: int
    label: str
    weight: float
    vector_d: Float[np.ndarray, " d"] | None = None
    value: tuple[str, str] | None = None
    centred: bool = True


@dataclass(frozen=True)
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
