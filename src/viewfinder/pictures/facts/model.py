"""Facts: what is known of a picture, by name, each with its source; how those of several sources become one list."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

LIST_NAMES = frozenset({"keywords", "persons", "creator", "album"})
"""Facts of which a picture may have several values: those of all sources are kept."""

NAMES = (
    *("captured", "title", "description", "keywords", "persons", "creator", "album", "rating", "label"),
    *("place", "city", "region", "country", "latitude", "longitude", "altitude"),
    *("camera", "lens"),
)
"""Every fact there is, in the order in which they are shown.

`captured` is ISO 8601 in the camera's own time, as exact as it is known: "2019", "2019-07", "2019-07-14",
"2019-07-14T10:03:00.25+02:00". `rating` is "0" to "5", or "-1" for a rejected picture; `label` a colour or a word.
`place` is a spot within a city; `latitude` and `longitude` are decimal degrees, `altitude` metres above the sea.
"""

MAX_VALUE_LENGTH = 10_000
"""Characters of one value; the rest is cut off."""

MAX_VALUES = 1_000
"""Values of one fact; the rest is left out."""


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What no table can hold, and what a terminal would obey; tabs and ends of lines stay."""


@dataclass(frozen=True)
class Fact:
    """The values of one fact as one source has them. `source` is for people: "EXIF DateTimeOriginal", "a.jpg.xmp"."""

    name: str
    values: tuple[str, ...]
    source: str


def merge_facts(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts of several sources, the most trusted first, without repeated values, in the order of `NAMES`.

    Of a fact with one value the first source counts; of one in `LIST_NAMES` each source keeps the values that none
    before it has, compared without regard to capitals. Control characters and halves of characters are dropped, also
    from sources, which have names of files.

    >>> merge_facts([Fact("keywords", ("Beach",), "XMP"), Fact("keywords", ("beach", "sun"), "IPTC")])
    (Fact(name='keywords', values=('Beach',), source='XMP'), Fact(name='keywords', values=('sun',), source='IPTC'))
    """
    seen: dict[str, set[str]] = {}
    kept: list[Fact] = []
    for fact in facts:
        before = seen.setdefault(fact.name, set())
        if before and fact.name not in LIST_NAMES:
            continue
        values: list[str] = []
        for value in fact.values:
            text = _CONTROLS.sub("", value[:MAX_VALUE_LENGTH]).strip()
            if text and text.casefold() not in before and len(before) < MAX_VALUES:
                before.add(text.casefold())
                values.append(text)
        if values:
            kept.append(Fact(fact.name, tuple(values), _CONTROLS.sub("", fact.source)))
    return tuple(sorted(kept, key=lambda fact: NAMES.index(fact.name)))


def find_value(facts: Iterable[Fact], name: str) -> str | None:
    """The first value of a fact; None if it is not known."""
    return next((fact.values[0] for fact in facts if fact.name == name), None)
