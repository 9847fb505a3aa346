"""Noun phrases about things of a scene: "the small red car on the left", "two dogs next to a tree"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from viewfinder.data.truth import PictureTruth, ThingTruth
from viewfinder.users.words import ANYTHING, CLASSES, PREDICATE_OF_WORD, TAILS, Property, SceneLexicon
from viewfinder.wording.numbers import NUMBER_WORDS
from viewfinder.wording.phrases import contains_phrase
from viewfinder.wording.stop_words import ARTICLES

_MORE = frozenset({"another", "other", "second"})
_LINKS = frozenset({"of", "and", "single"})
_ALL = frozenset({"all", "both", "every", "each"})
_EMPTY_TAILS = ("there", "here", "you see", "that you see", "you can see", "that you can see")
_COPULAS = ("that is", "that are", "which is", "which are", "that", "which", "is", "are", "being")

_TAILS_LONGEST_FIRST = sorted(TAILS, key=len, reverse=True)
_PREDICATES_LONGEST_FIRST = sorted(PREDICATE_OF_WORD, key=len, reverse=True)


@dataclass(frozen=True)
class NounPhrase:
    """The conditions of a noun phrase on the things it means.

    Attributes:
        kinds: kinds it may be; None: any kind.
        plural: whether the noun is a plural.
        number: how many there are said to be; `least`: at least how many ("another").
        every: "all", "both".
        looks: what they look like, where they are.
        near: (predicate, what it relates to).
    """

    kinds: frozenset[str] | None
    plural: bool = False
    number: int | None = None
    least: int = 1
    every: bool = False
    looks: tuple[Property, ...] = ()
    near: tuple[str, NounPhrase] | None = None


def parse_phrase(text: str, lexicon: SceneLexicon) -> NounPhrase | None:
    """Parses a text as a phrase, with every word understood; else None.

    >>> parse_phrase("the small red cars on the left", SceneLexicon.of([])).looks
    (('size', 'small'), ('colour', 'red'), ('column', 'left'))
    >>> parse_phrase("the fast car", SceneLexicon.of([])) is None
    True
    """
    words = text.split()
    head = NounPhrase(None)
    at = 0
    while at < len(words):
        word = words[at]
        if (noun := _find_noun(words, at, lexicon)) is not None:
            kinds, plural, end = noun
            return _parse_tail(replace(head, kinds=kinds, plural=plural), " ".join(words[end:]), lexicon)
        if found := _find_adjective(words, at, lexicon):
            look, at = found
            head = replace(head, looks=(*head.looks, look))
            continue
        if word in NUMBER_WORDS:
            head = replace(head, number=NUMBER_WORDS[word])
        elif word in _ALL:
            head = replace(head, every=True)
        elif word in _MORE:
            head = replace(head, least=2)
        elif word not in ARTICLES and word not in _LINKS:
            return None
        at += 1
    return None


def parse_properties(text: str, lexicon: SceneLexicon) -> tuple[Property, ...] | None:
    """Properties said of something: "small and brown", "on the left", "facing right"; None if not understood.

    >>> words = SceneLexicon.of([])
    >>> parse_properties("small and violet", words), parse_properties("happy", words)
    ((('size', 'small'), ('colour', 'purple')), None)
    """
    said = text.removeprefix("a ").strip()
    if said in TAILS:
        return TAILS[said]
    looks: list[Property] = []
    words = [word for word in said.split() if word != "and"]
    at = 0
    while at < len(words):
        if (found := _find_adjective(words, at, lexicon)) is None:
            return None
        look, at = found
        looks.append(look)
    return tuple(looks) or None


def _find_noun(words: Sequence[str], at: int, lexicon: SceneLexicon) -> tuple[frozenset[str] | None, bool, int] | None:
    """Kinds, plural, and where the noun ends; the longest noun that begins here."""
    for length in (5, 4, 3, 2, 1):
        word = " ".join(words[at : at + length])
        if at + length > len(words):
            continue
        if word in lexicon.nouns:
            kind, plural = lexicon.nouns[word]
            return frozenset({kind}), plural, at + length
        for classes in (CLASSES, dict.fromkeys(ANYTHING)):
            for name in (word, word.removesuffix("s")):
                if name in classes:
                    return classes[name], name != word, at + length
    return None


def _find_adjective(words: Sequence[str], at: int, lexicon: SceneLexicon) -> tuple[Property, int] | None:
    for length in (2, 1):
        word = " ".join(words[at : at + length])
        if word in lexicon.adjectives and at + length <= len(words):
            return lexicon.adjectives[word], at + length
    return None


def _parse_tail(head: NounPhrase, rest: str, lexicon: SceneLexicon) -> NounPhrase | None:
    """The phrase with what follows its noun: places, patterns, relative clauses, one relation at the end."""
    if not rest or rest in _EMPTY_TAILS:
        return head
    for tail in _TAILS_LONGEST_FIRST:
        if rest == tail or rest.startswith(f"{tail} "):
            more = replace(head, looks=(*head.looks, *TAILS[tail]))
            if (whole := _parse_tail(more, rest[len(tail) :].strip(), lexicon)) is not None:
                return whole
    for copula in _COPULAS:
        if rest.startswith(f"{copula} "):
            after = rest.removeprefix(copula).strip()
            looks = parse_properties(after, lexicon)
            return replace(head, looks=(*head.looks, *looks)) if looks else _parse_tail(head, after, lexicon)
    for predicate in _PREDICATES_LONGEST_FIRST:
        if rest.startswith(f"{predicate} ") and (other := parse_phrase(rest[len(predicate) :].strip(), lexicon)):
            return replace(head, near=(PREDICATE_OF_WORD[predicate], other))
    return None


# What a phrase means in a picture


@dataclass(frozen=True)
class KnownScene:
    """A picture's truth, ready to be asked about."""

    truth: PictureTruth
    lexicon: SceneLexicon

    @cached_property
    def related(self) -> frozenset[tuple[int, str, int]]:
        """The relations of its things, to be looked up."""
        return frozenset(self.truth.relations)

    def find(self, text: str) -> tuple[NounPhrase, tuple[ThingTruth, ...]] | None:
        """The phrase parsed from a text, and the things that it refers to; None if either cannot be told."""
        phrase = parse_phrase(text, self.lexicon)
        things = None if phrase is None else self.find_referred(phrase)
        return None if phrase is None or things is None else (phrase, things)

    def find_meant(self, phrase: NounPhrase) -> tuple[ThingTruth, ...] | None:
        """The things of which the phrase is true; None if this is unknown for some thing."""
        fits = [(thing, self.fits(thing, phrase)) for thing in self.truth.things]
        return None if any(fit is None for _, fit in fits) else tuple(thing for thing, fit in fits if fit)

    def find_referred(self, phrase: NounPhrase) -> tuple[ThingTruth, ...] | None:
        """The things meant if the question presupposes that there are some: a sole possible one is taken."""
        if phrase.plural or phrase.every:
            return self.find_meant(phrase)
        fits = [(thing, self.fits(thing, phrase)) for thing in self.truth.things]
        possible = [thing for thing, fit in fits if fit is not False]
        return tuple(possible) if len(possible) == 1 else self.find_meant(phrase)

    def fits(self, thing: ThingTruth, phrase: NounPhrase) -> bool | None:
        """Whether a phrase is true of a thing."""
        if phrase.kinds is not None and thing.kind not in phrase.kinds:
            return False
        known = combine_with_and(has_property(thing, look) for look in phrase.looks)
        if known is False or phrase.near is None:
            return known
        predicate, other = phrase.near
        other_things = self.find_meant(replace(other, number=None))
        if other_things is None:
            return None
        return combine_with_and((known, self.relates_to_any(thing, predicate, other_things)))

    def relates_to_any(self, thing: ThingTruth, predicate: str, others: Iterable[ThingTruth]) -> bool | None:
        """Whether a thing has a relation to one of others; None if that is a matter of opinion."""
        is_arguable = False
        for other in others:
            if (thing.number, predicate, other.number) in self.related:
                return True
            is_arguable |= thing.number != other.number and _is_arguable(thing, predicate, other)
        return None if is_arguable else False


def has_property(thing: ThingTruth, look: Property) -> bool | None:
    """Whether a thing looks so; None if unknown."""
    name, value = look
    if name == "spot":  # in the middle of the picture
        return False if thing.column != "middle" else True if thing.row == "centre" else None
    known: str = getattr(thing, name)
    if known == value or name != "colour":
        return known == value if known else None
    # Navy blue is blue; whether something blue is navy is unknown.
    return True if contains_phrase(known, value) else None if contains_phrase(value, known) or not known else False


def _is_arguable(thing: ThingTruth, predicate: str, other: ThingTruth) -> bool:
    """Whether a person might say so although the world does not: the middle is on that side, if only just."""
    dx, dy = (thing.box[at] + thing.box[at + 2] / 2 - other.box[at] - other.box[at + 2] / 2 for at in (0, 1))
    beside = abs(dx) < (thing.box[2] + other.box[2]) / 2 + 80
    # In front and behind show only if boxes overlap; otherwise what stands lower is nearer.
    so = {"left of": dx < 0, "right of": dx > 0, "above": dy < 0, "below": dy > 0, "next to": beside}
    return so.get(predicate, False)


def combine_with_and(known: Iterable[bool | None]) -> bool | None:
    """Whether all are true, with None for "cannot tell"."""
    values = set(known)
    return False if False in values else None if None in values else True
