"""How a sentence was read, as people and programs see it: the description in it, words read as others, facts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from viewfinder.wording.spelling import Correction


@dataclass(frozen=True)
class SaidFact:
    """A fact in a sentence ("in July 2007", a time), and how many pictures it holds for.

    `is_filter`: it was typed as one (`camera:canon`), so that nothing else is a result. `without`: what to say instead
    of the sentence to take it away, "" if nothing would be left; None: no words say that.
    """

    words: str
    kind: str
    pictures: int
    is_filter: bool = False
    without: str | None = None


@dataclass(frozen=True)
class SaidWord:
    """A word of the description, and what to say instead of the sentence to take it away (see `SaidFact`)."""

    text: str
    without: str | None = None


@dataclass(frozen=True)
class SaidReading:
    """The reading of what was said last: `content` is compared with pictures, facts are looked up.

    `words` are those of the content that can be taken away; `as_typed` has for each correction the sentence that is
    read without it.
    """

    content: str
    corrections: tuple[Correction, ...] = ()
    facts: tuple[SaidFact, ...] = ()
    words: tuple[SaidWord, ...] = ()
    as_typed: tuple[str | None, ...] = ()

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
            "words": [{"text": one.text, "without": one.without} for one in self.words],
            "corrections": [
                {"typed": one.typed, "read": one.read, "without": typed}
                for one, typed in zip_longest(self.corrections, self.as_typed[: len(self.corrections)])
            ],
            "facts": [
                {
                    "words": one.words,
                    "kind": one.kind,
                    "pictures": one.pictures,
                    "filter": one.is_filter,
                    "without": one.without,
                }
                for one in self.facts
            ],
        }


def _describe_fact(fact: SaidFact) -> str:
    if not fact.pictures:
        return f"{fact.words} (no picture, so it does not count)"
    return f"{fact.words} ({fact.pictures:,} picture{'' if fact.pictures == 1 else 's'})"
