"""The meaning of words: rules that answer questions, and tables of the words for drawn scenes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from viewfinder.data.truth import PictureTruth
from viewfinder.worlds.kinds import COLOURS, KINDS, PLACES
from viewfinder.worlds.words import (
    COLOUR_WORDS,
    NOUNS,
    PATTERN_ADJECTIVES,
    PATTERN_NOUNS,
    PATTERN_TAILS,
    PLACE_NOUNS,
    PREDICATE_WORDS,
    SIZE_WORDS,
    WHERE,
)

NONE_OF_THESE = "none of these"

Rule = tuple[str, Callable[..., str | None]]
Rules = Sequence[tuple[re.Pattern[str], Callable[..., str | None]]]
"""Patterns of questions, and what answers each, given what is known of a picture and the parts of the question."""


def make_rules(*rules: Rule) -> Rules:
    """Rules from patterns that must match a whole question, in order of precedence."""
    return [(re.compile(pattern), answer) for pattern, answer in rules]


def answer_by_rules(rules: Rules, known: object, question: str) -> str | None:
    """The answer of the first rule that understands a question in plain words and has one; None if none has."""
    for pattern, answer in rules:
        if (found := pattern.fullmatch(question)) and (said := answer(known, *found.groups())) is not None:
            return said
    return None


Property = tuple[str, str]
"""A property of a thing and its value: ("colour", "red"), ("column", "left")."""

CLASSES: dict[str, frozenset[str]] = {
    "animal": frozenset({"bird", "butterfly", "cat", "dog", "fish"}),
    "vehicle": frozenset({"bicycle", "boat", "bus", "car"}),
    "building": frozenset({"house"}),
    "fruit": frozenset({"apple"}),
}
"""Words for several kinds at once."""

ANYTHING = frozenset({"thing", "object", "item"})


def _index_by_word(words: Mapping[str, Iterable[str]], name: str) -> dict[str, Property]:
    return {word: (name, value) for value, synonyms in words.items() for word in synonyms}


ADJECTIVES: dict[str, Property] = {
    **{colour: ("colour", colour) for colour in COLOURS},
    **_index_by_word(COLOUR_WORDS, "colour"),
    **_index_by_word(SIZE_WORDS, "size"),
    **_index_by_word(PATTERN_ADJECTIVES, "pattern"),
    "medium": ("size", "medium"),
    "grey": ("colour", "grey"),
}

TAILS: dict[str, tuple[Property, ...]] = {
    **{tail: (("pattern", name),) for name, tails in PATTERN_TAILS.items() for tail in tails},
    **{f"with {noun}": (("pattern", name),) for name, noun in PATTERN_NOUNS.items()},
    **{
        f"{place} {column}{side}": (("column", column),)
        for column in ("left", "right")
        for place, sides in (("on the", ("", " side", "-hand side")), ("at the", ("", " side")), ("to the", ("",)))
        for side in sides
    },
    **{
        f"in the {word} {column}{corner}": (("row", row), ("column", column))
        for row, words in (("top", ("upper", "top")), ("bottom", ("lower", "bottom")))
        for word in words
        for column in ("left", "right")
        for corner in ("", " corner", "-hand corner")
    },
    **{
        f"{preposition} the {word}": (("row", row),)
        for row, words in (("top", ("top", "upper edge")), ("bottom", ("bottom", "lower edge")))
        for preposition in ("at", "near", "towards")
        for word in words
    },
    **{
        f"in the {word}{rest}": (("spot", "middle"),)
        for word in ("middle", "centre", "center")
        for rest in ("", " of it")
    },
    **{
        f"{verb}{to} {side}": (("faces", side),)
        for side in ("left", "right")
        for verb, ways in (
            *(("facing", ("", " to the", " the")), ("turned", (" to the", "")), ("looking", ("", " to the", " to"))),
            *(("that faces", ("", " the")), ("heading", ("",)), ("pointing", ("", " to the"))),
        )
        for to in ways
    },
}
"""Phrases that may follow a noun, or "is": "with dots", "on the left", "facing right"."""

PREDICATE_OF_WORD: dict[str, str] = {
    word: predicate
    for predicate, words in PREDICATE_WORDS.items()
    for word in (*words, *(("close by", "near", "by") if predicate == "next to" else ()))
} | {"under": "below"}

_BEFORE_PLACES = "a an the in on at by along among below out deep near from of beside during taken set shot"
_WAYS_IN = frozenset(_BEFORE_PLACES.split())


def strip_lead_in(phrase: str, lead: frozenset[str] = _WAYS_IN) -> str:
    """A phrase, such as a place or an hour, without the words that lead up to it.

    >>> strip_lead_in("taken on the beach"), strip_lead_in("deep in the forest"), strip_lead_in("at night")
    ('beach', 'forest', 'night')
    """
    words = phrase.split()
    while len(words) > 1 and words[0] in lead:
        words = words[1:]
    return " ".join(words)


_MORE_PLACES: dict[str, tuple[str, ...]] = {
    "beach": ("sea", "ocean", "water", "shore", "coast", "seashore"),
    "meadow": ("field", "fields", "grassland", "grass", "green field"),
    "snow": ("winter", "snowy place", "winter landscape"),
    "city": ("town", "street", "city street", "city at night", "urban area", "urban setting"),
    "kitchen": ("room",),
    "road": ("roadside", "country lane"),
    "desert": ("dunes", "sand"),
    "lake": ("lakeside", "water", "lake shore", "shore"),
    "forest": ("wood", "woods", "woodland", "trees"),
    "room": ("room", "parlour", "lounge"),
    "mountains": ("mountain", "peaks", "alps"),
    "garden": ("lawn", "yard", "backyard", "back garden"),
}

PLACE_WORDS: dict[str, frozenset[str]] = {
    place: frozenset({
        place, *_MORE_PLACES[place],
        *(strip_lead_in(word) for word in (*PLACE_NOUNS[place], *WHERE[place]) if word != "indoors"),
    })
    for place in PLACE_NOUNS
}  # fmt: skip
"""Names of each background."""

_UNSURE = """
street:road road:city sand:beach,lake grass:garden,mountains,road,lake field:road,mountains fields:road,mountains
wood:snow trees:snow winter:mountains yard:road lawn:meadow hills:mountains,meadow,desert
"""
UNSURE_PLACES: dict[str, frozenset[str]] = {
    word: frozenset(places.split(",")) for word, _, places in (entry.partition(":") for entry in _UNSURE.split())
}
"""Words that could also name another background: neither yes nor no."""

LIGHTS: dict[str, frozenset[str]] = {
    "day": frozenset({"day", "daytime", "daylight", "by day", "in daylight", "bright daylight", "light"}),
    "sunset": frozenset({"sunset", "evening", "dusk", "at sunset", "at dusk", "sunset or sunrise", "twilight"}),
    "night": frozenset({"night", "nighttime", "night-time", "night time", "at night", "dark", "in the dark"}),
    "indoors": frozenset({"indoors", "indoor light", "inside", "indoor"}),
}
UNSURE_LIGHTS = dict.fromkeys(("dark", "light", "daylight", "daytime", "day"), frozenset({"sunset"}))

_SKY = frozenset(place for place, about in PLACES.items() if {"sky", "night sky"} & set(about.parts))
_ALL = frozenset(PLACES)

SCENERY: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    word: (frozenset(sure.split()), _ALL if unsure == "*" else frozenset(unsure.split()))
    for words, sure, unsure in (
        ("sea ocean waves", "beach", "lake"),
        ("water", "beach lake", ""),
        ("sand", "beach desert", "lake"),
        ("lake", "lake", ""),
        ("grass", "meadow road mountains garden lake", "forest"),
        ("snow", "snow mountains", ""),
        ("fir,firs,fir trees,trees in the background", "snow", "forest"),
        ("skyscraper,skyscrapers,skyline,tall building,tall buildings,lit windows", "city", ""),
        ("window,windows", "city room", "*"),
        ("street", "city", "road"),
        ("road", "road", "city"),
        ("tiles,tiled wall,oven,worktop,cabinets,kitchen cabinets,shelf,jars", "kitchen", ""),
        ("dunes,dune,sand dunes,cactus,cacti", "desert", ""),
        ("hill,hills", "lake", "mountains meadow desert snow"),
        ("mountain,mountains,peaks", "mountains", "lake snow"),
        ("reeds", "lake", ""),
        ("leaves,fallen leaves", "forest", "*"),
        ("curtains,rug,carpet,painting,wallpaper,framed painting", "room", ""),
        ("fence,picket fence,lawn", "garden", ""),
        ("sky", " ".join(sorted(_SKY)), "forest"),
    )
    for word in (words.split(",") if "," in words else words.split())
}
"""Words for scenery -> the places where it can certainly be seen, and those where that is arguable."""


@dataclass(frozen=True)
class SceneLexicon:
    """The words of a world. `nouns`: word -> (kind, whether it is a plural); `adjectives`: word -> what it says."""

    nouns: Mapping[str, tuple[str, bool]]
    adjectives: Mapping[str, Property]

    @staticmethod
    def of(truths: Iterable[PictureTruth]) -> SceneLexicon:
        """The package's own words, and those of the things in `truths`."""
        nouns: dict[str, tuple[str, bool]] = {}
        things = [thing for truth in truths for thing in truth.things]
        for kind, pairs in (NOUNS | {thing.kind: thing.nouns for thing in things}).items():
            for singular, plural in pairs:
                nouns[plural] = (kind, True)
                nouns[singular] = (kind, False)
        colours = {thing.colour: ("colour", thing.colour) for thing in things if thing.colour}
        return SceneLexicon(nouns, colours | ADJECTIVES)


_GARMENT_WORDS = """
shirt t-shirt top dress kurta kurti tunic sweater sweatshirt jacket blazer suit tracksuit saree skirt jeans trousers
pants shorts capris leggings vest waistcoat camisole innerwear nightdress nightsuit bra trunks briefs boxers jumpsuit
dungarees shrug poncho robe lehenga churidar salwar patiala rompers tee pullover undershirt
"""
_WORN_WORDS = """
shoe heels sandal boot sneaker trainer flip-flop watch belt cap hat scarf stole muffler tie sunglasses shades necklace
earring ring bracelet bangle pendant jewellery socks stockings tights gloves headband dupatta
"""
_GARMENTS = frozenset(_GARMENT_WORDS.split())
_WORN = _GARMENTS | frozenset(_WORN_WORDS.split())


def is_in_background(kinds: Iterable[str], truth: PictureTruth) -> bool | None:
    """Whether the background shows one of these kinds; None: it may (or a photograph does), or it is unknown."""
    wanted, about = frozenset(kinds), PLACES.get(truth.place)
    # The photograph of a garment may show others: a person in a shirt wears more.
    others = {word for thing in truth.things if thing.kind not in KINDS for word in thing.kind.split()}
    is_worn = others & _GARMENTS and any(_WORN & {*kind.split()} for kind in wanted if kind not in KINDS)
    if about is None or is_worn:
        return None
    if wanted & about.shows & _SURELY_PAINTED:
        return True
    painted = about.shows | (frozenset({"star"}) if truth.light == "night" else frozenset())
    return None if wanted & painted else False


_SURELY_PAINTED = frozenset({"flower", "house", "tree"})
"""Kinds that every background which shows them shows clearly; a cup or a star may be overlooked."""
