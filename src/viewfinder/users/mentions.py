"""Where captions name things, and what they say of them: how many, of which colour, doing what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from viewfinder.users.words import NUMBER_WORDS, singular_words
from viewfinder.worlds.kinds import COLOURS

COLOUR_NAMES = frozenset({*COLOURS, "grey", "gray", "beige", "tan", "gold", "silver", "navy", "blonde", "blond"})
_SPELT = {"gray": "grey", "blond": "blonde"}
DENIED = frozenset({"no", "not", "without", "never", "nor"})
REACH = 3
"""How many words may stand between a number or "no" and its noun."""

_SYNONYMS = """
dog,puppy,pup|cat,kitten,kitty|bicycle,bike|motorcycle,motorbike|airplane,plane,aeroplane,jet|couch,sofa|tv,television
|cell phone,phone,cellphone,mobile phone|car,automobile|refrigerator,fridge|donut,doughnut|dining table,table|child,kid
|man,guy,gentleman|woman,lady|person,people,someone,somebody,human|photo,picture
"""
SYNONYMS = tuple(frozenset(words.strip().split(",")) for words in _SYNONYMS.split("|"))
_PEOPLE_WORDS = "man woman boy girl child kid baby toddler guy lady player skier surfer rider couple crowd"
PEOPLE = frozenset(_PEOPLE_WORDS.split())
"""Every one of them is a person; not every person is one of them."""

_IRREGULAR = {"men": "man", "women": "woman", "children": "child", "people": "person", "persons": "person"}


def find_synonyms(noun: str) -> frozenset[str]:
    """A noun and its synonyms, in the singular.

    >>> sorted(find_synonyms("puppies"))
    ['dog', 'pup', 'puppy']
    """
    own = to_singular(noun)
    return next((words for words in SYNONYMS if own in words), frozenset({own}))


def to_singular(noun: str) -> str:
    """A noun in the singular.

    >>> to_singular("traffic lights"), to_singular("women")
    ('traffic light', 'woman')
    """
    return " ".join(singular_words(" ".join(_IRREGULAR.get(word, word) for word in noun.split())))


@dataclass(frozen=True)
class Mention:
    """One place where a caption names something: the words before it (nearest last), after it, and if plural."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    plural: bool

    @property
    def number(self) -> int | None:
        """How many the caption says there are."""
        plain_words = [word for word in self.before if word not in COLOUR_NAMES | {"and"}]
        for word in reversed(plain_words[-REACH:]):
            if word in {"a", "an"} and not self.plural:
                return 1
            if word in NUMBER_WORDS or word.isdigit():
                return NUMBER_WORDS[word] if word in NUMBER_WORDS else int(word)
        return None

    @property
    def colours(self) -> tuple[str, ...]:
        """Its colours, as the caption has them: "a black and white dog", "the dog is brown"."""
        found: list[str] = []
        for word in reversed(self.before):
            if word in COLOUR_NAMES:
                found.insert(0, _SPELT.get(word, word))
            elif word != "and" or not found:
                break
        if not found and len(self.after) > 1 and self.after[0] in {"is", "are"} and self.after[1] in COLOUR_NAMES:
            found.append(_SPELT.get(self.after[1], self.after[1]))
        return tuple(found)

    @property
    def doing(self) -> str:
        """What it does, where a participle follows: "running in the snow"; else ""."""
        rest = list(self.after[1:] if self.after[:1] in {("is",), ("are",)} else self.after)
        if not rest or not re.fullmatch(r"\w{2,}ing", rest[0]):
            return ""
        ends = (at for at, word in enumerate(rest) if at and word in _CONJUNCTIONS)
        return " ".join(rest[: next(ends, len(rest))])


_CONJUNCTIONS = frozenset({"while", "whilst", "and", "as", "with"})


def find_mentions(nouns: frozenset[str], caption: str) -> Iterator[Mention]:
    """Where a caption names one of these nouns (in the singular)."""
    raw = re.findall(r"[^\W_]+", caption.lower())
    folded = [to_singular(word) for word in raw]
    for noun in nouns:
        size = len(noun.split())
        for at in range(len(raw) - size + 1):
            # Another noun may follow that it only qualifies: a dog house is no dog.
            if " ".join(folded[at : at + size]) == noun and not {*raw[at + size : at + size + 1]} & _COMPOUNDS:
                last = at + size - 1
                yield Mention(tuple(raw[:at]), tuple(raw[at + size :]), plural=raw[last] != folded[last])


_COMPOUND_WORDS = "house bed food park collar toy bowl rider racer dish lane track store shop player stop station show"
_COMPOUNDS = frozenset(_COMPOUND_WORDS.split())
