"""Simulated users, who stand in for a person in an experiment.

A simulated user knows which picture is wanted, sees what a system shows, and says what a person would: it describes,
answers questions, or says how the wanted picture differs from one on the screen. Pictures are named by their keys in
a data set (file names, product numbers).

The users here repeat recorded dialogues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from viewfinder.conversation import Answer, Question, Say, Turn
from viewfinder.data.dialogues import Dialogue
from viewfinder.errors import UnknownName
from viewfinder.plugins import refuse_reply
from viewfinder.wording.replies import DONT_KNOW


@dataclass(frozen=True)
class Screen:
    """The screen of a user: pictures, best first, the question asked, and the number of the round, from 0."""

    shown: tuple[str, ...]
    question: Question | None
    round: int


@runtime_checkable
class Describer(Protocol):
    """Says what is seen in a picture."""

    def describe(self, picture: str) -> str:
        """One sentence about the picture; a different one each time, as long as there are more."""
        ...


@runtime_checkable
class Answerer(Protocol):
    """Answers questions about a picture: an oracle, annotations, recorded dialogues, a VQA model."""

    def answer(self, question: Question, picture: str) -> str:
        """A short answer; "don't know" if it cannot tell."""
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
        """The kind of user."""
        ...

    def reply(self, wanted: str, screen: Screen) -> Turn | None:
        """The next turn, given what is on the screen; None: the user has found it, or gives up."""
        ...


Value = TypeVar("Value")


def find_picture(known: Mapping[str, Value], picture: str) -> Value | None:
    """The entry of a picture, by its full name or by the part after its last folder.

    A data set's files name pictures with or without their folder; a gallery always has the folder.

    >>> find_picture({"1.jpg": "a dog"}, "images/1.jpg")
    'a dog'
    """
    found = known.get(picture)
    return known.get(picture.rsplit("/", 1)[-1]) if found is None else found


@dataclass(frozen=True)
class RecordedUser:
    """Says the turns of a recorded dialogue in order, whatever is on the screen; `dialogues` by picture."""

    dialogues: Mapping[str, Sequence[Turn]]
    name: str = "recorded"

    def reply(self, wanted: str, screen: Screen) -> Turn | None:
        """The turn of this round; None after the last one.

        Raises:
            UnknownName: no dialogue about this picture was recorded.
        """
        turns = find_picture(self.dialogues, wanted)
        if turns is None:
            others = f"there are {len(self.dialogues)} about others"
            raise UnknownName(f"{wanted}: no dialogue about this picture was recorded; {others}")
        return turns[screen.round] if screen.round < len(turns) else None


def check_turn(user: SimulatedUser, said: object) -> Turn | None:
    """Checks the reply of a simulated user and returns it; PartFailed if it is neither a turn nor None."""
    if said is None or isinstance(said, Turn):
        return said
    raise refuse_reply("simulated user", user, f"`reply` gave {type(said).__name__}, not a turn or None")


def dialogue_turns(dialogue: Dialogue) -> tuple[Turn, ...]:
    """A recorded dialogue as turns: the caption, then each answer; for a rewritten one, each query.

    A round without a question becomes something said, one without an answer the answer "don't know".
    """
    if dialogue.rewritten:
        return tuple(Say(text) for text in dialogue.strings)
    rounds = (
        Answer(Question(said.question, by="recorded"), said.answer or DONT_KNOW) if said.question else Say(said.answer)
        for said in dialogue.rounds
    )
    return (Say(dialogue.caption), *rounds)
