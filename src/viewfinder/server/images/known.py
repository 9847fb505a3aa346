"""A picture of the library by its id, as routes are asked for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from viewfinder.errors import BadInput, PictureError
from viewfinder.server.discreet import to_unicode
from viewfinder.server.problems import Problem, not_found

if TYPE_CHECKING:
    from viewfinder.index import Gallery
    from viewfinder.library import Library


def find_picture(library: Library, picture_id: str) -> tuple[Gallery, int]:
    """The gallery as it is now, and the row of a picture in it.

    Raises:
        Problem: 404, there is no such picture.
    """
    try:
        gallery = library.gallery()
    except BadInput:  # nothing was added yet
        raise not_found("picture", picture_id) from None
    row = gallery.snapshot.row_of(picture_id)
    if row is None:
        raise not_found("picture", picture_id)
    return gallery, row


def picture_gone(picture_id: str) -> Problem:
    """410: the picture is known, and none of its files is there any more."""
    return Problem(410, "gone", f"no file of the picture {picture_id} is there any more")


def picture_changed(file: Path) -> PictureError:
    """None of a picture's files is that picture any more. What they are by now is not for everybody to know."""
    return PictureError(f"{to_unicode(file.name)} has changed since it was added, or cannot be read: add it again")
