"""Filters that are typed into a sentence: `camera:canon`, `after:2008-05`, `price:<50`, `-folder:"2008 Italy"`.

A name, a colon and at once a value, in quotation marks where it has blanks; a minus before it leaves out what it says.
What names there are is known elsewhere: a name that is none is a word like any other, unless it has a bound
(`cost:<50`), which nothing but a filter has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from viewfinder.wording.times import TimeCondition, find_times

SINCE, BEFORE, ON = "after", "before", "on"
NAMES = {
    SINCE: SINCE, "since": SINCE, BEFORE: BEFORE, ON: ON, "camera": "camera", "folder": "folder", "person": "person",
    "persons": "person", "people": "person", "place": "place", "type": "format", "keyword": "keywords",
    "tag": "keywords", "stars": "rating",
}  # fmt: skip
"""Names that can be typed in every library, and what they mean, where no column is called so."""

TIMES = frozenset((SINCE, BEFORE, ON))
MAX_VALUE_LENGTH = 200

_QUOTED = r"\"[^\"]{1,200}\"|“[^“”]{1,200}”|„[^„“”]{1,200}[“”]"
_FILTER = re.compile(
    r"(?<![\w:/.\"“-])(?P<minus>-|(?:not|without|except) )?"
    rf"(?P<name>\"[^\":]{{1,60}}\"|[^\W\d][\w-]{{0,59}}):(?P<value>{_QUOTED}|(?!//)[^\s\"“”„]{{1,200}})",
    re.IGNORECASE,
)
_BOUND = re.compile(r"(?:<(?!3$)|<=|>=?)\s*-?\d.*")  # "<3" is a heart
_ISO = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?")


@dataclass(frozen=True)
class TypedFilter:
    """A filter from character `start` to `end` of a text. `words` is all of it, as it was typed."""

    name: str
    value: str
    words: str
    start: int
    end: int
    is_negated: bool = False


def find_typed_filters(text: str, is_name: Callable[[str], bool]) -> list[TypedFilter]:
    """The filters in a text: of those names that there are, and with bounds of any name.

    >>> find_typed_filters("a dog camera:canon at 12:30", {"camera"}.__contains__)
    [TypedFilter(name='camera', value='canon', words='camera:canon', start=6, end=18, is_negated=False)]
    """
    found = []
    for match in _FILTER.finditer(text):
        name, value = match["name"].strip('"').lower(), match["value"]
        is_quoted = value[0] in '"“„'
        bare = value[1:-1] if is_quoted else value.rstrip(",;!?.)")
        if not bare.strip() or not (is_name(name) or _BOUND.fullmatch(bare)):
            continue
        end = match.end() if is_quoted else match.end() - len(value) + len(bare)
        words = " ".join(text[match.start() : end].split())
        found.append(TypedFilter(name, " ".join(bare.split()), words, match.start(), end, match["minus"] is not None))
    return found


def read_time(name: str, value: str, today: date) -> TimeCondition | None:
    """What `after:`, `before:` and `on:` say, the first with its own first day, the second without; None: no date.

    >>> read_time("after", "2008-05", date(2026, 11, 28)), read_time("before", "2008-05", date(2026, 11, 28)).last
    (TimeCondition(first='2008-05-01', last='', months=(), weekdays=(), day=None, others=()), '2008-04-30')
    """
    said = _read_stretch(value, today)
    if said is None or not said.first:
        return None
    if name == ON:
        return said
    if name == SINCE:
        return TimeCondition(first=said.first)
    try:
        return TimeCondition(last=(date.fromisoformat(said.first) - timedelta(days=1)).isoformat())
    except (ValueError, OverflowError):
        return None


def _read_stretch(value: str, today: date) -> TimeCondition | None:
    if (found := _ISO.fullmatch(value)) is not None:
        year, month, day = (int(part) if part else None for part in found.groups())
        try:
            first = date(year or 0, month or 1, day or 1)
            later = date(first.year, 12, 31) if month is None else _end_month(first) if day is None else first
        except ValueError:
            return None
        return TimeCondition(first.isoformat(), later.isoformat())
    said = find_times(value, today)
    return said[0].condition if len(said) == 1 and said[0].words == value else None


def _end_month(first: date) -> date:
    return (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def list_combined(names: list[str]) -> list[list[int]]:
    """Which filters of one sentence are alternatives, by their places: those of one name; times all count.

    >>> list_combined(["camera", "after", "camera", "after"])
    [[0, 2], [1], [3]]
    """
    groups: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        groups.setdefault(f"{name} {at}" if name in TIMES else name, []).append(at)
    return list(groups.values())
