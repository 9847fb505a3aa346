"""Albums, favourites and stars, as an assistant lists and changes them: those of whoever has its token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewfinder.mcp import schemas
from viewfinder.mcp.looking import draw_hits
from viewfinder.server.problems import Problem
from viewfinder.server.taking import schemas as api
from viewfinder.server.taking.keeping import Kept

if TYPE_CHECKING:
    from viewfinder.mcp.visit import Output, Visit

MAX_TOLD = 10
"""Names of albums in the line that says there is none of another name."""


def keep(visit: Visit) -> Kept:
    """What the caller keeps."""
    return Kept(visit.services.library, visit.services.database, visit.caller)


def read_kept(visit: Visit, picture: str) -> tuple[api.Mark, list[str]]:
    """How the caller has marked a picture, and the names of their albums in which it is."""
    kept = keep(visit)
    return kept.read_marks([picture])[picture], kept.name_albums([picture]).get(picture, [])


async def list_albums(visit: Visit, given: schemas.AlbumsIn) -> Output:
    """The albums that the caller may see."""
    albums = await visit.services.pool.run(keep(visit).list_albums)
    return schemas.AlbumList(albums=[_tell(album) for album in albums]), ()


async def open_album(visit: Visit, given: schemas.AlbumIn) -> Output:
    """Some pictures of an album, from a place on."""

    def read() -> api.AlbumPage:
        kept = keep(visit)
        return kept.show_album(_find(kept, given.album).id, given.n, given.after)

    page = await visit.services.pool.run(read)
    pictures = [schemas.Held(number=it.rank, id=it.id, name=it.name, caption=it.caption) for it in page.results]
    made = schemas.AlbumPictures(**_tell(page).model_dump(), shown=pictures, more=page.next)
    return made, await draw_hits(visit, page.results) if given.sheet else ()


async def change_album(visit: Visit, given: schemas.AlbumChangeIn) -> Output:
    """Puts pictures in and takes pictures out; makes the album first, if that is asked for and it is not there."""

    def change() -> schemas.AlbumChanged:
        kept = keep(visit)
        album = kept.find_album(given.album)
        made = album is None and given.make
        if album is None:
            album = kept.create_album(given.album) if made else _find(kept, given.album)
        changed = kept.change_album(album.id, api.AlbumPicturesIn(add=given.add, remove=given.remove))
        return schemas.AlbumChanged(
            **_tell(changed).model_dump(),
            made=made,
            added=changed.added,
            removed=changed.removed,
            unknown=changed.unknown,
        )

    return await visit.services.pool.run(change), ()


async def mark(visit: Visit, given: schemas.MarkIn) -> Output:
    """Marks pictures for the caller."""
    asked = api.MarksIn(pictures=given.pictures, favourite=given.favourite, stars=given.stars)
    marks = await visit.services.pool.run(keep(visit).mark, asked)
    told = {id: schemas.Mark(favourite=it.favourite, stars=it.stars) for id, it in marks.marks.items()}
    return schemas.Marked(marks=told, unknown=marks.unknown), ()


def _find(kept: Kept, album: str) -> api.Album:
    """The album of this id or name.

    Raises:
        Problem: there is none, or several have names that differ in capitals only.
    """
    if (found := kept.find_album(album)) is not None:
        return found
    names = [repr(it.name) for it in kept.list_albums()]
    there = ", ".join(names[:MAX_TOLD]) + (", ..." if len(names) > MAX_TOLD else "")
    detail = f"there is no album {album!r}; " + (f"there are: {there}" if names else "there are none yet")
    raise Problem(404, "not-found", f"{detail}; `change_album` with `make` makes one")


def _tell(album: api.Album) -> schemas.AlbumTold:
    return schemas.AlbumTold(
        id=album.id, name=album.name, pictures=album.pictures, updated=album.updated.isoformat(timespec="seconds")
    )
