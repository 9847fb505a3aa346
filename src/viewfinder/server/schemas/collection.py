"""The collection over HTTP: what is in it, jobs that change it, filters with counts."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from viewfinder.server.schemas.sessions import Filters, Name, Strict, Text

State = Literal["queued", "running", "paused", "done", "failed", "cancelled"]


class Root(BaseModel):
    """A folder of the server below which pictures may be added; `name` is its last name."""

    number: int
    name: str


class Collection(BaseModel):
    """What the library holds."""

    pictures: int
    failures: int
    columns: list[str] = Field(description="names of columns to filter by")
    encoder: str
    space: str | None
    originals: bool
    roots: list[Root]
    jobs: int = Field(description="jobs that wait or run")


class AddFolder(Strict):
    """Add what lies in a folder below one of the server's roots."""

    root: int = Field(0, ge=0, le=1000)
    folder: Text = Field("", description="relative to the root, with / between names")


class PrepareIn(Strict):
    """Make what a retriever reads of the pictures (regions), which takes as long as adding them did."""

    retriever: Name


class Job(BaseModel):
    """A job. `eta_s`: seconds that are left, by the speed so far; null where that is not known."""

    id: str
    kind: Literal["add", "prepare"]
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


class Facet(BaseModel):
    """A column to filter by. `values`: the most frequent first; `more`: how many are left out."""

    column: str
    values: list[FacetValue]
    more: int


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
    """What reads a talk."""

    retrievers: list[RetrieverInfo]
    default: str


class QuestionerInfo(BaseModel):
    """A questioner. `problem`: why it cannot be used here, if it is not `ready`."""

    name: str
    ready: bool
    problem: str | None


class Questioners(BaseModel):
    """Who may ask back."""

    questioners: list[QuestionerInfo]
    default: str


class Version(BaseModel):
    """Which viewfinder this is, and which API."""

    viewfinder: str
    api: Literal["v1"] = "v1"


class Health(BaseModel):
    """Whether it lives, or is ready to answer; `checks` says which part is not."""

    ok: bool
    checks: dict[str, str]
