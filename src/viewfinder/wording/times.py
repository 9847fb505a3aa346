"""Times that a sentence names, as conditions on when a photograph was taken.

    find_times("the dog in the snow in January 2019", date(2026, 11, 28))
    [TimePhrase('in January 2019', 19, 34, TimeCondition('2019-01-01', '2019-01-31'))]

Dates of all usual forms, ranges, relative ones ("last summer", "two years ago", by a given day that is today), and
what comes again: months, seasons, weekdays, times of day, feasts. What says rather how a picture looks than when it
was taken is left alone: "in winter" and "at night" without more are no times here, "last winter" and "at night in 2019"
(the year) are.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta

from viewfinder.wording.numbers import NUMBER_WORDS
from viewfinder.wording.patterns import compile_late

MIN_YEAR, MAX_YEAR = 1826, 2100
"""Years of photographs: the oldest that is kept was taken in 1826 or 1827."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"), start=1,
    )
    for name in names.split()
}  # fmt: skip
_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        ("monday mon", "tuesday tue tues", "wednesday wed", "thursday thu thurs", "friday fri", "saturday sat",
         "sunday sun"),
    )
    for name in names.split()
}  # fmt: skip
_SEASONS = {"spring": (3, 4, 5), "summer": (6, 7, 8), "autumn": (9, 10, 11), "fall": (9, 10, 11), "winter": (12, 1, 2)}
TIME_WORDS = frozenset([*_MONTHS, *_WEEKDAYS, *_SEASONS])
"""Names of months, weekdays and seasons, long and short, in lower case."""

_FEASTS = {  # month and days, as people mean them: the eve and the days around it
    "christmas": (12, 24, 26), "christmas eve": (12, 24, 24), "xmas": (12, 24, 26), "new year's eve": (12, 31, 31),
    "new year's": (12, 31, 31), "new years eve": (12, 31, 31), "new year's day": (1, 1, 1), "halloween": (10, 31, 31),
    "valentine's day": (2, 14, 14), "valentines day": (2, 14, 14), "independence day": (7, 4, 4),
    "4th of july": (7, 4, 4), "fourth of july": (7, 4, 4), "st patrick's day": (3, 17, 17), "silvester": (12, 31, 31),
}  # fmt: skip
_COUNTS = NUMBER_WORDS | {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 4}


@dataclass(frozen=True)
class TimeCondition:
    """When a photograph was taken, as far as a phrase says it.

    `first` and `last` are days in ISO form, both included, "" for an open end; `months` are 1 to 12, `weekdays` 0
    (Monday) to 6, empty for any.
    """

    first: str = ""
    last: str = ""
    months: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    day: int | None = None
    others: tuple[TimeCondition, ...] = ()
    """Conditions of which any will do in place of this one: "in 2009 or 2010"."""

    @property
    def _is_stretch(self) -> bool:
        """Whether it is nothing but one stretch of time."""
        return bool(self.first or self.last) and not (self.months or self.weekdays or self.day or self.others)

    def is_apart_from(self, other: TimeCondition) -> bool:
        """Whether no time meets both; that is known of stretches, and of months."""
        if self.months and other.months and not (self.others or other.others):
            return not set(self.months) & set(other.months)
        if not (self._is_stretch and other._is_stretch):
            return False
        return bool(
            (self.last and other.first and self.last < other.first)
            or (self.first and other.last and other.last < self.first)
        )

    def is_within(self, other: TimeCondition) -> bool:
        """Whether all times that meet this one meet the other, too; that is known of stretches, and of the same."""
        if self == other:
            return True
        if not (self._is_stretch and other._is_stretch):
            return False
        starts = not other.first or bool(self.first and self.first >= other.first)
        return starts and (not other.last or bool(self.last and self.last <= other.last))


@dataclass(frozen=True)
class TimePhrase:
    """A phrase of a sentence, from character `start` to `end`, and what it means."""

    words: str
    start: int
    end: int
    condition: TimeCondition


_MONTH = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_LONG_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_YEAR = r"(?:1[89]\d\d|20\d\d)"
_OF_YEAR = rf",? (?:of |in )?{_YEAR}"
_OF_SHORT_YEAR = rf"(?:{_OF_YEAR}| (?:of )?['’]\d\d(?!\d)| of \d\d(?= ?(?:$|[,.;!?])))"
_DAY = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_SEASON = r"(?:early |late |mid[- ]?)?(?:spring|summer|autumn|fall|winter)"
_FEAST = f"(?:{'|'.join(sorted(map(re.escape, _FEASTS), key=len, reverse=True))})"
_COUNT = rf"(?:\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"
_UNIT = r"(?:day|week|weekend|month|year|decade)"
_DECADE_NAMES = r"(?:twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties)"

_FORMS = {
    "iso": rf"{_YEAR}(?:-\d\d?-|/\d\d?/|:\d\d?:|\.\d\d?\.)\d\d?(?!\d)",
    "compact": rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)",
    "iso_month": rf"{_YEAR}[-/:]\d\d?(?![\d/:-])",
    "quarter": rf"q[1-4][ /-]?{_YEAR}|(?:first|second|third|fourth|last) quarter (?:of |in )?{_YEAR}",
    "slashed": rf"\d\d?[/.]\d\d?[/.](?:{_YEAR}|\d\d)(?!\d)",
    "month_iso": rf"\d\d?[/.]{_YEAR}(?!\d)",
    "day_month": rf"{_DAY} (?:of )?{_MONTH}(?:{_OF_SHORT_YEAR})?",
    # "Jan 05" is rather a month of 2005 than a day of every year.
    "month_short": rf"{_MONTH} 0\d(?!\d|{_OF_SHORT_YEAR})",
    "month_day": rf"{_MONTH} (?:the )?{_DAY}(?!\d)(?:{_OF_SHORT_YEAR})?",
    "month_year": rf"{_MONTH}{_OF_SHORT_YEAR}",
    "winter_years": rf"winter,? (?:of |in )?{_YEAR} ?[/–-] ?(?:{_YEAR}|\d\d)(?!\d)",
    "season_year": rf"{_SEASON}{_OF_SHORT_YEAR}",
    "feast": rf"{_FEAST}(?:{_OF_YEAR})?",
    "decade": rf"(?:early |late |mid[- ]?)?(?:(?:(?:1[89]|20)?\d0|['’]\d0)['’]?s|{_DECADE_NAMES})",
    "year": rf"(?:year )?{_YEAR}",
    "short_year": r"['’]\d\d(?![\d'’]|s\b)",
    "near": r"(?:the )?(?:day before )?yesterday|today|tonight|this morning|last night",
    "relative": rf"(?:earlier )?(?:last|this|past|previous) (?:{_UNIT}|{_SEASON}|{_LONG_MONTH}|{_WEEKDAY}|{_FEAST})",
    "ago": rf"(?:about |around |some )?{_COUNT} {_UNIT}s? (?:ago|back|before now)",
    "past": rf"(?:the )?(?:last|past|previous) {_COUNT} {_UNIT}s",
}
"""One point in time or stretch of it, by the way in which it is written; the first that fits counts."""

_PART = (
    "(?:(?:very )?(?:beginning|start|first half|middle|second half|end|(?:first|second|third|fourth|last) week)"
    " of (?:the )?"
    rf"|(?:early|mid|late)[- ](?:in )?(?=(?:{_YEAR}|{_MONTH}{_OF_SHORT_YEAR})(?![\w-])))"
)
"""A part of a stretch: "the end of 2008", "early May 2019"; of a season or a decade it is in their `_FORMS`."""

_POINT = f"(?:{_PART}?(?:{'|'.join(_FORMS.values())}))"
_ONE = compile_late("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _FORMS.items()), re.IGNORECASE)

_TAKEN = (
    r"(?:(?:(?:it|this|that|which) (?:was|were|is|must have been|may have been|might have been|would have been) )?"
    r"(?:taken|shot|made|captured|photographed|from|dated|of) "
    r"|(?:it|this|that) (?:was|must have been|may have been|might have been|would have been) )?"
)
_VAGUE = r"about|around|roughly|approximately|circa|near|close to"
_IN = (
    r"(?:(?:some ?time|somewhere) (?=in|on|during|at|by|toward|abou|aroun|roug|appr|circ|near|clos))?"
    rf"(?:(?:back in|in|on|from|during|of|at|by|within|over|for|towards?|(?P<vague>{_VAGUE})) )?(?:the )?"
)
_UNTIL = r"(?:no|not) (?:later|newer|more recent) than|not after|until|till|up to|at the latest(?: in)?"
_SINCE = r"(?:no|not) (?:earlier|older) than|not before|at least from|from at least|at the earliest(?: in)?|since|as of"
_BEFORE = rf"before|prior to|older than|earlier than|{_UNTIL}"
_AFTER = rf"after|from|newer than|later than|{_SINCE}"

_BETWEEN = compile_late(
    rf"\b{_TAKEN}(?:between|from) (?:the )?(?P<from>{_POINT}|{_MONTH}|{_DAY}) (?:and|to|until|till|through|-|–) "
    rf"(?:the )?(?P<to>{_POINT})"
    rf"|(?<![\w-])(?P<low>{_YEAR}) ?(?:-|–|to) ?(?P<high>{_YEAR})(?![\w-])",
    re.IGNORECASE,
)
_OPEN = compile_late(
    rf"\b{_TAKEN}(?P<how>{_BEFORE}|{_AFTER}) (?:the )?(?P<point>{_POINT})"
    r"(?P<on> (?:onwards?|on\b|and later|or later))?",
    re.IGNORECASE,
)
_SINGLE = compile_late(rf"(?<![\w-]){_TAKEN}{_IN}(?P<point>{_POINT})(?![\w-])", re.IGNORECASE)
_AGAIN = compile_late(
    rf"(?<![\w-])(?:{_TAKEN}(?:in|from|during|every) "
    rf"(?P<month>{_LONG_MONTH}(?:(?:,| and| or|, and|, or) {_LONG_MONTH})*)"
    r"(?! \w*\d)"
    rf"|{_TAKEN}(?:on|from|every) (?:an? |the )?(?P<weekday>{_WEEKDAY})s?"
    rf"|{_TAKEN}(?:on|at|over) (?:the |an? )?weekends?)(?![\w-])",
    re.IGNORECASE,
)


_OF_THE_SEARCH = compile_late(
    r",? (?:i|we)(?:['’](?:m|re|ve)| am| are| have| had)? (?:\w+ )?(?:been )?"
    r"(?:look|hunt|search|try|tried|trying|seek|want|need|ask|find)(?:ing|ed)?\b",
    re.IGNORECASE,
)
"""After a time of which it is said that one searches: "since yesterday I try to find ..."."""


_MAY_NAME_ONE = compile_late(
    r"\d|day|week|month|year|decade|ties|morning|night|spring|summer|autumn|fall|winter|jan|feb|mar|apr|may|jun|jul|aug"
    "|sep|oct|nov|dec|christmas|xmas|halloween|silvester",
    re.IGNORECASE,
)
"""Something of this stands in every time; the patterns of times, which take 30 ms to compile, are not needed before."""


def find_times(text: str, today: date) -> list[TimePhrase]:
    """The times that a text names, in their order; none overlaps another. Words of the text are parted by one blank.

    >>> [it.condition for it in find_times("between May 2018 and 2019, the beach", date(2026, 11, 28))]
    [TimeCondition(first='2018-05-01', last='2019-12-31', months=(), weekdays=(), day=None, others=())]
    """
    found: list[TimePhrase] = []
    if _MAY_NAME_ONE.search(text) is None:
        return found
    for match, condition in _list_candidates(text, today):
        if _OF_THE_SEARCH.match(text[match.end() :]):
            continue
        if all(match.end() <= one.start or match.start() >= one.end for one in found):
            found.append(TimePhrase(match[0].strip(), match.start(), match.end(), condition))
    return _join_alternatives(sorted(found, key=lambda one: one.start), text)


def _join_alternatives(found: list[TimePhrase], text: str) -> list[TimePhrase]:
    """ "In 2009 or 2010", and "from 2009 and 2010", which no picture is both of, are one time, of which any will do."""
    joined: list[TimePhrase] = []
    for one in found:
        before = joined[-1] if joined else None
        between = "" if before is None else text[before.end : one.start].strip(" ,").lower()
        is_either = between in ("or", "or else", "or maybe", "or perhaps", "and/or")
        if before is not None and not is_either:
            is_either = between in ("and", "&") and before.condition.is_apart_from(one.condition)
        if before is not None and is_either:
            condition = replace(before.condition, others=(*before.condition.others, one.condition))
            joined[-1] = TimePhrase(text[before.start : one.end].strip(), before.start, one.end, condition)
        else:
            joined.append(one)
    return joined


def _list_candidates(  # noqa: PLR0912 (one branch a form)
    text: str, today: date
) -> Iterator[tuple[re.Match[str], TimeCondition]]:
    """Matches and their meanings, the longest kinds first."""
    for match in _BETWEEN.finditer(text):
        if match["low"]:
            low, high = int(match["low"]), int(match["high"])
            if low < high:
                yield match, TimeCondition(f"{low}-01-01", f"{high}-12-31")
            continue
        last = _read_point(match["to"], today)
        if last and last.last and (first := _find_beginning(match["from"], last, today)):
            yield match, TimeCondition(first, last.last)
    for match in _OPEN.finditer(text):
        point, how = _read_point(match["point"], today), " ".join(match["how"].lower().split())
        if point is None or not point.first:
            continue
        if re.fullmatch(_BEFORE, how):
            inclusive = re.fullmatch(_UNTIL, how) is not None
            yield match, TimeCondition("", point.last if inclusive else _add_days(point.first, -1))
        elif how != "from" or match["on"]:
            inclusive = how == "from" or re.fullmatch(_SINCE, how) is not None
            yield match, TimeCondition(point.first if inclusive else _add_days(point.last, 1), "")
    for match in _SINGLE.finditer(text):
        point = _read_point(match["point"], today)
        if point is not None and _is_time(match, text):
            yield match, _widen(point) if match["vague"] and not _split_part(match["point"])[0] else point
    for match in _AGAIN.finditer(text):
        month, weekday = match["month"], match["weekday"]
        if month:
            yield match, TimeCondition(months=tuple(_MONTHS[name] for name in re.findall(_LONG_MONTH, month.lower())))
        else:
            yield match, TimeCondition(weekdays=(_WEEKDAYS[weekday.lower()],) if weekday else (5, 6))


_PARTS = {
    "beginning": (0, 1 / 3), "start": (0, 1 / 3), "early": (0, 1 / 3), "first half": (0, 1 / 2),
    "middle": (1 / 3, 2 / 3), "mid": (1 / 3, 2 / 3), "second half": (1 / 2, 1), "end": (2 / 3, 1), "late": (2 / 3, 1),
    "first week": (0, 7), "second week": (7, 14), "third week": (14, 21), "fourth week": (21, 28), "last week": (-7, 0),
}  # fmt: skip


_PART_BEFORE = compile_late(rf"(?:the )?({_PART})", re.IGNORECASE)


def _split_part(words: str) -> tuple[str, str]:
    """The part of a stretch that is named first, "" if it is all of it, and the rest.

    >>> _split_part("end of 2008")
    ('end', '2008')
    """
    found = _PART_BEFORE.match(words.strip())
    if found is None:
        return "", words.strip()
    return next(part for part in _PARTS if part in found[1].lower()), words.strip()[found.end() :]


def _take_part(whole: TimeCondition, part: str) -> TimeCondition:
    """A third, half or week of a stretch: the end of 2008 is from September on."""
    if not whole.first or not whole.last:
        return whole
    if part.endswith("week"):
        first, last = _PARTS[part]
        first, last = (first, last) if last > 0 else (first + _count_days(whole), _count_days(whole))
    else:
        first, last = (round(share * _count_days(whole)) for share in _PARTS[part])
    return replace(whole, first=_add_days(whole.first, int(first)), last=_add_days(whole.first, int(last) - 1))


MIN_VAGUE_DAYS = 3
"""Days on either side that "around the 5th of May" may be off; a month or year may be off by as much again."""


def _widen(said: TimeCondition) -> TimeCondition:
    if not said.first or not said.last:
        return said
    days = max(_count_days(said) - 1, MIN_VAGUE_DAYS)
    return replace(said, first=_add_days(said.first, -days), last=_add_days(said.last, days))


def _count_days(stretch: TimeCondition) -> int:
    return (date.fromisoformat(stretch.last) - date.fromisoformat(stretch.first)).days + 1


def _find_beginning(words: str, last: TimeCondition, today: date) -> str:
    """The first day of a stretch that begins so: "3" and "January" are of the month or year of its end; "" if none."""
    point = _read_point(words, today) if _find_kind(words) else None
    if point is not None and point.first:
        return point.first
    until = date.fromisoformat(last.last)
    month = next((_MONTHS[word] for word in re.findall(r"[a-z]+", words.lower()) if word in _MONTHS), None)
    day = next(map(int, re.findall(r"\d+", words)), None)
    year = until.year - (month is not None and month > until.month)
    begun = _make_day(year, month or until.month, day or 1)
    return begun.first if begun is not None and begun.first <= last.last else ""


_CONNECTOR = compile_late(r" (?:in|at|on|with|when|where|and|or|near|by|from|during|i|we|somewhere)\b", re.IGNORECASE)


_GOES_ON_WITH_TIME = compile_late(
    rf" (?:instead|or rather|(?:or|and|not|but not) (?:in |from )?{_YEAR})\b", re.IGNORECASE
)


_BEFORE_NUMBER = compile_late(
    r"\b(?:numbers?|numbered|no\.|nr\.?|room|flight|bib|jersey|saying|says|reads?) $|# ?$", re.IGNORECASE
)


def _is_time(match: re.Match[str], text: str) -> bool:
    """Whether a match of `_SINGLE` is a time where it stands: "1950 Cadillac", "2000 people", "in her 20s" and
    "a Christmas tree" name none.
    """
    point, before, after = match["point"], text[: match.start()], text[match.end() :]
    kind = _find_kind(point)
    ends = not after.strip(" ,.;:!?") or after[0] in ",.;:!?" or _GOES_ON_WITH_TIME.match(after) is not None
    if kind == "decade":
        return re.search(r"\b(?:his|her|their|my|your|its) $", before, re.IGNORECASE) is None
    has_preposition = match[0] != point
    if kind == "feast" and re.search(_YEAR, point) is None:
        is_at = has_preposition and not match[0].lower().startswith("for ")
        return ends and (is_at or not before.strip(" ,.;:!?"))
    if kind == "year" and match["vague"] and not ends:  # "around 2008 in Rome", but "around 2000 people"
        return _CONNECTOR.match(after) is not None
    if kind == "short_year":  # "from '08", but "the '08 car"
        return re.match(r"(?:the )?['’]", match[0], re.IGNORECASE) is None
    if kind == "year" and not has_preposition and _BEFORE_NUMBER.search(before) is not None:
        return False
    return kind != "year" or has_preposition or ends or _split_part(point)[0] != ""


def _find_kind(words: str) -> str | None:
    """The way in which a time is written (see `_FORMS`); None if it is none of them."""
    match = _ONE.fullmatch(_split_part(words)[1])
    return None if match is None else match.lastgroup


def _read_point(words: str, today: date) -> TimeCondition | None:  # noqa: PLR0911, PLR0912 (one return a form)
    """The time that one phrase names; None if there is no such day."""
    part, words = _split_part(words)
    if part:
        whole = _read_point(words, today)
        return None if whole is None else _take_part(whole, part)
    kind = _find_kind(words)
    text = words.strip().lower().replace("’", "'")
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    month = next((_MONTHS[word] for word in re.findall(r"[a-z]+", text) if word in _MONTHS), None)
    year = next((number for number in numbers if number > 999), None)
    match kind:
        case "iso":
            return _make_day(*numbers)
        case "compact":
            return _make_day(numbers[0] // 10_000, numbers[0] // 100 % 100, numbers[0] % 100)
        case "quarter":
            return _make_quarter(text, numbers[-1])
        case "iso_month":
            return _make_month(numbers[0], numbers[1])
        case "month_iso":
            return _make_month(numbers[1], numbers[0])
        case "slashed":
            return _read_slashed(numbers, text)
        case "day_month" | "month_day":
            day = next(number for number in numbers if number < 32)
            if month is None:
                return None
            year = year or (_widen_year(numbers[-1], today) if len(numbers) > 1 else None)
            return _make_day(year, month, day) if year else TimeCondition(months=(month,), day=day)
        case "month_year" | "month_short":
            year = year or _widen_year(numbers[-1], today)
            return _make_month(year, month) if month else None
        case "winter_years":
            return _make_season(numbers[0], "winter")
        case "short_year":
            return TimeCondition(f"{_widen_year(numbers[0], today)}-01-01", f"{_widen_year(numbers[0], today)}-12-31")
        case "season_year":
            return _make_season(year or _widen_year(numbers[-1], today), text)
        case "feast":
            return _make_feast(year, text)
        case "decade":
            return _make_decade(text)
        case "year":
            return TimeCondition(f"{numbers[0]}-01-01", f"{numbers[0]}-12-31")
        case "ago":
            return _read_ago(text, today)
        case "past":
            count, unit = _read_count(text)
            return TimeCondition(_step_back(today, count, unit).isoformat(), today.isoformat())
        case _:
            return _read_relative(text, today)


def _make_day(year: int, month: int, day: int) -> TimeCondition | None:
    try:
        found = date(year, month, day).isoformat()
    except ValueError:
        return None
    return TimeCondition(found, found)


def _make_month(year: int, month: int) -> TimeCondition | None:
    if not 1 <= month <= 12:
        return None
    return TimeCondition(f"{year}-{month:02d}-01", f"{year}-{month:02d}-{monthrange(year, month)[1]:02d}")


def _make_quarter(text: str, year: int) -> TimeCondition | None:
    named = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4}
    quarter = int(text[1]) if text.startswith("q") else named[text.split(maxsplit=1)[0]]
    first, last = _make_month(year, quarter * 3 - 2), _make_month(year, quarter * 3)
    return TimeCondition(first.first, last.last) if first and last else None


def _read_slashed(numbers: list[int], text: str) -> TimeCondition | None:
    """ "14/7/2019", "7/14/2019", "14.07.19": with points the day comes first, as where they are written so."""
    first, second, year = numbers
    year = year if year > 99 else 2000 + year if year < 70 else 1900 + year
    is_day_first = first > 12 or "." in text
    day, month = (first, second) if is_day_first else (second, first)
    return _make_day(year, month, day)


def _make_season(year: int, text: str) -> TimeCondition:
    """A season of a year; the winter of a year is the one that begins in it."""
    name = next(season for season in _SEASONS if season in text)
    months = _SEASONS[name]
    if name == "winter":
        last = monthrange(year + 1, 2)[1]
        return TimeCondition(f"{year}-12-01", f"{year + 1}-02-{last:02d}")
    return TimeCondition(f"{year}-{months[0]:02d}-01", f"{year}-{months[-1]:02d}-{monthrange(year, months[-1])[1]:02d}")


def _make_feast(year: int | None, text: str) -> TimeCondition:
    name = next(name for name in sorted(_FEASTS, key=len, reverse=True) if name in text)
    month, first, last = _FEASTS[name]
    if year is None:
        return TimeCondition(months=(month,), day=first)
    return TimeCondition(f"{year}-{month:02d}-{first:02d}", f"{year}-{month:02d}-{last:02d}")


_DECADES = {
    "twenties": 1920, "thirties": 1930, "forties": 1940, "fifties": 1950, "sixties": 1960, "seventies": 1970,
    "eighties": 1980, "nineties": 1990,
}  # fmt: skip


def _make_decade(text: str) -> TimeCondition | None:
    digits = re.search(r"\d+", text)
    if digits is None:
        start = next(year for name, year in _DECADES.items() if name in text)
    else:
        number = int(digits[0])
        start = number if number > 99 else 1900 + number if number >= 20 else 2000 + number
    if not MIN_YEAR <= start <= MAX_YEAR:
        return None
    first, last = (
        (start, start + 4) if "early" in text else (start + 5, start + 9) if "late" in text else (start, start + 9)
    )
    return TimeCondition(f"{first}-01-01", f"{last}-12-31")


def _widen_year(number: int, today: date) -> int:
    """The year of "'19": the last that ends so."""
    year = today.year // 100 * 100 + number
    return year if year <= today.year else year - 100


def _read_count(text: str) -> tuple[int, str]:
    words = text.split()
    unit = next(word.rstrip("s") for word in reversed(words) if re.fullmatch(rf"{_UNIT}s?", word))
    digits = re.search(r"\d+", text)
    named = next(
        (_COUNTS[name] for name in sorted(_COUNTS, key=len, reverse=True) if re.search(rf"\b{name}\b", text)), 1
    )
    return (int(digits[0]) if digits else named), unit


def _step_back(today: date, count: int, unit: str) -> date:
    if unit in ("day", "week", "weekend"):
        return today - timedelta(days=count * (1 if unit == "day" else 7))
    months = count * {"month": 1, "year": 12, "decade": 120}[unit]
    month = today.year * 12 + today.month - 1 - months
    year, month = max(month // 12, 1), month % 12 + 1
    return date(year, month, min(today.day, monthrange(year, month)[1]))


def _read_ago(text: str, today: date) -> TimeCondition | None:
    """Two years ago is all of that year, longer ago a few more; three months ago is that month and those beside it."""
    count, unit = _read_count(text)
    then = _step_back(today, count, unit)
    if unit == "day":
        return TimeCondition(then.isoformat(), then.isoformat())
    if unit in ("week", "weekend"):
        return TimeCondition((then - timedelta(days=4)).isoformat(), (then + timedelta(days=4)).isoformat())
    if unit == "month":
        return TimeCondition((then - timedelta(days=31)).isoformat(), (then + timedelta(days=31)).isoformat())
    spread = 0 if unit == "year" and count < 5 else 1 if unit == "year" and count < 15 else 3
    return TimeCondition(f"{then.year - spread}-01-01", f"{then.year + spread}-12-31")


def _read_relative(text: str, today: date) -> TimeCondition | None:  # noqa: PLR0911 (one return a form)
    one = timedelta(days=1)
    if "yesterday" in text or text == "last night":
        then = today - one * (2 if "before" in text else 1)
        return TimeCondition(then.isoformat(), then.isoformat())
    if text in ("today", "tonight", "this morning"):
        return TimeCondition(today.isoformat(), today.isoformat())
    is_last = not text.startswith("this")
    named = text.split(None, 1)[1] if " " in text else text
    named = named.removeprefix("last ").removeprefix("this ")
    if (feast := next((name for name in sorted(_FEASTS, key=len, reverse=True) if named == name), None)) is not None:
        month, day, _ = _FEASTS[feast]
        year = today.year if (month, day) <= (today.month, today.day) else today.year - 1
        return _make_feast(year, feast)
    if (season := next((name for name in _SEASONS if name in named), None)) is not None:
        return _find_season(season, today, is_last=is_last)
    if (said := _MONTHS.get(named)) is not None:
        year = today.year if said < today.month or (not is_last and said == today.month) else today.year - 1
        return _make_month(year, said)
    if (weekday := _WEEKDAYS.get(named)) is not None:
        then = today - one * ((today.weekday() - weekday - 1) % 7 + 1)
        return TimeCondition(then.isoformat(), then.isoformat())
    monday = today - one * today.weekday()
    if named == "week":
        first = monday - one * 7 if is_last else monday
        return TimeCondition(first.isoformat(), (first + one * 6).isoformat())
    if named == "weekend":
        saturday = monday - one * 2 if is_last or today.weekday() < 5 else monday + one * 5
        return TimeCondition(saturday.isoformat(), (saturday + one).isoformat())
    if named == "month":
        then = _step_back(today, 1, "month") if is_last else today
        return _make_month(then.year, then.month)
    if named == "year":
        year = today.year - is_last
        return TimeCondition(f"{year}-01-01", f"{year}-12-31")
    if named == "day":
        return TimeCondition((today - one).isoformat(), (today - one).isoformat())
    decade = today.year // 10 * 10 - (10 if is_last else 0)
    return TimeCondition(f"{decade}-01-01", f"{decade + 9}-12-31") if named == "decade" else None


def _find_season(name: str, today: date, *, is_last: bool) -> TimeCondition:
    """ "Last summer" is the last that has ended, "this summer" the one of this year."""
    year = today.year
    if is_last:
        while date.fromisoformat(_make_season(year, name).last) >= today:
            year -= 1
    elif name == "winter" and today.month < 3:
        year -= 1
    return _make_season(year, name)


def _add_days(day: str, count: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=count)).isoformat()
