"""What a filter that is being typed may become: names of filters first, then values that pictures have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from viewfinder.search.gallery import Gallery
from viewfinder.session.facts import COLUMNS
from viewfinder.session.filters import name_columns
from viewfinder.store.rows import CAPTURED, UNDER, AttributeColumn
from viewfinder.wording.product_columns import squeeze_name
from viewfinder.wording.typed_filters import NAMES, TIMES

SHOWN_NAMES = ("after", "before", "on", "camera", "person", "place", "folder", "type", "keyword", "rating")
"""Names that are suggested where pictures have what they filter by; `since` and the like only work."""

MIN_MONTH_LETTERS = 4
"""Once a year is typed, its months are suggested."""


@dataclass(frozen=True)
class SuggestedFilter:
    """A filter as it would be typed, and how many pictures meet it; None for a name that waits for its value."""

    text: str
    pictures: int | None = None


def suggest_filters(typed: str, gallery: Gallery, count: int) -> list[SuggestedFilter]:
    """What the last word of a sentence may become: `cam` is `camera:`, and `camera:ca` is `camera:"Canon EOS 5D"`."""
    minus = "-" if typed.startswith("-") else ""
    name, colon, value = typed[len(minus) :].partition(":")
    name = name.strip('"').lower()
    if not colon:
        named = (one for one in _list_names(gallery) if one.lower().startswith(name))
        return [SuggestedFilter(f"{minus}{quote(one)}:") for one in named][:count]
    wanted = value.strip('"“”„').casefold()
    found = _rank_values(_list_values(name, wanted, gallery), wanted)
    return [SuggestedFilter(f"{minus}{quote(name)}:{quote(one)}", pictures) for one, pictures in found][:count]


def quote(text: str) -> str:
    """A name or a value as it is typed: in quotation marks where it has blanks or marks that would end it.

    >>> quote("Men"), quote("Canon EOS 5D")
    ('Men', '"Canon EOS 5D"')
    """
    plain = text.replace('"', "")
    is_plain = not any(sign.isspace() or sign in "“”„,;" for sign in plain) and plain[-1:] not in "!?.)"
    return plain if is_plain else f'"{plain}"'


def _list_names(gallery: Gallery) -> list[str]:
    """The names that can be typed here and lead to something."""
    snapshot = gallery.snapshot
    known = [name for name in SHOWN_NAMES if any(len(column.rows) for column in _find_columns(name, gallery))]
    catalogue = [name for name in snapshot.columns() if name not in snapshot.file_columns]
    kinds = [
        name for name in catalogue if snapshot.column(name).tells_kinds or snapshot.column(name).numbers_v is not None
    ]
    return list(dict.fromkeys((*known, *(name for name in kinds if ":" not in name and '"' not in name))))


def _find_columns(name: str, gallery: Gallery) -> list[AttributeColumn]:
    """The columns that a typed name filters by."""
    columns, snapshot = name_columns(gallery), gallery.snapshot
    of_catalogue = columns.get(squeeze_name(name), "")
    if of_catalogue in snapshot.columns() and of_catalogue not in snapshot.file_columns:
        return [snapshot.column(of_catalogue)]
    meant = NAMES.get(name, name)
    if meant in TIMES:
        return [snapshot.column(CAPTURED)]
    for kind, several in COLUMNS.items():
        if meant in (kind, *several):
            return [snapshot.column(one) for one in several]
    found = columns.get(squeeze_name(meant))
    return [] if found is None else [snapshot.column(found)]


def _list_values(name: str, wanted: str, gallery: Gallery) -> Iterable[tuple[str, int]]:
    columns = _find_columns(name, gallery)
    if NAMES.get(name) in TIMES and columns and columns[0].name == CAPTURED:
        return _count_stretches(columns[0], 4 if len(wanted) < MIN_MONTH_LETTERS else 7)
    if name == "folder" and "/" in wanted:
        columns = [gallery.snapshot.column(UNDER)]
    return (pair for column in columns for pair in column.count_values())


def _count_stretches(days: AttributeColumn, letters: int) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for day, count in zip(days.values, np.bincount(days.codes, minlength=len(days.values)).tolist(), strict=True):
        if len(day) >= letters:
            counts[day[:letters]] += count
    return sorted(counts.items(), reverse=True)


def _rank_values(values: Iterable[tuple[str, int]], wanted: str) -> Iterator[tuple[str, int]]:
    """Those that begin so, then those of which a word does, then those that have it anywhere."""
    listed = [(value, count, value.casefold()) for value, count in values if value.strip()]
    begin = [(value, count) for value, count, folded in listed if folded.startswith(wanted)]
    word = [(value, count) for value, count, folded in listed if f" {wanted}" in folded]
    inside = [(value, count) for value, count, folded in listed if wanted in folded]
    yield from dict.fromkeys((*begin, *word, *inside))
