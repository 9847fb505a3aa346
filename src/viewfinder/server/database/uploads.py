"""Images of one's own, shown in talks; the files lie elsewhere, named by the hash of their content."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from viewfinder.server.database import rows
from viewfinder.server.database.engine import Database
from viewfinder.server.database.tables import UPLOADS


@dataclass(frozen=True)
class UploadRow:
    """One upload; two of the same content share the file `picture`."""

    id: str
    owner: str | None
    picture: str
    bytes: int
    width: int
    height: int
    created: float


class UploadRows:
    """The uploads in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, row: UploadRow) -> None:
        """A new upload."""
        with self._database.writing() as connection:
            rows.insert_rows(connection, UPLOADS, row)

    def get(self, id: str) -> UploadRow | None:
        """One upload."""
        with self._database.reading() as connection:
            return rows.select_row(connection, UploadRow, select(UPLOADS).where(UPLOADS.c.id == id))

    def oldest_beyond(self, count: int, owner: str | None) -> list[UploadRow]:
        """What `owner` has beyond the newest `count`, oldest first."""
        mine = select(UPLOADS).where(UPLOADS.c.owner.is_not_distinct_from(owner))
        newest_first = mine.order_by(UPLOADS.c.created.desc(), UPLOADS.c.id.desc())
        with self._database.reading() as connection:
            return rows.select_rows(connection, UploadRow, newest_first.offset(count))[::-1]

    def delete(self, id: str) -> bool:
        """Deletes the row, not the file; whether there was one."""
        with self._database.writing() as connection:
            return connection.execute(UPLOADS.delete().where(UPLOADS.c.id == id)).rowcount > 0

    def pictures(self) -> set[str]:
        """The files that any upload needs."""
        with self._database.reading() as connection:
            return set(connection.scalars(select(UPLOADS.c.picture)))
