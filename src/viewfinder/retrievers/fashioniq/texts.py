"""Words of what was said: the one splitting that training, simulators and search share."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


def words_in(text: str) -> tuple[str, ...]:
    """The words of a text in lower case; "v-neck" and "doesn't" are one each, and all other signs part words."""
    return tuple(_WORD.findall(text.lower()))
