"""A description as its words: which of them go together, and which name a label of a facet of photographs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from viewfinder.questioners.photographs import Facet, facets
from viewfinder.wording.stems import fold_words, stem
from viewfinder.wording.taking_away import SMALL, cut_out, find_words, is_gap

POINTS_BACK = re.compile(
    r"\b(?:in front of|on|in|of|at|by|near|with|behind|beside|under|above|around|over|to)\s+"
    r"(?:it|him|them|her(?!\s+\w))\b"
    r"|\b(?:in|on|around)\s+(?:its|his|her|their)\s+(?:mouth|hands?|arms?|lap|head|neck|back|shoulders?)\b"
    r"|\b(?:background|foreground)\b",
    re.IGNORECASE,
)
"""What stands by the thing that was described before: "a lake behind it"."""

NEVER_REPLACED = frozenset(["number of people", "number of dogs", "distance"])
"""Facets whose words say other things as well ("a face"); numbers are compared as such."""

WITHOUT_NOUN = fold_words("snowy grassy sandy rocky icy wooded sunny indoors outdoors inside outside")
"""Words for a place or a time that say what something else is like."""

_QUANTITIES = frozenset(["lot", "lots", "bunch", "couple", "pair", "plenty", "number"])
"""Before "of", words that only say how much of something there is: they go with it."""

_PICTURES = frozenset(["photo", "picture", "image"])
PLURALS = frozenset(["people", "men", "women", "children", "cattle", "sheep"])
"""Plurals that do not end in "s"."""

_LIKE_ARTICLES_WORDS = """
a an the some any his her its my our their your this that these those each of
"""
LIKE_ARTICLES = frozenset(_LIKE_ARTICLES_WORDS.split())

_SIZES = fold_words("big small little large huge tiny old young tall short long deep thick fluffy cute")
"""With colours, the words that go with their noun even where no article stands before them: "big dog"."""


@dataclass(frozen=True)
class Mention:
    """The words of a text, by their places, that name a label; `start` is where their noun phrase begins."""

    label: str
    places: range
    start: int


@dataclass(frozen=True)
class Words:
    """A text as its words."""

    text: str

    @cached_property
    def found(self) -> list[re.Match[str]]:
        """The words, with where they stand."""
        return find_words(self.text)

    @cached_property
    def lower(self) -> list[str]:
        """In small letters."""
        return [word[0].lower() for word in self.found]

    @cached_property
    def folded(self) -> list[str]:
        """Their stems."""
        return [stem(re.sub(r"['’]s?$", "", word)) for word in self.lower]

    def is_joined(self, at: int) -> bool:
        """Whether a word follows the one before it with nothing in between."""
        return 0 < at < len(self.found) and is_gap(self.text, self.found[at - 1], self.found[at])

    def is_small(self, at: int) -> bool:
        """Whether a word means nothing by itself: an article, a preposition."""
        return self.lower[at] in SMALL

    def find_lead(self, start: int) -> int:
        """Where the small words begin that lead to the word at `start`."""
        while self.is_joined(start) and self.lower[start - 1] not in _PICTURES:
            is_much = self.lower[start - 1] in _QUANTITIES and self.lower[start] == "of"
            if not (self.is_small(start - 1) or is_much):
                break
            start -= 1
        return start

    def find_phrase(self, start: int) -> int:
        """Where the noun phrase begins that a noun at `start` ends: "big black dog"."""
        first = start
        while self.is_joined(first) and not self.is_small(first - 1) and not self._stands_alone(first - 1):
            first -= 1
        if self.is_joined(first) and self.is_small(first - 1):
            return first
        while first < start and self.folded[first] not in adjectives():
            first += 1
        return first

    def _stands_alone(self, at: int) -> bool:
        return self.lower[at].endswith(("ing", "s")) or self.folded[at] in named_things()

    def belongs(self, start: int) -> bool:
        """Whether the word before a noun phrase may be part of it all the same: "hot dog", "a football team"."""
        if not self.is_joined(start) or self.is_small(start - 1) or self.lower[start - 1].endswith("ing"):
            return False
        has_article = self.is_joined(start - 1) and self.lower[start - 2] in LIKE_ARTICLES
        return has_article or self.folded[start - 1] not in named_things()

    def leads_on(self, end: int) -> bool:
        """Whether a word that ends before `end` only says of which kind the next one is: "beach ball"."""
        if not self.is_joined(end) or self.is_small(end) or self.lower[end].endswith("ing"):
            return False
        last, following = self.lower[end - 1], self.lower[end]
        if last in PLURALS or (last.endswith("s") and not last.endswith(("ss", "'s", "’s"))):
            return False  # "dogs play"
        return not (following.endswith("s") and self.folded[end] in _doings())  # "a dog jumps"

    def find_mentions(self, facet: Facet) -> list[Mention]:
        """The labels of a facet that are named, as far as they can be taken out."""
        named: dict[int, str] = {}
        for phrase, label in facet.label_of.items():
            parts = phrase.split()
            for at in range(len(self.folded) - len(parts) + 1):
                if self.folded[at : at + len(parts)] == parts:
                    named |= dict.fromkeys(range(at, at + len(parts)), label)
        return [
            Mention(label, range(at, at + 1), self.find_phrase(at))
            for at, label in sorted(named.items())
            if not self.is_small(at)
        ]

    def cut_out(self, gone: set[int]) -> str:
        """The text without words, and without the small ones that only led to them or stood after them."""
        cuts: list[tuple[int, int]] = []
        for first in sorted(gone):
            if first - 1 in gone and self.is_joined(first):
                continue
            end = first + 1
            while end in gone and self.is_joined(end):
                end += 1
            start = first
            if not self.leads_on(end):
                start = self.find_lead(first)
                back = POINTS_BACK.match(self.text, self.found[end].start()) if self.is_joined(end) else None
                while back and end < len(self.found) and self.found[end].end() <= back.end():
                    end += 1
            done = cuts[-1][1] if cuts else 0
            cuts.append((max(self.found[start].start(), done), max(self.found[end - 1].end(), done)))
        return re.sub(r"^(?:and|or|but)\s+", "", cut_out(self.text, cuts), flags=re.I) if cuts else self.text


@lru_cache(maxsize=1)
def colour_labels() -> dict[str, str]:
    """The label of every word for a colour."""
    return dict(next(facet.label_of for facet in facets() if facet.things))


@lru_cache(maxsize=1)
def named_things() -> frozenset[str]:
    """The words that name a label, but for colours: none is part of the noun phrase of another."""
    named = (facet for facet in facets() if not facet.things and facet.name not in NEVER_REPLACED)
    return frozenset(word for facet in named for phrase in facet.label_of for word in phrase.split()) - adjectives()


@lru_cache(maxsize=1)
def _doings() -> frozenset[str]:
    return frozenset(next(facet.label_of for facet in facets() if facet.name == "doing"))


@lru_cache(maxsize=1)
def adjectives() -> frozenset[str]:
    """The words that say what a thing is like."""
    return WITHOUT_NOUN | _SIZES | colour_labels().keys()
