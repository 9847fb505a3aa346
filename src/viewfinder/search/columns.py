"""What a catalogue says beside results: the columns asked for, and the results that fit in the order of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from viewfinder.errors import BadInput, UnknownName
from viewfinder.store.rows import CAPTURED, MONTHS, AttributeColumn, find_column, to_day
from viewfinder.wording.numbers import to_number

if TYPE_CHECKING:
    from viewfinder.search.hits import Hit
    from viewfinder.search.ranking import Ranking
    from viewfinder.store.snapshot import Snapshot

MAX_FIELDS = 20
"""Columns that may be asked for at once."""

MAX_SORTED = 1000
"""Of the best results so many are put in order, as far as they fit; a search for filters alone orders all."""

DATE = "date"
"""Sorts by when photographs were taken, unless the catalogue has a column of this name."""

Key = tuple[int, float, str]


def find_columns(snapshot: Snapshot, names: Sequence[str]) -> dict[str, AttributeColumn]:
    """The columns of these names, which a text may also list with commas between them; by the names asked for.

    Raises:
        UnknownName: there is no such column; the message lists those that there are.
        BadInput: they are too many.
    """
    asked = dict.fromkeys(name for given in names for name in _split_names(snapshot, given))
    if len(asked) > MAX_FIELDS:
        raise BadInput(f"fields: {len(asked)} columns, ask for at most {MAX_FIELDS} at once")
    return {name: snapshot.column(name) for name in asked}


def _split_names(snapshot: Snapshot, given: str) -> list[str]:
    """A column whose own name has a comma is one name."""
    if given in snapshot.columns():
        return [given]
    return [name for part in given.split(",") if (name := part.strip())]


@dataclass(frozen=True)
class Order:
    """An order of results: by a column, or (None) by the moment a photograph was taken."""

    column: AttributeColumn | None
    descending: bool

    def arrange(self, snapshot: Snapshot, rows: Sequence[int]) -> list[int]:
        """The places of these rows in this order; equal ones stay as they come, those without a value come last.

        Of several values the lowest counts, or, descending, the highest. Numbers come before texts.
        """
        keys = self._list_keys(snapshot, rows)
        known = [place for place, key in enumerate(keys) if key is not None]
        known.sort(key=lambda place: keys[place] or (0, 0.0, ""), reverse=self.descending)
        return known + [place for place, key in enumerate(keys) if key is None]

    def _list_keys(self, snapshot: Snapshot, rows: Sequence[int]) -> list[Key | None]:
        column = self.column
        if column is None:
            return [(1, 0.0, moment) if moment else None for moment in snapshot.moments(rows)]
        starts, codes = column.offsets, column.codes
        used = np.unique(np.concatenate([codes[starts[row] : starts[row + 1]] for row in rows] or [codes[:0]])).tolist()
        key_of = {code: _make_key(column, column.values[code]) for code in used}
        best = max if self.descending else min
        return [
            best((key_of[code] for code in codes[starts[row] : starts[row + 1]].tolist()), default=None) for row in rows
        ]


def _make_key(column: AttributeColumn, value: str) -> Key:
    if column.of_files and column.name == "month" and value in MONTHS:
        return 0, float(MONTHS.index(value)), ""
    number = to_number(value)
    return (1, 0.0, to_day(value).casefold()) if number is None else (0, number, "")


def parse_order(snapshot: Snapshot, text: str) -> Order | None:
    """The order that `price` or, descending, `-price` means; None for an empty text: the best first.

    Raises:
        UnknownName: there is no such column; the message lists those that there are.
    """
    name = text.strip()
    if not name:
        return None
    names = snapshot.columns()
    descending = name.startswith("-") and name not in names
    name = name[1:].strip() if descending else name
    try:
        exact = find_column(names, name)
    except UnknownName as error:
        if name.casefold() in (DATE, CAPTURED):
            return Order(None, descending)
        listed = ", ".join([*names, *([] if DATE in names else [DATE])])
        raise UnknownName(f"sort: there is no column called {name!r}; there are: {listed}") from error
    return Order(snapshot.column(exact), descending)


def find_hits(ranking: Ranking, order: Order | None, count: int, start: int = 0) -> list[Hit]:
    """The `count` results after the first `start`. With an order, those that fit come first, in that order.

    Those are the best up to the first that is unlikely, `MAX_SORTED` at most; all others follow as they rank.
    """
    if order is None:
        return list(ranking.hits(count, start))
    fitting = list(takewhile(lambda hit: hit.match != "unlikely", ranking.hits(MAX_SORTED)))
    places = order.arrange(ranking.gallery.snapshot, ranking.best(len(fitting)).tolist())
    page = [fitting[place] for place in places[start : start + count]]
    if len(page) < count:
        page += ranking.hits(count - len(page), max(start, len(fitting)))
    return page


def add_fields(snapshot: Snapshot, hits: Sequence[Hit], names: Sequence[str]) -> list[Hit]:
    """The hits with their values in columns. Raises as `find_columns`."""
    columns = find_columns(snapshot, names)
    rows = snapshot.rows_of(hit.id for hit in hits)
    return [
        hit if row is None else replace(hit, fields={name: column.of_row(row) for name, column in columns.items()})
        for hit, row in zip(hits, rows, strict=True)
    ]
