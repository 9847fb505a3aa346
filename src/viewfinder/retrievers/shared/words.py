"""Words of what was said: the one splitting and numbering that training, simulators and search share."""

from __future__ import annotations

import re

NO_WORD = 0
"""The number of no word; word k of a vocabulary has the number k + 1."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case; "v-neck" and "doesn't" are one each, and all other signs part words."""
    return tuple(_WORD.findall(text.lower()))
