"""Albums, favourites and stars of a caller, as far as the library has their pictures.

What this machine and tokens with the scope `admin` keep belongs to the library: whoever looks after it finds it again
from anywhere. What other tokens keep is theirs alone; admins see their albums, not what they think of pictures.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from viewfinder.errors import BadInput
from viewfinder.search.listing import list_hits
from viewfinder.server.database.kept import LIBRARY, AlbumNameTaken, AlbumRow, AlbumRows, MarkRows
from viewfinder.server.pictures.library import current_snapshot, make_hits, next_cursor, parse_cursor
from viewfinder.server.problems import Problem, not_found
from viewfinder.server.taking.schemas import Album, AlbumChanged, AlbumPage, AlbumPicturesIn, Mark, Marks, MarksIn

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.access.tokens import Caller
    from viewfinder.server.database import Database

_ID = re.compile(r"[0-9a-f-]{36}")


def find_owner(caller: Caller) -> str:
    """Whose albums and marks a caller's are."""
    return LIBRARY if "admin" in caller.scopes else caller.token or LIBRARY


class Kept:
    """The albums and marks of one caller; made for a request."""

    def __init__(self, library: Library, database: Database, caller: Caller) -> None:
        self._library = library
        self._owner = find_owner(caller)
        self._everyone = None if "admin" in caller.scopes else self._owner
        self._albums, self._marks = AlbumRows(database), MarkRows(database)

    # -- albums

    def list_albums(self) -> list[Album]:
        """All that the caller may see, the last changed first."""
        held = self._albums.pictures_of(self._everyone)
        return [self._describe(row, held.get(row.id, ())) for row in self._albums.all(self._everyone)]

    def find_album(self, said: str) -> Album | None:
        """The album of this id, or of this name whatever its capitals; the caller's own before those of others.

        Raises:
            Problem: several are called so.
        """
        rows = self._albums.all(self._everyone)
        name, folded = said.strip(), said.strip().casefold()
        own = [row for row in rows if row.owner == self._owner]
        for named in (
            [row for row in rows if row.id == folded],
            [row for row in own if row.name == name],
            [row for row in own if row.name.casefold() == folded],
            [row for row in rows if row.name.casefold() == folded],
        ):
            if len(named) > 1:
                raise Problem(422, "unknown-name", f"{len(named)} albums are called {name!r}: name one by its id")
            if named:
                return self._describe(named[0], self._albums.pictures(named[0].id))
        return None

    def create_album(self, name: str) -> Album:
        """A new, empty album. Raises Problem: 409, there is one of this name."""
        try:
            return self._describe(self._albums.begin(self._owner, name, time.time()), ())
        except AlbumNameTaken as error:
            raise name_taken(error) from error

    def rename_album(self, id: str, name: str) -> Album:
        """Raises Problem: 404, there is no such album; 409, there is another one of this name."""
        try:
            row = self._albums.rename(self._find(id), name, time.time())
        except AlbumNameTaken as error:
            raise name_taken(error) from error
        if row is None:
            raise not_found("album", id)
        return self._describe(row, self._albums.pictures(id))

    def delete_album(self, id: str) -> None:
        """Deletes an album; its pictures stay. Raises Problem: 404, there is none."""
        self._albums.delete(self._find(id).id)

    def show_album(self, id: str, n: int, cursor: str | None) -> AlbumPage:
        """An album, with `n` of its pictures from the cursor on. Raises Problem: 404, there is no such album."""
        row, start = self._find(id), parse_cursor(cursor)
        pictures = self._albums.pictures(id)
        snapshot = current_snapshot(self._library)
        there = [] if snapshot is None else [at for at in snapshot.rows_of(pictures) if at is not None]
        shown = there[start : start + n]
        hits = [] if snapshot is None else make_hits(snapshot, list_hits(snapshot, shown, start), rows=shown)
        told = self._describe(row, pictures).model_dump()
        return AlbumPage(**told, results=hits, total=len(there), next=next_cursor(start + len(shown), len(there)))

    def change_album(self, id: str, given: AlbumPicturesIn) -> AlbumChanged:
        """Takes pictures out of an album and puts others in; those that the library does not have are told.

        Raises:
            Problem: 404, there is no such album.
            BadInput: it would be too many.
        """
        self._find(id)
        known, unknown = self._split_known(given.add)
        changed = self._albums.change(id, known, given.remove, time.time())
        if changed is None:  # deleted meanwhile
            raise not_found("album", id)
        told = self._describe(self._find(id), self._albums.pictures(id)).model_dump()
        return AlbumChanged(**told, added=changed[0], removed=changed[1], unknown=unknown)

    def list_pictures(self, id: str) -> tuple[str, list[str]]:
        """An album's name, and the ids of its pictures in their order. Raises Problem: 404, there is no such album."""
        return self._find(id).name, self._albums.pictures(id)

    def name_albums(self, pictures: Iterable[str]) -> dict[str, list[str]]:
        """The names of the caller's own albums in which pictures are."""
        names = {row.id: row.name for row in self._albums.all(self._owner)}
        held = self._albums.holding(self._owner, pictures)
        return {picture: [names[album] for album in albums if album in names] for picture, albums in held.items()}

    # -- marks

    def mark(self, given: MarksIn) -> Marks:
        """Marks pictures. Raises BadInput: it is not said how."""
        if given.favourite is None and given.stars is None:
            raise BadInput("say what the pictures are to be: `favourite`, true or false, or `stars`, 0 to 5")
        known, unknown = self._split_known(given.pictures)
        self._marks.mark(self._owner, known, time.time(), favourite=given.favourite, stars=given.stars)
        return Marks(marks=self.read_marks(known), unknown=unknown)

    def read_marks(self, pictures: Sequence[str]) -> dict[str, Mark]:
        """The marks of pictures, also of those without any."""
        marks, held = self._marks.of(self._owner, pictures), self._albums.holding(self._owner, pictures)
        return {
            picture: Mark(
                favourite=picture in marks and marks[picture].favourite,
                stars=marks[picture].stars if picture in marks else 0,
                albums=held.get(picture, []),
            )
            for picture in pictures
        }

    # -- inside

    def _find(self, id: str) -> AlbumRow:
        row = self._albums.get(id) if _ID.fullmatch(id) else None
        if row is None or (self._everyone is not None and row.owner != self._everyone):
            raise not_found("album", id)
        return row

    def _describe(self, row: AlbumRow, pictures: Sequence[str]) -> Album:
        known, unknown = self._split_known(pictures)
        return Album(
            id=row.id,
            name=row.name,
            created=datetime.fromtimestamp(row.created, UTC),
            updated=datetime.fromtimestamp(row.updated, UTC),
            pictures=len(known),
            missing=len(unknown),
            cover=known[0] if known else None,
            own=row.owner == self._owner,
        )

    def _split_known(self, pictures: Sequence[str]) -> tuple[list[str], list[str]]:
        """Those that the library has, and the others."""
        snapshot = current_snapshot(self._library)
        rows = [None] * len(pictures) if snapshot is None else snapshot.rows_of(pictures)
        both = list(zip(pictures, rows, strict=True))
        return [it for it, row in both if row is not None], [it for it, row in both if row is None]


def name_taken(error: AlbumNameTaken) -> Problem:
    """409, with the id of the album that has the name."""
    return Problem(409, "name-taken", str(error), album=error.album)
