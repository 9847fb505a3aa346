"""Records of JSON files, checked as they are read: damage is named by file, record and field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from viewfinder.data.files import read_json
from viewfinder.data.report import Dropped
from viewfinder.errors import BadInput, UnknownName

Value = TypeVar("Value")

PICTURE_SUFFIXES = ("", ".jpg", ".png")
"""What a key may lack of a file's name."""


def read_list(file: Path) -> list[Any]:
    """A JSON file that holds a list.

    Raises:
        BadInput: as `read_json`, or the file holds something else.
    """
    data = read_json(file)
    if not isinstance(data, list):
        raise BadInput(f"{file}: a JSON list is needed, this is {_shown(data)}; fetch or write the file again")
    return data


def read_mapping(file: Path) -> dict[str, Any]:
    """A JSON file that holds an object.

    Raises:
        BadInput: as `read_json`, or the file holds something else.
    """
    data = read_json(file)
    if not isinstance(data, dict):
        raise BadInput(f"{file}: a JSON object is needed, this is {_shown(data)}; fetch or write the file again")
    return data


def need_field(where: str, record: Any, name: str, kind: type[Value]) -> Value:
    """`record[name]`, which must be a `kind`; `where` names file and record.

    Raises:
        BadInput: the record is no object, or lacks the field, or has something else there.
    """
    value = record.get(name) if isinstance(record, Mapping) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        of = f"it has {_shown(value)}" if isinstance(record, Mapping) else f"this is {_shown(record)}"
        raise BadInput(f"{where}: field {name!r} is needed ({kind.__name__}); {of}; fetch or write the file again")
    return value


def need_texts(where: str, value: Any) -> tuple[str, ...]:
    """A list of texts; `where` names file, record and field.

    Raises:
        BadInput: it is something else.
    """
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadInput(f"{where}: a list of texts is needed, this is {_shown(value)}; fetch or write the file again")
    return tuple(value)


def read_keys(file: Path) -> tuple[tuple[str, ...], list[Dropped]]:
    """The keys that a JSON file lists, each once, in its order; what stands there again is reported.

    Raises:
        BadInput: as `read_list`, or an item is no text.
    """
    return unique_keys(file, need_texts(str(file), read_list(file)))


def unique_keys(file: Path, keys: Iterable[str]) -> tuple[tuple[str, ...], list[Dropped]]:
    """Each key once, at its first place; the others are reported by their place."""
    places: dict[str, int] = {}
    dropped: list[Dropped] = []
    for place, key in enumerate(keys):
        if places.setdefault(key, place) != place:
            dropped.append(Dropped(f"{file.name}: [{place}]", f"{key} is there already, at [{places[key]}]"))
    return tuple(places), dropped


def kinds_and_splits(folder: Path, names: re.Pattern[str]) -> dict[str, tuple[str, ...]]:
    """What `<kind>` and `<split>` the names of a folder's files have, in that order of the pattern's groups.

    Raises:
        BadInput: no file has such a name.
    """
    matches = [match for match in (names.fullmatch(file.name) for file in sorted(folder.glob("*"))) if match]
    if not matches:
        raise BadInput(f"{folder}: no file here is called like {names.pattern}; name the folder of the data set")
    kinds: dict[str, tuple[str, ...]] = {}
    for match in matches:
        kinds[match[1]] = (*kinds.get(match[1], ()), match[2])
    return kinds


def need_split_file(file: Path, pattern: str) -> Path:
    """`file`, if it is there; `pattern` (a glob in its folder) finds the files that could be meant instead.

    Raises:
        UnknownName: it is not there; the message lists what is.
    """
    if not file.is_file():
        there = ", ".join(sorted(other.name for other in file.parent.glob(pattern))) or "none of the kind"
        raise UnknownName(f"{file}: no such file, so no such kind or split; there are: {there}")
    return file


def keys_with_pictures(folder: Path | None, keys: Iterable[str]) -> frozenset[str]:
    """Those of the keys that have a picture in the folder; all of them, where pictures do not matter (None)."""
    if folder is None:
        return frozenset(keys)
    files = [(key, folder / f"{key.lstrip('/')}{suffix}") for key in keys for suffix in PICTURE_SUFFIXES]
    return frozenset(key for key, file in files if file.is_file())


def report_missing(record: str, keys: Iterable[str], there: frozenset[str]) -> list[Dropped]:
    """Why a record is left out whose pictures are not all there; nothing if they are."""
    missing = sorted(set(keys) - there)
    return [Dropped(record, f"no picture {', '.join(missing)}")] if missing else []


def write_json(file: Path, data: Any, *, indent: int | None = None) -> None:
    """Write JSON as the published files have it: in ASCII; folders are made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data, indent=indent), encoding="utf-8")


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)[:60]
