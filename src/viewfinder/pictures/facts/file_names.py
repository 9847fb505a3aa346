"""The moment in a file's name, as phones, messengers, screenshot programs, scanners and people write it.

A name is the weakest source of a date: it may be the moment of sending or saving, and a number may be no date at all.
So digits count only where they are written as one of these programs writes them, and are a day that there is; a bare
number of eight digits (`20190714.jpg`) is more often an article's than a day. Programs that name a picture after the
moment of its editing are left out.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from viewfinder.pictures.facts.model import Fact

YEARS_OF_CLOCKS = range(1990, 2100)
"""Years in which a device may have named a file by its clock."""

YEARS_OF_PEOPLE = range(1840, 2100)
"""Years that people write before the name of a photograph, with its separators: "1923-05-01 wedding.jpg"."""

MAX_NAME_LENGTH = 1_000
"""Characters of a name that are looked at; file systems allow 255."""

_COMPACT_DAY = r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"
_DAY = r"(?P<year>\d{4})(?P<between>[-._])(?P<month>\d{2})(?P=between)(?P<day>\d{2})"
_COMPACT_TIME = r"(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2})"
_HALF = r"(?:\s?(?P<half>[ap])\.?\s?m\b\.?)?"
_GLUED = "|".join(f"(?<={word})" for word in ("IMG", "VID", "PANO", "BURST", "image", "photo", "Scan"))
_START = rf"(?:(?<![^\W_])|{_GLUED})"
"""Where digits may start: not within a word or a number, save directly after words that devices write so."""

_MOMENTS = (
    # 20190714_100300.jpg, IMG_20190714_100300123.jpg, Screenshot_20190714-100300_App.png
    rf"{_START}{_COMPACT_DAY}[-_ T]{_COMPACT_TIME}(?P<fraction>\d{{3}})?(?!\d)",
    # IMG20190714100300.jpg, DJI_20230714100300_0001_D.JPG, 00000IMG_00000_BURST20190714100300123_COVER.jpg
    rf"{_START}{_COMPACT_DAY}{_COMPACT_TIME}(?P<fraction>\d{{3}})?(?![^\W_])",
    # WP_20140714_10_03_00_Pro.jpg, WIN_20190714_10_03_00_Pro.jpg
    rf"{_START}{_COMPACT_DAY}[-_ ](?P<hour>\d{{2}})[-_](?P<minute>\d{{2}})[-_](?P<second>\d{{2}})(?!\d)",
    # 2019-07-14 10.03.00.jpg, Screen Shot 2019-07-14 at 10.03.00 AM.png, Screenshot_2019-07-14-10-03-00-123_com.app.jpg
    rf"{_START}{_DAY}[-_ T,]{{1,2}}(?:[^\W\d_]{{1,5}}(?:\(s\))?\.?\s){{0,2}}"
    rf"(?P<hour>\d{{1,2}})[-._:](?P<minute>\d{{2}})[-._:](?P<second>\d{{2}})(?:[-.,]?(?P<fraction>\d{{3}})(?!\d))?{_HALF}(?!\d)",
    # signal-2019-07-14-100300.jpg, Screenshot 2019-07-14 100300.png
    rf"{_START}{_DAY}[-_ T]{_COMPACT_TIME}(?P<fraction>\d{{3}})?(?!\d)",
    # photo_12@14-07-2019_10-03-00.jpg
    r"@(?P<day>\d{2})-(?P<month>\d{2})-(?P<year>\d{4})_(?P<hour>\d{2})-(?P<minute>\d{2})-(?P<second>\d{2})(?!\d)",
    # 2019-07-14 10-03 Holiday.jpg
    rf"{_START}{_DAY} (?P<hour>\d{{2}})[-.:h](?P<minute>\d{{2}})(?![-.:]?\d)",
)

_CLOCK_DAYS = (
    # IMG-20190714-WA0003.jpg, WP_20140714_001.jpg, Scan_20190714 (2).png
    rf"(?<![^\W_])(?:IMG|VID|MVIMG|PANO|DSC|PIC|WP|WIN|Scan|Scanned|Screenshot)[-_ ]?{_COMPACT_DAY}(?!\d)",
)

_WRITTEN_DAYS = (
    # 1985-07-14 Grandmother.jpg; not the middle of a longer number with separators
    rf"(?<![^\W_])(?<!\d[-._]){_DAY}(?!\d)(?![-._]\d{{5}})",
    # 14.07.1985 Grandmother.jpg
    r"(?<![^\W_])(?<!\d[-._])(?P<day>\d{2})\.(?P<month>\d{2})\.(?P<year>\d{4})(?![\d.])",
)

_MILLISECONDS = r"^(?:FB_IMG_|FB_VID_|mmexport|wx_camera_|line_)(?P<milliseconds>1\d{12})(?!\d)"
"""Milliseconds since 1970 as Facebook, WeChat and LINE write them; a bare number of 13 digits may be a bar code."""

_EDITORS = (
    r"^(?:LRM_EXPORT|PSX|InShot|Polish|PicsArt|Picsart|PhotoGrid|Collage|Snapseed|BeautyPlus|YouCam|AirBrush|Lumii)[-_]"
)
"""Programs that write the moment of editing."""

_IN_UTC = r"(?<![^\W_])PXL_\d|^\d{8}_\d{9}_iOS"
"""Google's camera since 2020, and OneDrive's upload from iPhones, write the time of Greenwich."""

_PROGRAMS = (
    ("WhatsApp, when it was sent", r"whatsapp|^(?:IMG|VID)-\d{8}-WA\d"),
    ("Signal, when it was sent", r"^signal-"),
    ("Telegram, when it was sent", r"^photo_(?:\d{4}-|\d+@)|telegram"),
    ("Facebook, when it was saved", r"^FB_"),
    ("WeChat", r"^mmexport|^wx_camera_"),
    ("LINE", r"^line_"),
    (
        "screenshot",
        r"screen[-_ ]?(?:shot|capture|record)|bildschirmfoto|capture d.{1,2}cran|captura de |schermata|schermafbeelding"
        r"|skärm|skjerm|skærm|näyttökuva|zrzut|снимок экрана|スクリーンショット|屏幕截图|截屏|截图|螢幕|스크린샷",
    ),
    ("Google camera", r"(?<![^\W_])(?:PXL|MVIMG)_"),
    ("Windows Phone", r"^WP_"),
    ("Windows camera", r"^WIN_"),
    ("DJI", r"^DJI"),
    ("OneDrive", r"_iOS\b"),
    ("scanner", r"^scan"),
    ("camera", r"(?<![^\W_])(?:IMG|VID|PANO|DSC|PIC|BURST)[-_]?\d"),
)
"""Whom the source of a date names: program and how to know it, the first that fits."""


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


MOMENTS, CLOCK_DAYS, WRITTEN_DAYS = (
    tuple(_compile(pattern) for pattern in patterns) for patterns in (_MOMENTS, _CLOCK_DAYS, _WRITTEN_DAYS)
)
MILLISECONDS, EDITORS, IN_UTC = (_compile(pattern) for pattern in (_MILLISECONDS, _EDITORS, _IN_UTC))
PROGRAMS = tuple((program, _compile(pattern)) for program, pattern in _PROGRAMS)


def read_file_name(name: str) -> tuple[Fact, ...]:
    """The day or moment that a file's name tells, marked with the program that writes such names; usually nothing.

    >>> read_file_name("IMG_20190714_100300.jpg")
    (Fact(name='captured', values=('2019-07-14T10:03:00',), source='file name (camera)'),)
    >>> read_file_name("IMG-20190714-WA0003.jpg")
    (Fact(name='captured', values=('2019-07-14',), source='file name (WhatsApp, when it was sent)'),)
    >>> read_file_name("20190714.jpg"), read_file_name("IMG_20453.jpg")
    ((), ())
    """
    stem = name[:MAX_NAME_LENGTH].rpartition(".")[0] or name[:MAX_NAME_LENGTH]
    captured = _find_moment(stem)
    if captured is None:
        return ()
    program = next((f" ({program})" for program, pattern in PROGRAMS if pattern.search(stem)), "")
    return (Fact("captured", (captured,), f"file name{program}"),)


def _find_moment(stem: str) -> str | None:
    """The most exact date in a name, ISO 8601."""
    if EDITORS.search(stem):
        return None
    if found := MILLISECONDS.search(stem):
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(found["milliseconds"]))
        exactness = "milliseconds" if moment.microsecond else "seconds"
        return moment.isoformat(timespec=exactness) if moment.year in YEARS_OF_CLOCKS else None
    zone = "+00:00" if IN_UTC.search(stem) else ""
    for patterns, years, tail in (
        (MOMENTS, YEARS_OF_CLOCKS, zone),
        (CLOCK_DAYS, YEARS_OF_CLOCKS, ""),
        (WRITTEN_DAYS, YEARS_OF_PEOPLE, ""),
    ):
        for pattern in patterns:
            for found in pattern.finditer(stem):
                if moment_text := _write_moment(found.groupdict(), years):
                    return moment_text + tail
    return None


def _write_moment(parts: dict[str, str | None], years: range) -> str | None:
    """ISO 8601 as exact as the parts are; None if there is no such day or time.

    >>> _write_moment({"year": "2019", "month": "13", "day": "99"}, YEARS_OF_CLOCKS) is None
    True
    """
    try:
        day = date(int(parts["year"] or 0), int(parts["month"] or 0), int(parts["day"] or 0))
    except ValueError:
        return None
    if day.year not in years:
        return None
    if (hour_text := parts.get("hour")) is None:
        return day.isoformat()
    hour = int(hour_text)
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "pP" else 0)
    second, fraction = parts.get("second"), parts.get("fraction")
    try:
        moment = time(hour, int(parts["minute"] or 0), int(second or 0))
    except ValueError:
        return None
    told = moment.isoformat(timespec="seconds" if second else "minutes")
    return f"{day.isoformat()}T{told}{f'.{fraction}' if fraction else ''}"
