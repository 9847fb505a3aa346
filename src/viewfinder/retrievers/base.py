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
    vectors: Mapping[str, Float[np.ndarray, "..."]]
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ResolvedTurn:
    """A turn with everything it refers to looked up by the session.

    `number` is the node's number. `pictures` are those the turn names, in its order (for `Keep`: the ones on
    the screen after the turn it names); `shown` what was on the screen when the user spoke.
    """

    turn: Turn
    number: int
    words: Words
    pictures: tuple[Picture, ...] = ()
    shown: tuple[Picture, ...] = ()
    attribute_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One ingredient of a query: its weight, and the turn it came from."""

    turn: int
    label: str
    weight: float
    vector_d: Float[np.ndarray, " d"] | None = None
    attribute: tuple[str, str] | None = None


@dataclass(frozen=True)
class Query:
    """What is compared with pictures: weighted parts and how a vector part is compared.

    The score of a picture is the sum over `parts` of weight x (dot product, or 1 if the picture has the
    attribute value), less `background_weight` x the picture's background: how well it answers anything at all.
    """

    parts: tuple[Part, ...]
    compare: Literal["dot", "late_interaction"] = "dot"
    space: str = "global"
    background_weight: float = 0.0
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


@runtime_checkable
class Retriever(Protocol[State]):
    """Reads a conversation into a query, one turn at a time. No method changes `state`."""

    name: str
    needs: tuple[str, ...]

    def begin(self) -> State:
        """The state before anything was said."""
        ...

    def step(self, state: State, turn: ResolvedTurn) -> State:
        """The state after one more turn."""
        ...

    def query(self, state: State) -> Query:
        """What to look for in this state."""
        ...
