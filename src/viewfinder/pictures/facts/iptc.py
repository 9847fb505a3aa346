"""IPTC IIM: numbered records of captions, keywords and places, alone or among Photoshop's resources."""

from __future__ import annotations

from collections.abc import Iterator

from viewfinder.pictures.facts.captions import HEADLINE
from viewfinder.pictures.facts.dates import read_iptc_date
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.facts.words import MAX_BYTES, clean_words, decode_text, keep_words, split_keywords

MAX_RECORDS = 5_000
"""Records of one block that are read."""

MAX_RESOURCES = 1_000
"""Photoshop's resources of one block that are looked through."""

_RESOURCE_IPTC = 0x0404
_CHARSETS = {b"\x1b%G": "utf-8", b"\x1b%/I": "utf-8", b"\x1b.A": "latin-1", b"\x1b(B": "ascii"}
_CHARSET = (1, 90)

_WORDS = (
    ("title", 5, "ObjectName"),
    (HEADLINE, 105, "Headline"),
    ("description", 120, "Caption-Abstract"),
    ("creator", 80, "By-line"),
    ("place", 92, "Sub-location"),
    ("city", 90, "City"),
    ("region", 95, "Province-State"),
    ("country", 101, "Country-PrimaryLocationName"),
)
_DATES = (("DateCreated", 55, 60), ("DigitalCreationDate", 62, 63))


def find_iptc(resources: bytes) -> bytes:
    """The block of IPTC among Photoshop's resources ("8BIM"); empty if there is none."""
    at = 0
    for _ in range(MAX_RESOURCES):
        if resources[at : at + 4] not in (b"8BIM", b"MeSa", b"PHUT", b"AgHg", b"DCSR"):
            break
        number = int.from_bytes(resources[at + 4 : at + 6], "big")
        name = at + 6
        start = name + (resources[name] + 2 & ~1 if name < len(resources) else 0)  # a length, a name, made even
        size = int.from_bytes(resources[start : start + 4], "big")
        if number == _RESOURCE_IPTC:
            return resources[start + 4 : start + 4 + size]
        at = start + 4 + (size + 1 & ~1)
    return b""


def read_iptc(block: bytes) -> list[Fact]:
    """What a block of IPTC says; from where it is damaged on, nothing."""
    records: dict[tuple[int, int], list[bytes]] = {}
    for place, value in _split_records(block):
        records.setdefault(place, []).append(value)
    encoding = _CHARSETS.get(records.get(_CHARSET, [b""])[0][:4].strip())

    def texts(number: int) -> list[str]:
        return [clean_words(_decode(value, encoding)) for value in records.get((2, number), [])]

    facts = list(_read_dates(texts_of={number: texts(number) for pair in _DATES for number in pair[1:]}))
    facts += [Fact(name, keep_words(texts(number)), f"IPTC {source}") for name, number, source in _WORDS]
    for number, source in ((25, "Keywords"), (20, "SupplementalCategories")):
        facts.append(Fact("keywords", split_keywords(texts(number)), f"IPTC {source}"))
    return [fact for fact in facts if fact.values]


def _read_dates(texts_of: dict[int, list[str]]) -> Iterator[Fact]:
    for name, day, time in _DATES:
        if texts_of[day] and (said := read_iptc_date(texts_of[day][0], (texts_of[time] or [""])[0])):
            yield Fact("captured", (said,), f"IPTC {name}")


def _split_records(block: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    at = block.find(b"\x1c")
    for _ in range(MAX_RECORDS):
        if at < 0 or block[at : at + 1] != b"\x1c" or at + 5 > len(block):
            return
        place = (block[at + 1], block[at + 2])
        size, start = int.from_bytes(block[at + 3 : at + 5], "big"), at + 5
        if size & 0x8000:  # the length of the length, for long texts
            width = size & 0x7FFF
            if width > 4:
                return
            size, start = int.from_bytes(block[start : start + width], "big"), start + width
        if start + size > len(block):
            return
        yield place, block[start : start + min(size, MAX_BYTES)]
        at = start + size


def _decode(value: bytes, encoding: str | None) -> str:
    """UTF-8 that is not announced is common, and Latin-1 under the flag of UTF-8 happens: the bytes decide."""
    return value.decode("latin-1") if encoding == "latin-1" else decode_text(value)
