"""EXIF: what cameras and programs write in directories of numbered tags, in every format and in cameras' raw files."""

from __future__ import annotations

import math
import re
import struct
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from PIL.ExifTags import GPS, IFD, Base
from PIL.TiffImagePlugin import ImageFileDirectory_v2
from PIL.TiffTags import ASCII

from viewfinder.pictures.facts.captions import COMMENT
from viewfinder.pictures.facts.dates import read_camera_date
from viewfinder.pictures.facts.iptc import find_iptc
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.facts.words import (
    MAX_BYTES,
    clean_text,
    clean_words,
    decode_text,
    keep_names,
    keep_words,
    split_keywords,
)

MAX_NAME_LENGTH = 100
"""Characters of a camera's or a lens's name."""

MIN_ALTITUDE, MAX_ALTITUDE = -12_000, 1_000_000
"""Metres above the sea that a picture can be taken at: from the deepest sea to a space station."""

_NO_GROUP = -1
_UTF8 = 129  # a type of EXIF 3.0
_XMP, _IPTC, _PHOTOSHOP, _JPEG_OF_RW2 = 700, 33723, 34377, 0x2E
_IMAGE_TITLE, _PHOTOGRAPHER, _RATING, _RATING_PERCENT = 0xA436, 0xA437, 0x4746, 0x4749  # the first two: EXIF 3.0

_WANTED = frozenset(
    {
        *(
            IFD.Exif,
            IFD.GPSInfo,
            *range(GPS.GPSLatitudeRef, GPS.GPSAltitude + 1),
            _XMP,
            _IPTC,
            _PHOTOSHOP,
            _JPEG_OF_RW2,
        ),
        *(_IMAGE_TITLE, _PHOTOGRAPHER, _RATING, _RATING_PERCENT),
        *(Base.DateTimeOriginal, Base.SubsecTimeOriginal, Base.OffsetTimeOriginal),
        *(Base.DateTimeDigitized, Base.SubsecTimeDigitized, Base.OffsetTimeDigitized),
        *(Base.Make, Base.Model, Base.LensModel, Base.ImageDescription, Base.UserComment, Base.Artist),
        *(Base.XPTitle, Base.XPComment, Base.XPSubject, Base.XPKeywords, Base.XPAuthor),
    }
)
_HEADS = re.compile(rb"II\*\0|MM\0\*|II\+\0|MM\0\+")
_RAW_HEADS = re.compile(rb"IIU\0|IIR[OS]|MMOR")  # Panasonic's and Olympus's spellings of TIFF's
_MAX_LEAD = 64  # bytes before TIFF's head: "Exif\0\0", sometimes twice, a length in HEIC

_CHARSETS = {b"ASCII\0\0\0": None, b"UNICODE\0": "utf-16", b"JIS\0\0\0\0\0": "iso2022_jp", b"\0" * 8: None}
_NO_LENS = re.compile(
    r"[\W_]*|unknown.*|n/?a|none|manual.*|.*\b0(\.0+)?\s*mm\s+f/?0(\.0+)?|65535|no lens", re.IGNORECASE
)


@dataclass(frozen=True)
class Directories:
    """The directories of a block of EXIF, by tag, as far as they are used."""

    main: Mapping[int, Any] = field(default_factory=dict)
    details: Mapping[int, Any] = field(default_factory=dict)
    position: Mapping[int, Any] = field(default_factory=dict)
    endian: str = "<"

    @property
    def xmp(self) -> bytes:
        """The packet of XMP in a TIFF file, or nothing."""
        return _to_bytes(self.main.get(_XMP), self.endian)

    @property
    def iptc(self) -> tuple[bytes, bytes]:
        """The blocks of IPTC in a TIFF file, alone and among Photoshop's resources; each may be nothing."""
        alone, resources = (_to_bytes(self.main.get(tag), self.endian) for tag in (_IPTC, _PHOTOSHOP))
        return alone, find_iptc(resources)

    @property
    def preview(self) -> bytes:
        """The JPEG file that Panasonic's raw files hold, or nothing."""
        return _to_bytes(self.main.get(_JPEG_OF_RW2), self.endian)


class _Directory(ImageFileDirectory_v2):
    """Pillow's reader, with EXIF 3.0's texts in UTF-8, which are padded as those in ASCII are."""

    _load_dispatch = ImageFileDirectory_v2._load_dispatch | {_UTF8: ImageFileDirectory_v2._load_dispatch[ASCII]}


def load_directories(block: bytes) -> Directories:
    """The directories of a block, or of a whole file that is TIFF or a camera's spelling of it.

    What is damaged is left out; there may be nothing.
    """
    if _RAW_HEADS.match(block):  # the directories are TIFF's, only the head is none that Pillow knows
        head = (b"II*\0" if block[:1] == b"I" else b"MM\0*") + block[4:8]
    elif (found := _HEADS.search(block, 0, _MAX_LEAD)) is not None:
        block = block[found.start() :] if found.start() else block
        head = block[: 16 if block[2:4] in (b"+\0", b"\0+") else 8]  # Pillow takes the head alone
    else:
        return Directories()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow remarks on damage; what is left of the block is read
        file, endian = BytesIO(block), "<" if head[:1] == b"I" else ">"
        main = _load_directory(file, head, None)
        details, position = (_load_directory(file, head, main.get(tag, -1)) for tag in (IFD.Exif, IFD.GPSInfo))
        return Directories(main, details, position, endian)


def load_lone_directories(main: bytes, details: bytes, position: bytes) -> Directories:
    """The directories of Canon's CR3, where each is a block of its own."""
    first = load_directories(main)
    return Directories(first.main, load_directories(details).main, load_directories(position).main, endian=first.endian)


def _load_directory(file: BytesIO, head: bytes, offset: object) -> dict[int, Any]:
    """The tags of the directory at `offset`, of the first for None; none where there is no directory."""
    if offset is not None and not (isinstance(offset, int) and offset > 0):
        return {}
    if len(head) not in (8, 16):
        return {}
    # A group that Pillow has no table for: by its own it would cut blocks to their first number.
    directory = _Directory(head, group=_NO_GROUP)
    try:
        file.seek(directory.next if offset is None else offset)
        directory.load(file)
    except Exception as error:  # whatever a broken block makes Pillow raise, what came before is still good
        if isinstance(error, MemoryError):
            raise
    tags: dict[int, Any] = {}
    for tag in directory:
        if tag in _WANTED:
            try:
                tags[tag] = directory[tag]
            except Exception:  # the same, of one tag
                continue
    return tags


def _to_bytes(value: object, endian: str) -> bytes:
    """A block in a TIFF tag: bytes, or numbers of four bytes, as Photoshop and exiftool write IPTC."""
    if isinstance(value, tuple) and all(isinstance(it, int) and 0 <= it < 2**32 for it in value):
        return struct.pack(f"{endian}{len(value)}L", *value)
    return value if isinstance(value, bytes) else b""


def read_exif(directories: Directories) -> list[Fact]:
    """What a block of EXIF says, the most trusted first."""
    if not directories.main and not directories.details:
        return []
    return [
        fact
        for fact in (
            *read_exif_dates(directories),
            *_read_exif_words(directories),
            *_read_rating(directories),
            *_read_position(directories.position),
            *_read_equipment(directories),
        )
        if fact.values
    ]


def read_exif_dates(directories: Directories) -> Iterator[Fact]:
    """When the picture was taken, then when it was digitized; never when the file was changed (tag 306)."""
    fields = (
        ("DateTimeOriginal", Base.DateTimeOriginal, Base.SubsecTimeOriginal, Base.OffsetTimeOriginal),
        ("DateTimeDigitized", Base.DateTimeDigitized, Base.SubsecTimeDigitized, Base.OffsetTimeDigitized),
    )
    for name, tag, fraction, offset in fields:
        for tags in (directories.details, directories.main):  # TIFF/EP, which raw files follow, has no details
            text = clean_text(tags.get(tag))
            if said := read_camera_date(text, clean_text(tags.get(fraction)), clean_text(tags.get(offset))):
                yield Fact("captured", (said,), f"EXIF {name}")


def name_camera(make: str, model: str) -> str | None:
    """Maker and model, the maker not twice; None if unknown.

    >>> name_camera("Canon", "Canon EOS 5D"), name_camera("Apple", "iPhone 12"), name_camera("", "")
    ('Canon EOS 5D', 'Apple iPhone 12', None)
    """
    make, model = (" ".join("".join(it if it.isprintable() else " " for it in text).split()) for text in (make, model))
    name = model if model.lower().startswith(make.lower()) else f"{make} {model}"
    return (name.strip() or make)[:MAX_NAME_LENGTH].strip() or None


def name_lens(text: str) -> str | None:
    """A lens's name; None for what cameras write where there is no lens or none that they know."""
    name = " ".join(text.split())[:MAX_NAME_LENGTH]
    return None if _NO_LENS.fullmatch(name) else name


def _read_equipment(directories: Directories) -> Iterator[Fact]:
    main, details = directories.main, directories.details
    if camera := name_camera(clean_text(main.get(Base.Make)), clean_text(main.get(Base.Model))):
        yield Fact("camera", (camera,), "EXIF Make, Model")
    if lens := name_lens(clean_text(details.get(Base.LensModel))):
        yield Fact("lens", (lens,), "EXIF LensModel")


def _read_exif_words(directories: Directories) -> Iterator[Fact]:
    main, details = directories.main, directories.details
    for name, tag in (("XPTitle", Base.XPTitle), ("ImageTitle", _IMAGE_TITLE)):
        yield Fact("title", keep_words([_read_windows(main.get(tag) or details.get(tag))]), f"EXIF {name}")
    described = keep_words([clean_text(main.get(Base.ImageDescription))])
    yield Fact("description", described, "EXIF ImageDescription")
    yield Fact(COMMENT, keep_words([_read_windows(main.get(Base.XPComment))]), "EXIF XPComment")
    comment = read_user_comment(details.get(Base.UserComment), is_big_endian=directories.endian == ">")
    yield Fact(COMMENT, keep_words([comment]), "EXIF UserComment")
    yield Fact(COMMENT, keep_words([_read_windows(main.get(Base.XPSubject))]), "EXIF XPSubject")
    keywords = split_keywords([_read_windows(main.get(Base.XPKeywords))], "|/")
    yield Fact("keywords", keywords, "EXIF XPKeywords")
    authors = (
        ("Artist", clean_text(main.get(Base.Artist))),
        ("XPAuthor", _read_windows(main.get(Base.XPAuthor))),
        ("Photographer", clean_text(details.get(_PHOTOGRAPHER))),
    )
    for name, text in authors:
        yield Fact("creator", keep_names([text]), f"EXIF {name}")


def _read_windows(value: object) -> str:
    """A text of Windows: UTF-16 in bytes, ending at a zero letter."""
    if isinstance(value, tuple) and all(isinstance(it, int) and 0 <= it < 256 for it in value):
        value = bytes(value)
    if not isinstance(value, bytes):
        return clean_text(value)
    return clean_words(value[:MAX_BYTES].decode("utf-16-le", errors="ignore").split("\0", 1)[0])


def read_user_comment(value: object, *, is_big_endian: bool) -> str:
    """A comment of EXIF: eight bytes name its alphabet, which some programs forget.

    >>> read_user_comment(b"UNICODE\\0" + "Übung".encode("utf-16-le"), is_big_endian=False)
    'Übung'
    """
    if isinstance(value, str):  # written as a text, which Pillow decodes as Latin-1
        value = value.encode("latin-1", errors="replace")
    if not isinstance(value, bytes):
        return ""
    charset, rest = value[:8], value[8 : 8 + MAX_BYTES]
    if charset not in _CHARSETS:
        return clean_words(decode_text(value.rstrip(b"\0 ")))
    encoding = _CHARSETS[charset]
    if encoding == "utf-16":
        encoding = _guess_utf16(rest, is_big_endian)
    text = rest.decode(encoding, errors="ignore") if encoding else decode_text(rest)
    return clean_words(text.lstrip("\ufeff").split("\0", 1)[0])


def _guess_utf16(data: bytes, is_big_endian: bool) -> str:
    """The order of bytes, which programs get wrong: that in which there are more letters below U+0100.

    A tie (Chinese, say) goes to the order of the block.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    high, low = data[0::2][:200].count(0), data[1::2][:200].count(0)
    if high == low:
        return "utf-16-be" if is_big_endian else "utf-16-le"
    return "utf-16-be" if high > low else "utf-16-le"


def read_stars(text: str) -> str | None:
    """A rating of XMP or EXIF, "-1" (rejected) to "5"; None for anything else.

    >>> read_stars("4"), read_stars("3.0"), read_stars("99")
    ('4', '3', None)
    """
    try:
        stars = float(text)
    except ValueError:
        return None
    return str(round(stars)) if math.isfinite(stars) and -1 <= stars <= 5 else None


def read_percent(text: str) -> str | None:
    """A rating of Windows, 1 to 99 %, as stars: 1, 25, 50, 75 and 99 are one to five of them."""
    try:
        percent = float(text)
    except ValueError:
        return None
    if not 0 <= percent <= 100:
        return None
    return "0" if percent == 0 else str(min(5, 1 + round(percent / 25)))


def _read_rating(directories: Directories) -> Iterator[Fact]:
    for name, tag, read in (("Rating", _RATING, read_stars), ("RatingPercent", _RATING_PERCENT, read_percent)):
        value = directories.main.get(tag)
        if isinstance(value, int) and (stars := read(str(value))) is not None:
            yield Fact("rating", (stars,), f"EXIF {name}")


def _read_position(tags: Mapping[int, Any]) -> Iterator[Fact]:
    latitude = _read_degrees(tags.get(GPS.GPSLatitude), clean_text(tags.get(GPS.GPSLatitudeRef)), "NS")
    longitude = _read_degrees(tags.get(GPS.GPSLongitude), clean_text(tags.get(GPS.GPSLongitudeRef)), "EW")
    metres = _to_number(tags.get(GPS.GPSAltitude))
    # 1 is below the sea, 3 below the ellipsoid (EXIF 3.0)
    if metres is not None and tags.get(GPS.GPSAltitudeRef) in (b"\1", b"\3", 1, 3):
        metres = -metres
    yield from tell_position(latitude, longitude, metres, "EXIF GPS")


def tell_position(
    latitude: float | None, longitude: float | None, metres: float | None, source_prefix: str
) -> Iterator[Fact]:
    """Both coordinates, perhaps with the height above the sea; none for one alone, out of range, or both zero.

    Zeros are those of a camera that has no fix.
    """
    if latitude is None or longitude is None or not (abs(latitude) <= 90 and abs(longitude) <= 180):
        return
    if latitude or longitude:
        yield Fact("latitude", (write_number(latitude, 6),), f"{source_prefix}Latitude")
        yield Fact("longitude", (write_number(longitude, 6),), f"{source_prefix}Longitude")
        if metres is not None and MIN_ALTITUDE <= metres <= MAX_ALTITUDE:
            yield Fact("altitude", (write_number(metres, 2),), f"{source_prefix}Altitude")


def write_number(value: float, digits: int) -> str:
    """A number with at most `digits` decimals, and no zeros that say nothing.

    >>> write_number(52.52, 6), write_number(-0.0, 2)
    ('52.52', '0')
    """
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _read_degrees(value: object, reference: str, letters: str) -> float | None:
    """Degrees, minutes and seconds with the letter of their hemisphere; None where either is not known.

    Without a letter a place in America would come out in Asia.
    """
    parts = value if isinstance(value, tuple) else (value,)
    numbers = [_to_number(part) for part in parts[:3]]
    letter = reference[:1].upper()
    if not letter or letter not in letters or not numbers or numbers[0] is None:
        return None
    # 0/0 stands for not known; of minutes or seconds that leaves the rest exact enough.
    degrees = math.fsum((number or 0.0) / 60.0**power for power, number in enumerate(numbers))
    return -degrees if letter == letters[1] else degrees


def _to_number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return number if math.isfinite(number) else None
