"""What comes after a picture was found, over HTTP: albums, favourites and stars, files and lists to take along."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from viewfinder.server.access.bodies import WORDY_BODY, json_up_to, takes_body
from viewfinder.server.access.tokens import Admin, Caller, Reader, ReaderWriter, Writer
from viewfinder.server.pictures.names import name_attachment
from viewfinder.server.problems import Problem, responses
from viewfinder.server.services import Services, WithServices, make_router
from viewfinder.server.taking.schemas import (
    Album,
    AlbumChanged,
    AlbumIn,
    AlbumList,
    AlbumPage,
    AlbumPicturesIn,
    Export,
    ExportIn,
    Marks,
    MarksIn,
    OpenIn,
)

if TYPE_CHECKING:
    from viewfinder.server.taking.exports import Exports
    from viewfinder.server.taking.keeping import Kept

albums_router, marks_router, exports_router = make_router("albums"), make_router("marks"), make_router("exports")

PICTURES_BODY = 2 * WORDY_BODY
"""The most bytes of a body with ten thousand ids."""

MAX_MARKS = 500
"""Pictures whose marks are read in one request."""

AlbumId = Annotated[str, Path(max_length=64, description="the id of an album")]
Cursor = Annotated[str | None, Query(max_length=200, description="the `next` of the page before")]


def _kept(services: Services, caller: Caller) -> Kept:
    from viewfinder.server.taking.keeping import Kept  # most requests need none of it

    return Kept(services.library, services.database, caller)


@albums_router.get("/albums", summary="Albums")
async def list_albums(caller: Reader, services: WithServices) -> AlbumList:
    """The caller's own; with the scope admin those of everybody."""
    return AlbumList(albums=await services.pool.run(_kept(services, caller).list_albums))


@albums_router.post("/albums", status_code=201, summary="Make an album", responses=responses(409))
async def create_album(given: AlbumIn, caller: Writer, services: WithServices) -> Album:
    """Empty. 409 where there is one of this name; the problem has its id as `album`."""
    return await services.pool.run(_kept(services, caller).create_album, given.name)


@albums_router.get("/albums/{id}", summary="An album and its pictures", responses=responses(404))
async def get_album(
    id: AlbumId,
    caller: Reader,
    services: WithServices,
    n: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Cursor = None,
) -> AlbumPage:
    """A page of them at a time, in the order in which they were added; those that left the library are left out."""
    return await services.pool.run(_kept(services, caller).show_album, id, n, cursor)


@albums_router.patch("/albums/{id}", summary="Rename an album", responses=responses(404, 409))
async def rename_album(id: AlbumId, given: AlbumIn, caller: ReaderWriter, services: WithServices) -> Album:
    """Its pictures stay."""
    return await services.pool.run(_kept(services, caller).rename_album, id, given.name)


@albums_router.delete("/albums/{id}", status_code=204, summary="Delete an album", responses=responses(404))
async def delete_album(id: AlbumId, caller: Writer, services: WithServices) -> Response:
    """No picture is lost: they stay in the library, and in other albums."""
    await services.pool.run(_kept(services, caller).delete_album, id)
    return Response(status_code=204)


@albums_router.post(
    "/albums/{id}/pictures", summary="Put pictures into an album, or take them out", responses=responses(404)
)
@takes_body(json_up_to(PICTURES_BODY))
async def change_album(
    id: AlbumId, given: AlbumPicturesIn, caller: ReaderWriter, services: WithServices
) -> AlbumChanged:
    """A picture is in an album once, where it was put first."""
    return await services.pool.run(_kept(services, caller).change_album, id, given)


@marks_router.post("/marks", summary="Mark pictures as favourites, or with stars")
@takes_body(json_up_to(PICTURES_BODY))
async def mark_pictures(given: MarksIn, caller: ReaderWriter, services: WithServices) -> Marks:
    """The caller's own marks; those with the scope admin share theirs with this machine."""
    return await services.pool.run(_kept(services, caller).mark, given)


@marks_router.get("/marks", summary="The marks of some pictures")
async def read_marks(
    caller: Reader,
    services: WithServices,
    ids: Annotated[str, Query(max_length=40 * MAX_MARKS, description="ids of pictures, with commas between")],
) -> Marks:
    """Favourites, stars, and the albums in which they are."""
    asked = list(dict.fromkeys(filter(None, ids.split(","))))
    if len(asked) > MAX_MARKS:
        raise Problem(422, "invalid", f"query.ids: at most {MAX_MARKS} pictures at a time")
    return Marks(marks=await services.pool.run(_kept(services, caller).read_marks, asked))


open_router = make_router("pictures")


@open_router.post(
    "/pictures/{picture}/open",
    status_code=204,
    summary="Open a picture on the server's machine",
    responses=responses(404, 409, 410),
)
async def open_picture(
    picture: Annotated[str, Path(max_length=64, description="the id of a picture")],
    given: OpenIn,
    caller: Admin,
    services: WithServices,
    request: Request,
) -> Response:
    """In the program that its system has for it, or its folder; only for somebody who sits at that machine."""
    from viewfinder.server.access.trust import is_own_user
    from viewfinder.server.pictures.library import find_picture
    from viewfinder.server.taking.opening import open_picture

    await services.pool.run(find_picture, services.library, picture)
    if not request.state.head.is_local or not await services.pool.run(is_own_user, request.scope):
        raise Problem(409, "not-here", "files are opened on the server's machine, and you are not there: download it")
    await services.thumbnails.aside.run(open_picture, services.library, picture, given.how)
    return Response(status_code=204)


PIECE = 256 << 10
"""About how many bytes of a file are made at a time."""

ExportId = Annotated[str, Path(max_length=64, description="what `POST /exports` answered")]

_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the file",
        "content": {
            "application/zip": {"schema": {"type": "string", "format": "binary"}},
            "text/csv": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        },
    }
}


def _exports(services: Services, caller: Caller, request: Request) -> Exports:
    from viewfinder.server.taking.exports import Exports

    return Exports(services, caller, at_machine="admin" in caller.scopes and request.state.head.is_local)


@exports_router.post("/exports", status_code=201, summary="Take pictures along", responses=responses(404, 409))
@takes_body(json_up_to(PICTURES_BODY))
async def create_export(given: ExportIn, caller: Reader, services: WithServices, request: Request) -> Export:
    """Says where the file is to be fetched. A `zip` wants the scope `download`, too."""
    exports = _exports(services, caller, request)
    name, listed = await services.pool.run_stoppable(exports.choose, given)
    return await services.thumbnails.aside.run(exports.create, given, name, listed)


@exports_router.get(
    "/exports/{id}",
    summary="The file of an export",
    response_class=StreamingResponse,
    responses={**responses(404), **_FILE},
)
async def get_export(id: ExportId, caller: Reader, services: WithServices, request: Request) -> StreamingResponse:
    """Made while it is sent. Pictures whose files are gone are told in a text in the archive.

    If a file goes or changes in the middle of it the connection is cut: what has come is no whole archive.
    """
    made = await services.thumbnails.aside.run(_exports(services, caller, request).open, id)
    headers = {"Content-Disposition": name_attachment(made.name)}
    if made.bytes is not None:
        headers["Content-Length"] = str(made.bytes)
    return StreamingResponse(_send(services, made.pieces), media_type=made.media_type, headers=headers)


async def _send(services: Services, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """A piece at a time, each in a thread of its own, so that a client that reads slowly holds none."""
    while piece := await services.thumbnails.aside.run(join_pieces, pieces):
        yield piece


def join_pieces(pieces: Iterator[bytes], least: int = PIECE) -> bytes:
    """The next pieces as one, of at least so many bytes while there are more; b"" at the end.

    >>> join_pieces(iter([b"ab", b"c", b"def"]), 3)
    b'abc'
    """
    joined = bytearray()
    for piece in pieces:
        joined += piece
        if len(joined) >= least:
            break
    return bytes(joined)
