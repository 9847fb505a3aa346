"""Dialogues under review (`viewfinder review`): which there are, what they show, what is decided. No part of the API
over a library."""

from __future__ import annotations

import tempfile
from enum import IntEnum
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi import Path as InPath

from viewfinder.data import chatsearch
from viewfinder.data.chatsearch import ChatSample, turns_of, turns_record, write_chatsearch
from viewfinder.data.review import Review
from viewfinder.server.access.caller import Caller, Reader, Writer
from viewfinder.server.problems import responses
from viewfinder.server.reviewing.copies import make_small_copy
from viewfinder.server.reviewing.services import ReviewServices, WithReviewServices
from viewfinder.server.schemas.review import ChatTurn, Decision, DecisionIn, Dialogue, Line, Overview

router = APIRouter(prefix="/api/v1/review", tags=["review"])


class Size(IntEnum):
    """Pixels of a small copy's longer side."""

    SMALL = 320
    MEDIUM = 640
    LARGE = 1280


Id = Annotated[str, InPath(max_length=1000, description="the id of a dialogue")]
Name = Annotated[str, InPath(max_length=4096, description="a picture, as a dialogue names it")]
AskedSize = Annotated[Size, Query(description="pixels of the longer side")]


@router.get("", summary="All dialogues, and what was decided", responses=responses())
async def overview(caller: Reader, services: WithReviewServices) -> Overview:
    """In the order of their file."""
    reviews = services.reviews
    return Overview(file=reviews.file.name, dialogues=[_line(*each) for each in reviews.all()])


@router.get("/kept", summary="What was accepted or rewritten, as a file", responses=responses())
async def kept(caller: Reader, services: WithReviewServices) -> Response:
    """Chat-search JSON lines, as `viewfinder review --write` writes them."""
    name = services.reviews.file.name.removesuffix(".jsonl")
    headers = {"Content-Disposition": f'attachment; filename="{_plain(name)}.reviewed.jsonl"'}
    return Response(await services.pool.run(_kept, services), media_type="application/jsonl", headers=headers)


@router.get("/dialogues/{id:path}", summary="A dialogue", responses=responses(404))
async def dialogue(id: Id, caller: Reader, services: WithReviewServices) -> Dialogue:
    """As it was made, and what was decided about it."""
    return _told(*services.reviews.sample(id))


@router.put("/dialogues/{id:path}", summary="Decide about a dialogue", responses=responses(404, 409))
async def decide(id: Id, given: DecisionIn, caller: Writer, services: WithReviewServices) -> Dialogue:
    """What is answered is on the disk. The decision before it is kept in the journal, and counts no more."""
    await services.pool.run(_decide, services, id, given, caller)
    return _told(*services.reviews.sample(id))


@router.get("/pictures/{name:path}", summary="A small copy of a picture", responses=responses(404))
async def picture(name: Name, caller: Reader, services: WithReviewServices, size: AskedSize = Size.MEDIUM) -> Response:
    """Only of pictures that a dialogue names."""
    file = services.reviews.picture(name)
    content = await services.aside.run(make_small_copy, file, size, services.scratch)
    return Response(content, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=60"})


def _line(sample: ChatSample, review: Review | None) -> Line:
    pipeline = str(sample.source.get("pipeline", ""))
    return Line(id=sample.id, subtask=sample.subtask, pipeline=pipeline, verdict=review and review.verdict)


def _told(sample: ChatSample, review: Review | None) -> Dialogue:
    return Dialogue(
        id=sample.id,
        subtask=sample.subtask,
        turns=_turns(sample.turns),
        target=sample.target,
        source=dict(sample.source),
        review=review and Decision(verdict=review.verdict, turns=_turns(review.turns), note=review.note, by=review.by),
    )


def _turns(turns: tuple[chatsearch.ChatTurn, ...]) -> list[ChatTurn]:
    return [ChatTurn.model_validate(turn) for turn in turns_record(turns)]


def _decide(services: ReviewServices, id: str, given: DecisionIn, caller: Caller) -> None:
    turns = turns_of([turn.model_dump() for turn in given.turns], f"dialogue {id}") if given.turns else ()
    by = given.by or services.tokens.name_of(caller) or ""
    services.reviews.decide(Review(id, given.verdict, turns, given.note, by), given.before)


def _kept(services: ReviewServices) -> bytes:
    with tempfile.TemporaryDirectory(dir=services.scratch) as folder:
        file = Path(folder) / "kept.jsonl"
        write_chatsearch(file, services.reviews.kept())
        return file.read_bytes()


def _plain(name: str) -> str:
    """For a header: nothing but what every system takes in a name."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in name)
