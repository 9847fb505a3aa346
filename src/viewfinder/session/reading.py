"""The reading of a sentence: the description in it, spelt right, and the facts that it names (`sentences` makes it)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewfinder.conversation import Answer, Like, Say, Show, Turn
from viewfinder.questioners.photographs import REMEMBER
from viewfinder.wording.clauses import is_correction, split_clauses

if TYPE_CHECKING:  # the rules of English are loaded when the first sentence is read
    from viewfinder.wording.fact_phrases import FactPhrase
    from viewfinder.wording.spelling import Correction


@dataclass(frozen=True)
class Reading:
    """What a sentence is read as.

    Attributes:
        text: the sentence as it was said.
        content: the description of the picture in it, "" if it only names facts.
        corrections: the words that were read as others.
        facts: what it says of the picture besides its looks.
    """

    text: str
    content: str
    corrections: tuple[Correction, ...] = ()
    facts: tuple[FactPhrase, ...] = ()


Read = Callable[[str], Reading]
"""Reads a sentence for the pictures and the day of a search."""


def read_plainly(text: str) -> Reading:
    """A sentence as it is, where systems are compared by what they make of it."""
    return Reading(text, text)


def describes(turn: Turn) -> bool:
    """Whether a turn describes the picture: it is said, or answers an open question."""
    return isinstance(turn, Say) or (isinstance(turn, Answer) and turn.question.attribute == REMEMBER)


def read_said(turn: Turn, read: Read) -> str:
    """The description in what a turn says; a correction is one still, though its opening is none of the description.

    >>> read_said(Say("sorry, I meant in the snow"), lambda text: Reading(text, "in the snow"))
    'no, in the snow'
    """
    text = getattr(turn, "text", "")
    content = read(text).content
    opens = describes(turn) and content and is_correction(text) and not is_correction(content)
    return f"no, {content}" if opens else content


def read_absent(turn: Turn, read: Read) -> tuple[str, ...]:
    """What a turn says is not in the picture, where that is a fact here, and so none of the description."""
    if not (describes(turn) or isinstance(turn, Like | Show)):
        return ()
    facts = (fact for fact in read(getattr(turn, "text", "")).facts if fact.kind == "without")
    return tuple(piece for fact in facts for piece in split_clauses(fact.words).unwanted)
