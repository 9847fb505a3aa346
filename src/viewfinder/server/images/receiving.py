"""A file sent as multipart/form-data: put on the disk and hashed while it arrives, given up as soon as it is too large.

The framework's own form parser takes files of any size; this one reads a single field, `file`, and stops at a limit.
"""

from __future__ import annotations

import hashlib
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.server.services import Pool

FIELD = "file"

ENVELOPE = 64 << 10
"""Bytes that a body may have around its file."""

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
"""What a route that receives a file says in the API's description (`openapi_extra`)."""


@dataclass(frozen=True)
class ReceivedFile:
    """A file that has arrived whole and is not accepted yet; `picture` is the hash of its content."""

    path: Path
    picture: str
    bytes: int

    def discard(self) -> None:
        """Removes the file."""
        self.path.unlink(missing_ok=True)


async def receive_file(request: Request, folder: Path, limit: int, pool: Pool) -> ReceivedFile:
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
    """Takes a body piece by piece; of what is in it, only the file's content goes to the disk."""

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
                    "on_header_field": self._header_name,
                    "on_header_value": self._header_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._check_part,
                    "on_part_data": self._content,
                    "on_end": self._end,
                },
            )
        except FormParserError as error:
            raise _malformed(str(error)) from error
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
            raise _malformed(str(error)) from error

    def finish(self) -> ReceivedFile:
        """The file, when the body has ended."""
        self._file.close()
        if not self._ended:
            raise _malformed("it ends too early")
        if not self._parts:
            raise _malformed("it is empty")
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
            raise _malformed("it has more than one field")

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value.decode("latin-1")
        self._name, self._value = bytearray(), bytearray()

    def _check_part(self) -> None:
        _, options = parse_options_header(self._disposition)
        if options.get(b"name") != FIELD.encode():
            raise _malformed("its field has another name")

    def _content(self, data: bytes, start: int, end: int) -> None:
        self._bytes += end - start
        if self._bytes > self._limit:
            raise file_too_large(self._limit)
        self._hash.update(data[start:end])
        self._file.write(data[start:end])

    def _end(self) -> None:
        self._ended = True


def _malformed(why: str) -> Problem:
    return Problem(422, "invalid", f"the body must be a form with one field, {FIELD!r}: {why}")
