"""Conversations over HTTP: turns in, results out; questions and reasons as server-sent events.

Also one search without a conversation, and who can read one and who can ask back.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Annotated, Any, TypeVar

import anyio
from fastapi import Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from sse_starlette import EventSourceResponse
from starlette.background import BackgroundTask

from viewfinder.conversation import Question
from viewfinder.search.ranking import Ranking
from viewfinder.server.access.bodies import WORDY_BODY, json_body, json_up_to, receive_json, takes_body
from viewfinder.server.access.limits import Given, Result
from viewfinder.server.access.tokens import Admin, Caller, Reader, ReaderWriter, Writer
from viewfinder.server.conversations.answers import answers_open_question, question_to_api
from viewfinder.server.conversations.pools import predict_picture_attributes
from viewfinder.server.conversations.schemas import (
    Exported,
    Found,
    FoundAnswer,
    PictureAttributes,
    PictureRank,
    Replay,
    Results,
    SearchIn,
    SearchResults,
    Session,
    SessionChange,
    SessionIn,
    SessionPage,
    SessionTree,
    TurnIn,
    event_stream,
)
from viewfinder.server.conversations.sent_twice import KeyHeader, request_key
from viewfinder.server.pictures.schemas import Questioners, Retrievers
from viewfinder.server.problems import responses
from viewfinder.server.services import Services, WithServices, make_router

router = make_router("sessions")

Answer = TypeVar("Answer", bound=BaseModel)

IMPORTED = 16
"""How many times larger than other JSON an imported conversation may be: it says what was shown at each turn."""

REASONS_AT_ONCE = 12
"""Pictures whose reasons are one event: a row of the grid or two."""

Id = Annotated[str, Path(max_length=64, description="the id of a session")]
Picture = Annotated[str, Path(max_length=64, description="the id of a picture")]
Turn = Annotated[int, Path(ge=0, le=1_000_000, description="the number of a turn; 0 is the start")]
Cursor = Annotated[str | None, Query(max_length=200, description="the `next` of the page before")]
Heard = Annotated[
    str | None,
    Header(alias="Last-Event-ID", description="the id of the last event heard before a cut: those after it are sent"),
]
_EVENT_ID = re.compile(r"[0-9]{1,9}")

_EVENTS = event_stream("Events: `question`, then `why` a few times, then `done`.", "question", "why", "done")
_REPLY = event_stream("Events: `words` as often as there are some, then `done`.", "words", "done")
_LINES: dict[int | str, dict[str, Any]] = {
    200: {"description": "JSON lines", "content": {"application/jsonl": {"schema": {"type": "string"}}}}
}


@router.get("/sessions", summary="Conversations, the last used first")
async def list_sessions(
    caller: Reader, services: WithServices, n: Annotated[int, Query(ge=1, le=200)] = 50, cursor: Cursor = None
) -> SessionPage:
    """One's own; all of them with the scope admin."""
    return await services.pool.run(services.conversations.page, caller, n, cursor)


@router.post("/sessions", status_code=201, summary="Begin a conversation", responses=responses(409))
@takes_body(json_up_to(WORDY_BODY))
async def create_session(
    given: SessionIn, caller: Writer, services: WithServices, given_key: KeyHeader = None
) -> Session:
    """A new conversation; without a name, it is called what is said first."""
    return await services.pool.run(services.conversations.create, caller, given, request_key(given_key, "begin", given))


@router.post(
    "/sessions/import",
    status_code=201,
    summary="Go on with an exported conversation",
    response_model=SessionTree,
    responses=responses(409, 415),
    openapi_extra=json_body(Exported),
)
@takes_body(lambda settings: IMPORTED * settings.body_bytes)
async def import_session(request: Request, caller: Writer, services: WithServices) -> Response:
    """A new conversation, as the document says it went."""
    document = await receive_json(request, Exported, services.pool)
    _, written = await services.pool.run_aside(_written, services.conversations.import_, caller, document)
    return _json(written, 201)


@router.get("/sessions/{id}", summary="A conversation and its turns", responses=responses(404))
async def get_session(id: Id, caller: Reader, services: WithServices) -> SessionTree:
    """All branches."""
    return await _run(services, id, services.conversations.tree, caller, id)


@router.patch("/sessions/{id}", summary="Change a conversation", responses=responses(404, 409))
@takes_body(json_up_to(WORDY_BODY))
async def change_session(id: Id, change: SessionChange, caller: Writer, services: WithServices) -> Session:
    """Another name; or another retriever, questioner, filter or leaning from now on."""
    return await services.pool.run(services.conversations.change, caller, id, change, public=True)


@router.delete("/sessions/{id}", status_code=204, summary="Forget a conversation", responses=responses(404))
async def delete_session(id: Id, caller: Writer, services: WithServices) -> None:
    """With all that was said in it; what was marked as found is kept."""
    await services.pool.run(services.conversations.delete, caller, id, public=True)


@router.get("/sessions/{id}/export", summary="A conversation as a document", responses=responses(404))
async def export_session(id: Id, caller: Reader, services: WithServices) -> Exported:
    """What `POST /sessions/import` takes."""
    return await _run(services, id, services.conversations.export, caller, id)


@router.post(
    "/sessions/{id}/turns",
    status_code=201,
    summary="Say something",
    response_model=Results,
    responses=responses(404, 409),
)
@takes_body(json_up_to(WORDY_BODY))
async def take_turn(
    id: Id, turn: TurnIn, caller: ReaderWriter, services: WithServices, given_key: KeyHeader = None
) -> Response:
    """The results at once; the question after it is chosen while they travel, and comes by events.

    Whoever goes on before that is not held up: nothing is asked then. Whoever does not know whether a turn was taken,
    as the connection was cut, sends it again with the same key.
    """
    conversations, key = services.conversations, request_key(given_key, "take", turn)
    if answers_open_question(turn):
        await _known(await _run(services, id, conversations.open_question, caller, id, key, public=True))
    results, written = await _run(services, id, _written, conversations.take, caller, id, turn, key, public=True)
    return _json(written, 201, BackgroundTask(_run, services, id, services.conversations.choice, id, results.turn))


@router.get(
    "/sessions/{id}/turns/{number}",
    summary="What a turn comes to",
    response_model=Results,
    responses=responses(404, 409),
)
async def get_turn(
    id: Id,
    number: Turn,
    caller: Reader,
    services: WithServices,
    n: Annotated[
        int | None, Query(ge=1, le=500, description="results; by default as many as the conversation has")
    ] = None,
    cursor: Cursor = None,
    retriever: Annotated[str | None, Query(max_length=200, description="as another one would have it")] = None,
) -> Response:
    """In the collection as it is now, a page at a time."""
    _, written = await _run(
        services, id, _written, services.conversations.results, caller, id, number, n=n, cursor=cursor,
        retriever=retriever,
    )  # fmt: skip
    return _json(written)


@router.put(
    "/sessions/{id}/turns/{number}",
    summary="Say something else instead",
    response_model=Replay,
    responses=responses(404, 409),
)
@takes_body(json_up_to(WORDY_BODY))
async def edit_turn(
    id: Id, number: Turn, turn: TurnIn, caller: ReaderWriter, services: WithServices, given_key: KeyHeader = None
) -> Response:
    """On a branch of its own, where all that followed is said again; the old branch stays."""
    return await _edited(id, number, turn, caller, services, given_key)


@router.delete(
    "/sessions/{id}/turns/{number}", summary="Take something back", response_model=Replay, responses=responses(404, 409)
)
async def delete_turn(
    id: Id, number: Turn, caller: ReaderWriter, services: WithServices, given_key: KeyHeader = None
) -> Response:
    """On a branch of its own, where all that followed is said again; the old branch stays."""
    return await _edited(id, number, None, caller, services, given_key)


@router.get(
    "/sessions/{id}/turns/{number}/events",
    summary="The question after a turn, and why its results are results",
    response_class=EventSourceResponse,
    responses=_EVENTS | responses(404, 409),
)
async def turn_events(
    id: Id, number: Turn, caller: Reader, services: WithServices, heard: Heard = None
) -> EventSourceResponse:
    """`question` {"question": Question or null}; `why` {"why": {picture: reasons}}, in a few batches; `done` {}."""
    shown = await _run(services, id, services.conversations.shown, caller, id, number)
    events = _events(services, caller, id, number, shown, _last(heard))
    # They end by themselves: a server that ends lets them.
    return EventSourceResponse(
        events, shutdown_event=anyio.Event(), shutdown_grace_period=services.settings.shutdown_s / 2
    )


@router.get(
    "/sessions/{id}/turns/{number}/ranks/{picture}", summary="Where a picture stands", responses=responses(404, 409)
)
async def picture_rank(id: Id, number: Turn, picture: Picture, caller: Reader, services: WithServices) -> PictureRank:
    """In the whole collection, whatever the filters, after a turn; from 0, as measures count."""
    ranking = await _run(services, id, services.conversations.ranking, caller, id, number)
    best, worst = await services.pool.run(ranking.rank_bounds, picture)
    return PictureRank(best=best, worst=worst)


@router.get(
    "/sessions/{id}/turns/{number}/reply/events",
    summary="What a turn is answered in words, as it is written",
    response_class=EventSourceResponse,
    responses=_REPLY | responses(404, 409),
)
async def reply_events(
    id: Id, number: Turn, caller: Reader, services: WithServices, heard: Heard = None
) -> EventSourceResponse:
    """`words` {"text": the next piece}, to be joined without anything between; `done` {"text": all of it}.

    There are no words where a turn is answered with pictures, as it always is by retrievers that do not speak.
    """
    pieces = await _run(services, id, services.conversations.reply, caller, id, number)
    return EventSourceResponse(
        _reply(services, pieces, _last(heard)),
        shutdown_event=anyio.Event(),
        shutdown_grace_period=services.settings.shutdown_s / 2,
    )


@router.get(
    "/sessions/{id}/pictures/{picture}/attributes",
    summary="What the retriever of a conversation sees in a picture",
    responses=responses(404, 409),
)
async def picture_attributes(id: Id, picture: Picture, caller: Reader, services: WithServices) -> PictureAttributes:
    """What is read with it when it is picked; a turn may say others. Nothing where the retriever reads none."""
    return await services.pool.run(services.conversations.attributes, caller, id, picture)


@router.post("/sessions/{id}/found", status_code=201, summary="This is the one", responses=responses(404, 409))
async def found_it(id: Id, given: Found, caller: ReaderWriter, services: WithServices) -> FoundAnswer:
    """Noted with the conversation as it was, as data to learn from."""
    return await _run(services, id, services.conversations.found, caller, id, given, public=True)


@router.get("/feedback", summary="All that was found", response_class=StreamingResponse, responses=_LINES)
async def feedback(caller: Admin, services: WithServices) -> StreamingResponse:
    """A line each: the picture, its rank, and the conversation that led there."""
    lines = await services.pool.run(services.conversations.feedback_lines)
    return StreamingResponse(lines, media_type="application/jsonl")


async def _run(
    services: Services, id: str, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs
) -> Result:
    """Work on one conversation, which ends when nobody waits for it; where that is long, aside."""
    long = services.conversations.is_long(id)
    return await (services.pool.run_aside if long else services.pool.run_stoppable)(work, *args, **kwargs)


def _written(work: Callable[Given, Answer], *args: Given.args, **kwargs: Given.kwargs) -> tuple[Answer, str]:
    """What `work` answers, and its JSON: written in the thread that does the work, not by the event loop.

    It is checked already; FastAPI would check and copy it again.
    """
    answer = work(*args, **kwargs)
    return answer, answer.model_dump_json(by_alias=True)


def _json(written: str, status: int = 200, later: BackgroundTask | None = None) -> Response:
    return Response(written, status, media_type="application/json", background=later)


async def _edited(
    id: str, number: int, turn: TurnIn | None, caller: Caller, services: Services, given_key: str | None
) -> Response:
    edit, key = services.conversations.edit, request_key(given_key, f"edit {number}", turn)
    replay, written = await _run(services, id, _written, edit, caller, id, number, turn, key, public=True)
    later = BackgroundTask(_run, services, id, services.conversations.choice, id, replay.results.turn)
    return _json(written, later=later)


async def _events(
    services: Services, caller: Caller, id: str, number: int, shown: tuple[str, ...], last: int
) -> AsyncIterator[dict[str, str]]:
    """Event 1 is the question, each of the next the reasons of a batch; those up to the `last` that was heard are not
    sent again."""
    if last < 1:
        question = question_to_api(await _known(await _run(services, id, services.conversations.choice, id, number)))
        yield _event("question", {"question": None if question is None else question.model_dump()}, 1)
    batches = [shown[start : start + REASONS_AT_ONCE] for start in range(0, len(shown), REASONS_AT_ONCE)]
    unheard = list(enumerate(batches, 2))[max(last - 1, 0) :]
    if unheard:
        ranking = await _run(services, id, services.conversations.ranking, caller, id, number)
        for at, batch in unheard:
            here = [picture for picture in batch if ranking.gallery.snapshot.row_of(picture) is not None]
            if here:
                yield await services.pool.run(_reasons, ranking, here, at)
    yield _event("done", {})


async def _reply(services: Services, pieces: Iterator[str], last: int) -> AsyncIterator[dict[str, str]]:
    """A thread is taken for each piece alone: who reads slowly holds none.

    An event's id is how many characters there are by then: those up to the `last` one heard are not sent again.
    """
    text = ""
    while (piece := await services.pool.run(next, pieces, None)) is not None:
        unheard = max(last, len(text))
        text += piece
        if len(text) > unheard:
            yield _event("words", {"text": text[unheard:]}, len(text))
    yield _event("done", {"text": text})


def _last(heard: str | None) -> int:
    """The id of the last event that was heard; 0 where that is none of ours, and all are sent."""
    return int(heard) if heard is not None and _EVENT_ID.fullmatch(heard) else 0


async def _known(chosen: Future[Question | None]) -> Question | None:
    """What is asked, when that is known: no thread waits meanwhile, and who goes away spoils it for nobody."""
    return await asyncio.shield(asyncio.wrap_future(chosen))


def _reasons(ranking: Ranking, pictures: Sequence[str], id: int) -> dict[str, str]:
    return _event("why", {"why": ranking.why(pictures)}, id)


def _event(name: str, data: dict[str, Any], id: int | None = None) -> dict[str, str]:
    return {"event": name, "data": json.dumps(data), **({} if id is None else {"id": str(id)})}


search_router = make_router("search")


@search_router.post("/search", summary="Search once", response_model=SearchResults, responses=responses(409))
@takes_body(json_up_to(WORDY_BODY))
async def search(given: SearchIn, caller: Reader, services: WithServices) -> Response:
    """Words, a picture of the library or an image of one's own, what to leave out, filters; a page at a time."""
    _, written = await services.pool.run_stoppable(_written, services.conversations.search, caller, given)
    return _json(written)


retrievers_router = make_router("retrievers")

RetrieverName = Annotated[str, Path(max_length=200, description="the name of a retriever")]


@retrievers_router.get("/retrievers", summary="Who can read a conversation")
async def list_retrievers(caller: Reader, services: WithServices) -> Retrievers:
    """What each needs of the pictures, and what stands in its way."""
    return await services.pool.run(services.conversations.retrievers.listed)


@retrievers_router.get(
    "/retrievers/{name}/attributes", summary="What a retriever sees in a picture", responses=responses(404, 409)
)
async def retriever_attributes(
    name: RetrieverName,
    caller: Reader,
    services: WithServices,
    like: Annotated[str | None, Query(max_length=64, description="the id of a picture")] = None,
    show: Annotated[str | None, Query(max_length=64, description="the id of an upload")] = None,
) -> PictureAttributes:
    """What it would read with it in a conversation; one of the two is given."""
    return await services.pool.run(
        predict_picture_attributes,
        services.conversations.retrievers,
        services.uploads,
        caller,
        name,
        like=like,
        show=show,
    )


@retrievers_router.get("/questioners", summary="Who can ask back")
async def list_questioners(caller: Reader, services: WithServices) -> Questioners:
    """Whether each can be used here, and if not, what is missing; `none` asks nothing."""
    return await services.pool.run(services.conversations.questioners.listed)
