"""Images of one's own, shown to the search: kept as long as there is room for them in a person's share.

    <folder>/<content id>     the file as it came; equal files are kept once
             thumbnails/      its small copies

An upload is one row of the database; a file stays as long as a row names its content.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from viewfinder.errors import PictureError, UnknownName
from viewfinder.pictures import AtMost, DecodedFile, Limits, decode_one
from viewfinder.pictures.thumbnails import PLACEHOLDER, SIZES, cache_thumbnails, thumbnail_path
from viewfinder.server.database.uploads import UploadRow, UploadRows
from viewfinder.server.images.thumbnails import PictureSource
from viewfinder.server.problems import not_found

if TYPE_CHECKING:
    from viewfinder.server.access.caller import Caller
    from viewfinder.server.images.receiving import ReceivedFile
    from viewfinder.server.settings import ServerSettings

LEFT_OVER_S = 86_400.0
"""Unfinished files that are older were left by a server that was killed."""

_SHOWN = 320
_SECONDS = 10.0


class Uploads:
    """The images in a folder and their rows; for several threads and processes."""

    def __init__(self, folder: Path, rows: UploadRows, settings: ServerSettings) -> None:
        self.folder = folder
        self._rows = rows
        self._settings = settings
        self._copies = folder / "thumbnails"
        folder.mkdir(parents=True, exist_ok=True)
        _remove_left_over(folder)

    def accept(self, given: ReceivedFile, caller: Caller) -> UploadRow:
        """Decodes a file that has arrived and keeps it; the caller's oldest images make room.

        Raises:
            PictureError: it is no picture, or over a limit; the file is removed.
        """
        try:
            picture = decode_upload(given, self._settings)
            row = UploadRow(
                id=str(uuid.uuid4()),
                owner=caller.token,
                picture=given.picture,
                bytes=given.bytes,
                width=picture.facts.width,
                height=picture.facts.height,
                created=time.time(),
            )
            with self._changing():
                given.path.replace(self.folder / given.picture)
                self._rows.create(row)
        finally:
            given.discard()
        cache_thumbnails(picture, self._copies, sizes=(_SHOWN, PLACEHOLDER))
        self.sweep(caller.token)
        return row

    def get(self, upload: str, caller: Caller) -> UploadRow:
        """An upload of the caller's.

        Raises:
            Problem: 404, there is none, or it is somebody else's.
        """
        row = self._rows.get(upload)
        if row is None or not caller.may_see(row.owner):
            raise not_found("upload", upload)
        return row

    def file(self, upload: str) -> Path:
        """The file of an upload.

        Raises:
            UnknownName: there is none, or its time is over.
        """
        row = self._rows.get(upload)
        if row is None:
            raise UnknownName(f"there is no upload {upload!r}: send the image again")
        return self.folder / row.picture

    def source(self, row: UploadRow) -> PictureSource:
        """What its small copies are made from."""
        return PictureSource(row.picture, (self.folder / row.picture,), max(row.width, row.height), self._copies)

    def delete(self, upload: str, caller: Caller) -> None:
        """Forgets an upload, and its file if no other upload is the same picture.

        Raises:
            Problem: 404, there is none, or it is somebody else's.
        """
        self._forget([self.get(upload, caller)])

    def sweep(self, owner: str | None) -> None:
        """Forgets the oldest uploads beyond what one may have."""
        self._forget(self._rows.oldest_beyond(self._settings.uploads_per_session, owner))

    def _forget(self, rows: list[UploadRow]) -> None:
        if not rows:
            return
        with self._changing():
            for row in rows:
                self._rows.delete(row.id)
            for picture in {row.picture for row in rows} - self._rows.pictures():
                (self.folder / picture).unlink(missing_ok=True)
                for size in SIZES:
                    thumbnail_path(self._copies, picture, size).unlink(missing_ok=True)

    def _changing(self) -> FileLock:
        """Held while rows and files are brought in line: one of a pair of equal files must not take both away."""
        return FileLock(str(self.folder / ".lock"))


def decode_upload(given: ReceivedFile, settings: ServerSettings) -> DecodedFile:
    """A file that has arrived, decoded in the sandbox within the limits for uploads.

    Raises:
        PictureError: it is no picture, or over a limit.
    """
    limits = Limits(max_bytes=settings.upload_bytes, max_pixels=settings.upload_pixels, seconds=_SECONDS)
    picture = decode_one(given.path, AtMost(_SHOWN), limits)
    # The worker has read a stranger's file; what it is called is for us to say.
    if picture.id != given.picture:
        raise PictureError("the file changed while it was read: send it again")
    return picture


def _remove_left_over(folder: Path) -> None:
    for file in folder.glob(".*.part"):
        try:
            if time.time() - file.stat().st_mtime > LEFT_OVER_S:
                file.unlink()
        except OSError:  # another server was faster
            continue
