"""Facts: what is known of a picture, by name, each with its source; how those of several sources become one list."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

LIST_NAMES = frozenset({"keywords", "persons", "creator", "album", "objects", "text", "text boxes"})
"""Facts of which a picture may have several values: those of all sources are kept."""

NAMES = (
    *("captured", "title", "description", "keywords", "persons", "creator", "album", "rating", "label"),
    *("place", "city", "region", "country", "latitude", "longitude", "altitude"),
    *("camera", "lens"),
    *("caption", "objects", "text", "text boxes"),
)
"""Every fact there is, in the order in which they are shown.

`captured` is ISO 8601 in the camera's own time, as exact as it is known: "2019", "2019-07", "2019-07-14",
"2019-07-14T10:03:00.25+02:00". `rating` is "0" to "5", or "-1" for a rejected picture; `label` a colour or a word.
`place` is a spot within a city; `latitude` and `longitude` are decimal degrees, `altitude` metres above the sea.
The last line are those of `MACHINE_NAMES`; `text boxes` says where each line of `text` stands (`text_lines`).
"""

MACHINE_NAMES = frozenset({"caption", "objects", "text", "text boxes"})
"""Facts that no file tells: a machine that looked at the picture wrote them, and may be wrong."""

MAX_VALUE_LENGTH = 10_000
"""Characters of one value; the rest is cut off."""

MAX_VALUES = 1_000
"""Values of one fact; the rest is left out."""


FILE_NAME, TOWNS = "file name", "GPS (GeoNames)"
"""How the sources of days in file names begin, and the source of places that coordinates were looked up for."""

_EXIF_DATES = ("EXIF DateTimeOriginal", "EXIF DateTimeDigitized")
_CONTAINERS = ("PNG ", "QuickTime ")

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


def rank_doubt(fact: Fact) -> int:
    """How doubtful a fact of one file is beside the same fact of a copy; between equals the first file counts.

    A day goes by where it is written, from the camera's own down to a messenger's file name; a place that was looked
    up comes after one that somebody wrote.

    >>> rank_doubt(Fact("captured", ("2018",), "file name (WhatsApp)")) > rank_doubt(Fact("captured", ("2017",), "XMP"))
    True
    """
    source = fact.source
    if fact.name != "captured":
        return int(source == TOWNS)
    if source in _EXIF_DATES:
        return _EXIF_DATES.index(source)
    if ": " in source:  # a sidecar
        return 3
    if source.startswith(FILE_NAME):
        return 5 + ("when it was" in source)  # sent, or saved
    return 4 if source.startswith(_CONTAINERS) else 2


def merge_copies(files: Iterable[Iterable[Fact]]) -> tuple[Fact, ...]:
    """The facts of the files that hold one picture, as `merge_facts` has them, the least doubtful first."""
    return merge_facts(sorted((fact for facts in files for fact in facts), key=rank_doubt))


def find_value(facts: Iterable[Fact], name: str) -> str | None:
    """The first value of a fact; None if it is not known."""
    return next((fact.values[0] for fact in facts if fact.name == name), None)
