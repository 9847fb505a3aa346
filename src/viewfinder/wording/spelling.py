"""Misspelt words, and what was meant: words one letter away, or with two letters swapped, that people say of pictures.

A word is left alone where it is known: to the language, to what is written about the pictures, or to what people say
of pictures. What nobody knows and nothing near is known stays as well; it may be a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from string import ascii_lowercase

MIN_WORD_LETTERS, MAX_WORD_LETTERS = 3, 24
"""Letters of words that are looked at: almost any two letters are a word, and long words take long."""

MIN_STRANGE_WORDS = 3
"""With so many unknown words, and more unknown than known ones, a text is of another language."""

MIN_LETTERS_REPLACED = 4
"""Letters of words in which one may be wrong, missing or too many: "vis" is short for something, not "vas". In shorter
ones, letters may only be swapped."""

SWAPPED_GAIN = 0.7
"""Swapped letters are likelier than others of this many powers of ten in how often the word is said."""

QUOTED_WORD = re.compile(r"[\"“„]([^\W\d_]+(?:['’][^\W\d_]+)?)[\"“”]")
"""A single word that stands in quotation marks: it is meant as it is typed."""

_QUOTED = re.compile(r"[\"“„][^\"“”„]{1,200}[\"“”]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(frozen=True)
class Correction:
    """A word as it was typed, and as it is read."""

    typed: str
    read: str


def correct_spelling(
    text: str, is_known: Callable[[str], bool], share_of: Callable[[str], float | None]
) -> tuple[str, tuple[Correction, ...]]:
    """The text with its misspelt words replaced, and what was replaced.

    `is_known`: whether there is such a word in lower case. `share_of`: log10 of the share of descriptions that have a
    word, None if none has it; only such words are put in the place of others. What stands in quotation marks is left.

    >>> shares = {"dog": -0.8, "bicycle": -1.5, "grass": -1.0}
    >>> correct_spelling("a dgo on a bycicle", {"a", "on", *shares}.__contains__, shares.get)
    ('a dog on a bicycle', (Correction(typed='dgo', read='dog'), Correction(typed='bycicle', read='bicycle')))
    """
    corrections: list[Correction] = []
    words = [found[0].lower() for found in _WORD.finditer(text)]
    strange = sum(not is_known(word) for word in words)
    if strange >= MIN_STRANGE_WORDS and 2 * strange > len(words):
        return text, ()  # another language, in which nothing is misspelt

    quoted = [found.span() for found in _QUOTED.finditer(text)]

    def correct(found: re.Match[str]) -> str:
        word = found[0]
        if any(start < found.start() < end for start, end in quoted):
            return word
        meant = find_meant_word(word.lower(), is_known, share_of)
        if meant is None:
            return word
        meant = meant.capitalize() if word[0].isupper() else meant
        corrections.append(Correction(word, meant))
        return meant

    return _WORD.sub(correct, text), tuple(dict.fromkeys(corrections))


def find_meant_word(word: str, is_known: Callable[[str], bool], share_of: Callable[[str], float | None]) -> str | None:
    """The word that a misspelt one stands for; None if it is known, or nothing near it is."""
    if (
        not MIN_WORD_LETTERS <= len(word) <= MAX_WORD_LETTERS
        or not (word.isascii() and word.isalpha())
        or is_known(word)
    ):
        return None
    merits: dict[str, float] = {}
    for near in list_near_words(word):
        if len(word) < MIN_LETTERS_REPLACED and sorted(near) != sorted(word):
            continue
        if (share := share_of(near)) is not None and is_known(near):
            merits[near] = share + (SWAPPED_GAIN if sorted(near) == sorted(word) else 0.0)
    return max(merits, key=lambda near: (merits[near], near)) if merits else None


def list_near_words(word: str) -> Iterator[str]:
    """The words that differ from one by one letter, or by two that changed places, side by side or around another.

    The first letter is rarely wrong: it is only left out, or swapped.
    """
    for gap in (1, 2):
        for at in range(len(word) - gap):
            yield word[:at] + word[at + gap] + word[at + 1 : at + gap] + word[at] + word[at + gap + 1 :]
    for at in range(len(word) + 1):
        for letter in ascii_lowercase:
            yield word[:at] + letter + word[at:]
            if 0 < at < len(word):
                yield word[:at] + letter + word[at + 1 :]
        if 0 < at < len(word):
            yield word[:at] + word[at + 1 :]
