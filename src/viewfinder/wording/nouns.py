"""Nouns as they are written: with "a" or "an", in the singular or the plural, several of them joined by "and"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from viewfinder.wording.stems import singular_of_word


def with_article(phrase: str) -> str:
    """`a` or `an` before a phrase.

    >>> with_article("orange umbrella")
    'an orange umbrella'
    """
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def with_article_if_singular(noun: str) -> str:
    """A noun with its article; plurals have none.

    >>> [with_article_if_singular(noun) for noun in ("collar", "long sleeves", "orange dress")]
    ['a collar', 'long sleeves', 'an orange dress']
    """
    return noun if is_plural(noun) else with_article(noun)


def mend_articles(text: str) -> str:
    """`a` and `an` as the next word requires.

    >>> mend_articles("a orange car and an red one")
    'an orange car and a red one'
    """
    said = re.sub(r"\b([aA])n?(?= [aeiou])", r"\1n", text)
    return re.sub(r"\b([aA])n(?= [^aeiou\W])", r"\1", said)


def join_with_and(phrases: Sequence[str]) -> str:
    """Phrases joined as in speech.

    >>> join_with_and(["a cat", "two dogs", "a hat"])
    'a cat, two dogs and a hat'
    """
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def is_plural(noun: str) -> bool:
    """Whether a noun is in the plural, judged by its ending: "dresses" is, "dress" is not."""
    return noun.endswith("s") and not noun.endswith("ss")


_REGULAR = ("tie", "hoodie", "beanie", "bootie", "onesie", "kurti")  # their plurals end as others do, but only add an s


def make_singular(noun: str) -> str:
    """A noun in the singular, for display.

    >>> [make_singular(noun) for noun in ("clutches", "accessories", "scarves", "bow ties", "dress")]
    ['clutch', 'accessory', 'scarf', 'bow tie', 'dress']
    """
    *before, last = noun.split()
    if last.removesuffix("s").endswith(_REGULAR):
        last = last.removesuffix("s")
    elif last.endswith("rves"):
        last = last.removesuffix("rves") + "rf"
    else:
        last = singular_of_word(last)
    return " ".join([*before, last])


_IRREGULAR_PLURALS = {"bus": "buses", "fish": "fish"}


def make_plural(singular: str) -> str:
    """A noun in the plural.

    >>> [make_plural(noun) for noun in ("clutch", "accessory", "scarf", "tie", "fish")]
    ['clutches', 'accessories', 'scarves', 'ties', 'fish']
    """
    if singular in _IRREGULAR_PLURALS:
        return _IRREGULAR_PLURALS[singular]
    if singular.endswith(("ch", "sh", "ss", "x")):
        return singular + "es"
    if singular.endswith("y") and singular[-2:-1] not in set("aeiou"):
        return singular[:-1] + "ies"
    return singular.removesuffix("rf") + "rves" if singular.endswith("rf") else singular + "s"
