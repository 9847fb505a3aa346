"""Which words mean what: questions and answers as plain words, and tables of what is said about a drawn scene."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from viewfinder.data.truth import PictureTruth
from viewfinder.wording.replies import is_dont_know
from viewfinder.wording.stems import singular_of_word
from viewfinder.worlds.kinds import COLOURS, KINDS, PLACES
from viewfinder.worlds.words import (
    COLOUR_WORDS,
    NOUNS,
    NUMBERS,
    PATTERN_ADJECTIVES,
    PATTERN_NOUNS,
    PATTERN_TAILS,
    PLACE_NOUNS,
    PREDICATE_WORDS,
    SIZE_WORDS,
    WHERE,
)

NONE_OF_THESE = "none of these"

_CONTRACTIONS = {
    r"\b(what|where|who|which|how|there|it|that|he|she)'s\b": r"\1 is",
    r"\b(what|where|who|there|they|we|you)'re\b": r"\1 are",
    r"\b(is|are|does|do|can|has|have|was)n't\b": r"\1",
    r"\bcolor": "colour",
    r"(?<!single)-coloured\b|(?<!-)\bcoloured\b": "",
    r"\bgray": "grey",
}
_FILLERS = r"""
(?:in|on|of|into|across)\ (?:the|this|that|your)\ (?:whole\ )?(?:picture|photo|photograph|image|scene|frame)\b
|(?<=\ )(?:visible|anywhere|at\ all|to\ be\ seen|exactly|precisely|overall|roughly|please|then)$
|^(?:please|ok|okay|well|so|and|now|then|great|thanks|also|hm+)\b
|^(?:all\ right|alright|by\ the\ way|if\ i\ may(?:\ ask)?|one\ more\ thing|let\ me\ see)\b
|\bby\ any\ chance\b
|^(?:can|could|would|do)\ you\ (?:please\ )?(?:tell|say|know|remember|recall)(?:\ me)?\b(?:\ if|\ whether)?
|^(?:tell|say)\ me\b
|(?<=^is\ there)\ (?:maybe|perhaps|also)|(?<=^are\ there)\ (?:maybe|perhaps|also)
"""
_FILLER = re.compile(_FILLERS, re.VERBOSE)

NUMBER_WORDS = {word: number for number, word in NUMBERS.items()} | {"no": 0, "zero": 0, "nine": 9, "ten": 10}


def normalize_question(text: str) -> str:
    """A question in lower case without punctuation, contractions, politeness and "in the picture".

    >>> normalize_question("What's the color of the dog in the picture, please?")
    'what is the colour of the dog'
    >>> normalize_question("Can you tell me if it's dark?")
    'is it dark'
    >>> normalize_question("One more thing: where is the dog?")
    'where is the dog'
    """
    said = re.sub(r",\s*(?:right|correct|yes|no)\s*\?*$", "", text.lower().replace("’", "'").strip())
    for pattern, instead in _CONTRACTIONS.items():
        said = re.sub(pattern, instead, said)
    said = " ".join(re.sub(r"[^\w\s'-]|(?<!\w)[-']|[-'](?!\w)", " ", said).split())
    while (shorter := " ".join(_FILLER.sub(" ", said).split())) != said:
        said = shorter
    return re.sub(r"^(it|this|that|there|they) (is|are|was|were)\b", r"\2 \1", said)


def singular_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case without their plural s; hyphens separate words.

    >>> singular_words("Long-sleeved T-Shirts")
    ('long', 'sleeved', 't', 'shirt')
    """
    return tuple(singular_of_word(word) for word in re.findall(r"[^\W_]+", text.lower()))


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether the words of `phrase` stand in `text`, adjacent and in order, plural or not.

    >>> contains_phrase("a bright room with dogs", "dog"), contains_phrase("bright daylight", "light")
    (True, False)
    """
    inside, wanted = singular_words(text), singular_words(phrase)
    return bool(wanted) and any(inside[at : at + len(wanted)] == wanted for at in range(len(inside)))


def number_word(number: int) -> str:
    """A number as people say it: "none", "two", "12"."""
    return "none" if number == 0 else NUMBERS.get(number, str(number))


def yes_or_no(truth: bool | None) -> str | None:
    """Yes, no, or None."""
    return None if truth is None else "yes" if truth else "no"


def open_choices(choices: Sequence[str]) -> tuple[str, ...]:
    """Choices that say something, without "don't know"."""
    return tuple(choice for choice in choices if not is_dont_know(choice))


Rule = tuple[str, Callable[..., str | None]]
Rules = Sequence[tuple[re.Pattern[str], Callable[..., str | None]]]
"""Patterns of questions, and what answers each, given what is known of a picture and the parts of the question."""


def make_rules(*rules: Rule) -> Rules:
    """Rules from patterns that must match a whole question, in order of precedence."""
    return [(re.compile(pattern), answer) for pattern, answer in rules]


def answer_by_rules(rules: Rules, known: object, question: str) -> str | None:
    """What the first rule that understands a question in plain words and has an answer says; None if none has."""
    for pattern, answer in rules:
        if (found := pattern.fullmatch(question)) and (said := answer(known, *found.groups())) is not None:
            return said
    return None


Property = tuple[str, str]
"""A property of a thing and its value: ("colour", "red"), ("column", "left")."""

ARTICLES = frozenset(["a", "an", "the", "any", "some", "this", "that", "these", "those", "its"])

CLASSES: dict[str, frozenset[str]] = {
    "animal": frozenset({"bird", "butterfly", "cat", "dog", "fish"}),
    "vehicle": frozenset({"bicycle", "boat", "bus", "car"}),
    "building": frozenset({"house"}),
    "fruit": frozenset({"apple"}),
}
"""Words for several kinds at once."""

ANYTHING = frozenset({"thing", "object", "item"})


def _by_word(words: Mapping[str, Iterable[str]], name: str) -> dict[str, Property]:
    return {word: (name, value) for value, synonyms in words.items() for word in synonyms}


ADJECTIVES: dict[str, Property] = {
    **{colour: ("colour", colour) for colour in COLOURS},
    **_by_word(COLOUR_WORDS, "colour"),
    **_by_word(SIZE_WORDS, "size"),
    **_by_word(PATTERN_ADJECTIVES, "pattern"),
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
"""What may follow a noun, or "is": "with dots", "on the left", "facing right"."""

PREDICATES: dict[str, str] = {
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
"""What each background may be called."""

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
"""What backgrounds show: word -> the places where it can certainly be seen, and those where it is arguable."""


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
    painted = about.shows | (frozenset({"star"}) if truth.light == "night" else frozenset())
    if wanted & _SURELY_PAINTED.get(truth.place, frozenset()):
        return True
    return None if wanted & painted else False


_SURELY_PAINTED: dict[str, frozenset[str]] = {
    **dict.fromkeys(("meadow", "garden"), frozenset({"flower"})),
    **dict.fromkeys(("snow", "forest"), frozenset({"tree"})),
    "city": frozenset({"house"}),
}
"""Kinds that are always visible in the background."""
