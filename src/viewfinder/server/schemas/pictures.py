"""Pictures over HTTP: facts, attributes, likenesses, uploads. No path but a file's last name."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from viewfinder.server.schemas.sessions import Card, Filters, Hit, Id, Strict


class Facts(BaseModel):
    """What the file says of itself; null where it says nothing."""

    width: int
    height: int
    format: str
    bytes: int
    captured: str | None
    camera: str | None
    folder: str | None = Field(description="the last name of the folder it lies in")


class PictureDetails(BaseModel):
    """All that is known of a picture.

    `attributes`: the catalogue's columns. `tags`: what the encoder sees: group -> the likeliest answer, its chance.
    """

    id: str
    names: list[str] = Field(description="last names of the files that hold it")
    facts: Facts
    captions: list[str]
    attributes: dict[str, list[str]]
    tags: dict[str, tuple[str, float]]
    original: bool = Field(description="whether the file itself may be fetched")


class SimilarPictures(BaseModel):
    """The pictures most like one, without itself."""

    results: list[Hit]
    next: str | None


class BrowseIn(Strict):
    """Which pictures to look around among."""

    where: Filters = Field(default_factory=dict)
    n: int = Field(60, ge=1, le=500)
    cursor: str | None = Field(None, pattern=r"^[0-9]{1,9}$")


class Browsed(BaseModel):
    """Pictures in no order that means anything; `total` under the filters."""

    pictures: list[Card]
    total: int
    next: str | None = Field(description="give it as `cursor` for more; null: no more")


class Looked(BaseModel):
    """How much each region answers one text: weights add up to 1."""

    text: str
    weights: list[float]


class WhereInPicture(BaseModel):
    """Which regions of a picture answer which words. `boxes`: [x0, y0, x1, y1] as shares of width and height."""

    id: str
    boxes: list[tuple[float, float, float, float]]
    texts: list[Looked]


class PlaceholdersIn(Strict):
    """Pictures whose tiny copies are wanted."""

    ids: Annotated[list[Id], Field(max_length=500)]


class Placeholders(BaseModel):
    """Tiny copies (data: URLs) of those of the pictures asked for that have one by now."""

    placeholders: dict[str, str]


class Upload(BaseModel):
    """An image of one's own, to be shown to the search by its `id`; `picture` is the hash of its content."""

    id: str
    picture: str
    width: int
    height: int
    bytes: int
    created: datetime
    known: bool = Field(description="whether the library holds this very picture")


class AddedPicture(BaseModel):
    """A picture on its way into the library, and the job that takes it there (null: it was there already)."""

    picture: str
    job: str | None
