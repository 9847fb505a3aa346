"""A picture sent for the library: kept in the library's own folder, from where a job adds it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from viewfinder.errors import BadInput
from viewfinder.server.images.originals import FORMATS
from viewfinder.server.images.uploads import decode_upload

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.images.receiving import ReceivedFile
    from viewfinder.server.settings import ServerSettings


def pictures_folder(library: Library) -> Path:
    """Where pictures lie that came over HTTP."""
    return library.folder / "pictures"


def keep_for_adding(library: Library, given: ReceivedFile, settings: ServerSettings) -> str | None:
    """The name under which the file now lies in `folder_of`; None if the library has a file of this picture.

    Raises:
        PictureError: it is no picture, or over a limit; the file is removed.
    """
    try:
        picture = decode_upload(given, settings)
        if is_in_library(library, given.picture):
            return None
        name = f"{given.picture}.{FORMATS[picture.facts.format][0]}"
        given.path.replace(pictures_folder(library) / name)
        return name
    finally:
        given.discard()


def is_in_library(library: Library, picture: str) -> bool:
    """Whether the library has this very picture, and a file of it."""
    try:
        snapshot = library.gallery().snapshot
    except BadInput:  # nothing was added yet
        return False
    row = snapshot.row_of(picture)
    return row is not None and any(Path(path).is_file() for path in snapshot.paths(row))
