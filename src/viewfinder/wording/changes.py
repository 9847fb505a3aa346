"""The values that a "but ..." names: "but in navy blue"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from viewfinder.query import Change

_FILLERS = re.compile(
    r"^(?:\b(?:in|for|a|an|the|one|but|it|is|make|colou?r|and|same|this|that|like|similar)\b|,|\s)+"
    r"|(?:\s|,|\b(?:and|one|ones|in|for|colou?r|instead|please)\b)+$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ValueFamily:
    """Values that exclude one another, such as colours; `column` names the catalogue column they are from."""

    values: tuple[str, ...]
    column: str | None = None


def find_named_changes(text: str, families: Sequence[ValueFamily]) -> tuple[tuple[Change, ...], str]:
    """The values that `text` names, one a family, and what is left of the text.

    Whole words, ignoring case, the longest value first; if several families know a word, the first takes it.

    >>> find_named_changes("in Navy blue, with pockets", [ValueFamily(("blue", "navy blue", "red"))])[1]
    'with pockets'
    """
    changes: list[Change] = []
    rest = text
    for family in families:
        for value in sorted(family.values, key=len, reverse=True):
            pattern = rf"(?<!\w)(?<!no )(?<!not ){re.escape(value)}(?!\w)"
            if re.search(pattern, rest, re.IGNORECASE):
                rivals = tuple(sorted({rival.lower() for rival in family.values}))
                # The catalogue is asked for its own spelling, the encoder for plain words.
                column_value = value if family.column is not None else value.lower()
                changes.append(Change(column_value, rivals, family.column))
                rest = re.sub(pattern, " ", rest, count=1, flags=re.IGNORECASE)
                break
    return tuple(changes), _FILLERS.sub("", re.sub(r"\s+", " ", rest)).strip(" ,;.")
