"""What people keep of pictures: albums, favourites and stars; and lists of pictures that are to be taken along.

A picture is named by its id, the hash of its content. So an album and a mark stay when it leaves the library, and are
there again when the same picture comes back; whoever shows them asks the library which pictures there are.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import func, not_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from viewfinder.errors import BadInput
from viewfinder.server.database.engine import RowStore, insert_rows, select_row, update_row
from viewfinder.server.database.tables import ALBUM_PICTURES, ALBUMS, EXPORTS, MARKS

LIBRARY = ""
"""The owner of what this machine and admins keep; that of others is their own."""

MAX_ALBUMS = 500
"""Albums of one owner."""

MAX_IN_ALBUMS = 200_000
"""Pictures in all albums of one owner, each as often as it is in one."""

MAX_STARS = 5

BATCH = 500
"""Ids in one statement: SQLite of old allows 999 values."""


class AlbumNameTaken(BadInput):
    """Its owner has another album of this name; `album` is the id of that one."""

    def __init__(self, name: str, album: str) -> None:
        super().__init__(f"there is an album called {name!r} already: add to that one, or take another name")
        self.album = album


@dataclass(frozen=True)
class AlbumRow:
    """One album."""

    id: str
    owner: str
    name: str
    created: float
    updated: float


class AlbumRows(RowStore[AlbumRow]):
    """The albums in a database, with the ids of their pictures in the order in which they were added."""

    table, row = ALBUMS, AlbumRow

    def begin(self, owner: str, name: str, at: float) -> AlbumRow:
        """A new album.

        Raises:
            AlbumNameTaken: its owner has one of this name.
            BadInput: its owner has too many.
        """
        row = AlbumRow(str(uuid.uuid4()), owner, name, at, at)
        with self._named(owner, name), self._database.writing() as connection:
            so_far = connection.scalar(select(func.count()).where(ALBUMS.c.owner == owner)) or 0
            if so_far >= MAX_ALBUMS:
                raise BadInput(f"there are {MAX_ALBUMS} albums already: delete one that is not needed any more")
            insert_rows(connection, ALBUMS, row)
        return row

    def all(self, owner: str | None) -> list[AlbumRow]:
        """The albums of an owner, or of everybody (None), the last changed first."""
        query = select(ALBUMS).order_by(ALBUMS.c.updated.desc(), ALBUMS.c.id)
        return self._database.rows(AlbumRow, query if owner is None else query.where(ALBUMS.c.owner == owner))

    def rename(self, row: AlbumRow, name: str, at: float) -> AlbumRow | None:
        """Gives an album another name; None where it is gone. Raises AlbumNameTaken: its owner has one of this name."""
        with self._named(row.owner, name), self._database.writing() as connection:
            update_row(connection, ALBUMS, row.id, {"name": name, "updated": at})
            return select_row(connection, AlbumRow, select(ALBUMS).where(ALBUMS.c.id == row.id))

    def find(self, owner: str, name: str) -> AlbumRow | None:
        """The album of this very name."""
        return self._database.row(AlbumRow, select(ALBUMS).where(ALBUMS.c.owner == owner, ALBUMS.c.name == name))

    @contextmanager
    def _named(self, owner: str, name: str) -> Iterator[None]:
        """Within it, that another album has the name is told as such."""
        try:
            yield
        except IntegrityError as error:
            if (other := self.find(owner, name)) is None:
                raise
            raise AlbumNameTaken(name, other.id) from error

    def change(self, id: str, add: Iterable[str], remove: Iterable[str], at: float) -> tuple[int, int] | None:
        """Takes pictures out, then puts pictures in: how many were put in and taken out; None where the album is gone.

        One that is in it stays where it is.

        Raises:
            BadInput: its owner's albums would hold too many.
        """
        with self._database.writing() as connection:
            row = select_row(connection, AlbumRow, select(ALBUMS).where(ALBUMS.c.id == id).with_for_update())
            if row is None:
                return None
            inside = ALBUM_PICTURES.c.album == id
            removed = sum(
                connection.execute(ALBUM_PICTURES.delete().where(inside, ALBUM_PICTURES.c.picture.in_(some))).rowcount
                for some in _batches(dict.fromkeys(remove))
            )
            held = set(connection.scalars(select(ALBUM_PICTURES.c.picture).where(inside)))
            new = [picture for picture in dict.fromkeys(add) if picture not in held]
            if new:
                mine = select(func.count()).select_from(ALBUM_PICTURES.join(ALBUMS)).where(ALBUMS.c.owner == row.owner)
                if (connection.scalar(mine) or 0) + len(new) > MAX_IN_ALBUMS:
                    raise BadInput(f"albums hold at most {MAX_IN_ALBUMS:,} pictures together: take some out first")
                last = connection.scalar(select(func.max(ALBUM_PICTURES.c.position)).where(inside)) or 0
                connection.execute(
                    ALBUM_PICTURES.insert(),
                    [{"album": id, "picture": picture, "position": at} for at, picture in enumerate(new, last + 1)],
                )
            if new or removed:
                update_row(connection, ALBUMS, id, {"updated": at})
            return len(new), removed

    def pictures(self, id: str) -> list[str]:
        """The ids in an album, in their order; also those of pictures that have left the library."""
        inside = select(ALBUM_PICTURES.c.picture).where(ALBUM_PICTURES.c.album == id)
        with self._database.reading() as connection:
            return list(connection.scalars(inside.order_by(ALBUM_PICTURES.c.position)))

    def pictures_of(self, owner: str | None) -> dict[str, list[str]]:
        """`pictures` of all albums of an owner, or of everybody (None); empty albums are left out."""
        query = select(ALBUM_PICTURES.c.album, ALBUM_PICTURES.c.picture).order_by(ALBUM_PICTURES.c.position)
        if owner is not None:
            query = query.join(ALBUMS).where(ALBUMS.c.owner == owner)
        found: dict[str, list[str]] = {}
        with self._database.reading() as connection:
            for album, picture in connection.execute(query):
                found.setdefault(album, []).append(picture)
        return found

    def holding(self, owner: str, pictures: Iterable[str]) -> dict[str, list[str]]:
        """The owner's albums in which each of these pictures is, by name; pictures in none are left out."""
        query = select(ALBUM_PICTURES.c.picture, ALBUM_PICTURES.c.album).join(ALBUMS).where(ALBUMS.c.owner == owner)
        query = query.order_by(ALBUMS.c.name, ALBUMS.c.id)
        found: dict[str, list[str]] = {}
        with self._database.reading() as connection:
            for some in _batches(dict.fromkeys(pictures)):
                for picture, album in connection.execute(query.where(ALBUM_PICTURES.c.picture.in_(some))):
                    found.setdefault(picture, []).append(album)
        return found


@dataclass(frozen=True)
class MarkRow:
    """What one person thinks of a picture; `stars` from 1 to 5, 0 for none."""

    owner: str
    picture: str
    favourite: bool
    stars: int
    updated: float


class MarkRows(RowStore[MarkRow]):
    """The favourites and stars in a database; a picture that is neither has no row."""

    table, row = MARKS, MarkRow

    def mark(
        self, owner: str, pictures: Iterable[str], at: float, *, favourite: bool | None = None, stars: int | None = None
    ) -> None:
        """Makes pictures favourites, or not; gives them stars, 0 for none. None: that stays as it is."""
        given: dict[str, bool | int] = {} if favourite is None else {"favourite": favourite}
        given |= {} if stars is None else {"stars": stars}
        with self._database.writing() as connection:
            insert = postgresql.insert(MARKS) if connection.dialect.name == "postgresql" else sqlite.insert(MARKS)
            changed = {name: insert.excluded[name] for name in (*given, "updated")}
            marked = insert.on_conflict_do_update(index_elements=["owner", "picture"], set_=changed)
            for some in _batches(sorted(set(pictures))):  # in one order, so that two who mark the same can both go on
                rows = [vars(MarkRow(owner, picture, False, 0, at)) | given for picture in some]
                connection.execute(marked, rows)
                unmarked = MARKS.delete().where(MARKS.c.owner == owner, MARKS.c.picture.in_(some))
                connection.execute(unmarked.where(not_(MARKS.c.favourite), MARKS.c.stars == 0))

    def of(self, owner: str, pictures: Iterable[str]) -> dict[str, MarkRow]:
        """The marks of those of these pictures that have any."""
        query = select(MARKS).where(MARKS.c.owner == owner)
        found: dict[str, MarkRow] = {}
        with self._database.reading() as connection:
            for some in _batches(dict.fromkeys(pictures)):
                rows = connection.execute(query.where(MARKS.c.picture.in_(some))).mappings()
                found |= {row["picture"]: MarkRow(**row) for row in rows}
        return found

    def marked(self, owner: str, *, favourite: bool = False, stars: int = 0) -> list[str]:
        """The ids of the favourites, or of pictures with at least so many stars, or both at once."""
        query = select(MARKS.c.picture).where(MARKS.c.owner == owner, MARKS.c.stars >= stars)
        query = query.where(MARKS.c.favourite) if favourite else query
        with self._database.reading() as connection:
            return list(connection.scalars(query))


@dataclass(frozen=True)
class ExportRow:
    """A list of pictures that may be fetched as a file; `pictures`: id, score and match of each, where it has them."""

    id: str
    owner: str | None
    kind: str
    name: str
    fields: Sequence[str] | None
    pictures: Sequence[tuple[str, float | None, str | None]]
    created: float


class ExportRows(RowStore[ExportRow]):
    """The lists in a database; old ones go when new ones come."""

    table, row = EXPORTS, ExportRow

    def keep(self, row: ExportRow, *, since: float, count: int) -> None:
        """A new one; all older than `since` go, and the owner's beyond the newest `count`."""
        mine = select(EXPORTS.c.id).where(EXPORTS.c.owner.is_not_distinct_from(row.owner))
        newest_first = mine.order_by(EXPORTS.c.created.desc(), EXPORTS.c.id)
        with self._database.writing() as connection:
            insert_rows(connection, EXPORTS, row)
            connection.execute(EXPORTS.delete().where(EXPORTS.c.created < since))
            for some in _batches(connection.scalars(newest_first.offset(count))):
                connection.execute(EXPORTS.delete().where(EXPORTS.c.id.in_(some)))


def _batches(ids: Iterable[str]) -> Iterator[list[str]]:
    """The ids, `BATCH` at a time."""
    rest = list(ids)
    return (rest[start : start + BATCH] for start in range(0, len(rest), BATCH))
