"""When two answers to a question about a picture say the same, and what kind of question it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from viewfinder.worlds.kinds import COLOURS
from viewfinder.worlds.words import (
    COLOUR_FAMILIES,
    COLOUR_WORDS,
    NUMBERS,
    PATTERN_ADJECTIVES,
    PATTERN_NOUNS,
    PLACE_NOUNS,
    SIZE_WORDS,
    WHERE,
)

UNKNOWN, NOTHING = "can't tell", "nothing"

_WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
_SHRUG = re.compile(r"\b(?:can't|cannot|can not) (?:tell|say|see)|\bhard to (?:say|tell)|\bnot sure|\bdon't know")
_DENIAL = re.compile(r"^(?:(?:i )?(?:don't|do not) see|there (?:is|are) no\b)")
_NOTHING = re.compile(r"^(?:nothing|none|that's all|that is all)\b")
_YES, _NO = frozenset({"yes", "yeah", "yep", "yup"}), frozenset({"no", "nope", "nah"})

_SMALL = frozenset(
    {"a", "an", "the", "it", "its", "it's", "is", "are", "be", "there", "there's", "they", "i", "i'd", "i'll", "see"}
    | {"say", "just", "only", "has", "have", "having", "faces", "to", "on", "in", "at", "by", "of", "near", "from"}
    | {"this", "that", "side", "corner", "colour", "color", "please"}
)
"""Words that do not change what an answer says."""


def normalize_answer(text: str) -> str:
    """An answer without what does not matter to it: two answers are the same if these are.

    Case, punctuation, articles and small words go; numbers become digits. What begins with yes or no is that alone.
    Doubts of any kind are one answer, and so are words that a world takes for one another ("by the sea", "a beach").

    >>> plain_answer("Yes, there is one."), plain_answer("I don't see any dogs"), plain_answer("hard to say")
    ('yes', 'no', "can't tell")
    >>> plain_answer("there are three"), plain_answer("it's navy blue"), plain_answer("on a sandy beach")
    ('3', 'navy blue', 'beach')
    """
    lowered = text.lower().replace("’", "'").strip()
    if _SHRUG.search(lowered):
        return UNKNOWN
    words: list[str] = _WORD.findall(lowered)
    if words and words[0] in _YES | _NO:
        return "yes" if words[0] in _YES else "no"
    if _DENIAL.match(lowered):
        return "no"
    if _NOTHING.match(lowered):
        return NOTHING
    said = _bare(words)
    return _same_words().get(said, said)


def _bare(words: Iterable[str]) -> str:
    digits = {word: str(number) for number, word in NUMBERS.items()}
    return " ".join(digits.get(word, word) for word in words if word not in _SMALL)


@cache
def _same_words() -> dict[str, str]:
    """Ways to say a thing, by their bare words: the way that stands for all."""
    table: dict[str, str] = {}
    for name, phrases in _alike():
        for phrase in phrases:
            table.setdefault(_bare(_WORD.findall(phrase)), name)
    return table


def _alike() -> Iterator[tuple[str, Iterable[str]]]:
    yield "indoors", ("indoors", "inside")
    yield "outdoors", ("outdoors", "outside")
    yield "day", ("day", "daytime", "by day", "daylight")
    yield "night", ("night", "night-time")
    yield "sunset", ("sunset", "evening", "dusk")
    yield "middle", ("in the middle", "neither, in the middle", "in the centre of the picture", "centre")
    yield "bottom", ("at the bottom", "near the lower edge")
    yield from COLOUR_WORDS.items()
    yield from SIZE_WORDS.items()
    yield NOTHING, ("plain", "single-coloured")
    for pattern, words in PATTERN_ADJECTIVES.items():
        yield PATTERN_NOUNS.get(pattern, pattern), (*words, PATTERN_NOUNS.get(pattern, pattern))
    for place, words in PLACE_NOUNS.items():
        yield place, (place, *words, *WHERE[place])


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_SHADES = _any({*COLOURS, *COLOUR_FAMILIES, *COLOUR_FAMILIES.values(), "grey", "gray", "multicoloured", "metallic"})
_LOOKS = _any(word for words in PATTERN_ADJECTIVES.values() for word in words)
_SIZES = _any(word for words in SIZE_WORDS.values() for word in words)

KINDS: dict[str, re.Pattern[str]] = {
    "number": re.compile(r"^how many|\bonly one\b|^what number"),
    "more": re.compile(r"\belse\b"),
    "presence": re.compile(r"^(?:is|are) there\b|^(?:can|do) you see\b"),
    "colour": re.compile(rf"colou?r|^(?:is|are) .*\b(?:{_SHADES})$"),
    "pattern": re.compile(rf"\bpatterns?\b|^(?:is|are) .*\b(?:{_LOOKS})$"),
    "comparison": re.compile(r"\b(?:bigger|larger|smaller|taller)\b"),
    "size": re.compile(rf"^how (?:big|large|small|tall)|\bbig or small|^(?:is|are) .*\b(?:{_SIZES})$"),
    "facing": re.compile(r"\b(?:face|facing)\b"),
    "light": re.compile(r"\btime of day|\bday or night|\bthe light\b|\bdark$|\b(?:sunny|daytime|night ?time)\b"),
    "place": re.compile(
        r"^where (?:is|was) (?:this|it taken)|\bbackground\b|kind of place|look like a|indoors|outside|inside"
    ),
    "position": re.compile(r"^where\b|on the left or\b"),
    "relation": re.compile(
        r"\b(?:left|right) of\b|\bnext to\b|\bbeside\b|\bclose to\b|\bin front of\b|\bbehind\b|\babove\b|\bover\b"
        r"|\bbelow\b|\bbeneath\b|\bunderneath\b|\bpartly\b"
    ),
    "hidden": re.compile(r"^how old\b|^who owns\b|\b(?:new|expensive)$"),
    "place guessed": re.compile(r"^(?:is|was|does) (?:it|this)\b"),
}
"""Kinds of questions, the first that fits; a world's questions all fit one."""

OTHER = "other"


def classify_question(question: str) -> str:
    """What a question is about.

    >>> [question_kind(asked) for asked in ("How many dogs are there?", "is it navy blue?", "where was this taken?")]
    ['number', 'colour', 'place']
    """
    said = question.lower().strip(" ?.")
    return next((kind for kind, pattern in KINDS.items() if pattern.search(said)), OTHER)
