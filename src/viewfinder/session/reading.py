"""The reading of a sentence: the description in it, spelt right, and the facts that it names (`sentences` makes it)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
