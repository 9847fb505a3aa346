"""Pictures over HTTP: facts, small copies, original files, similar pictures, regions that answer words; uploads."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import IntEnum
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header, Path, Query, Request, Response
from fastapi.responses import FileResponse
from pydantic import StringConstraints
from starlette.responses import MalformedRangeHeader

from viewfinder.library import Library
from viewfinder.server.access.bodies import ENVELOPE, WORDY_BODY, json_up_to, takes_body
from viewfinder.server.access.tokens import Admin, Reader, Writer
from viewfinder.server.conversations.schemas import Fields
from viewfinder.server.pictures.library import browse_pictures as browse
from viewfinder.server.pictures.library import (
    describe_picture,
    find_original,
    find_picture,
    find_similar,
    is_in_library,
    picture_gone,
)
from viewfinder.server.pictures.names import name_attachment
from viewfinder.server.pictures.schemas import (
    AddedPicture,
    Addresses,
    Browsed,
    BrowseIn,
    Looked,
    PictureDetails,
    PicturesIn,
    Placeholders,
    PlaceholdersIn,
    RemovedPicture,
    Seen,
    SeenIn,
    SimilarPictures,
    Upload,
    WhereInPicture,
)
from viewfinder.server.pictures.thumbnails import PictureSource
from viewfinder.server.pictures.uploads import FILE_BODY, keep_for_adding, pictures_folder, receive_file
from viewfinder.server.problems import responses
from viewfinder.server.services import Services, WithServices, WithSigner, make_router

router = make_router("pictures")


class Size(IntEnum):
    """Pixels of a small copy's longer side; 16 is a placeholder."""

    PLACEHOLDER = 16
    TINY = 160
    SMALL = 320
    MEDIUM = 640
    LARGE = 1280


PictureId = Annotated[str, Path(max_length=64, description="the id of a picture, as results have it")]
UploadId = Annotated[str, Path(max_length=64, description="what `POST /uploads` answered")]
AskedSize = Annotated[Size, Query(description="pixels of the longer side")]
Known = Annotated[str | None, Header(alias="If-None-Match", max_length=2000)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=300)]

_IMAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the copy",
        "content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}, "image/webp": {}},
    },
    304: {"description": "the copy that you have is still right"},
}
_FILE: dict[int | str, dict[str, Any]] = {
    304: {"description": "the file that you have is still right"},
    200: {"description": "the file", "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}},
    206: {"description": "the part asked for"},
    416: {"description": "the file has no such part"},
}


@router.post("/pictures/placeholders", summary="Tiny copies of many pictures at once")
async def placeholders(given: PlaceholdersIn, caller: Reader, services: WithServices) -> Placeholders:
    """Only those that exist: the first thumbnail of a picture makes one."""
    return Placeholders(placeholders=await services.pool.run(services.thumbnails.read_placeholders, given.ids))


@router.post("/pictures/seen", summary="What is in some pictures, in a few words")
async def seen_in_pictures(given: SeenIn, caller: Reader, services: WithServices) -> Seen:
    """For alternative texts of pictures without a caption: a name from the catalogue, or what is seen in them."""
    from viewfinder.server.pictures.seen import list_seen

    return Seen(seen=await services.pool.run(list_seen, services.library, given.ids))


@router.post("/pictures/addresses", summary="The addresses of pictures, for pages of other origins")
async def picture_addresses(given: PicturesIn, caller: Reader, services: WithServices, signer: WithSigner) -> Addresses:
    """For who came with a bearer token they are signed, and need none: when those of results have ended, and for
    pictures that are named elsewhere (examples of a question, other pictures of a product)."""
    ids = list(dict.fromkeys(given.ids))
    if signer is None:
        return Addresses(thumbnails={id: f"/api/v1/pictures/{quote(id, safe='')}/thumbnail" for id in ids}, until=None)
    signed = await services.pool.run(lambda: {id: signer.sign_thumbnail(id) for id in ids})
    return Addresses(thumbnails=signed, until=datetime.fromtimestamp(signer.until, UTC))


@router.get("/pictures/{picture}", summary="The facts of a picture", responses=responses(404))
async def picture_details(
    picture: PictureId, caller: Reader, services: WithServices, request: Request
) -> PictureDetails:
    """Facts of the file, captions, catalogue, and what the encoder sees."""
    originals = caller.may_download(services.settings)
    paths = "admin" in caller.scopes and request.state.head.is_local
    return await services.pool.run(describe_picture, services.library, picture, originals=originals, paths=paths)


@router.delete("/pictures/{picture}", summary="Forget a picture", status_code=202, responses=responses(404))
async def remove_picture(picture: PictureId, caller: Admin, services: WithServices) -> RemovedPicture:
    """A job does it. A file below a root of the server stays; one sent over HTTP is deleted, and all copies."""
    await services.pool.run(find_picture, services.library, picture)
    job = await services.pool.run(services.jobs.submit, "remove", {"pictures": picture})
    return RemovedPicture(job=job.id)


@router.get(
    "/pictures/{picture}/thumbnail",
    summary="A small copy of a picture",
    response_class=Response,
    responses={**responses(404, 410), **_IMAGE},
)
async def picture_thumbnail(
    picture: PictureId,
    caller: Reader,
    services: WithServices,
    size: AskedSize = Size.SMALL,
    if_none_match: Known = None,
) -> Response:
    """A picture's id is the hash of its content, so a copy never changes; never larger than the picture."""
    ready = await services.pool.run(services.thumbnails.find_copy, picture, size)
    return await _respond_copy(ready, f"{picture}-{int(size)}", size, if_none_match, services)


class OriginalFile(FileResponse):
    """A file, or parts of it; a malformed Range is ignored, as RFC 9110 (14.2) has it."""

    @classmethod
    def _parse_range_header(cls, http_range: str, file_size: int) -> list[tuple[int, int]]:
        try:
            return super()._parse_range_header(http_range, file_size)
        except MalformedRangeHeader:
            return []


@router.get(
    "/pictures/{picture}/original",
    summary="The file itself",
    response_class=FileResponse,
    responses={**responses(404, 410), **_FILE},
)
async def picture_original(
    picture: PictureId,
    caller: Reader,
    services: WithServices,
    download: Annotated[bool, Query(description="to be saved under its own name, not shown")] = False,
    if_none_match: Known = None,
) -> Response:
    """The first of its files that still is the picture, for callers with the scope `download` too.

    A server started with `--originals` gives files to all who may read.
    """
    caller.check_download(services.settings)
    found = await services.thumbnails.aside.run(find_original, services.library, picture)
    # Of two files with the same pixels, one may have other keywords: its bytes are another version.
    headers = {"ETag": f'"{found.content}"', "Cache-Control": "private, no-cache"}
    headers = _cache_headers(picture) if found.content == picture else headers
    if _has_version(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = name_attachment(found.name, inline=not download)
    return OriginalFile(found.path, media_type=found.media_type, headers=headers)


@router.post("/pictures/browse", summary="Look around")
@takes_body(json_up_to(WORDY_BODY))
async def browse_pictures(given: BrowseIn, caller: Reader, services: WithServices, signer: WithSigner) -> Browsed:
    """A page of pictures in no particular order, under filters if there are any."""
    where = await services.pool.run(services.kept.read, given.where, caller.token, new=True)
    return await services.pool.run(browse, services.library, given.model_copy(update={"where": where}), signer)


@router.get("/pictures/{picture}/similar", summary="The pictures most like one", responses=responses(404))
async def similar_pictures(
    picture: PictureId,
    caller: Reader,
    services: WithServices,
    signer: WithSigner,
    n: Annotated[int, Query(ge=1, le=500)] = 20,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,9}$", description="`next` of the page before")] = None,
    fields: Fields = (),
) -> SimilarPictures:
    """By what it looks like; the picture itself is left out."""
    return await services.pool.run(
        find_similar, services.library, picture, n=n, start=int(cursor or 0), fields=fields, signer=signer
    )


@router.get(
    "/pictures/{picture}/where", summary="Which regions of a picture answer which words", responses=responses(404, 410)
)
async def where_in_picture(
    picture: PictureId,
    caller: Reader,
    services: WithServices,
    text: Annotated[list[Words], Query(min_length=1, max_length=8, description="one or more, each by itself")],
) -> WhereInPicture:
    """A grid of regions with weights that add up to 1, for each text; the first look at a picture takes longest."""
    at_once = await services.pool.run(_ground, services.library, picture, tuple(text), only_known=True)
    if at_once is not None:
        return at_once
    looked = await services.thumbnails.looking.run(_ground, services.library, picture, tuple(text), only_known=False)
    assert looked is not None
    return looked


def _ground(library: Library, picture: str, texts: tuple[str, ...], *, only_known: bool) -> WhereInPicture | None:
    """The regions of a picture for each text; None if `only_known` and the picture was not looked at before."""
    from viewfinder.search.grounding import GROUNDER  # few look that closely

    gallery, row = find_picture(library, picture)
    if not GROUNDER.has_crops(gallery, picture):
        if only_known:
            return None
        if next(gallery.snapshot.files_there(row), None) is None:
            raise picture_gone(picture)
    looked = GROUNDER.ground(gallery, picture, texts)
    weights = zip(texts, looked.weights_tr.astype(float).round(5).tolist(), strict=True)
    return WhereInPicture(
        id=picture,
        boxes=looked.boxes_r4.astype(float).round(4).tolist(),
        texts=[Looked(text=text, weights=weights_r) for text, weights_r in weights],
    )


@router.post(
    "/pictures",
    summary="Add a picture to the library",
    status_code=202,
    responses=responses(415),
    openapi_extra=FILE_BODY,
)
@takes_body(lambda settings: settings.upload_bytes + ENVELOPE)
async def add_picture(request: Request, caller: Admin, services: WithServices) -> AddedPicture:
    """It is checked and kept at once; a job adds it. `job` is null if the library has it already."""
    settings, folder = services.settings, pictures_folder(services.library)
    given = await receive_file(request, folder, settings.upload_bytes, services.pool)
    picture, name = await services.thumbnails.aside.run(keep_for_adding, services.library, given, settings)
    job = None if name is None else await services.pool.run(services.jobs.submit, "add", {"uploaded": name})
    return AddedPicture(picture=picture, job=None if job is None else job.id)


@router.post(
    "/uploads",
    summary="Send an image of one's own, to be shown to the search",
    status_code=201,
    responses=responses(415),
    openapi_extra=FILE_BODY,
)
@takes_body(lambda settings: settings.upload_bytes + ENVELOPE)
async def upload(request: Request, caller: Writer, services: WithServices, signer: WithSigner) -> Upload:
    """It does not join the library. When a token has too many, its oldest are forgotten."""
    uploads = services.uploads
    given = await receive_file(request, uploads.folder, services.settings.upload_bytes, services.pool)
    row = await services.thumbnails.aside.run(uploads.accept, given, caller)
    may_read = "read" in caller.scopes
    known = await services.pool.run(is_in_library, services.library, row.picture) if may_read else None
    address = f"/api/v1/uploads/{row.id}/thumbnail"
    signed = await services.pool.run(signer.sign, address) if signer is not None and may_read else None
    return Upload.model_validate({**vars(row), "known": known, "thumbnail": signed})


@router.get(
    "/uploads/{upload}/thumbnail",
    summary="A small copy of an upload",
    response_class=Response,
    responses={**responses(404, 410), **_IMAGE},
)
async def upload_thumbnail(
    upload: UploadId, caller: Reader, services: WithServices, size: AskedSize = Size.SMALL, if_none_match: Known = None
) -> Response:
    """Only of the caller's own uploads."""
    row = await services.pool.run(services.uploads.get, upload, caller)
    source = services.uploads.make_source(row)
    ready = await services.pool.run(services.thumbnails.read_copy, source, size) or source
    return await _respond_copy(ready, f"{row.picture}-{int(size)}", size, if_none_match, services)


@router.delete(
    "/uploads/{upload}", summary="Forget an upload", status_code=204, response_class=Response, responses=responses(404)
)
async def delete_upload(upload: UploadId, caller: Writer, services: WithServices) -> None:
    """Turns that showed it report that when they are read again."""
    await services.pool.run(services.uploads.delete, upload, caller)


async def _respond_copy(
    ready: bytes | PictureSource, name: str, size: Size, if_none_match: str | None, services: Services
) -> Response:
    """A small copy that exists, or is made now; 304 if the client has it."""
    headers = _cache_headers(name)
    if _has_version(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    content = ready if isinstance(ready, bytes) else await services.thumbnails.make_copy(ready, size)
    return Response(content, media_type="image/webp" if size == Size.PLACEHOLDER else "image/jpeg", headers=headers)


def _cache_headers(name: str) -> dict[str, str]:
    """Headers of content that never changes under its name."""
    return {"ETag": f'"{name}"', "Cache-Control": "private, max-age=31536000, immutable"}


def _has_version(if_none_match: str | None, tag: str) -> bool:
    """Whether a client has this version already, by its If-None-Match header (a star stands for any)."""
    tags = (if_none_match or "").split(",")
    return any(known.strip().removeprefix("W/") in (tag, "*") for known in tags)
