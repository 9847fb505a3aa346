"""Files that people send: received, decoded in the sandbox, and kept as the user's own images or for the library.

The framework's form parser takes files of any size. This one reads a single field, `file`, writes it to disk and
hashes it while it arrives, and stops as soon as it is too large.

    <folder>/<content id>     an upload as it came; equal files are kept once
             thumbnails/      its small copies

An upload is one row of the database; a file stays as long as a row names its content. A picture for the library is
stored in the library's own folder, from which a job adds it.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from viewfinder.errors import PictureError, UnknownName
from viewfinder.pictures import AtMost, DecodedFile, Limits, decode_one
from viewfinder.pictures.thumbnails import PLACEHOLDER, SIZES, cache_thumbnails, thumbnail_path
from viewfinder.server.access.bodies import ENVELOPE
from viewfinder.server.database.records import UploadRow, UploadRows
from viewfinder.server.pictures.library import FORMATS, find_same_pixels, is_in_library
from viewfinder.server.pictures.thumbnails import PictureSource
from viewfinder.server.problems import Problem, not_found
from viewfinder.store.places import SENT

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.access.limits import ThreadPool
    from viewfinder.server.access.tokens import Caller
    from viewfinder.server.settings import ServerSettings

FIELD = "file"

FILE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {FIELD: {"type": "string", "format": "binary"}},
                    "required": [FIELD],
                    "additionalProperties": False,
                },
                "encoding": {FIELD: {"contentType": "image/*"}},
            }
        },
    }
}
"""For `openapi_extra` of a route that receives a file."""


@dataclass(frozen=True)
class ReceivedFile:
    """A file that has arrived whole and is not accepted yet; `picture` is the hash of its content."""

    path: Path
    picture: str
    bytes: int

    def discard(self) -> None:
        """Removes the file."""
        self.path.unlink(missing_ok=True)


async def receive_file(request: Request, folder: Path, limit: int, pool: ThreadPool) -> ReceivedFile:
    """The file in the body of a request, in a new file of `folder`.

    Raises:
        Problem: 413 it has more than `limit` bytes; 415 or 422 the body is not a form with one file; 400 it broke off.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit + ENVELOPE:
        raise file_too_large(limit)
    receiver = await pool.run(FileReceiver, request.headers.get("content-type", ""), folder, limit)
    try:
        async for piece in request.stream():
            await pool.run(receiver.take, piece)
        return await pool.run(receiver.finish)
    except ClientDisconnect:
        receiver.discard()
        raise Problem(400, "interrupted", "the upload broke off") from None
    except BaseException:
        receiver.discard()
        raise


def file_too_large(limit: int) -> Problem:
    """413, with the limit."""
    return Problem(413, "too-large", f"a picture may have {limit / 1e6:g} MB", limit=limit)


class FileReceiver:
    """Takes a body piece by piece; only the file's content goes to disk."""

    def __init__(self, content_type: str, folder: Path, limit: int) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise Problem(415, "unsupported-media-type", f"send a form (multipart/form-data) with a field {FIELD!r}")
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin_part,
                    "on_header_field": lambda data, start, end: self._name.extend(data[start:end]),
                    "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._check_part,
                    "on_part_data": self._write_content,
                    "on_end": lambda: setattr(self, "_ended", True),
                },
            )
        except FormParserError as error:
            raise _refuse_form(str(error)) from error
        self._limit = limit
        self._taken = self._bytes = 0
        self._hash = hashlib.blake2b(digest_size=16)
        self._name, self._value, self._disposition = bytearray(), bytearray(), ""
        self._parts, self._ended = 0, False
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".part", delete=False)  # noqa: SIM115

    def take(self, piece: bytes) -> None:
        """The next piece of the body.

        Raises:
            Problem: 413 too much; 422 not a form, or another field than `file`.
        """
        self._taken += len(piece)
        if self._taken > self._limit + ENVELOPE:
            raise file_too_large(self._limit)
        try:
            self._parser.write(piece)
        except FormParserError as error:
            raise _refuse_form(str(error)) from error

    def finish(self) -> ReceivedFile:
        """The file, when the body has ended."""
        self._file.close()
        if not self._ended:
            raise _refuse_form("it ends too early")
        if not self._parts:
            raise _refuse_form("it is empty")
        return ReceivedFile(Path(self._file.name), str(uuid.UUID(bytes=self._hash.digest())), self._bytes)

    def discard(self) -> None:
        """Removes what has arrived."""
        with suppress(OSError, ValueError):
            self._file.close()
        Path(self._file.name).unlink(missing_ok=True)

    # -- called by the parser

    def _begin_part(self) -> None:
        self._parts += 1
        self._disposition = ""
        if self._parts > 1:
            raise _refuse_form("it has more than one field")

    def _end_header(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value.decode("latin-1")
        self._name, self._value = bytearray(), bytearray()

    def _check_part(self) -> None:
        _, options = parse_options_header(self._disposition)
        if options.get(b"name") != FIELD.encode():
            raise _refuse_form("its field has another name")

    def _write_content(self, data: bytes, start: int, end: int) -> None:
        self._bytes += end - start
        if self._bytes > self._limit:
            raise file_too_large(self._limit)
        self._hash.update(data[start:end])
        self._file.write(data[start:end])


def _refuse_form(why: str) -> Problem:
    return Problem(422, "invalid", f"the body must be a form with one field, {FIELD!r}: {why}")


LEFT_OVER_AFTER_S = 86_400.0
"""Older unfinished files were left by a server that was killed."""

_SHOWN = 320
_MAX_DECODE_S = 10.0


class Uploads:
    """The images in a folder and their rows; for several threads and processes."""

    def __init__(self, folder: Path, rows: UploadRows, settings: ServerSettings) -> None:
        self.folder = folder
        self._rows = rows
        self._settings = settings
        self._copies = folder / "thumbnails"
        # Held while rows and files are synchronised: deleting one of two equal files must not remove both.
        self._changing = FileLock(folder / ".lock")
        with suppress(OSError):  # of a library that can only be read: it takes no uploads
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
            with self._changing:
                given.path.replace(self.folder / given.picture)
                self._rows.create(row)
        finally:
            given.discard()
        cache_thumbnails(picture, self._copies, sizes=(_SHOWN, PLACEHOLDER))
        self._forget(self._rows.oldest_beyond(self._settings.uploads_per_token, caller.token))
        return row

    def get(self, upload: str, caller: Caller) -> UploadRow:
        """An upload of the caller's.

        Raises:
            Problem: 404, there is none, or it is another caller's.
        """
        row = self._rows.get(upload)
        if row is None or not caller.may_see(row.owner):
            raise not_found("upload", upload)
        return row

    def find(self, upload: str, may_see: Callable[[str | None], bool]) -> Path:
        """The file of an upload; `may_see` decides by its owner.

        Raises:
            UnknownName: there is no such upload, its file is gone, or `may_see` refuses. No path is disclosed.
        """
        row = self._rows.get(upload)
        if row is None or not may_see(row.owner):
            raise UnknownName(f"there is no upload {upload!r}: send the image again")
        file = self.folder / row.picture
        if not file.is_file():
            raise UnknownName("your image is gone: send it again")
        return file

    def make_source(self, row: UploadRow) -> PictureSource:
        """The source of an upload's small copies."""
        file = self.folder / row.picture
        return PictureSource(row.picture, lambda: [file], max(row.width, row.height), self._copies)

    def delete(self, upload: str, caller: Caller) -> None:
        """Forgets an upload, and its file if no other upload is the same picture.

        Raises:
            Problem: 404, there is none, or it is another caller's.
        """
        self._forget([self.get(upload, caller)])

    def _forget(self, rows: list[UploadRow]) -> None:
        if not rows:
            return
        with self._changing:
            for row in rows:
                self._rows.delete(row.id)
            for picture in {row.picture for row in rows} - self._rows.pictures():
                (self.folder / picture).unlink(missing_ok=True)
                for size in SIZES:
                    thumbnail_path(self._copies, picture, size).unlink(missing_ok=True)


def decode_upload(given: ReceivedFile, settings: ServerSettings) -> DecodedFile:
    """A file that has arrived, decoded in the sandbox within the limits for uploads.

    Raises:
        PictureError: it is no picture, or over a limit.
    """
    limits = Limits(
        max_bytes=settings.upload_bytes,
        max_pixels=settings.upload_pixels,
        seconds=_MAX_DECODE_S,
        pixels_set_by="VIEWFINDER_UPLOAD_PIXELS",
    )
    picture = decode_one(given.path, AtMost(_SHOWN), limits)
    # A file from outside may have taken over the worker that read it, so its word on the content is checked.
    if picture.id != given.picture:
        raise PictureError("the file changed while it was read: send it again")
    return picture


def _remove_left_over(folder: Path) -> None:
    for file in folder.glob(".*.part"):
        try:
            if time.time() - file.stat().st_mtime > LEFT_OVER_AFTER_S:
                file.unlink()
        except OSError:  # another server was faster
            continue


def pictures_folder(library: Library) -> Path:
    """Where pictures lie that came over HTTP."""
    return library.folder / SENT


def keep_for_adding(library: Library, given: ReceivedFile, settings: ServerSettings) -> tuple[str, str | None]:
    """The id that the picture has or will have, and the name under which the file now lies in `pictures_folder`.

    The name is None if the library has a file of this very content.

    Raises:
        PictureError: it is no picture, or over a limit; the file is removed.
    """
    try:
        picture = decode_upload(given, settings)
        if is_in_library(library, given.picture):
            return given.picture, None
        name = f"{given.picture}.{FORMATS[picture.facts.format][0]}"
        given.path.replace(pictures_folder(library) / name)
        return find_same_pixels(library, picture.pixel_hash) or given.picture, name
    finally:
        given.discard()
