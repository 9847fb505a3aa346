"""Picasa's `.picasa.ini`: what it knew of the pictures of a folder, in one file beside them, a section for each.

Picasa (3.9) wrote captions and keywords of JPEG into the pictures, and those of other formats here; stars, albums and
names of faces only here. A face names a person by a number, which `[Contacts2]` resolves; `[Contacts]`, of older
versions, has no names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from viewfinder.pictures.facts.model import MAX_VALUES, Fact
from viewfinder.pictures.facts.takeout import FAVORITE

NAMES = frozenset({".picasa.ini", "picasa.ini"})
"""Names of the file, in lower case; Picasa before 3 did not hide it."""

_FACE = re.compile(r"rect64\([0-9a-f]{1,16}\),([0-9a-f]{1,16})", re.IGNORECASE)
_SPOT = re.compile(r"\s*(-?\d{1,3}(?:\.\d{1,20})?)\s*,\s*(-?\d{1,3}(?:\.\d{1,20})?)\s*")


def read_picasa(data: bytes, source: str, picture: str) -> list[Fact]:
    """The facts of one picture in its folder's file.

    >>> read_picasa(b"[a.png]\\nstar=yes\\ncaption=The sea\\n", ".picasa.ini", "a.png")[0]
    Fact(name='description', values=('The sea',), source='.picasa.ini: caption')
    """
    lowered = data.lower()
    return [
        Fact(name, values, f"{source}: {field}")
        for name, values, field in _read_section(data, lowered, _find_section(data, lowered, picture))
        if values
    ]


def _read_section(data: bytes, lowered: bytes, section: dict[str, str]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Names of facts, their values and the fields that they are from."""
    yield "description", tuple(filter(None, [section.get("caption")])), "caption"
    yield (
        "keywords",
        tuple(filter(None, map(str.strip, section.get("keywords", "").split(",")[:MAX_VALUES]))),
        "keywords",
    )
    if section.get("star") == "yes":
        yield "keywords", (FAVORITE,), "star"
    if faces := _FACE.findall(section.get("faces", ""))[:MAX_VALUES]:
        contacts = _find_section(data, lowered, "Contacts2")
        names = (contacts.get(face.lower(), "").partition(";")[0].strip() for face in faces)
        yield "persons", tuple(filter(None, names)), "faces"
    if albums := section.get("albums", "").split(",")[:MAX_VALUES]:
        titles = (_find_section(data, lowered, f".album:{album}").get("name", "") for album in albums if album)
        yield "album", tuple(filter(None, titles)), "albums"
    if spot := _SPOT.fullmatch(section.get("geotag", "")):
        yield from (("latitude", (spot[1],), "geotag"), ("longitude", (spot[2],), "geotag"))


def _find_section(data: bytes, lowered: bytes, name: str) -> dict[str, str]:
    """The fields of a section, without regard to capitals in its name and theirs; none if there is no such section."""
    try:
        header = f"\n[{name}]".encode().lower()
    except UnicodeEncodeError:  # a name that is not Unicode
        return {}
    start = 0 if lowered.startswith(header[1:]) else lowered.find(header) + 1
    if start == 0 and not lowered.startswith(header[1:]):
        return {}
    end = data.find(b"\n[", start + 1)
    lines = data[start : end if end >= 0 else len(data)].splitlines()[1:]
    fields = (_decode(line).partition("=") for line in lines if b"=" in line)
    return {field.strip().lower(): value.strip() for field, _, value in fields}


def _decode(line: bytes) -> str:
    """UTF-8, as Picasa writes since version 3; older ones wrote in the code page of Windows."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")
