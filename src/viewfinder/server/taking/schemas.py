"""Albums, marks and exports over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from viewfinder.server.conversations.schemas import Hit, Id, Name, Number, Strict

MAX_PICTURES = 10_000
"""Pictures in one request, and in one export."""

AlbumName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]
Pictures = Annotated[list[Id], Field(max_length=MAX_PICTURES)]
Stars = Annotated[int, Field(ge=0, le=5)]


class AlbumIn(Strict):
    """An album's name; no other of yours has it."""

    name: AlbumName


class Album(BaseModel):
    """An album. Pictures that have left the library are `missing`; they are in it again once they come back.

    `cover` is the first of its pictures. `own`: whether it is the caller's; admins see those of others, too.
    """

    id: str
    name: str
    created: datetime
    updated: datetime
    pictures: int
    missing: int
    cover: str | None
    own: bool


class AlbumList(BaseModel):
    """Albums, the last changed first."""

    albums: list[Album]


class AlbumPage(Album):
    """An album with a page of its pictures, in the order in which they were added."""

    results: list[Hit]
    total: int
    next: str | None = Field(description="give it as `cursor` for more; null: no more")


class AlbumPicturesIn(Strict):
    """Pictures to take out of an album, and to put into it after those that are there."""

    add: Pictures = Field(default_factory=list)
    remove: Pictures = Field(default_factory=list)


class AlbumChanged(Album):
    """An album after a change: how many pictures were put in and taken out; `unknown` are not in the library."""

    added: int
    removed: int
    unknown: list[str]


class MarksIn(Strict):
    """What you think of pictures: stars from 1 to 5, 0 takes them away; what is null or left out stays as it is."""

    pictures: Annotated[list[Id], Field(min_length=1, max_length=MAX_PICTURES)]
    favourite: bool | None = None
    stars: Stars | None = None


class Mark(BaseModel):
    """What you think of a picture, and the ids of your albums in which it is."""

    favourite: bool
    stars: int = Field(description="1 to 5; 0: none")
    albums: list[str]


class Marks(BaseModel):
    """The marks of pictures, by their ids; `unknown`: those to be marked that the library does not have."""

    marks: dict[str, Mark]
    unknown: list[str] = []


class OpenIn(Strict):
    """`open`: show the picture in the system's own program; `folder`: show where it lies."""

    how: Literal["open", "folder"]


ExportKind = Literal["zip", "csv", "json", "xmp"]


class ExportIn(Strict):
    """What to take along: `pictures` by their ids, an `album`, or the `n` best of a conversation after a `turn` (by
    default the newest).

    `as`: the files themselves in a `zip`; a table (`csv`) or document (`json`) of what is known of them, with all
    columns or only these `fields`; or an `xmp` file for each, in a ZIP, as other programs for photographs read them.
    """

    pictures: Annotated[list[Id], Field(min_length=1, max_length=MAX_PICTURES)] | None = None
    session: Id | None = None
    turn: Number | None = None
    n: Annotated[int, Field(ge=1, le=MAX_PICTURES)] | None = None
    album: Id | None = None
    kind: ExportKind = Field(alias="as")
    fields: Annotated[list[Name], Field(min_length=1, max_length=500)] | None = None


class Export(BaseModel):
    """A file to fetch at `address` within a day. `missing` pictures are not in the library (any more)."""

    id: str
    address: str
    name: str = Field(description="the name of the file")
    pictures: int
    missing: int
    bytes: int | None = Field(description="its size; null where that is only known once it is made")
