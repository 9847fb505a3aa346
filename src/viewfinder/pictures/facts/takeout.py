"""Google Takeout's JSON beside the pictures of Google Photos: which file it belongs to, and what it says.

Its names, as public reports of real exports have them (tests of immich-go; google-photos-takeout-helper, issues 8, 29
and 353; ente, pull request 4956): `a.jpg.json` until 2024, since then `a.jpg.supplemental-metadata.json`. What stands
before `.json` is cut to 46 UTF-16 units, so that `supplemental-metadata`, then the picture's own name lose their ends.
The number of a repeated name comes last, uncut: `a(1).jpg` has `a.jpg(1).json`, `a.jpg.supplemental-metadata(1).json`.
Capitals may differ. An edited picture, named by the language of the account (`a-edited.jpg`, `a-bearbeitet.jpg`), has
none of its own and shares that of `a.jpg`.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from viewfinder.pictures.facts.model import MAX_VALUES, Fact

MAX_STEM = 46
"""UTF-16 units that Google leaves before `.json`."""

MAX_PICTURE_STEM = 47
"""UTF-16 units that Google leaves before the extension of a picture."""

FAVORITE = "favorite"
"""The keyword of pictures with a star in Google Photos, which is no rating: there is no second star."""

EDITED = (
    "-edited", "-effects", "-smile", "-mix", "-motion", "-cover", "-bearbeitet", "-modifié", "-ha editado", "-editado",
    "-editat", "-modificato", "-bewerkt", "-edytowane", "-redigeret", "-redigert", "-redigerad", "-muokattu",
    "-upravené", "-отредактировано", "-відредаговано", "-編集済み", "-编辑", "-편집됨",
)  # fmt: skip
"""Ends of the names of edited pictures, by the language of the account."""

ALBUM_FILES = frozenset({
    "metadata", "metadaten", "métadonnées", "metadatos", "metadades", "metadati", "metadáta", "метаданные", "метаданни",
})  # fmt: skip
"""Names, without .json, of the file about an album in its folder, by the language of the account."""

_SUFFIX = "supplemental-metadata"
_OTHER_SUFFIX = "metadata"
_NUMBER = re.compile(r"\((\d{1,9})\)$")
_NUMBERED = re.compile(r"(?P<start>.+)\((?P<number>\d{1,9})\)(?P<end>\.[^.]*)?", re.DOTALL)
_YEAR_FOLDER = re.compile(r"Photos from \d{4}|\d{4}-\d{2}-\d{2}(?: ?#\d+)?")
_EDITED_FOLDED = tuple(sorted((suffix.casefold() for suffix in EDITED), key=len, reverse=True))


class Named(NamedTuple):
    """What a name is made of: the name without its number, folded for comparing, and the number, "" if it has none."""

    base: str
    number: str


def fold_name(name: str) -> str:
    """A name for comparing: without regard to capitals, accented letters in one piece (macOS takes them apart)."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def parse_json_name(name: str) -> Named | None:
    """The picture that a JSON file's name tells, its name perhaps cut; None if the name does not end in .json.

    >>> parse_json_name("a.jpg.supplemental-me(1).json"), parse_json_name("A(1).JPG.json")
    (Named(base='a.jpg', number='1'), Named(base='a(1).jpg', number=''))
    """
    stem = name[:-5]
    if not stem or name[-5:].lower() != ".json":
        return None
    found = _NUMBER.search(stem) if stem.endswith(")") else None
    number = ""
    if found and found.start():
        stem, number = stem[: found.start()], found[1]
    base, _, suffix = stem.rpartition(".")
    folded = suffix.lower()
    is_google = base and (_SUFFIX.startswith(folded) or folded == _OTHER_SUFFIX)
    return Named(fold_name(base if is_google else stem), number)


def find_owner(named: Named) -> str:
    """The folded name of the picture that a JSON file of this name belongs to, if the name was not cut."""
    if not named.number:
        return named.base
    stem, dot, extension = named.base.rpartition(".")
    return f"{stem}({named.number}){dot}{extension}" if dot else f"{named.base}({named.number})"


def guess_json_names(picture: str) -> Iterator[Named]:
    """Names that the JSON of a picture may have, the surest first.

    >>> list(guess_json_names("a(1).jpg"))
    [Named(base='a(1).jpg', number=''), Named(base='a.jpg', number='1')]
    """
    yield Named(fold_name(picture), "")
    if (cut := _cut(picture)) != picture:
        yield Named(fold_name(cut), "")
    numbered = _NUMBERED.fullmatch(picture)
    if numbered is None:
        return
    whole = numbered["start"] + (numbered["end"] or "")
    yield Named(fold_name(whole), numbered["number"])
    if (cut := _cut(whole)) != whole:
        yield Named(fold_name(cut), numbered["number"])
    if _count_units(numbered["start"]) >= MAX_PICTURE_STEM:
        # Two names that became the same when they were cut: the picture, and its edited version, which shares the JSON.
        yield Named(fold_name(cut), "")


def guess_original(picture: str) -> str | None:
    """The name of the picture that this one is an edited version of: `a(1).jpg` of `a-edited(1).jpg`; else None."""
    stem, dot, extension = picture.rpartition(".")
    if not dot:
        return None
    numbered = _NUMBERED.fullmatch(stem)
    number = f"({numbered['number']})" if numbered and not numbered["end"] else ""
    start = stem[: -len(number)] if number else stem
    # Compared in one piece, as the end of a name may be spelt with accents apart.
    composed = unicodedata.normalize("NFC", start)
    folded = composed.casefold()
    if len(folded) != len(composed):
        return None
    suffix = next((suffix for suffix in _EDITED_FOLDED if folded.endswith(suffix)), "")
    if not suffix and _count_units(start) >= MAX_PICTURE_STEM:
        # The end itself was cut: "...-edi.jpg".
        dash = folded.rfind("-")
        end = folded[dash:]
        suffix = end if dash > 0 and len(end) > 2 and any(whole.startswith(end) for whole in _EDITED_FOLDED) else ""
    if not suffix or len(suffix) == len(folded):
        return None
    return f"{composed[: -len(suffix)]}{number}{dot}{extension}"


def _cut(name: str) -> str:
    """A name as Google cuts it before `.json`."""
    if len(name) * 2 <= MAX_STEM or _count_units(name) <= MAX_STEM:
        return name
    units = name.encode("utf-16-le", "surrogatepass")[: MAX_STEM * 2]
    is_split = 0xD8 <= units[-1] <= 0xDB  # the first half of a character of two units
    return (units[:-2] if is_split else units).decode("utf-16-le", "surrogatepass")


def _count_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def read_takeout(data: bytes, source: str, picture: str = "") -> list[Fact]:
    """The facts of a picture in its JSON, or of its album in the album's; none if it is damaged or something else.

    A title that plainly names another picture than `picture` makes it something else.
    """
    if b'"title"' not in data and b'"photoTakenTime"' not in data:
        return []
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return []
    if not isinstance(said, dict):
        return []
    if b'"photoTakenTime"' not in data:
        return _read_album(said, source)
    if picture and not _is_same_picture(str(said.get("title") or ""), picture):
        return []
    return list(_read_picture(said, source))


def _read_album(said: Mapping[str, Any], source: str) -> list[Fact]:
    """Only what has the fields of Google's album: any folder may have a metadata.json."""
    album = said.get("albumData", said)
    if not isinstance(album, dict) or not ("date" in album or "access" in album):
        return []
    title = album.get("title")
    if not isinstance(title, str) or not title.strip() or _YEAR_FOLDER.fullmatch(title.strip()):
        return []
    return [Fact("album", (title.strip(),), f"{source}: title")]


def _read_picture(said: Mapping[str, Any], source: str) -> Iterator[Fact]:
    if captured := _read_moment(said.get("photoTakenTime")):
        yield Fact("captured", (captured,), f"{source}: photoTakenTime")
    description = said.get("description")
    if isinstance(description, str) and description.strip():
        yield Fact("description", (description,), f"{source}: description")
    people = said.get("people")
    if isinstance(people, list):
        names = (person.get("name") for person in people[:MAX_VALUES] if isinstance(person, dict))
        persons = tuple(name for name in names if isinstance(name, str) and name.strip())
        if persons:
            yield Fact("persons", persons, f"{source}: people")
    if said.get("favorited") is True:
        yield Fact("keywords", (FAVORITE,), f"{source}: favorited")
    for field in ("geoData", "geoDataExif"):  # what a person corrected, then what the camera wrote
        if facts := list(_read_place(said.get(field), f"{source}: {field}")):
            yield from facts
            return


def _read_moment(said: object) -> str | None:
    """Seconds since 1970 as ISO 8601 in UTC; Google writes 0 for a moment that it does not know.

    >>> _read_moment({"timestamp": "1563098580"}), _read_moment({"timestamp": "0"})
    ('2019-07-14T10:03:00+00:00', None)
    """
    stamp = said.get("timestamp") if isinstance(said, dict) else None
    if not isinstance(stamp, str | int) or not re.fullmatch(r"-?\d{1,11}", str(stamp)) or int(stamp) == 0:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(stamp))
    return moment.isoformat() if 1826 <= moment.year < 2100 else None


def _read_place(said: object, source: str) -> Iterator[Fact]:
    """Coordinates; 0.0, 0.0 stands for none."""
    if not isinstance(said, dict):
        return
    latitude, longitude, altitude = (_read_number(said.get(name)) for name in ("latitude", "longitude", "altitude"))
    if latitude is None or longitude is None or (latitude == longitude == 0):
        return
    if abs(latitude) > 90 or abs(longitude) > 180:
        return
    yield Fact("latitude", (str(latitude),), source)
    yield Fact("longitude", (str(longitude),), source)
    if altitude:
        yield Fact("altitude", (str(altitude),), source)


def _read_number(said: object) -> float | None:
    """A finite number; JSON of Python's making may hold NaN, and whole numbers too large for a float."""
    if not isinstance(said, int | float) or isinstance(said, bool) or abs(said) > 1e9:
        return None
    number = float(said)
    return number if math.isfinite(number) else None


def _is_same_picture(title: str, picture: str) -> bool:
    """Whether a title, the name that the picture once had, may be that of a file named `picture`.

    On disk a name lacks its end, has a number or a word for edited, other signs in place of some, another extension:
    letters and digits of the shorter one must start the longer one.

    >>> _is_same_picture("Sea & sun.HEIC", "Sea _ sun-edited(1).jpg"), _is_same_picture("IMG_1.jpg", "IMG_2.jpg")
    (True, False)
    """
    picture = guess_original(picture) or picture
    numbered = _NUMBERED.fullmatch(picture)
    plain = numbered["start"] + (numbered["end"] or "") if numbered else picture
    title = _reduce(title)
    return not title or any(
        name.startswith(title) or title.startswith(name) for name in (_reduce(plain), _reduce(picture)) if name
    )


def _reduce(name: str) -> str:
    stem = name.rpartition(".")[0] or name
    return "".join(filter(str.isalnum, fold_name(stem)))
