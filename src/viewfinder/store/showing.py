"""All that is known of one picture, and from where: of the library, or of a file that is in none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from viewfinder.errors import BadInput, PictureError, UnknownName
from viewfinder.pictures import AtMost, DecodedFile, FoundFile, absolute_path, read_one
from viewfinder.pictures.facts.model import MACHINE_NAMES, Fact
from viewfinder.pictures.facts.text_lines import BOXES, list_text_lines
from viewfinder.store.objects import parse_url
from viewfinder.store.removal import name_place
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.store.store import Store

SHOWN_SIDE = 64
"""Pixels of the longer side of a picture that is read for its facts alone."""


@dataclass(frozen=True)
class ShownPicture:
    """One picture and what is known of it.

    Attributes:
        is_in_library: False: all this was read from the file itself just now.
        files: the files that hold it, as they were when they were read.
        facts: what these, their sidecars and machines say, each with its source. In JSON `machine` tells these apart,
            and `text_lines` has the lines that were read in it with their boxes.
        captions, attributes: what tables and people said of it in the library.
        pixel_hash: the hash of its data without metadata, and its orientation; "" if it is not known.
        note: what is the matter with the file that was asked for; "" if nothing is.
    """

    id: str
    is_in_library: bool
    files: tuple[FileRecord, ...]
    width: int
    height: int
    format: str
    bytes: int
    facts: tuple[Fact, ...]
    captions: tuple[str, ...]
    attributes: Mapping[str, tuple[str, ...]]
    pixel_hash: str
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The record as JSON has it; `in_library`, and files without what `facts` lists already."""
        files = [{"path": it.path, "size": it.size, "mtime_ns": it.mtime_ns} for it in self.files]
        attributes = {name: list(values) for name, values in self.attributes.items()}
        told = {name: value for name, value in asdict(self).items() if name != "is_in_library"}
        facts = [
            {"name": it.name, "values": list(it.values), "source": it.source, "machine": it.name in MACHINE_NAMES}
            for it in self.facts
            if it.name != BOXES
        ]
        lines = [asdict(line) for line in list_text_lines(self.facts)]
        shown = {"in_library": self.is_in_library, "files": files, "facts": facts, "text_lines": lines}
        return told | shown | {"attributes": attributes}


def show_picture(store: Store | None, picture: str | Path) -> ShownPicture:
    """What is known of a picture by its id, or by the path of one of its files; the file itself if no library has it.

    Raises:
        UnknownName: there is neither such a file nor such a picture.
        BadInput: the file is no picture, or cannot be read.
    """
    row = None if store is None else _find_row(store, picture)
    place = Path(name_place(picture))
    if row is not None:
        return _show_row(row, place)
    if not place.is_file():
        where = "" if store is None else ", and no picture of the library has this id"
        raise UnknownName(f"{picture}: no such file{where}: give a path, or an id as `find` prints it")
    return _read_file(place)


def _find_row(store: Store, picture: str | Path) -> PictureRow | None:
    if isinstance(picture, str) and (rows := store.rows_of([picture])):
        return rows[0]
    found = store.find_picture_at(name_place(picture))
    return None if found is None else next(iter(store.rows_of([found])), None)


def _show_row(row: PictureRow, place: Path) -> ShownPicture:
    note = ""
    asked = next((file for file in row.files if file.path == str(place)), None)
    if asked is not None and parse_url(asked.path) is None:
        try:
            status = place.stat()
            if (status.st_size, status.st_mtime_ns) != (asked.size, asked.mtime_ns):
                note = "the file has changed since it was added: `viewfinder add` it again"
        except OSError:
            note = "the file is gone, or cannot be looked at"
    return ShownPicture(
        row.id, True, row.files, row.width, row.height, row.format, row.bytes, row.known, row.captions, row.attributes,
        row.pixels or "", note,
    )  # fmt: skip


def _read_file(path: Path) -> ShownPicture:
    """What a file and its sidecars say; the file is read in a worker, since it may be hostile."""
    from viewfinder.pictures.facts.beside import Neighbours

    try:
        sidecars = Neighbours.of(os.listdir(path.parent)).find(path.name)  # noqa: PTH208 (names alone)
        status = path.stat()
        found = FoundFile(absolute_path(path), status.st_size, status.st_mtime_ns, sidecars)
        read = read_one(found, AtMost(SHOWN_SIDE))
    except (PictureError, OSError) as error:
        raise BadInput(f"{path}: {error}") from error
    assert isinstance(read, DecodedFile), "its pixels were asked for"
    facts = read.facts
    file = FileRecord(str(found.path), read.size, read.mtime_ns, facts=read.known)
    return ShownPicture(
        read.id, False, (file,), facts.width, facts.height, facts.format, read.size, read.known, (), {},
        read.pixel_hash,
    )  # fmt: skip
