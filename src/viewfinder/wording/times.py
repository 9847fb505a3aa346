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
from dataclasses import dataclass
from datetime import date, timedelta

from viewfinder.wording.numbers import NUMBER_WORDS

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
_FEASTS = {  # month and days, as people mean them: the eve and the days around it
    "christmas": (12, 24, 26), "christmas eve": (12, 24, 24), "xmas": (12, 24, 26), "new year's eve": (12, 31, 31),
    "new year's": (12, 31, 31), "new years eve": (12, 31, 31), "new year's day": (1, 1, 1), "halloween": (10, 31, 31),
    "valentine's day": (2, 14, 14), "valentines day": (2, 14, 14), "independence day": (7, 4, 4), "4th of july": (7, 4, 4),
    "fourth of july": (7, 4, 4), "st patrick's day": (3, 17, 17), "silvester": (12, 31, 31),
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


@dataclass(frozen=True)
class TimePhrase:
    """A phrase of a sentence, from character `start` to `end`, and what it means."""

    words: str
    start: int
    end: int
    condition: TimeCondition


_MONTH = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_LONG_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_YEAR = r"(?:1[89]\d\d|20\d\d)"
_DAY = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_SEASON = r"(?:early |late |mid[- ]?)?(?:spring|summer|autumn|fall|winter)"
_FEAST = "|".join(sorted(map(re.escape, _FEASTS), key=len, reverse=True))
_COUNT = rf"(?:\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"
_UNIT = r"(?:day|week|weekend|month|year|decade)"
_TAKEN = r"(?:(?:that (?:was|were) |which (?:was|were) )?(?:taken|shot|made|captured|photographed|from|dated|of)\s+)?"
_IN = r"(?:(?:in|on|from|during|around|of|at|within|over|for|back in|sometime in|some time in)\s+)?(?:the\s+)?"

_POINT = rf"""(?:
    (?P<iso>{_YEAR}-\d\d?-\d\d?) | (?P<iso_month>{_YEAR}[-/]\d\d?)(?![\d/-]) | (?P<month_iso>\d\d?[/.]{_YEAR})(?!\d)
    | (?P<slashed>\d\d?[/.]\d\d?[/.](?:{_YEAR}|\d\d))(?!\d)
    | (?P<day_month>{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+(?:of\s+)?{_YEAR})?) | (?P<month_day>{_MONTH}\s+(?:the\s+)?{_DAY}(?!\d)(?:,?\s+{_YEAR})?)
    | (?P<month_year>{_MONTH},?\s+(?:of\s+)?(?:{_YEAR}|['’]\d\d)) | (?P<season_year>{_SEASON},?\s+(?:of\s+)?(?:{_YEAR}|['’]\d\d))
    | (?P<feast>(?:{_FEAST})(?:,?\s+(?:of\s+|in\s+)?{_YEAR})?)
    | (?P<decade>(?:early\s+|late\s+|mid[-\s]?)?(?:(?:1[89]|20)?\d0|['’]\d0)['’]?s | (?:twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties))
    | (?P<year>{_YEAR})
    | (?P<relative>(?:the\s+)?(?:day\s+before\s+)?yesterday|today|tonight|this\s+morning|last\s+night
        |(?:earlier\s+)?(?:last|this|past|previous)\s+(?:{_UNIT}|{_SEASON}|{_LONG_MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)day|{_FEAST}))
    | (?P<ago>(?:about\s+|around\s+|some\s+)?{_COUNT}\s+{_UNIT}s?\s+(?:ago|back|before\s+now))
    | (?P<past>(?:the\s+)?(?:last|past|previous)\s+{_COUNT}\s+{_UNIT}s)
)"""
_FLAGS = re.IGNORECASE | re.VERBOSE
_ONE = re.compile(_POINT, _FLAGS)


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, _FLAGS)


def _name_apart(pattern: str, number: int) -> str:
    return re.sub(r"\(\?P<(\w+)>", rf"(?P<\1_{number}>", pattern)


_BETWEEN = _compile(
    rf"\b{_TAKEN.replace(' ', chr(92) + ' ')}(?:between|from)\s+(?P<from>{_name_apart(_POINT, 1)})\s+(?:and|to|until|till|through|-|–)\s+(?P<to>{_name_apart(_POINT, 2)})"
    rf"|(?<![\w-])(?P<low>{_YEAR})\s*(?:-|–|to)\s*(?P<high>{_YEAR})(?![\w-])"
)
_OPEN = _compile(
    rf"\b{_TAKEN.replace(' ', chr(92) + ' ')}(?P<how>before|until|till|prior\s+to|older\s+than|earlier\s+than|up\s+to|after|since|from|newer\s+than|later\s+than|as\s+of)\s+(?:the\s+)?(?P<point>{_name_apart(_POINT, 1)})(?P<on>\s+(?:onwards?|on\b|and\s+later|or\s+later))?"
)
_SINGLE = _compile(rf"(?<![\w-]){_TAKEN.replace(' ', chr(92) + ' ')}{_IN.replace(' ', chr(92) + ' ')}{_name_apart(_POINT, 1)}(?![\w-])")
_AGAIN = _compile(
    rf"(?<![\w-])(?:{_TAKEN.replace(' ', chr(92) + ' ')}(?:in|from|during|every)\s+(?P<month>{_LONG_MONTH})(?!\s+\w*\d)"
    r"|(?:on|from|every)\s+(?:an?\s+|the\s+)?(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?|(?:on|at|over)\s+(?:the\s+|an?\s+)?(?P<weekend>weekends?))(?![\w-])"
)
_EARLIER = frozenset({"before", "until", "till", "prior to", "older than", "earlier than", "up to"})


def find_times(text: str, today: date) -> list[TimePhrase]:
    """The times that a text names, in their order; none overlaps another.

    >>> [it.condition for it in find_times("between May 2018 and 2019, the beach", date(2026, 11, 28))]
    [TimeCondition(first='2018-05-01', last='2019-12-31', months=(), weekdays=(), day=None)]
    """
    found: list[TimePhrase] = []
    for match, condition in _list_candidates(text, today):
        if all(match.end() <= one.start or match.start() >= one.end for one in found):
            found.append(TimePhrase(match[0].strip(), match.start(), match.end(), condition))
    return sorted(found, key=lambda one: one.start)


def _list_candidates(text: str, today: date) -> Iterator[tuple[re.Match[str], TimeCondition]]:
    """Matches and their meanings, the longest kinds first."""
    for match in _BETWEEN.finditer(text):
        if match["low"]:
            low, high = int(match["low"]), int(match["high"])
            if low < high:
                yield match, TimeCondition(f"{low}-01-01", f"{high}-12-31")
            continue
        first, last = _read_point(match["from"], today), _read_point(match["to"], today)
        if first and last and first.first and last.last:
            yield match, TimeCondition(first.first, last.last)
    for match in _OPEN.finditer(text):
        point, how = _read_point(match["point"], today), " ".join(match["how"].lower().split())
        if point is None or not point.first:
            continue
        if how in _EARLIER:
            inclusive = how in ("until", "till", "up to")
            yield match, TimeCondition("", point.last if inclusive else _add_days(point.first, -1))
        elif how != "from" or match["on"]:
            inclusive = how in ("since", "from", "as of")
            yield match, TimeCondition(point.first if inclusive else _add_days(point.last, 1), "")
    for match in _SINGLE.finditer(text):
        point = _read_point(_ONE.search(match[0])[0] if _ONE.search(match[0]) else match[0], today)  # type: ignore[index]
        if point is not None and _is_time(match, text):
            yield match, point
    for match in _AGAIN.finditer(text):
        if match["month"]:
            yield match, TimeCondition(months=(_MONTHS[match["month"].lower()],))
        elif match["weekday"]:
            yield match, TimeCondition(weekdays=(_WEEKDAYS[match["weekday"].lower()],))
        else:
            yield match, TimeCondition(weekdays=(5, 6))


def _is_time(match: re.Match[str], text: str) -> bool:
    """A bare year may be a number ("1950 Cadillac" is a car's, "2000 people"): it needs a word before it, or to stand alone."""
    if match.groupdict().get("decade_1"):  # "in her 20s"
        return re.search(r"\b(?:his|her|their|my|your|its)\s+(?:early\s+|late\s+|mid[-\s]?)?$", text[: match.start()], re.IGNORECASE) is None
    if not match.groupdict().get("year_1") and not match.groupdict().get("feast_1"):
        return True
    words = match[0].split()
    alone = not text[: match.start()].strip(" ,.;:!?") and not text[match.end() :].strip(" ,.;:!?")
    apart = not text[match.end() :].strip(" ,.;:!?") or text[match.end() : match.end() + 1] in ",.;:!?"
    if match.groupdict().get("feast_1"):  # "a Christmas tree" is seen; "at Christmas", "Christmas 2015" are times
        dated = re.search(rf"{_YEAR}", match[0]) is not None
        return dated or (words[0].lower() in ("at", "on", "from", "last", "over") and apart) or alone
    return len(words) > 1 or alone or apart


def _read_point(words: str, today: date) -> TimeCondition | None:  # noqa: PLR0911 (one return a form)
    """The time that one phrase names; None if there is no such day."""
    match = _ONE.fullmatch(words.strip())
    if match is None:
        return None
    kind = match.lastgroup or ""
    text = " ".join(match[0].lower().replace("’", "'").split())
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    month = next((_MONTHS[word] for word in re.findall(r"[a-z]+", text) if word in _MONTHS), None)
    year = next((number for number in numbers if number > 999), None)
    match kind:
        case "iso":
            return _make_day(*numbers)
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
            return _make_day(year, month, day) if year else TimeCondition(months=(month,), day=day)
        case "month_year":
            year = year or _widen_year(numbers[-1], today)
            return _make_month(year, month) if month else None
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


def _read_slashed(numbers: list[int], text: str) -> TimeCondition | None:
    """ "14/7/2019", "7/14/2019", "14.07.19": with points the day comes first, as where they are written so."""
    first, second, year = numbers
    year = year if year > 99 else 2000 + year if year < 70 else 1900 + year
    is_day_first = first > 12 or "." in text
    day, month = (first, second) if is_day_first else (second, first)
    return _make_day(year, month, day)


def _make_season(year: int, text: str) -> TimeCondition:
    """Winter 2018 is that which begins in 2018, and its January and February as well as those of that year's beginning."""
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
    first, last = (start, start + 4) if "early" in text else (start + 5, start + 9) if "late" in text else (start, start + 9)
    return TimeCondition(f"{first}-01-01", f"{last}-12-31")


def _widen_year(number: int, today: date) -> int:
    """The year of "'19": the last that ends so."""
    year = today.year // 100 * 100 + number
    return year if year <= today.year else year - 100


def _read_count(text: str) -> tuple[int, str]:
    words = text.split()
    unit = next(word.rstrip("s") for word in reversed(words) if re.fullmatch(rf"{_UNIT}s?", word))
    digits = re.search(r"\d+", text)
    named = next((_COUNTS[name] for name in sorted(_COUNTS, key=len, reverse=True) if re.search(rf"\b{name}\b", text)), 1)
    return (int(digits[0]) if digits else named), unit


def _step_back(today: date, count: int, unit: str) -> date:
    if unit in ("day", "week", "weekend"):
        return today - timedelta(days=count * (1 if unit == "day" else 7))
    months = count * {"month": 1, "year": 12, "decade": 120}[unit]
    month = today.year * 12 + today.month - 1 - months
    year, month = max(month // 12, 1), month % 12 + 1
    return date(year, month, min(today.day, monthrange(year, month)[1]))


def _read_ago(text: str, today: date) -> TimeCondition | None:
    """ "Two years ago" is the year before last, "three months ago" that month and those beside it, a week ago those days."""
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
    if (month := _MONTHS.get(named)) is not None:
        year = today.year if month < today.month or (not is_last and month == today.month) else today.year - 1
        return _make_month(year, month)
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
