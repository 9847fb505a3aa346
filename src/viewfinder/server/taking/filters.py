"""Conditions of a search on what people keep: `album` (an id), `favourite` (yes) and `stars` (at least so many).

They are read for whoever searches: a conversation's for its owner. Where the library has a column of such a name the
column is meant, and `album` with anything but ids is the album that files name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from viewfinder.errors import BadInput, UnknownName
from viewfinder.store.chosen import ChosenPictures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from viewfinder.library import Library
    from viewfinder.server.database import Database

NAMES = frozenset({"album", "favourite", "stars"})

_ALBUMS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\|[0-9a-f-]{36})*")


class KeptFilters:
    """Reads the conditions for all callers."""

    def __init__(self, library: Library, database: Database) -> None:
        self._library, self._database = library, database

    def read(self, where: Mapping[str, str], owner: str | None, *, new: bool = False) -> Mapping[str, str]:
        """The conditions, those on what the token `owner` keeps as `ChosenPictures`.

        `new`: they were just given, so an album must exist; one that is deleted later has no pictures.

        Raises:
            BadInput: this cannot be the value of such a condition.
            UnknownName: there is no such album.
        """
        if not any(name.strip().casefold() in NAMES for name in where):
            return where
        return {name: self._read_one(name, value, owner, new) for name, value in where.items()}

    def _read_one(self, name: str, value: str, owner: str | None, new: bool) -> str:
        kind, written = name.strip().casefold(), value.strip().casefold()
        if kind not in NAMES or (_ALBUMS.fullmatch(written) is None if kind == "album" else self._has_column(kind)):
            return value
        if kind == "favourite" and written != "yes":
            raise BadInput(f"favourite: write `yes`, not {value[:40]!r}")
        if kind == "stars" and written not in ("1", "2", "3", "4", "5"):
            raise BadInput(f"stars: write how many at least, 1 to 5, not {value[:40]!r}")
        find: dict[str, Callable[[], Iterable[str]]] = {
            "album": partial(self._find_in_albums, written.split("|"), owner),
            "favourite": partial(self._find_marked, owner, favourite=True),
            "stars": partial(self._find_marked, owner, stars=int(written) if kind == "stars" else 0),
        }
        if kind == "album" and new:
            self._find_in_albums(written.split("|"), owner, new=True)
        return ChosenPictures.of(value, find[kind])

    def _has_column(self, name: str) -> bool:
        from viewfinder.server.pictures.library import current_snapshot

        snapshot = current_snapshot(self._library)
        return snapshot is not None and name in {column.casefold() for column in snapshot.columns()}

    def _find_whose(self, owner: str | None) -> tuple[str, bool]:
        """Whose marks a token's are, and whether it sees the albums of all."""
        from viewfinder.server.access.tokens import LOCAL, Caller
        from viewfinder.server.database import TokenRows
        from viewfinder.server.taking.keeping import find_owner

        row = None if owner is None else TokenRows(self._database).get(owner)
        caller = LOCAL if owner is None else Caller(owner, frozenset(row.scopes if row else ()))  # type: ignore[arg-type]
        return find_owner(caller), "admin" in caller.scopes

    def _find_marked(self, owner: str | None, *, favourite: bool = False, stars: int = 0) -> list[str]:
        from viewfinder.server.database.kept import MarkRows

        return MarkRows(self._database).marked(self._find_whose(owner)[0], favourite=favourite, stars=stars)

    def _find_in_albums(self, ids: list[str], owner: str | None, *, new: bool = False) -> list[str]:
        from viewfinder.server.database.kept import AlbumRows

        albums, (whose, sees_all) = AlbumRows(self._database), self._find_whose(owner)
        found = list[str]()
        for id in ids:
            row = albums.get(id)
            if row is not None and (sees_all or row.owner == whose):
                found += albums.pictures(id)
            elif new:
                raise UnknownName(f"there is no album {id}: it was deleted, or never made")
        return found
