"""`library.json`: what a library knows about itself besides its tables. It is replaced whole; a copy lies with them.

One encoder is active: its fields stand at the top. The others that the library has lie beside it, each with the same
fields, so that a switch (`activate`) is one replacement of the file.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from viewfinder.encoders.origins import Pin
from viewfinder.errors import NewerLibrary, NotALibrary
from viewfinder.store.places import find_bucket
from viewfinder.store.tables import TABLES, private_files
from viewfinder.whole_files import write_file

SETTINGS = "library.json"
STARTER = "starter"
LIBRARY_SCHEMA = "viewfinder/library"
LIBRARY_FORMAT, FORMAT_WITH_FACTS = 3, 2
"""Of 1 are libraries whose tables have no facts (`tables.table_schema`); the first `add` makes them 2. Of 3 are those
with words of machines, which earlier viewfinders would take for a file's, or with more of their encoders than the name.
"""

Previous = tuple[str, str | None]
"""A space that was active before, and its head."""


@dataclass(frozen=True)
class KeptEncoder:
    """An encoder that a library has. `head` is a file in the library, None for the encoder's own.

    Attributes:
        encoder: its name; of a local folder the absolute path.
        space: the space with which it is searched; None: it was never active, and may lack pictures.
        raw: the space of its raw vectors; None: not known, as of libraries of an earlier viewfinder.
        known_as: other versions that give the numbers of `space`.
        pin: what the name stands for, of encoders that lie in files.
        said: some numbers of what it made of a few sentences, to tell whether it still reads words alike.
        is_wanted: whether it becomes the active one once it has all pictures.
    """

    encoder: str
    space: str | None = None
    head: str | None = None
    previous: Previous | None = None
    raw: str | None = None
    known_as: tuple[str, ...] = ()
    pin: Pin | None = None
    said: tuple[float, ...] = ()
    is_wanted: bool = False


@dataclass(frozen=True)
class Settings:
    """The content of `library.json`: the active encoder, with the fields of a `KeptEncoder`, and the `others`.

    `format` never falls. `roots` are the folders that were added. `leave_out` are the
    facts that are not kept (`facts.model.NAMES`).
    `without_starter`: whether the starter's raw vectors are not kept beside another encoder's.
    """

    encoder: str
    space: str | None = None
    head: str | None = None
    previous: Previous | None = None
    roots: tuple[str, ...] = ()
    format: int = FORMAT_WITH_FACTS
    leave_out: tuple[str, ...] = ()
    raw: str | None = None
    known_as: tuple[str, ...] = ()
    pin: Pin | None = None
    said: tuple[float, ...] = ()
    others: tuple[KeptEncoder, ...] = ()
    without_starter: bool = False

    @property
    def active(self) -> KeptEncoder:
        """The active encoder."""
        return KeptEncoder(**{name: getattr(self, name) for name in ACTIVE_FIELDS})


ACTIVE_FIELDS = tuple(field.name for field in fields(KeptEncoder) if field.name != "is_wanted")
LATER_FIELDS = ("raw", "known_as", "pin", "said", "others", "without_starter")
"""Fields that an earlier viewfinder does not know: they are written where one of them says something."""


def replace_active(settings: Settings, kept: KeptEncoder) -> Settings:
    """The settings with another active encoder; what the one before was is not kept."""
    return replace(settings, **{name: getattr(kept, name) for name in ACTIVE_FIELDS})


def activate(settings: Settings, kept: KeptEncoder) -> Settings:
    """The settings with another active encoder; the one before is kept among the others.

    Two of one name are a model that was replaced: the former gets the beginning of its version behind its name.
    """
    before = settings.active
    if before.encoder == kept.encoder:
        before = replace(before, encoder=f"{before.encoder}@{(before.raw or before.space or 'former')[:8]}")
    others = [one for one in settings.others if one.encoder not in (before.encoder, kept.encoder)]
    return replace(replace_active(settings, replace(kept, is_wanted=False)), others=(*others, before))


def put_other(settings: Settings, kept: KeptEncoder) -> Settings:
    """The settings with an encoder among the others, in place of one of that name."""
    others = [one for one in settings.others if one.encoder != kept.encoder]
    return replace(settings, others=(*others, kept))


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
        others = tuple(KeptEncoder(**_read_kept(one)) for one in data.pop("others", ()))
        roots, leave_out = tuple(data.pop("roots", ())), tuple(data.pop("leave_out", ()))
        return Settings(**_read_kept(data), roots=roots, leave_out=leave_out, others=others)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        advice = f"`viewfinder repair {file.parent}` makes it again"
        raise NotALibrary(f"{file} is not a library's settings: {error}; {advice}") from error


def write_settings(folder: Path, settings: Settings) -> None:
    """Replaces the settings of a library, and their copy. Raises OSError."""
    data = {"schema": LIBRARY_SCHEMA, **asdict(settings)}
    if any(data[name] for name in LATER_FIELDS):
        data["format"] = LIBRARY_FORMAT
    else:
        data = {name: value for name, value in data.items() if name not in LATER_FIELDS}
    if data["format"] == 1:  # an earlier viewfinder does not know the field
        del data["leave_out"]
    text = json.dumps({**data, "checksum": _compute_checksum(data)}, indent=2) + "\n"
    with private_files(folder):
        for place in (folder / TABLES / SETTINGS, folder / SETTINGS):
            write_file(place, text)
    if (bucket := find_bucket(folder)) is not None:
        bucket.push(f"{TABLES}/{SETTINGS}", SETTINGS)


def _read_kept(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an encoder, as they are in memory."""
    found = dict(data)
    if (previous := found.get("previous")) is not None:
        found["previous"] = previous[0], previous[1]
    for name in ("known_as", "said"):
        if name in found:
            found[name] = tuple(found[name])
    if found.get("pin") is not None:
        found["pin"] = Pin.of(found["pin"])
    return found


def _compute_checksum(data: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(data, sort_keys=True).encode()):08x}"
