"""Descriptions to begin with, in the words of the collection: of its captions, or else of its catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from viewfinder.encoders.tags import tag_groups
from viewfinder.questioners.information_gain.column_names import is_record_column, is_yes_or_no
from viewfinder.store.rows import FACTS

if TYPE_CHECKING:
    from viewfinder.store.rows import AttributeColumn
    from viewfinder.store.snapshot import Snapshot

MAX_EXAMPLES = 4

MAX_SAMPLED = 64
"""Pictures that are looked at, evenly over the collection."""

MAX_WORDS = 8
"""Longer texts would not show how little needs to be said."""


def suggest_descriptions(snapshot: Snapshot) -> list[str]:
    """Up to four short descriptions of pictures that are there; none where nothing is written about them.

    A caption, or what two columns of the catalogue say of a picture ("blue skirts").
    """
    columns = [] if snapshot.has_captions else _find_kinds(snapshot.all_columns)
    rows = np.unique(np.linspace(0, len(snapshot) - 1, min(len(snapshot), MAX_SAMPLED)).astype(int)).tolist()
    told = dict.fromkeys(filter(None, (_describe(snapshot, row, columns) for row in rows)))
    at = np.unique(np.linspace(0, len(told) - 1, min(len(told), MAX_EXAMPLES)).astype(int)).tolist()
    return [list(told)[place] for place in at]


def _find_kinds(columns: Sequence[AttributeColumn]) -> list[str]:
    """The names of the two columns that tell most kinds of pictures apart: a colour, or else the coarser, first."""
    kinds = [
        column
        for column in columns
        if column.name not in FACTS
        and not column.of_files
        and not is_record_column(column.name)
        and column.tells_kinds
        and column.numbers_v is None
        and not is_yes_or_no(column.values)
    ]
    finest = sorted(kinds, key=lambda column: len(column.values))[-2:]
    return [column.name for column in sorted(finest, key=lambda column: not _are_colours(column.values))]


def _are_colours(values: Sequence[str]) -> bool:
    """Whether most of these name a colour.

    >>> _are_colours(["Navy Blue", "Red", "Various"]), _are_colours(["Shirts", "Blue jeans"])
    (True, False)
    """
    [group] = [group for group in tag_groups() if group.name == "colour"]
    words = {word for tag in group.tags for word in (tag.name, *tag.also)}
    return 2 * sum(not words.isdisjoint(value.lower().split()) for value in values) > len(values)


def _describe(snapshot: Snapshot, row: int, columns: Sequence[str]) -> str:
    """A picture in a few words; "" if nothing short is written about it."""
    texts = list(snapshot.captions(row)) if snapshot.has_captions else []
    if columns:
        values = snapshot.attributes(row)
        texts = [" ".join(values[name][0].lower() for name in columns if values.get(name))]
    short = [text.strip().rstrip(" .") for text in texts if 0 < len(text.split()) <= MAX_WORDS]
    return min(short, key=len, default="")
