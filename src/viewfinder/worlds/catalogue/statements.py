"""True statements about articles: about the wanted one, seen from another, and about one alone (its captions).

Nothing here is ever guessed. Unknown is not absent: a title that names no pattern does not make a shirt plain.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Literal

from viewfinder.wording.nouns import is_plural, join_with_and, with_article_if_singular
from viewfinder.worlds.catalogue import vocabulary
from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.vocabulary import FACETS, Comparison, Form

Semantics = Literal["direct", "comparison", "negation", "shared"]


@dataclass(frozen=True)
class Statement:
    """Something to be said of the wanted article.

    Attributes:
        semantics: direct ("is red"), comparison ("is darker"), negation ("has no collar"), or shared: true of both.
        facet, word: what it is about; of a comparison the word is "more" or "less".
        phrases: ways to say it; each begins with "is" or "has".
        tells_apart: whether the other article is known not to fit it.
    """

    semantics: Semantics
    facet: str
    word: str
    phrases: tuple[str, ...]
    tells_apart: bool

    @property
    def seen(self) -> bool:
        """Whether it speaks of something that a picture shows."""
        return FACETS[self.facet].seen

    def say(self, rng: random.Random) -> str:
        """One of the phrases."""
        return rng.choice(self.phrases)


def tell_apart(target: Item, reference: Item) -> bool:
    """Whether something that a picture shows is known to set the two apart."""
    statements = chain(direct_statements(target, reference), comparison_statements(target, reference))
    return any(statement.seen and statement.tells_apart for statement in statements)


def direct_statements(target: Item, reference: Item) -> Iterator[Statement]:
    """Words of the target that the reference is not known to have."""
    for facet, word in target.words:
        if FACETS[facet].said and not _is_true(reference, facet, word):
            yield Statement("direct", facet, word, phrases_of(facet, word), excludes_word(reference, facet, word))


def shared_statements(target: Item, reference: Item) -> Iterator[Statement]:
    """Words that both are known to have, said as what stays."""
    for facet, word in target.words:
        if FACETS[facet].said and (facet, word) in reference.known:
            kept = tuple(phrase.replace(" ", " still ", 1) for phrase in phrases_of(facet, word) if phrase[:2] == "is")
            phrases = kept or tuple(phrase.replace("has", "still has", 1) for phrase in phrases_of(facet, word))
            yield Statement("shared", facet, word, phrases, tells_apart=False)


def negation_statements(target: Item, reference: Item) -> Iterator[Statement]:
    """Words of the reference that the target is known not to have."""
    for facet, word in reference.words:
        if facet != "kind" and FACETS[facet].said and excludes_word(target, facet, word):
            yield Statement("negation", facet, word, denials_of(facet, word), tells_apart=True)


def comparison_statements(target: Item, reference: Item) -> Iterator[Statement]:
    """Comparisons of the target with the reference, in every order in which both have a place."""
    for order in vocabulary.COMPARISONS:
        words, others = target.by_facet.get(order.alike, ()), reference.by_facet.get(order.alike, ())
        if words and others and set(words) != set(others):
            continue
        above, below = _measure_gap(order, target, reference), _measure_gap(order, reference, target)
        if above >= order.margin:
            yield Statement("comparison", order.facet, "more", order.more, tells_apart=True)
        elif below >= order.margin:
            yield Statement("comparison", order.facet, "less", order.less, tells_apart=True)


def _measure_gap(order: Comparison, upper: Item, lower: Item) -> float:
    """By how much every word of one lies above every word of the other; -1 where one has no place in the order."""
    above, below = upper.by_facet.get(order.facet, ()), lower.by_facet.get(order.facet, ())
    if not above or not below or not all(word in order.levels for word in (*above, *below)):
        return -1.0
    return min(order.levels[word] for word in above) - max(order.levels[word] for word in below)


def _is_true(item: Item, facet: str, word: str) -> bool:
    """Whether the word is true of the article: it has it, or one that implies it (navy blue is blue)."""
    return _is_implied(word, item.by_facet.get(facet, ()))


@cache
def _is_implied(word: str, known: tuple[str, ...]) -> bool:
    words = set(word.split())
    return any(words <= set(one.split()) for one in known)


def excludes_word(item: Item, facet: str, word: str) -> bool:
    """Whether the article is known not to fit a word.

    It is where `lacks` says so, or where another word of a facet is known of which articles have only one; a
    word of its title overrules both.
    """
    known = item.by_facet.get(facet, ())
    if _is_true(item, facet, word) or item.title_words & set(word.split()):
        return False
    if (facet, word) in item.lacks:
        return True
    ruled_out = (facet, word) in vocabulary.OPPOSITES or not FACETS[facet].vague & set(known)
    return FACETS[facet].one and bool(known) and ruled_out


@cache
def phrases_of(facet: str, word: str) -> tuple[str, ...]:
    """Ways to say that an article has a word; each begins with "is" or "has"."""
    if (facet, word) in vocabulary.PHRASES:
        return vocabulary.PHRASES[facet, word]
    return _PHRASES[_find_form(facet, word)](word)


@cache
def denials_of(facet: str, word: str) -> tuple[str, ...]:
    """Ways to say that an article does not have a word."""
    if (facet, word) in vocabulary.DENIALS:
        return vocabulary.DENIALS[facet, word]
    form = _find_form(facet, word)
    if form in {"has", "shaped"}:
        thing = word if form == "has" else f"{word} shape"
        return (f"has no {thing}", f"does not have {with_article_if_singular(thing)}")
    return (_PHRASES[form](word)[0].replace("is ", "is not ", 1),)


def _find_form(facet: str, word: str) -> Form:
    return vocabulary.FORMS.get((facet, word), FACETS[facet].form)


_PHRASES: dict[Form, Callable[[str], tuple[str, ...]]] = {
    "is": lambda word: (f"is {word}",),
    "coloured": lambda word: (
        *(f"is {word}", f"is {word}", f"is {word} in colour", f"has {with_article_if_singular(f'{word} colour')}"),
    ),
    "has": lambda word: (f"has {with_article_if_singular(word)}",),
    "made": lambda word: (f"is made of {word}", f"is {word}"),
    "shaped": lambda word: (f"has {with_article_if_singular(f'{word} shape')}",),
    "for": lambda word: (f"is for {word}", f"is made for {word}"),
    "kind": lambda word: (f"is a pair of {word}" if is_plural(word) else f"is {with_article_if_singular(word)}",),
}


CAPTIONS_PER_ITEM = 3

_BEFORE = ("size", "usage", "colour", "pattern", "finish", "fabric", "fit", "length", "sleeves", "closure")
_WITH = ("sleeves", "neck", "heel", "closure", "detail")


def caption_item(item: Item) -> tuple[str, ...]:
    """The title, all that is known of the article in one sentence, and a part of that in another order."""
    rng = random.Random(f"viewfinder/said of goods/{item.key}/{item.title}")
    some = rng.sample(item.words, max(2, len(item.words) // 2)) if len(item.words) > 2 else item.words
    opening = rng.choice(("", "", "photo of ", "this is ", "product shot: "))
    return (item.title, describe_item(item, item.words), opening + describe_item(item, some))


def describe_item(item: Item, words: Sequence[tuple[str, str]]) -> str:
    """The given words of an article as a noun phrase.

    "casual red striped cotton shirt with long sleeves and a collar"
    """
    adjectives = {known for known in words if _find_form(*known) in {"is", "coloured", "made"}}
    before = [word for name in _BEFORE for facet, word in words if facet == name and (facet, word) in adjectives]
    parts = [word for name in _WITH for facet, word in words if facet == name and (facet, word) not in adjectives]
    shapes = [f"{word} shape" for facet, word in words if facet == "cut"]
    phrase = " ".join([*before, item.noun])
    phrase = phrase if is_plural(item.noun) else with_article_if_singular(phrase)
    if parts or shapes:
        phrase += f" with {join_with_and([with_article_if_singular(part) for part in [*shapes, *parts]])}"
    wearers = [word for facet, word in words if facet in {"audience", "sport"} and word != "unisex"]
    return phrase + "".join(f" for {wearer}" for wearer in wearers)
