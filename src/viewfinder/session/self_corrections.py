"""Corrections within a sentence: "a dog, no wait, a cat on a sofa" is a cat on a sofa."""

from __future__ import annotations

import re

from viewfinder.session.described_words import adjectives, colour_labels
from viewfinder.session.revising import revise
from viewfinder.wording.framing import take_content
from viewfinder.wording.numbers import NUMBER_WORDS
from viewfinder.wording.spoken import SelfCorrection, find_self_correction, recount
from viewfinder.wording.stems import stem
from viewfinder.wording.taking_away import SMALL

MAX_CORRECTIONS = 4
"""Corrections of one sentence that are read."""

MAX_LENGTH = 500
"""Characters of a sentence in which somebody may correct what was just said; longer texts were written."""

_ARTICLES = ("a", "an", "the")
_JOINING = frozenset(("while", "and", "or", "who", "that", "which", "when", "because", "as", "where", "with", "but"))
"""Words with which a sentence goes on."""


def mend_self_corrections(text: str) -> str:
    """A sentence with what was meant in place of what was said by mistake.

    >>> mend_self_corrections("a dog on the grass, no wait, a cat"), mend_self_corrections("a red sorry blue car")
    ('on the grass, a cat', 'a blue car')
    >>> mend_self_corrections("a dog with no collar")
    'a dog with no collar'
    """
    if len(text) > MAX_LENGTH:
        return text
    text = recount(text)
    for _ in range(MAX_CORRECTIONS):
        if (found := find_self_correction(text)) is None:
            break
        if (mended := _mend(found)) is None:
            break
        text = mended
    return text


def _mend(found: SelfCorrection) -> str | None:
    """The sentence as it was meant; None where nothing was said that cannot be true beside what is meant."""
    if (begun := _drop_word_in_place(found.said, found.meant)) is not None:
        return f"{begun} {found.meant}".strip()
    said, head = take_content(found.said), _take_head(found.meant)
    left = revise(said, head) if head else said
    if left == said and not (found.is_thinking and head.partition(" ")[0].lower() not in _ARTICLES):
        left = revise(said, head, replaces=True)
    if left != said or found.is_sure:
        return f"{left}, {found.meant}" if left else found.meant
    return None


def _drop_word_in_place(said: str, meant: str) -> str | None:
    """What was said without its last word, where the first that is meant stands in place of it: "a red, sorry, blue
    car"; with its article where there is a new one. None where it does not."""
    before, after = said.split(), re.findall(r"[\w'-]+", meant.lower())
    has_article = bool(after) and after[0] in _ARTICLES
    first = after[1:2] if has_article else after[:1]
    if not before or not first or not _are_alike(before[-1].lower(), first[0]):
        return None
    before.pop()
    if has_article and before and before[-1].lower() in _ARTICLES:
        before.pop()
    return " ".join(before)


def _are_alike(one: str, other: str) -> bool:
    """Whether two words say the same kind of thing: two colours, two numbers, two sizes."""
    if one in NUMBER_WORDS or one.isdigit():
        return other in NUMBER_WORDS or other.isdigit()
    both = (stem(one), stem(other))
    is_colour = [word in colour_labels() for word in both]
    return all(is_colour) or (not any(is_colour) and all(word in adjectives() for word in both))


def _take_head(text: str) -> str:
    """What a text begins with: "a dress" of "a dress with dots", "on a bed" of "on a bed in a room"; "" where it goes
    on with what was said before ("while ..")."""
    words = re.findall(r"[\w'’-]+", re.split(r"[,.;:!?]", text, maxsplit=1)[0])
    lower = [word.lower() for word in words]
    start = next((at for at, word in enumerate(lower) if word not in SMALL), len(lower))
    if not _JOINING.isdisjoint(lower[: start + 1]):
        return ""
    ends = (
        at
        for at in range(start + 1, len(lower))
        if lower[at] in SMALL or (lower[at].endswith("ing") and lower[at - 1] not in _ARTICLES)  # "a painting"
    )
    return " ".join(words[: next(ends, len(lower))])
