"""Questions about a product in a catalogue, answered from what the catalogue says about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from viewfinder.data.truth import PictureTruth
from viewfinder.users.words import make_rules, strip_lead_in
from viewfinder.wording.nouns import join_with_and
from viewfinder.wording.phrases import contains_phrase
from viewfinder.wording.replies import write_yes_or_no
from viewfinder.wording.stems import singular_words
from viewfinder.worlds.catalogue.statements import phrases_of
from viewfinder.worlds.catalogue.vocabulary import FACETS, OPPOSITES, TYPES

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
"""Words inside baseColour, base_colour, BASE-COLOUR."""

_ASKED: dict[str, tuple[str, ...]] = {
    "colour": ("colour", "color"),
    "pattern": ("pattern", "texture", "print"), "texture": ("texture", "pattern"),
    "print": ("print", "texture", "pattern"), "material": ("material", "fabric"), "fabric": ("fabric", "material"),
    "shape": ("cut", "shape", "fit"), "category": ("category", "type"), "type": ("type", "category"),
    "gender": ("gender", "audience"), "wearer": ("audience", "gender"), "neckline": ("neck", "neckline"),
    "collar": ("neck", "neckline"), "fastening": ("closure", "fastening"), "style": ("style", "usage"),
}  # fmt: skip
"""Attributes that a word may ask for, by the last word of their names."""

_PEOPLE = frozenset({"men", "women", "boys", "girls"})


@dataclass(frozen=True)
class CatalogueVocabulary:
    """The values of each attribute of a catalogue, and which attributes have at most one value."""

    values: Mapping[str, frozenset[str]]
    exclusive: frozenset[str]
    categories: frozenset[str]

    def rules_out(self, name: str, own: str, said: str) -> bool:
        """Whether having one value rules out having another: red is not blue, printed may be."""
        if name not in self.exclusive or contains_phrase(own, said) or contains_phrase(said, own):
            return False
        return (name, said) in OPPOSITES or name not in FACETS or own not in FACETS[name].vague

    @staticmethod
    def of(truths: Iterable[PictureTruth]) -> CatalogueVocabulary:
        """Everything that the pictures of one world have."""
        values: dict[str, set[str]] = {}
        several: set[str] = set()
        categories: set[str] = set()
        for truth in truths:
            categories |= {truth.category.lower()} - {""}
            for name, words in truth.attributes.items():
                values.setdefault(name, set()).update(word.lower() for word in words)
                several |= {name} if len(words) > 1 else set()
        frozen = {name: frozenset(words) for name, words in values.items()}
        single = {name for name in values if (FACETS[name].one if name in FACETS else name not in TYPES)}
        return CatalogueVocabulary(frozen, frozenset(single - several), frozenset(categories))


@dataclass(frozen=True)
class CatalogueItem:
    """One product of a catalogue, ready to be asked about."""

    truth: PictureTruth
    catalogue: CatalogueVocabulary

    def values(self, asked: str) -> tuple[str, ...]:
        """Its values of the attribute that a word asks for; empty if there is none."""
        wanted = _ASKED.get(asked, (asked,))
        for head in wanted:
            for name, words in finest_attributes(self.truth).items():
                if words and attribute_head(name) == head:
                    return tuple(words)
        return (self.truth.category,) if self.truth.category and "category" in wanted else ()

    def all_values(self) -> tuple[str, ...]:
        """Everything that is said of it, in lower case, each once."""
        return tuple(dict.fromkeys(word.lower() for words in self.truth.attributes.values() for word in words))


def finest_attributes(truth: PictureTruth) -> Mapping[str, tuple[str, ...]]:
    """The attributes, without the five types if finer facets say the same again (see `catalogue.items`)."""
    if not any(name in FACETS and name not in TYPES for name in truth.attributes):
        return truth.attributes
    return {name: words for name, words in truth.attributes.items() if name in FACETS or name not in TYPES}


def kind_phrase(noun: str) -> str:
    """A kind of product with its article: "a shirt", "a pair of jeans"."""
    return phrases_of("kind", noun)[0].removeprefix("is ")


def attribute_head(name: str) -> str:
    """The head of an attribute's name, its last word: "baseColour" -> "colour".

    >>> attribute_head("baseColour"), attribute_head("article_types")
    ('colour', 'type')
    """
    last = singular_words(_PARTS.findall(name)[-1] if _PARTS.findall(name) else name)
    return {"color": "colour"}.get(last[0], last[0]) if last else name


def _answer_attribute(item: CatalogueItem, asked: str) -> str | None:
    words = singular_words(asked)
    values = item.values(words[-1]) if words else ()
    return join_with_and([value.lower() for value in values]) if values else None


def _answer_kind(item: CatalogueItem, asked: str) -> str | None:
    """ "What kind of sleeves does it have?": the values that speak of sleeves, else an attribute of that name."""
    stem = singular_words(asked)[-1]
    found = [value for value in item.all_values() if any(word.startswith(stem) for word in singular_words(value))]
    return join_with_and(found) if found else _answer_attribute(item, asked)


def _answer_what(item: CatalogueItem) -> str | None:
    noun = _answer_attribute(item, "kind")
    return kind_phrase(noun) if noun else item.truth.category.lower() or None


_LINKS = frozenset(["a", "an", "the", "any", "made", "meant", "for", "of", "in", "out", "to", "with", "has"])


def _answer_whether(item: CatalogueItem, said: str) -> str | None:
    """ "Is it red?", "is it made for women or for men?" """
    options = [strip_lead_in(option, _LINKS) for option in said.split(" or ")]
    known = [_has_value(item, option) for option in options]
    if len(options) == 1:
        return write_yes_or_no(known[0])
    if known.count(True) == 1:
        return options[known.index(True)]
    return None if None in known or any(known) else "neither"


_MANY = {"man": "men", "woman": "women", "boy": "boys", "girl": "girls"}


def _has_value(item: CatalogueItem, said: str) -> bool | None:
    """Whether something is true of it; False only if what is known rules it out."""
    word, values = _MANY.get(said, said), item.all_values()
    if any(contains_phrase(value, word) for value in (*values, item.truth.category)):
        return True
    if word in _PEOPLE and "unisex" in values:
        return True
    if contains_phrase(item.truth.title, word):
        # A name may refer to something else: the band Green Day makes no shirt green.
        return None
    # It belongs to an attribute with one value, or is another value of the same one: long and short sleeves.
    ruled_out = any(
        item.catalogue.rules_out(name, own, word)
        or (singular_words(own)[-1] == singular_words(word)[-1] and own != word and not contains_phrase(word, own))
        for name, words in item.truth.attributes.items()
        if word in {_MANY.get(value, value) for value in item.catalogue.values[name]}
        for own in (value.lower() for value in words)
    )
    other_kind = bool(item.truth.category) and word in item.catalogue.categories
    return False if ruled_out or other_kind else None


ITEM_RULES = make_rules(
    (r"(?:who|whom) is (?:it|this) (?:made |meant )?for|for (?:who|whom) is (?:it|this).*",
     partial(_answer_attribute, asked="gender")),
    (r"what is (?:it|this) (?:used )?for|what do you use it for", partial(_answer_attribute, asked="usage")),
    (r"(?:what is (?:it|this)|of what is it) made(?: (?:of|from|out of))?",
     partial(_answer_attribute, asked="material")),
    (r"what does it look like", partial(_answer_attribute, asked="style")),
    (r"what is (?:it|this)(?: called)?|what (?:kind|sort|type) of (?:thing|garment|product|item|article|clothing)"
     r"(?: is (?:it|this))?", _answer_what),
    (r"(?:for|in|from|of) (?:what|which) (?:(?:kind|sort|type) of )?(.+?) is (?:it|this)(?: made)?", _answer_attribute),
    (r"(?:what|which) (?:kind|sort|type) of (.+?)(?: (?:is|are|does|has) (?:it|this|there)(?: (?:have|has|in))?)?",
     _answer_kind),
    (r"(?:what|which) (.+?) (?:is|are|does|has) (?:it|this)(?: (?:have|has|in|for))?", _answer_kind),
    (r"(?:what|how) (?:is|are) (?:the|its) (.+?)(?: (?:of it|like))?", _answer_kind),
    (r"(?:is|was) (?:it|this) (.+)", _answer_whether),
    (r"(?:does|has) (?:it|this) (?:have |come with |feature )?(.+)", _answer_whether),
    (r"(?:is|are) there (.+?)(?: on it)?", _answer_whether),
)  # fmt: skip
