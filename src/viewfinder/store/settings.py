"""`library.json`: what a library knows about itself besides its tables. It is replaced whole; a copy lies with them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from viewfinder.errors import NewerLibrary, NotALibrary
from viewfinder.store.bucket import find_bucket
from viewfinder.store.tables import TABLES, private_files
from viewfinder.whole_files import write_file

SETTINGS = "library.json"
LIBRARY_SCHEMA = "viewfinder/library"
LIBRARY_FORMAT, FORMAT_WITH_FACTS = 3, 2
"""Of 1 are libraries whose tables have no facts (`tables.table_schema`); the first `add` makes them 2. The first words
of a machine make them 3: viewfinders that know no such facts would take them for a file's."""


@dataclass(frozen=True)
class Settings:
    """The content of `library.json`. `head` is a file in the library, None for the encoder's own.

    `roots` are the folders that were added. `leave_out` are the facts that are not kept (`facts.model.NAMES`).
    """

    encoder: str
    space: str | None = None
    head: str | None = None
    previous: tuple[str, str | None] | None = None
    roots: tuple[str, ...] = ()
    format: int = FORMAT_WITH_FACTS
    leave_out: tuple[str, ...] = ()


def add_roots(settings: Settings, roots: Iterable[str]) -> Settings:
    """The settings after more folders were added; those inside others are left out."""
    folders = {*settings.roots, *roots}
    outer = sorted(one for one in folders if not folders.intersection(map(str, Path(one).parents)))
    return replace(settings, roots=tuple(outer))


def read_settings(file: Path) -> Settings:
    """The settings in a `library.json`. Raises NewerLibrary; NotALibrary: they are missing or damaged."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        checksum = data.pop("checksum", None)
        whole = dict(data)
        if data.pop("schema", None) != LIBRARY_SCHEMA:
            raise ValueError("another schema")
        if data["format"] > LIBRARY_FORMAT:
            raise NewerLibrary(
                f"{file.parent} was written by a later viewfinder (format {data['format']}, "
                f"this one reads {LIBRARY_FORMAT}): upgrade viewfinder to open it"
            )
        if checksum not in (None, _compute_checksum(whole)):
            raise ValueError("it was changed since it was written")
        previous, roots = data.pop("previous", None), tuple(data.pop("roots", ()))
        leave_out = tuple(data.pop("leave_out", ()))
        return Settings(
            **data, previous=None if previous is None else (previous[0], previous[1]), roots=roots, leave_out=leave_out
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        advice = f"`viewfinder repair {file.parent}` makes it again"
        raise NotALibrary(f"{file} is not a library's settings: {error}; {advice}") from error


def write_settings(folder: Path, settings: Settings) -> None:
    """Replaces the settings of a library, and their copy. Raises OSError."""
    data = {"schema": LIBRARY_SCHEMA, **asdict(settings)}
    if settings.format == 1:  # an earlier viewfinder does not know the field
        del data["leave_out"]
    text = json.dumps({**data, "checksum": _compute_checksum(data)}, indent=2) + "\n"
    with private_files(folder):
        for place in (folder / TABLES / SETTINGS, folder / SETTINGS):
            write_file(place, text)
    if (bucket := find_bucket(folder)) is not None:
        bucket.push(f"{TABLES}/{SETTINGS}", SETTINGS)


def _compute_checksum(data: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(data, sort_keys=True).encode()):08x}"
