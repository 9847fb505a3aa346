"""What stands in for a person in an experiment.

A simulated user knows which picture is wanted and sees what a system shows, and says what a person would: it
describes, answers questions, or says how the wanted picture differs from one on the screen. Pictures are named by
their keys in a data set (file names, product numbers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from viewfinder.conversation import Question, Turn


@dataclass(frozen=True)
class Screen:
    """What a user has before them: pictures, best first, the question asked, and which round this is (from 0)."""

    shown: tuple[str, ...]
    question: Question | None
    round: int


@runtime_checkable
class Describer(Protocol):
    """Says what is seen in a picture."""

    def describe(self, picture: str) -> str:
        """One sentence about the picture; another one each time, as far as there are more."""
        ...


@runtime_checkable
class Answerer(Protocol):
    """Answers questions about a picture: an oracle, annotations, recorded dialogues, a VQA model."""

    def answer(self, question: Question, picture: str) -> str:
        """A short answer; "don't know" where it cannot tell."""
        ...


@runtime_checkable
class Comparer(Protocol):
    """Says how the wanted picture differs from one that is shown: Fashion IQ's relative captioner, or a world."""

    def compare(self, shown: str, wanted: str) -> str:
        """A short relative caption: "is darker and has longer sleeves"."""
        ...


@runtime_checkable
class SimulatedUser(Protocol):
    """One person in one session, who wants one picture."""

    @property
    def name(self) -> str:
        """Which kind of user this is."""
        ...

    def reply(self, wanted: str, screen: Screen) -> Turn | None:
        """The next turn, given what is on the screen; None: has found it, or gives up."""
        ...
