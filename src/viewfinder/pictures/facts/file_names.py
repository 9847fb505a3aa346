"""The moment in a file's name, as phones, messengers, screenshot programs, scanners and people write it.

A name is the weakest source of a date: it may be the moment of sending or saving, and a number may be no date at all.
So digits count only where they are written as one of these programs writes them, and are a day that there is; a bare
number of eight digits (`20190714.jpg`) is more often an article's than a day. Programs that name a picture after the
moment of its editing are left out.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from viewfinder.pictures.facts.model import FILE_NAME, Fact

YEARS_OF_CLOCKS = range(1990, 2100)
"""Years in which a device may have named a file by its clock."""

YEARS_OF_PEOPLE = range(1840, 2100)
"""Years that people write before the name of a photograph, with its separators: "1923-05-01 wedding.jpg"."""

MAX_NAME_LENGTH = 1_000
"""Characters of a name that are looked at; file systems allow 255."""


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_COMPACT_DAY = r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"
_DAY = r"(?P<year>\d{4})(?P<between>[-._])(?P<month>\d{2})(?P=between)(?P<day>\d{2})"
_COMPACT_TIME = r"(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2})"
_HALF = r"(?:\s?(?P<half>[ap])\.?\s?m\b\.?)?"
_WORD_BEFORE = "|".join(f"(?<={word})" for word in ("IMG", "VID", "PANO", "BURST", "image", "photo", "Scan", "^P"))
_START = rf"(?:(?<![^\W_])|{_WORD_BEFORE})"
"""Where digits may start: not within a word or a number, save directly after words that devices write so."""

_MOMENTS = (
    # 20190714_100300.jpg, IMG_20190714_100300123.jpg, Screenshot_20190714-100300_App.png
    _compile(rf"{_START}{_COMPACT_DAY}[-_ T]{_COMPACT_TIME}(?P<fraction>\d{{3}})?(?!\d)"),
    # IMG20190714100300.jpg, DJI_20230714100300_0001_D.JPG, 00000IMG_00000_BURST20190714100300123_COVER.jpg
    _compile(rf"{_START}{_COMPACT_DAY}{_COMPACT_TIME}(?P<fraction>\d{{3}})?(?![^\W_])"),
    # WP_20140714_10_03_00_Pro.jpg, WIN_20190714_10_03_00_Pro.jpg
    _compile(rf"{_START}{_COMPACT_DAY}[-_ ](?P<hour>\d{{2}})[-_](?P<minute>\d{{2}})[-_](?P<second>\d{{2}})(?!\d)"),
    # 2019-07-14 10.03.00.jpg, Screen Shot 2019-07-14 at 10.03.00 AM.png, Screenshot_2019-07-14-10-03-00-123_com.app.jpg
    _compile(
        rf"{_START}{_DAY}[-_ T,]{{1,2}}(?:[^\W\d_]{{1,5}}(?:\(s\))?\.?\s){{0,2}}"
        rf"(?P<hour>\d{{1,2}})[-._:](?P<minute>\d{{2}})[-._:](?P<second>\d{{2}})"
        rf"(?:[-.,]?(?P<fraction>\d{{3}})(?!\d))?{_HALF}(?!\d)"
    ),
    # signal-2019-07-14-100300.jpg, Screenshot 2019-07-14 100300.png
    _compile(rf"{_START}{_DAY}[-_ T]{_COMPACT_TIME}(?P<fraction>\d{{3}})?(?!\d)"),
    # photo_12@14-07-2019_10-03-00.jpg
    _compile(
        r"@(?P<day>\d{2})-(?P<month>\d{2})-(?P<year>\d{4})_(?P<hour>\d{2})-(?P<minute>\d{2})-(?P<second>\d{2})(?!\d)"
    ),
    # 2019-07-14 10-03 Holiday.jpg
    _compile(rf"{_START}{_DAY} (?P<hour>\d{{2}})[-.:h](?P<minute>\d{{2}})(?![-.:]?\d)"),
)

_CLOCK_DAYS = (
    # IMG-20190714-WA0003.jpg, WP_20140714_001.jpg, Scan_20190714 (2).png
    _compile(rf"(?<![^\W_])(?:IMG|VID|MVIMG|PANO|DSC|PIC|WP|WIN|Scan|Scanned|Screenshot)[-_ ]?{_COMPACT_DAY}(?!\d)"),
)

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"),
    "December",
)
_MONTH_NUMBERS = {month[:3].lower(): number for number, month in enumerate(_MONTHS, start=1)}
_MONTH = "(?P<word>" + "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS) + r")(?![a-z])\.?"

_WRITTEN_DAYS = (
    # 1985-07-14 Grandmother.jpg; not the middle of a longer number with separators
    _compile(rf"(?<![^\W_])(?<!\d[-._]){_DAY}(?!\d)(?![-._]\d{{5}})"),
    # 14.07.1985 Grandmother.jpg
    _compile(r"(?<![^\W_])(?<!\d[-._])(?P<day>\d{2})\.(?P<month>\d{2})\.(?P<year>\d{4})(?![\d.])"),
    # Adobe Scan Jul 14, 2019.jpg, 14 July 2019.jpg
    _compile(rf"(?<![^\W_]){_MONTH}[ _](?P<day>\d{{1,2}}),?[ _](?P<year>\d{{4}})(?!\d)"),
    _compile(rf"(?<![^\W_])(?P<day>\d{{1,2}})[ _-]{_MONTH}[ _-](?P<year>\d{{4}})(?!\d)"),
)

_FORMS = ((_MOMENTS, YEARS_OF_CLOCKS), (_CLOCK_DAYS, YEARS_OF_CLOCKS), (_WRITTEN_DAYS, YEARS_OF_PEOPLE))
"""Ways of writing, the most exact first, and the years for which each is believed."""

_MILLISECONDS = _compile(r"^(?:FB_IMG_|FB_VID_|mmexport|wx_camera_|line_)(?P<milliseconds>1\d{12})(?!\d)")
"""Milliseconds since 1970 as Facebook, WeChat and LINE write them; a bare number of 13 digits may be a bar code."""

_EDITORS = _compile(
    r"^(?:LRM_EXPORT|PSX|InShot|Polish|PicsArt|PhotoGrid|Collage|Snapseed|BeautyPlus|YouCam|AirBrush|Lumii)[-_]"
)
"""Programs that write the moment of editing."""

_IN_UTC = _compile(r"(?<![^\W_])PXL_\d|^\d{8}_\d{9}_iOS|\d_UTC(?![^\W_])|\dZ(?![^\W_])")
"""Google's camera since 2020, OneDrive's upload from iPhones, and Instaloader write the time of Greenwich."""

_YEAR = re.compile(r"\d{4}")

_PROGRAMS = tuple(
    (program, _compile(pattern))
    for program, pattern in (
        ("WhatsApp, when it was sent", r"whatsapp|^(?:IMG|VID)-\d{8}-WA\d|^(?:\d+-)?(?:PHOTO|VIDEO)-\d{4}-\d"),
        ("Signal, when it was sent", r"^signal-"),
        ("Telegram, when it was sent", r"^photo_(?:\d{4}-|\d+@)|telegram"),
        ("Facebook, when it was saved", r"^FB_"),
        ("WeChat", r"^mmexport|^wx_camera_"),
        ("LINE", r"^line_"),
        (
            "screenshot",
            r"screen[-_ ]?(?:shot|capture|record)|bildschirmfoto|capture d.{1,2}cran|captura de |schermata"
            r"|schermafbeelding|skärm|skjerm|skærm|näyttökuva|zrzut|снимок экрана|スクリーンショット|屏幕截图|截屏|截图"
            r"|螢幕|스크린샷",
        ),
        ("Google camera", r"(?<![^\W_])(?:PXL|MVIMG)_"),
        ("Windows Phone", r"^WP_"),
        ("Windows camera", r"^WIN_"),
        ("DJI", r"^DJI"),
        ("OneDrive", r"_iOS\b"),
        ("scanner", r"^(?:adobe )?scan"),
        ("camera", r"(?<![^\W_])(?:IMG|VID|PANO|DSC|PIC|BURST)[-_]?\d"),
    )
)
"""What the source of a date names, and how to know it: the first that fits."""


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
    captured = _find_moment(stem) if _YEAR.search(stem) else None
    if captured is None:
        return ()
    program = next((f" ({program})" for program, pattern in _PROGRAMS if pattern.search(stem)), "")
    return (Fact("captured", (captured,), f"{FILE_NAME}{program}"),)


def _find_moment(stem: str) -> str | None:
    """The most exact date in a name, ISO 8601."""
    if _EDITORS.search(stem):
        return None
    if found := _MILLISECONDS.search(stem):
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(found["milliseconds"]))
        exactness = "milliseconds" if moment.microsecond else "seconds"
        return moment.isoformat(timespec=exactness) if moment.year in YEARS_OF_CLOCKS else None
    for patterns, years in _FORMS:
        for pattern in patterns:
            for found in pattern.finditer(stem):
                if written := _write_moment(found.groupdict(), years):
                    return written + ("+00:00" if "T" in written and _IN_UTC.search(stem) else "")
    return None


def _write_moment(parts: dict[str, str | None], years: range) -> str | None:
    """ISO 8601 as exact as the parts are; None if there is no such day or time.

    >>> _write_moment({"year": "2019", "month": "13", "day": "99"}, YEARS_OF_CLOCKS) is None
    True
    """
    word = parts.get("word")
    month = _MONTH_NUMBERS[word[:3].lower()] if word else int(parts["month"] or 0)
    try:
        day = date(int(parts["year"] or 0), month, int(parts["day"] or 0))
    except ValueError:
        return None
    if day.year not in years:
        return None
    if (hour_text := parts.get("hour")) is None:
        return day.isoformat()
    hour = int(hour_text)
    if (half := parts.get("half")) and 1 <= hour <= 12:  # "14.03.00 am Strand" is German
        hour = hour % 12 + (12 if half in "pP" else 0)
    second, fraction = parts.get("second"), parts.get("fraction")
    try:
        moment = time(hour, int(parts["minute"] or 0), int(second or 0))
    except ValueError:
        return None
    told = moment.isoformat(timespec="seconds" if second else "minutes")
    return f"{day.isoformat()}T{told}{f'.{fraction}' if fraction else ''}"
