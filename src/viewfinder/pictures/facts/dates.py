"""Dates as programs write them, made ISO 8601 and no more exact than they were.

Cameras pad what they do not know with zeros or blanks; a date of nothing but these is none.

>>> read_date("2019:07:14 10:03:00"), read_date("2019:07:00 00:00:00"), read_date("0000:00:00 00:00:00")
('2019-07-14T10:03:00', '2019-07', None)
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

MAX_DATE_LENGTH = 64
"""Characters of a text that may be a date; a longer one is none."""

_DATE = re.compile(
    r"(?P<year>\d{4})"
    r"(?:[:/.-]?(?P<month>\d\d?|\s\s)"
    r"(?:[:/.-]?(?P<day>\d\d?|\s\s)"
    r"(?:(?:\s*T\s*|\s+)(?P<hour>\d\d?|\s\s):(?P<minute>\d\d?|\s\s)"
    r"(?::(?P<second>\d\d?|\s\s)(?:[.,](?P<fraction>\d+))?)?"
    r"\s*(?P<half>[AP]M)?\s*(?P<offset>Z|[+-]\d\d:?\d\d|[+-]\d\d)?"
    r")?[\s:Z]*)?)?",
    re.IGNORECASE | re.ASCII,
)
_DAY_FIRST = re.compile(r"(\d{4}[:/.-]\d\d[:/.-]\d\d)[\sT]")
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d?)(?::?(?P<minutes>\d\d))?")
_SUBSECONDS = re.compile(r"\d{1,9}")
_MAC_EPOCH = datetime(1904, 1, 1, tzinfo=UTC)
_MAX_MAC_SECONDS = 2**33  # the year 2176
_MAX_OFFSET_HOURS = 15


def read_date(text: str) -> str | None:
    """A date of EXIF, XMP or the like as ISO 8601; None where it is none.

    A month or a day of zeros or blanks is unknown, and all after it; an impossible time leaves the day.
    """
    text = text.strip("\0 \t\r\n")
    if len(text) > MAX_DATE_LENGTH:
        return None
    found = _DATE.fullmatch(text)
    if found is None:  # Of a time in words of some language the day is still good
        day_first = _DAY_FIRST.match(text)
        return read_date(day_first[1]) if day_first else None
    if int(found["year"]) <= 1:  # "0000" of cameras, "0001-01-01" of .NET
        return None
    year, month, day = (_number(found[name]) for name in ("year", "month", "day"))
    try:
        first = date(year, month or 1, day or 1).isoformat()
    except ValueError:
        return None
    if not month or not day:
        return first[: len("2019-07" if month else "2019")]
    return first + _write_time(found)


def _write_time(found: re.Match[str]) -> str:
    """The time in a date as ISO 8601, with its "T"; empty where it is not known."""
    hour, minute = _known(found["hour"]), _known(found["minute"])
    if hour is None or minute is None or hour > 23 or minute > 59:
        return ""
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].upper() == "PM" else 0)
    said = f"T{hour:02}:{minute:02}"
    second = _known(found["second"])
    if second is not None and second <= 59:
        said += f":{second:02}" + (f".{found['fraction'][:9]}" if found["fraction"] else "")
    return said + (read_offset(found["offset"] or "") or "")


def read_camera_date(text: str, subseconds: str, offset: str) -> str | None:
    """A date of EXIF, with the fraction of its second and its offset from UTC, which have fields of their own.

    >>> read_camera_date("2019:07:14 10:03:00", "25", "+02:00")
    '2019-07-14T10:03:00.25+02:00'
    """
    said = read_date(text)
    if said is None or "T" not in said:
        return said
    clock = said.split("T")[1]
    has_offset = "+" in clock or "-" in clock
    if (
        clock.count(":") == 2
        and not has_offset
        and "." not in clock
        and _SUBSECONDS.fullmatch(digits := subseconds.strip())
    ):
        said += f".{digits}"
    return said if has_offset else said + (read_offset(offset.strip()) or "")


def read_offset(text: str) -> str | None:
    """An offset from UTC as "+02:00"; None where the text is none.

    >>> read_offset("Z"), read_offset("-0330"), read_offset("   :  ")
    ('+00:00', '-03:30', None)
    """
    if text.upper() == "Z":
        return "+00:00"
    found = _OFFSET.fullmatch(text)
    if found is None or int(found["hours"]) > _MAX_OFFSET_HOURS or int(found["minutes"] or 0) > 59:
        return None
    return f"{found['sign']}{int(found['hours']):02}:{found['minutes'] or '00'}"


def read_iptc_date(day: str, time: str) -> str | None:
    """A date and a time of IPTC, which have fields of their own: "20190714", "100300+0200"."""
    said = read_date(day) if re.fullmatch(r"\d{4}(\d\d){0,2}", day) else None
    found = re.fullmatch(r"(\d\d)(\d\d)(\d\d)?([+-]\d{4})?", time)
    if said is None or len(said) < len("2019-07-14") or found is None:
        return said
    hour, minute, second, offset = found.groups()
    return read_date(f"{said}T{hour}:{minute}" + (f":{second}" if second else "") + (offset or ""))


def read_written_date(text: str) -> str | None:
    """A date as mails write it, which PNG recommends ("14 Jul 2019 10:03:00 +0200"), or as `read_date` knows it."""
    from email.utils import parsedate_to_datetime

    if len(text) > MAX_DATE_LENGTH:
        return None
    if (said := read_date(text)) is not None:
        return said
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def read_mac_seconds(seconds: int) -> str | None:
    """Seconds since 1904, as QuickTime counts; None for zero, which stands for not known."""
    if not 0 < seconds < _MAX_MAC_SECONDS:
        return None
    return (_MAC_EPOCH + timedelta(seconds=seconds)).isoformat()


def _known(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _number(text: str | None) -> int:
    return _known(text) or 0
