"""Pictures, the collection and its jobs over HTTP. No path but a file's last name."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from viewfinder.server.conversations.schemas import Card, FieldNames, Filters, Hit, Id, Name, Strict, Text


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
    """What a file, a sidecar or a `machine` says of a picture; `source` names the field, the sidecar or the model.

    The values of "text boxes" say where the lines of "text" stand: left, top, right, bottom (0 to 1), confidence, text.
    """

    name: str
    values: list[str]
    source: str
    machine: bool = False


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
    paths: list[str] = Field([], description="where its files lie: told to admins who sit at the server's machine")
    original: bool = Field(description="whether you may fetch the file itself")


class SimilarPictures(BaseModel):
    """The pictures most like one, without itself."""

    results: list[Hit]
    next: str | None


class BrowseIn(Strict):
    """The pictures to browse: mixed, or by the day they were taken, those without a date last."""

    where: Filters = Field(default_factory=dict)
    order: Literal["mixed", "newest", "oldest"] = "mixed"
    n: int = Field(60, ge=1, le=500)
    cursor: str | None = Field(None, pattern=r"^[0-9]{1,9}$")
    fold: bool = Field(
        False, description="of the pictures of one product, of one burst, or nearly the same, only the first is shown"
    )
    fields: FieldNames = Field(default_factory=list, description="columns whose values each picture has with it")


class DatedCard(Card):
    """A picture, and when it was taken; null where nothing tells. `others`: those that are folded behind it."""

    captured: str | None = None
    others: list[str] = Field(default_factory=list)


class Browsed(BaseModel):
    """Pictures, of which `total` meet the filters."""

    pictures: list[DatedCard]
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


class SeenIn(Strict):
    """Pictures of which it is asked what is in them."""

    ids: Annotated[list[Id], Field(max_length=100)]


class Seen(BaseModel):
    """What is in pictures, in a few words or a sentence each; those of which nothing is known are left out."""

    seen: dict[str, list[str]]


class PicturesIn(Strict):
    """Pictures whose addresses are wanted."""

    ids: Annotated[list[Id], Field(max_length=1000)]


class Addresses(BaseModel):
    """An address of the small copies of each picture asked for; those signed hold `until` then (null: for good)."""

    thumbnails: dict[str, str]
    until: datetime | None


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
    thumbnail: str | None = Field(None, description="as that of a result")


class AddedPicture(BaseModel):
    """A picture on its way into the library, and the job that takes it there (null: it was there already)."""

    picture: str
    job: str | None


State = Literal["queued", "running", "paused", "done", "failed", "cancelled"]


class Root(BaseModel):
    """A folder of the server below which pictures may be added; `name` is its last name."""

    number: int
    name: str


class Adding(BaseModel):
    """Pictures that are being added now, by a job or at a terminal.

    `done` files of `total` are dealt with (null: they are still being looked for), `failed` of them could not be read.
    `eta_s`: seconds that are left, by the speed so far; null where that is not known.
    """

    name: str = Field(description="what is added, by its last names")
    done: int
    total: int | None
    failed: int
    eta_s: float | None
    job: str | None = Field(description="the job that does it; null: somebody at a terminal, or not known")


class CollectionProgress(BaseModel):
    """How many pictures can be searched now, and what is being added."""

    pictures: int
    adding: Adding | None


class Collection(BaseModel):
    """The library at a glance."""

    pictures: int
    failures: int
    columns: list[str] = Field(description="names of columns to filter by")
    examples: list[str] = Field(description="short descriptions to begin with, by its captions or catalogue")
    encoder: str
    encoders: list[str] = Field(description="all encoders that the library has vectors of, this one first")
    space: str | None
    originals: bool = Field(description="whether you may fetch the files themselves")
    roots: list[Root]
    jobs: int = Field(description="jobs that wait or run")
    adding: Adding | None = Field(None, description="what is being added now")
    demo: bool = Field(False, description="whether the drawn pictures of the demo are among them")
    library_option: str | None = Field(
        None, description="what commands end in that mean this library, quoted; only for this machine's own user"
    )
    picks_folders: bool = Field(False, description="whether this caller may add any folder of this machine")


class AddFolder(Strict):
    """Add the pictures in a folder below one of the server's roots; or, on this machine, in any folder, by `path`."""

    root: int = Field(0, ge=0, le=1000)
    folder: Text = Field("", description="relative to the root, with / between names")
    path: Text | None = Field(None, description="absolute; only for this machine's own user")


class FolderInside(BaseModel):
    """A folder in another one. `at`: how to ask for it. `readable`: whether the server may look into it."""

    name: str
    at: str
    readable: bool


class Folders(BaseModel):
    """A folder as one walks through them: what is in it, and how many pictures there are to add.

    `at`: where it lies, relative to the root, or absolute (root: null). `above`: the folder that it lies in, null at
    the top. `pictures` below it, by their names; `more`: there are more, counting took too long. `places`: where
    pictures usually are. `left_out`: folders that are not listed because there are too many.
    """

    root: int | None
    at: str
    name: str
    above: str | None
    folders: list[FolderInside]
    left_out: int
    pictures: int
    more: bool
    places: list[FolderInside]


class PrepareIn(Strict):
    """Make the regions that a retriever reads of the pictures, which takes as long as adding them did."""

    retriever: Name


class DescribeIn(Strict):
    """Have pictures described that were not, the newest first; `text_only`: have the text in them read instead."""

    text_only: bool = False
    limit: int = Field(500, ge=1, le=1_000_000)


class Job(BaseModel):
    """A job. `eta_s`: seconds that are left, by the speed so far; null where that is not known."""

    id: str
    kind: Literal["add", "prepare", "remove", "describe"]
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
    """The retrievers of a server. `advised`: with which more was found than with the default among pictures like these;
    null: none.
    """

    retrievers: list[RetrieverInfo]
    default: str
    advised: str | None


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
