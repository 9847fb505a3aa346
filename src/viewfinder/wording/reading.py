"""How a sentence was read, as people and programs see it: the description in it, words read as others, facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from viewfinder.wording.spelling import Correction


@dataclass(frozen=True)
class SaidFact:
    """A fact in a sentence ("in July 2007", a time), and how many pictures it holds for."""

    words: str
    kind: str
    pictures: int


@dataclass(frozen=True)
class SaidReading:
    """The reading of what was said last: `content` is compared with pictures, facts are looked up."""

    content: str
    corrections: tuple[Correction, ...] = ()
    facts: tuple[SaidFact, ...] = ()

    def describe(self) -> str:
        """One line for people.

        >>> fact = SaidFact("in July 2007", "time", 1200)
        >>> SaidReading("a dog", (Correction("dgo", "dog"),), (fact,)).describe()
        'a dog (dog, for dgo) · in July 2007 (1,200 pictures)'
        """
        spelt = ", ".join(f"{one.read}, for {one.typed}" for one in self.corrections)
        parts = [f"{self.content} ({spelt})" if spelt else self.content, *map(_describe_fact, self.facts)]
        return " · ".join(filter(None, parts))

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "content": self.content,
            "corrections": [{"typed": one.typed, "read": one.read} for one in self.corrections],
            "facts": [{"words": one.words, "kind": one.kind, "pictures": one.pictures} for one in self.facts],
        }


def _describe_fact(fact: SaidFact) -> str:
    if not fact.pictures:
        return f"{fact.words} (no picture, so it does not count)"
    return f"{fact.words} ({fact.pictures:,} picture{'' if fact.pictures == 1 else 's'})"
