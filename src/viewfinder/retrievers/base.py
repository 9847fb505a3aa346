"""The contract between a session and a retriever: the one thing that all systems must agree on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar, runtime_checkable

from viewfinder.query import Query, Reads, ResolvedTurn

State = TypeVar("State")


@runtime_checkable
class Retriever(Protocol[State]):
    """Reads a conversation into a query, one turn at a time. No method changes `state`."""

    @property
    def name(self) -> str:
        """The name by which it is chosen."""

    @property
    def reads(self) -> Reads:
        """The vectors and facts that it reads of pictures; always the same."""

    def begin(self) -> State:
        """The state before anything is said."""

    def step(self, state: State, turn: ResolvedTurn) -> State:
        """The state after one more turn.

        Raises:
            EncoderMismatch: the session's vectors are not those that the weights were trained on.
        """

    def query(self, state: State) -> Query:
        """The query of this state: the parts that pictures are compared with."""


@runtime_checkable
class RevisingRetriever(Protocol[State]):
    """A retriever that takes back what was described where a later turn only says that it is not there: facts of
    pictures ("no people") are evidence, and no retriever hears them as a turn."""

    def take_back(self, state: State, turn: ResolvedTurn) -> State:
        """The state with its descriptions as `turn.revise` leaves them; nothing is added. It never changes `state`."""


@runtime_checkable
class AnsweringRetriever(Protocol[State]):
    """A retriever that answers, with pictures or in words. It writes the words itself and reads them in later turns."""

    @property
    def picture_bias(self) -> float:
        """How much it leans to pictures: added to their score when it decides; infinite: it always shows pictures."""

    def with_picture_bias(self, pictures: float) -> Retriever[State]:
        """A copy with another bias, which shares the weights."""

    def shows(self, state: State) -> bool:
        """Whether the last turn is answered with pictures; if not, the query is that of the last turn that was."""

    def reply(self, state: State) -> Iterator[str]:
        """The words of the answer to the last turn, piece by piece as they are written; none if pictures are shown.

        Always the same for a state; pieces are joined without a separator.
        """
