"""Flickr's `photo_123.json`, from the download of an account, beside its pictures `a-day-out_123_o.jpg`.

Flickr puts pictures and JSON into different archives; they are found where both are unpacked into one folder. Positions
are left out: they are numbers of another scale from export to export, and the picture itself has them. Names of albums
are in one file for all, `albums.json`, which is not read.
"""

from __future__ import annotations

import json
import re
from datetime import datetime

from viewfinder.pictures.facts.model import MAX_VALUES, Fact

_NUMBER = re.compile(r"(?:.*_(\d{6,20})|(\d{6,20})_[0-9a-f]{6,20})_o\.\w{2,5}", re.DOTALL)
_NAME = re.compile(r"photo_\d{6,20}\.json", re.IGNORECASE)


def guess_json_base(picture: str) -> str | None:
    """The name, without .json, of the file about a picture of Flickr's.

    >>> guess_json_base("a-day-out_12345678_o.jpg"), guess_json_base("12345678_ab1cd2ef3f_o.jpg")
    ('photo_12345678', 'photo_12345678')
    """
    found = _NUMBER.fullmatch(picture)
    return found and f"photo_{found[1] or found[2]}"


def is_flickr_name(name: str) -> bool:
    """Whether a file of this name is about one of Flickr's pictures."""
    return _NAME.fullmatch(name) is not None


def read_flickr(data: bytes, source: str) -> list[Fact]:
    """Title, description, tags and moment of a picture; none if the file is damaged or something else."""
    if b'"date_taken"' not in data:
        return []
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return []
    if not isinstance(said, dict):
        return []
    tags = said.get("tags")
    listed = [tag.get("tag") if isinstance(tag, dict) else tag for tag in tags] if isinstance(tags, list) else []
    values: dict[str, tuple[str, list[object]]] = {
        "captured": ("date_taken", [_read_moment(said.get("date_taken"))]),
        "title": ("name", [said.get("name")]),
        "description": ("description", [said.get("description")]),
        "keywords": ("tags", listed[:MAX_VALUES]),
    }
    facts = (
        Fact(name, tuple(value for value in given if isinstance(value, str) and value.strip()), f"{source}: {field}")
        for name, (field, given) in values.items()
    )
    return [fact for fact in facts if fact.values]


def _read_moment(said: object) -> str | None:
    """The camera's time in ISO 8601; Flickr writes zeros for what is not known."""
    try:
        return datetime.strptime(str(said), "%Y-%m-%d %H:%M:%S").isoformat()
    except ValueError:
        return None
