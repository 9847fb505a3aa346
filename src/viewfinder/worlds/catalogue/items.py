"""An article of a catalogue and what is known of it, however its picture came about."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from viewfinder.data.splits import Split, split_of
from viewfinder.data.truth import PictureTruth
from viewfinder.worlds.catalogue.vocabulary import FACETS, TYPES

Word = tuple[str, str]
"""A facet and one word of it: ("colour", "red")."""


@dataclass(frozen=True)
class Item:
    """One article.

    Attributes:
        key: its number in the catalogue; the picture is `images/<key>.jpg`.
        kind, family: the type of article and the subcategory, as the catalogue has them (Tshirts, Topwear).
        title: the name in the catalogue.
        words: what is known of it, by facet; the noun for its kind is a word too.
        lacks: what it is known not to have.
        row: its row in products.csv.
    """

    key: str
    kind: str
    family: str
    title: str
    words: tuple[Word, ...]
    lacks: frozenset[Word]
    row: tuple[tuple[str, str], ...]

    @property
    def image(self) -> str:
        """The picture's file name."""
        return f"{self.key}.jpg"

    @property
    def split(self) -> Split:
        """train, val or test."""
        return split_of_key(self.key)

    @cached_property
    def known(self) -> frozenset[Word]:
        """`words` as a set."""
        return frozenset(self.words)

    @cached_property
    def by_facet(self) -> dict[str, tuple[str, ...]]:
        """Words of each facet of which something is known."""
        found: dict[str, tuple[str, ...]] = {}
        for facet, word in self.words:
            found[facet] = (*found.get(facet, ()), word)
        return found

    @cached_property
    def title_words(self) -> frozenset[str]:
        """The words of the title, in lower case."""
        return frozenset(re.findall(r"[a-z0-9]+", self.title.lower()))

    @property
    def noun(self) -> str:
        """What one calls it: t-shirt."""
        return self.by_facet["kind"][0]


def split_of_key(key: str) -> Split:
    """Which split an article is in: that of a hash of its key, so ten of 13 are for training, one for validation.

    It depends on nothing else, so an article keeps its split however many there are.

    >>> [split_of_key(str(number)) for number in range(5)]
    ['train', 'train', 'train', 'test', 'val']
    """
    return split_of(int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()))


def attribute_lists(item: Item) -> tuple[tuple[str, ...], ...]:
    """The six lists of `asin2attr`: the kind of article, then the words of each of the five types."""
    of_type = {name: tuple(word for facet, word in item.words if FACETS[facet].type == name) for name in TYPES}
    return ((item.noun,), *of_type.values())


def attribute_numbers(items: Iterable[Item]) -> dict[str, int]:
    """A number for every attribute word, in alphabetical order (`attribute2idx.json`)."""
    words = {word for item in items for facet, word in item.words if FACETS[facet].type}
    return {word: number for number, word in enumerate(sorted(words))}


def item_truth(item: Item) -> PictureTruth:
    """An article as a line of truth.jsonl: words by type and by facet."""
    by_type = dict(zip(TYPES, attribute_lists(item)[1:], strict=True))
    return PictureTruth(image=item.image, title=item.title, category=item.kind, attributes={**by_type, **item.by_facet})


def largest_kinds(items: Sequence[Item], count: int) -> tuple[str, ...]:
    """The kinds of article with the most pictures, ties in alphabetical order."""
    kinds: dict[str, int] = {}
    for item in items:
        kinds[item.kind] = kinds.get(item.kind, 0) + 1
    return tuple(sorted(kinds, key=lambda kind: (-kinds[kind], kind))[:count])
