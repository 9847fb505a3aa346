"""What a library keeps of the facts that files tell: the places of coordinates, without what is left out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from viewfinder.errors import BadInput
from viewfinder.pictures.facts.model import NAMES, Fact, find_value, merge_facts
from viewfinder.pictures.facts.places import are_places_installed, name_places

READERS_VERSION = 1
"""Increased when the readers of facts find more than before: the next `add` then reads the facts of all files again."""

NOTHING = "none"
"""In the place of a fact's name: nothing is left out any more."""


def stamp_settings(leave_out: Collection[str]) -> int:
    """64 bits that stand for what is the same for all files: readers, the names of places, and what is left out."""
    said = json.dumps([READERS_VERSION, are_places_installed(), sorted(leave_out)])
    return int.from_bytes(hashlib.blake2b(said.encode(), digest_size=8).digest())


def parse_leave_out(names: Sequence[str]) -> tuple[str, ...]:
    """The facts that are to be left out, in the order of `NAMES`; "none" alone is nothing. Raises BadInput.

    >>> parse_leave_out(["longitude", "latitude"]), parse_leave_out(["none"])
    (('latitude', 'longitude'), ())
    """
    asked = {name.strip().casefold() for name in names}
    if asked == {NOTHING}:
        return ()
    if unknown := sorted(asked.difference(NAMES)):
        raise BadInput(
            f"leave out {unknown[0]!r}: there is no such fact; there are: {', '.join(NAMES)}; "
            f"{NOTHING!r} alone leaves nothing out"
        )
    asked |= {"text boxes"} if "text" in asked else set()  # which hold the text as well
    return tuple(name for name in NAMES if name in asked)


def complete_facts(known: Sequence[tuple[Fact, ...]], leave_out: Collection[str]) -> list[tuple[Fact, ...]]:
    """The facts of some files with the places of their coordinates, without those that are left out."""
    placed = dict(_find_places(known))
    merged = (merge_facts((*facts, *placed.get(row, ()))) for row, facts in enumerate(known))
    return [tuple(fact for fact in facts if fact.name not in leave_out) for facts in merged]


def count_unnamed(known: Sequence[tuple[Fact, ...]]) -> int:
    """How many of these have coordinates whose places cannot be named, because the package for it is missing."""
    return 0 if are_places_installed() else sum(find_value(facts, "latitude") is not None for facts in known)


def _find_places(known: Sequence[tuple[Fact, ...]]) -> Iterable[tuple[int, tuple[Fact, ...]]]:
    """The places of those that have coordinates, by row."""
    at: dict[int, tuple[float, float]] = {}
    for row, facts in enumerate(known):
        latitude, longitude = find_value(facts, "latitude"), find_value(facts, "longitude")
        with suppress(ValueError):
            if latitude is not None and longitude is not None:
                at[row] = float(latitude), float(longitude)
    return zip(at, name_places(list(at.values())), strict=True) if at else ()
