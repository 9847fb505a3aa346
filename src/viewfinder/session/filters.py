"""Filters that were typed into what was said (`camera:canon`): what they mean here, and which pictures meet them all.

`wording.typed_filters` has the grammar. Other than facts that are said in words, filters are obeyed to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
from jaxtyping import Bool

from viewfinder.conversation import Node
from viewfinder.errors import UnknownName
from viewfinder.query import Evidence, LikelihoodRatios, Query
from viewfinder.search.gallery import Gallery
from viewfinder.session.facts import COLUMNS, find_holding, read_turn
from viewfinder.session.reading import Read
from viewfinder.store.rows import CAPTURED, FILE, KNOWN, UNDER, AttributeColumn, fold_case
from viewfinder.wording.fact_phrases import FactPhrase, Kind, Names
from viewfinder.wording.product_columns import squeeze_name
from viewfinder.wording.typed_filters import (
    BEFORE,
    NAMES,
    ON,
    SINCE,
    TIMES,
    TypedFilter,
    find_typed_filters,
    list_combined,
    read_time,
)

MIN_INNER_LETTERS = 3
"""Letters of a value that is looked for within others: fewer must be the beginning of a word."""

NEWEST_NATS = 0.05
"""What the order by date adds at most, where nothing is looked for but what meets the filters."""

ALSO_COLUMNS = (CAPTURED, FILE, UNDER)
"""Columns that are not listed, and can be filtered by nevertheless (see `Snapshot.column`)."""


def find_filters(text: str, gallery: Gallery, names: Callable[[], dict[Kind, Names]], today: date) -> list[FactPhrase]:
    """The filters in a text, as facts; `names` gives the names that pictures have."""
    if ":" not in text:
        return []
    columns = name_columns(gallery)
    typed = find_typed_filters(text, lambda name: squeeze_name(name) in columns or name in NAMES)
    return [_resolve_filter(one, columns, gallery, names, today) for one in typed]


def name_columns(gallery: Gallery) -> dict[str, str]:
    """The columns of these pictures by their names without signs and capitals."""

    def name_all() -> dict[str, str]:
        return {squeeze_name(name): name for name in (*KNOWN, *ALSO_COLUMNS, *reversed(gallery.snapshot.columns()))}

    return gallery.memory.remember(("columns by name",), name_all)


def _resolve_filter(
    typed: TypedFilter, columns: dict[str, str], gallery: Gallery, names: Callable[[], dict[Kind, Names]], today: date
) -> FactPhrase:
    of_catalogue = columns.get(squeeze_name(typed.name))
    if of_catalogue in gallery.snapshot.columns() and of_catalogue not in gallery.snapshot.file_columns:
        return _resolve_column(typed, of_catalogue or "", gallery)
    meant = NAMES.get(typed.name, typed.name)
    if meant in TIMES:
        return _resolve_time(typed, meant, today)
    if meant == "folder" and "/" in typed.value:
        return _resolve_column(typed, UNDER, gallery)
    for kind in COLUMNS:
        if meant in (kind, *COLUMNS[kind]):
            return _resolve_name(typed, kind, gallery, names()[kind])
    return _resolve_column(typed, columns.get(squeeze_name(meant), meant), gallery)


def _make_phrase(typed: TypedFilter, kind: Kind, name: str, **found: Any) -> FactPhrase:
    phrase = FactPhrase(kind, typed.words, typed.start, typed.end, is_negated=typed.is_negated, filter=name)
    return replace(phrase, **found)


def _resolve_time(typed: TypedFilter, meant: str, today: date) -> FactPhrase:
    time = read_time(meant, typed.value, today)
    if time is None:
        wrong = f"{typed.words}: this is no date: write it as {typed.name}:2008, {typed.name}:2008-05 or 2008-05-17"
        return _make_phrase(typed, "time", meant, problem=wrong)
    return _make_phrase(typed, "time", meant, time=time)


def _resolve_name(typed: TypedFilter, kind: Kind, gallery: Gallery, names: Names) -> FactPhrase:
    """Persons, places, cameras and folders by what people call them, else by a part of their names."""
    values = [value for part in typed.value.split("|") for value in names.get(" ".join(part.lower().split()), ())]
    known = [gallery.snapshot.column(name) for name in COLUMNS[kind]]
    values = values or [value for column in known for value in _find_alike(column, typed.value)]
    problem = "" if values else _explain_unknown(kind, typed, [value for column in known for value in column.values])
    return _make_phrase(typed, kind, kind, values=tuple(dict.fromkeys(values)), problem=problem)


def _resolve_column(typed: TypedFilter, name: str, gallery: Gallery) -> FactPhrase:
    try:
        column = gallery.snapshot.column(name)
    except UnknownName as error:
        return _make_phrase(typed, "column", typed.name, column=name, problem=str(error))
    try:
        values = list(column.find_values(typed.value))
    except UnknownName as error:
        values = _find_alike(column, typed.value)
        if not values:
            return _make_phrase(typed, "column", typed.name, column=column.name, problem=str(error))
    is_bound = re.match(r"[<>]", typed.value) is not None
    called = f"{column.name} {typed.value}" if is_bound else column.name
    return _make_phrase(typed, "column", called, column=column.name, values=tuple(values))


def _find_alike(column: AttributeColumn, wanted: str) -> list[str]:
    """Values with a word that begins so; failing that, with this somewhere."""
    parts = [re.escape(fold_case(part.strip())) for part in wanted.split("|") if part.strip()]
    if not parts:
        return []
    begins, inside = re.compile(rf"(?<!\w)(?:{'|'.join(parts)})"), re.compile("|".join(parts))
    found = [value for value in column.values if begins.search(fold_case(value))]
    if found or len(wanted) < MIN_INNER_LETTERS:
        return found
    return [value for value in column.values if inside.search(fold_case(value))]


def _explain_unknown(kind: str, typed: TypedFilter, values: Sequence[str]) -> str:
    listed = ", ".join(values[:10]) + (", ..." if len(values) > 10 else "")
    return f"no picture has {kind} = {typed.value!r}; known are: {listed or 'no values at all'}"


# -- all filters of a conversation


@dataclass(frozen=True, eq=False)
class FoundFilters:
    """The filters that count at a turn. `allowed_n`: the pictures that meet them all, None without any.

    `columns`: what they settle, so that it is not asked about; `lost`: those that cannot be met any more, by turn.
    """

    allowed_n: Bool[np.ndarray, " n"] | None
    filters: tuple[tuple[int, FactPhrase], ...]
    lost: dict[int, str]

    @property
    def columns(self) -> frozenset[str]:
        """The columns that are filtered by."""
        named = {name for _, one in self.filters for name in COLUMNS.get(one.kind, ())}
        return frozenset(named | {one.column for _, one in self.filters if one.column})


def apply_filters(path: Sequence[Node], gallery: Gallery, read: Read, *, newest: Node | None = None) -> FoundFilters:
    """The filters on the way to a turn: a later one of a name stands in place of the earlier ones of that name.

    Raises UnknownName: one of the `newest` turn, which was just said, cannot be met.
    """
    found: list[tuple[int, FactPhrase]] = []
    lost: dict[int, str] = {}
    for node in path:
        said = [fact for fact in read_turn(node.turn, read).facts if fact.filter]
        for one in said:
            if one.problem and node is newest:
                raise UnknownName(one.problem)
            if one.problem:
                lost[node.number] = f"drop: turn {node.number}: {one.problem}"
        replaced = {name for one in said if not one.is_negated for name in _list_replaced(one.filter)}
        found = [(turn, one) for turn, one in found if one.is_negated or one.filter not in replaced]
        found += [(node.number, one) for one in said if not one.problem]
    if not found:
        return FoundFilters(None, (), lost)
    allowed_n = np.ones(len(gallery), bool)
    wanted = [one for _, one in found if not one.is_negated]
    for group in list_combined([one.filter for one in wanted]):
        allowed_n &= np.logical_or.reduce([find_holding(wanted[at], gallery)[0] for at in group])
    for _, one in found:
        if one.is_negated:  # a picture of which it is not known stays
            holds_n, known_n = find_holding(one, gallery)
            allowed_n &= holds_n | ~known_n
    return FoundFilters(allowed_n, tuple(found), lost)


def _list_replaced(name: str) -> tuple[str, ...]:
    return {ON: (ON, SINCE, BEFORE), SINCE: (SINCE, ON), BEFORE: (BEFORE, ON)}.get(name, (name,))


def add_filters(query: Query, filters: FoundFilters, gallery: Gallery) -> tuple[Evidence, ...]:
    """The evidence of a query with its filters: they tell what is looked for, and the newest are first if nothing else
    does."""
    looks_for_more = query.looks_for_something
    added = []
    for at, (turn, one) in enumerate(filters.filters):
        by_date = at == 0 and not looks_for_more
        weigh = (lambda: _prefer_newest(gallery)) if by_date else (lambda: _weigh_nothing(len(gallery)))
        added.append(Evidence(turn, one.words, one.words, weigh, is_fact=True, is_filter=not by_date))
    return (*query.evidence, *added)


def _weigh_nothing(pictures: int) -> LikelihoodRatios:
    return LikelihoodRatios.of(np.zeros(0, np.float32), np.zeros(0, np.int64), pictures)


def _prefer_newest(gallery: Gallery) -> LikelihoodRatios:
    """A little more for each newer picture; those without a date are the last."""

    def weigh() -> LikelihoodRatios:
        moments = np.array(gallery.snapshot.moments(range(len(gallery))))
        _, place_n = np.unique(moments, return_inverse=True)
        share_n = place_n.reshape(-1) / max(int(place_n.max(initial=0)), 1)
        return LikelihoodRatios(np.asarray((share_n - 1) * NEWEST_NATS, np.float32), None)

    return gallery.memory.remember(("newest first",), weigh)
