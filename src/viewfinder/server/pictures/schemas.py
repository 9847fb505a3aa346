"""Pictures, the collection and its jobs over HTTP. No path but a file's last name."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from viewfinder.server.conversations.schemas import Card, Filters, Hit, Id, Name, Strict, Text


class Facts(BaseModel):
    """Facts that a file has of itself; null where it has none."""

    width: int
    height: int
    format: str
    bytes: int
    captured: str | None
    camera: str | None
    folder: str | None = Field(description="the last name of the folder it lies in")


class KnownFact(BaseModel):
    """What a file or a sidecar says of a picture; `source` names the field, or the sidecar."""

    name: str
    values: list[str]
    source: str


class PictureDetails(BaseModel):
    """The facts of a picture.

    `attributes`: its values in the catalogue. `known`: what its files say of it: keywords, rating, place and so on.
    `tags`: seen by the encoder: group -> the likeliest answer, its chance.
    """

    id: str
    names: list[str] = Field(description="last names of the files that hold it")
    facts: Facts
    captions: list[str]
    attributes: dict[str, list[str]]
    known: list[KnownFact]
    tags: dict[str, tuple[str, float]]
    original: bool = Field(description="whether the file itself may be fetched")


class SimilarPictures(BaseModel):
    """The pictures most like one, without itself."""

    results: list[Hit]
    next: str | None


class BrowseIn(Strict):
    """The pictures to browse."""

    where: Filters = Field(default_factory=dict)
    n: int = Field(60, ge=1, le=500)
    cursor: str | None = Field(None, pattern=r"^[0-9]{1,9}$")


class Browsed(BaseModel):
    """Pictures in no particular order; `total` counts those that meet the filters."""

    pictures: list[Card]
    total: int
    next: str | None = Field(description="give it as `cursor` for more; null: no more")


class Looked(BaseModel):
    """How much each region answers a text; the weights add up to 1."""

    text: str
    weights: list[float]


class WhereInPicture(BaseModel):
    """The regions of a picture that answer words. `boxes`: [x0, y0, x1, y1] as shares of width and height."""

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
    """The user's own image, to be shown to the search by its `id`; `picture` is the hash of its content."""

    id: str
    picture: str
    width: int
    height: int
    bytes: int
    created: datetime
    known: bool | None = Field(
        description="whether the library holds this very picture; null for a token that may not read"
    )


class AddedPicture(BaseModel):
    """A picture on its way into the library, and the job that takes it there (null: it was there already)."""

    picture: str
    job: str | None


State = Literal["queued", "running", "paused", "done", "failed", "cancelled"]


class Root(BaseModel):
    """A folder of the server below which pictures may be added; `name` is its last name."""

    number: int
    name: str


class Collection(BaseModel):
    """The library at a glance."""

    pictures: int
    failures: int
    columns: list[str] = Field(description="names of columns to filter by")
    examples: list[str] = Field(description="short descriptions to begin with, by its captions or catalogue")
    encoder: str
    encoders: list[str] = Field(description="all encoders that the library has vectors of, this one first")
    space: str | None
    originals: bool
    roots: list[Root]
    jobs: int = Field(description="jobs that wait or run")


class AddFolder(Strict):
    """Add the pictures in a folder below one of the server's roots."""

    root: int = Field(0, ge=0, le=1000)
    folder: Text = Field("", description="relative to the root, with / between names")


class PrepareIn(Strict):
    """Make the regions that a retriever reads of the pictures, which takes as long as adding them did."""

    retriever: Name


class Job(BaseModel):
    """A job. `eta_s`: seconds that are left, by the speed so far; null where that is not known."""

    id: str
    kind: Literal["add", "prepare", "remove"]
    what: dict[str, Any]
    state: State
    done: int
    total: int | None
    eta_s: float | None
    report: dict[str, Any] | None
    error: str | None
    created: datetime
    started: datetime | None
    ended: datetime | None


class RemovedPicture(BaseModel):
    """The job that removes a picture."""

    job: str


class JobPage(BaseModel):
    """Jobs, the newest first."""

    jobs: list[Job]


class FailedFile(BaseModel):
    """A file that could not become a picture: its last name, and why."""

    name: str
    reason: str


class Failures(BaseModel):
    """Files in quarantine."""

    failures: list[FailedFile]
    total: int
    next: str | None


class FacetValue(BaseModel):
    """A value of a column, and how many pictures have it (under the filters given)."""

    value: str
    count: int


class NumberRange(BaseModel):
    """The smallest and the largest of some numbers."""

    low: float
    high: float


class Facet(BaseModel):
    """A column to filter by. `values`: the most frequent first; `more`: how many are left out.

    `range`: of a column of numbers, the least and the greatest (under the filters given); a filter may be `10..50`.
    """

    column: str
    values: list[FacetValue]
    more: int
    range: NumberRange | None = None


class Facets(BaseModel):
    """Filters with counts."""

    total: int = Field(description="pictures under the filters given")
    facets: list[Facet]


class FacetsIn(Strict):
    """Filters that are set."""

    where: Filters = Field(default_factory=dict)


class RetrieverInfo(BaseModel):
    """A retriever. `ready`: nothing has to be prepared; `missing`: pictures whose regions have yet to be made.

    `problem`: why it cannot be used with this library, if it cannot. `reads`: what else it reads with a picture that is
    picked: "attributes", which can be looked at and changed (`GET /retrievers/{name}/attributes`). `leaning`: how much
    it leans to pictures by itself when it decides whether to answer in words; null: it does not speak.
    """

    name: str
    needs: list[str]
    reads: list[Literal["attributes"]]
    leaning: float | None
    ready: bool
    missing: int
    problem: str | None


class Retrievers(BaseModel):
    """The retrievers of a server."""

    retrievers: list[RetrieverInfo]
    default: str


class QuestionerInfo(BaseModel):
    """A questioner. `problem`: why it cannot be used here, if it is not `ready`."""

    name: str
    ready: bool
    problem: str | None


class Questioners(BaseModel):
    """The questioners of a server."""

    questioners: list[QuestionerInfo]
    default: str


class Version(BaseModel):
    """The version of viewfinder, and of its API."""

    viewfinder: str
    api: Literal["v1"] = "v1"


class Health(BaseModel):
    """Whether the server lives, or is ready to answer; `checks` names the part that is not."""

    ok: bool
    checks: dict[str, str]
