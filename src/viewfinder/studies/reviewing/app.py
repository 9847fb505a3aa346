"""The app of `viewfinder review`: dialogues, their pictures, and decisions, guarded as the server is.

No part of the API over a library. Turns are as their file has them, decisions as their journal has them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi import Path as InPath
from pydantic import BaseModel, Field, StringConstraints

from viewfinder import __version__
from viewfinder.data import chatsearch
from viewfinder.data.chatsearch import (
    ChatSample,
    Review,
    Role,
    Subtask,
    Verdict,
    dump_turns,
    parse_turns,
    write_chatsearch,
)
from viewfinder.scratch import scratch_folder
from viewfinder.server import monitoring, problems
from viewfinder.server.access import routes as login
from viewfinder.server.access.bodies import receive_json, takes_body
from viewfinder.server.access.gate import Access
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import Caller, Reader, ReaderWriter, Tokens
from viewfinder.server.conversations.schemas import NO_NUL, Name, Strict, Text
from viewfinder.server.database import Database, TokenRows
from viewfinder.server.pages import install_pages
from viewfinder.server.problems import responses
from viewfinder.server.services import BaseServices, make_router
from viewfinder.server.settings import ServerSettings, database_url
from viewfinder.studies.extension import STATIC
from viewfinder.studies.reviewing.reviews import Reviews, make_small_copy, open_reviews


@dataclass(frozen=True)
class ReviewServices(BaseServices):
    """`aside` reads pictures: a decision waits for none of them. `scratch` is a folder that goes when the app ends."""

    reviews: Reviews
    aside: ThreadPool
    scratch: Path


async def _review_services(request: Request) -> ReviewServices:
    found = request.app.state.services
    assert isinstance(found, ReviewServices)
    return found


WithReviewServices = Annotated[ReviewServices, Depends(_review_services)]
"""`ReviewServices`, as a route asks for them."""

TurnText = Annotated[str, StringConstraints(min_length=1, max_length=10_000, pattern=NO_NUL)]
PicturePath = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=NO_NUL)]


class TextPart(Strict):
    """Words of a turn."""

    text: TurnText


class PicturePart(Strict):
    """A picture of a turn: its path in the folder of pictures."""

    image: PicturePath


class SpokenTurn(Strict):
    """The words and pictures of one side, in order."""

    role: Role
    content: Annotated[list[TextPart | PicturePart], Field(min_length=1, max_length=100)]


class Line(BaseModel):
    """A dialogue in the list. `pipeline`: which one made it, as far as it says so."""

    id: str
    subtask: Subtask
    pipeline: str
    verdict: Verdict | None = Field(description="null: not decided yet")


class Overview(BaseModel):
    """All dialogues of the file, in its order."""

    file: str = Field(description="its last name")
    dialogues: list[Line]


class DecisionOut(BaseModel):
    """A person's decision; `turns` of a rewritten dialogue hold its new words."""

    verdict: Verdict
    turns: list[SpokenTurn]
    note: str
    by: str


class DialogueOut(BaseModel):
    """A dialogue as it was made, the picture that is meant, how it was made, and what was decided."""

    id: str
    subtask: Subtask
    turns: list[SpokenTurn]
    target: str
    source: dict[str, Any]
    review: DecisionOut | None


class DecisionIn(Strict):
    """A decision. `turns` only with the verdict rewritten: the same speakers and pictures, other words.

    `before`: what had been decided when the person looked; where that is another by now, nothing is noted (409).
    """

    verdict: Verdict
    turns: Annotated[list[SpokenTurn], Field(max_length=200)] = Field(default_factory=list)
    note: Text = ""
    by: Name = ""
    before: Verdict | None


router = make_router("review", prefix="/api/v1/review")


class CopySize(IntEnum):
    """Pixels of a small copy's longer side."""

    SMALL = 320
    MEDIUM = 640
    LARGE = 1280


DialogueId = Annotated[str, InPath(max_length=1000, description="the id of a dialogue")]
PictureName = Annotated[str, InPath(max_length=4096, description="a picture, as a dialogue names it")]
AskedSize = Annotated[CopySize, Query(description="pixels of the longer side")]


@router.get("", summary="All dialogues, and what was decided")
async def overview(caller: Reader, services: WithReviewServices) -> Overview:
    """In the order of their file."""
    lines = [
        Line(
            id=sample.id,
            subtask=sample.subtask,
            pipeline=str(sample.source.get("pipeline", "")),
            verdict=review and review.verdict,
        )
        for sample, review in services.reviews.all()
    ]
    return Overview(file=services.reviews.file.name, dialogues=lines)


@router.get("/kept", summary="What was accepted or rewritten, as a file")
async def kept(caller: Reader, services: WithReviewServices) -> Response:
    """Chat-search JSON lines, as `viewfinder review --write` writes them."""
    # For a header: nothing but what every system takes in a name.
    name = re.sub(r"[^A-Za-z0-9._-]", "_", services.reviews.file.name.removesuffix(".jsonl"))
    headers = {"Content-Disposition": f'attachment; filename="{name}.reviewed.jsonl"'}
    return Response(await services.pool.run(_write_kept, services), media_type="application/jsonl", headers=headers)


@router.get("/dialogues/{id:path}", summary="A dialogue", responses=responses(404))
async def dialogue(id: DialogueId, caller: Reader, services: WithReviewServices) -> DialogueOut:
    """As it was made, and what was decided about it."""
    return _show_dialogue(*services.reviews.sample(id))


@router.put("/dialogues/{id:path}", summary="Decide about a dialogue", responses=responses(404, 409, 415))
@takes_body(lambda settings: settings.body_bytes)
async def decide(id: DialogueId, request: Request, caller: ReaderWriter, services: WithReviewServices) -> DialogueOut:
    """Answers once the decision is on the disk. Earlier decisions stay in the journal, and do not count any more."""
    given = await receive_json(request, DecisionIn, services.pool)
    await services.pool.run(_note_decision, services, id, given, caller)
    return _show_dialogue(*services.reviews.sample(id))


@router.get("/pictures/{name:path}", summary="A small copy of a picture", responses=responses(404))
async def picture(
    name: PictureName, caller: Reader, services: WithReviewServices, size: AskedSize = CopySize.MEDIUM
) -> Response:
    """Only of pictures that a dialogue names."""
    file = services.reviews.picture(name)
    content = await services.aside.run(make_small_copy, file, size, services.scratch)
    return Response(content, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=60"})


def _show_dialogue(sample: ChatSample, review: Review | None) -> DialogueOut:
    return DialogueOut(
        id=sample.id,
        subtask=sample.subtask,
        turns=_show_turns(sample.turns),
        target=sample.target,
        source=dict(sample.source),
        review=review
        and DecisionOut(verdict=review.verdict, turns=_show_turns(review.turns), note=review.note, by=review.by),
    )


def _show_turns(turns: tuple[chatsearch.ChatTurn, ...]) -> list[SpokenTurn]:
    return [SpokenTurn.model_validate(turn) for turn in dump_turns(turns)]


def _note_decision(services: ReviewServices, id: str, given: DecisionIn, caller: Caller) -> None:
    turns = parse_turns([turn.model_dump() for turn in given.turns], f"dialogue {id}") if given.turns else ()
    by = given.by or services.tokens.find_name(caller) or ""
    services.reviews.decide(Review(id, given.verdict, turns, given.note, by), given.before)


def _write_kept(services: ReviewServices) -> bytes:
    with tempfile.TemporaryDirectory(dir=services.scratch) as folder:
        file = Path(folder) / "kept.jsonl"
        write_chatsearch(file, services.reviews.kept())
        return file.read_bytes()


PAGES = {"review.html": ("/",)}


def create_app(
    file: Path,
    images: Path | None,
    settings: ServerSettings,
    library_folder: Path,
    notify: Callable[[str], None] = lambda line: None,
) -> FastAPI:
    """The app over one file of dialogues. Nothing is opened before it starts.

    Where other machines can reach it, the tokens of the server over `library_folder` are those that are good here.

    Raises (when it starts):
        BadInput: as `open_reviews`.
        DatabaseError: the database of the tokens cannot be reached.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with (
            open_reviews(file, images, notify) as reviews,
            scratch_folder("review") as scratch,
        ):
            # Where no token is needed, nothing is left in a library.
            folder = library_folder if settings.needs_tokens else scratch
            database = Database.open(database_url(folder, settings))
            tokens = Tokens(TokenRows(database), settings)
            services = ReviewServices(settings, ThreadPool(settings.threads), tokens, reviews, ThreadPool(2), scratch)
            app.state.services = services
            try:
                yield
            finally:
                services.pool.close()
                services.aside.close()
                database.close()

    app = FastAPI(
        title="Viewfinder review",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    problems.install_problems(app)
    app.add_middleware(Access, services_of=lambda: getattr(app.state, "services", None))
    app.include_router(router)
    app.include_router(login.router)
    app.add_api_route("/api/v1/health/live", monitoring.live, methods=["GET"])
    install_pages(app, {STATIC: PAGES})
    return app
