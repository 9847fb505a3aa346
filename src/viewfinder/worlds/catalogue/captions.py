"""What a shop or a passer-by would say of one article; everything said is true."""

from __future__ import annotations

import random
from collections.abc import Sequence

from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.statements import indefinite, is_plural
from viewfinder.worlds.catalogue.vocabulary import FACETS, FORMS
from viewfinder.worlds.words import join_with_and

CAPTIONS = 3

_BEFORE = ("size", "usage", "colour", "pattern", "finish", "fabric", "fit", "length", "sleeves", "closure")
_WITH = ("sleeves", "neck", "heel", "closure", "detail")


def caption_item(item: Item) -> tuple[str, ...]:
    """The title, all that is known of the article in one sentence, and a part of that in another order."""
    rng = random.Random(f"viewfinder/said of goods/{item.key}/{item.title}")
    some = rng.sample(item.words, max(2, len(item.words) // 2)) if len(item.words) > 2 else item.words
    return (item.title, describe_item(item, item.words), _loosely(item, some, rng))


def describe_item(item: Item, words: Sequence[tuple[str, str]]) -> str:
    """The given words of an article as a noun phrase.

    "casual red striped cotton shirt with long sleeves and a collar"
    """
    before = [word for name in _BEFORE for facet, word in words if facet == name and _is_adjective(facet, word)]
    parts = [word for name in _WITH for facet, word in words if facet == name and not _is_adjective(facet, word)]
    shapes = [f"{word} shape" for facet, word in words if facet == "cut"]
    phrase = " ".join([*before, item.noun])
    phrase = phrase if is_plural(item.noun) else indefinite(phrase)
    if parts or shapes:
        phrase += f" with {join_with_and([indefinite(part) for part in [*shapes, *parts]])}"
    wearers = [word for facet, word in words if facet in {"audience", "sport"} and word != "unisex"]
    return phrase + "".join(f" for {wearer}" for wearer in wearers)


def _is_adjective(facet: str, word: str) -> bool:
    return FORMS.get((facet, word), FACETS[facet].form) in {"is", "coloured", "made"}


def _loosely(item: Item, words: Sequence[tuple[str, str]], rng: random.Random) -> str:
    phrase = describe_item(item, words)
    opening = rng.choice(("", "", "photo of ", "this is ", "product shot: "))
    return opening + phrase
