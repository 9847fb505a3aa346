"""Conversations over HTTP: turns in, results out; questions and reasons as server-sent events.

Also one search without a conversation, and the retrievers and questioners that a conversation can have.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Annotated, Any, Literal, TypeVar

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
from viewfinder.server.access.signatures import Signer
from viewfinder.server.access.tokens import Admin, Caller, Reader, Writer
from viewfinder.server.conversations.answers import Wanted, answers_open_question, question_to_api
from viewfinder.server.conversations.pools import predict_picture_attributes
from viewfinder.server.conversations.schemas import (
    Exported,
    Fields,
    Found,
    FoundAnswer,
    News,
    PictureAttributes,
    PictureRank,
    Placed,
    Replay,
    Results,
    SearchIn,
    SearchResults,
    Session,
    SessionChange,
    SessionIn,
    SessionPage,
    SessionTree,
    Sort,
    TurnIn,
    event_stream,
)
from viewfinder.server.conversations.sent_twice import KeyHeader, request_key
from viewfinder.server.pictures.schemas import Questioners, Retrievers
from viewfinder.server.problems import responses
from viewfinder.server.services import Services, WithServices, WithSigner, make_router

router = make_router("sessions")

Answer = TypeVar("Answer", bound=BaseModel)

IMPORT_FACTOR = 16
"""How many times larger than other JSON an imported conversation may be: it says what was shown at each turn."""

MAX_REASONS = 12
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
    caller: Reader,
    services: WithServices,
    n: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Cursor = None,
    q: Annotated[
        str, Query(max_length=200, description="words, or their beginnings, that the name or the turns must have")
    ] = "",
) -> SessionPage:
    """The caller's own; all conversations with the scope admin."""
    return await services.pool.run(services.conversations.page, caller, n, cursor, q)


@router.post("/sessions", status_code=201, summary="Begin a conversation", responses=responses(409))
@takes_body(json_up_to(WORDY_BODY))
async def create_session(
    given: SessionIn, caller: Reader, services: WithServices, given_key: KeyHeader = None
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
@takes_body(lambda settings: IMPORT_FACTOR * settings.body_bytes)
async def import_session(request: Request, caller: Writer, services: WithServices) -> Response:
    """A new conversation with all turns of the document."""
    document = await receive_json(request, Exported, services.pool)
    _, content = await services.pool.run_aside(_write_json, services.conversations.import_, caller, document)
    return _respond(content, 201)


@router.get("/sessions/{id}", summary="A conversation and its turns", responses=responses(404))
async def get_session(id: Id, caller: Reader, services: WithServices) -> SessionTree:
    """With all its branches."""
    return await _run(services, id, services.conversations.tree, caller, id)


@router.patch("/sessions/{id}", summary="Change a conversation", responses=responses(404, 409))
@takes_body(json_up_to(WORDY_BODY))
async def change_session(id: Id, change: SessionChange, caller: Reader, services: WithServices) -> Session:
    """Another name; or another retriever, questioner, filter or leaning from now on."""
    return await services.pool.run(services.conversations.change, caller, id, change, public=True)


@router.delete("/sessions/{id}", status_code=204, summary="Forget a conversation", responses=responses(404))
async def delete_session(id: Id, caller: Writer, services: WithServices) -> None:
    """With all its turns; pictures that were marked as found are kept."""
    await services.pool.run(services.conversations.delete, caller, id, public=True)


@router.get("/sessions/{id}/export", summary="A conversation as a document", responses=responses(404))
async def export_session(id: Id, caller: Reader, services: WithServices) -> Exported:
    """As `POST /sessions/import` takes it."""
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
    id: Id,
    turn: TurnIn,
    caller: Reader,
    services: WithServices,
    signer: WithSigner,
    given_key: KeyHeader = None,
    fields: Fields = (),
    sort: Sort = "",
) -> Response:
    """Answers with the results at once. The question after the turn is chosen in the background and sent as an event.

    If another turn arrives first, no question is asked. If the connection is cut before the answer, send the turn again
    with the same key: it is taken once. With `parent`, it is refused (409, `moved-on`, with the turns said since) if
    the conversation stands elsewhere by now.
    """
    conversations, key = services.conversations, request_key(given_key, "take", turn)
    if answers_open_question(turn):
        asked = await _run(services, id, conversations.open_question, caller, id, key, parent=turn.parent, public=True)
        await _await_question(asked)
    wanted = Wanted(fields, sort, signer)
    results, content = await _run(
        services, id, _write_json, conversations.take, caller, id, turn, key, wanted, public=True
    )
    return _respond(content, 201, BackgroundTask(_run, services, id, conversations.choose_question, id, results.turn))


@router.get("/sessions/{id}/turns", summary="What was said since", responses=responses(404, 409))
async def list_turns(
    id: Id,
    caller: Reader,
    services: WithServices,
    after: Annotated[int, Query(ge=0, le=1_000_000, description="the newest turn that is known")] = 0,
) -> News:
    """The turns after one, by whomever: none where `newest` is `after`. Cheap enough to ask now and then."""
    return await _run(services, id, services.conversations.news, caller, id, after)


@router.get(
    "/sessions/{id}/turns/{number}",
    summary="The results of a turn",
    response_model=Results,
    responses=responses(404, 409),
)
async def get_turn(
    id: Id,
    number: Turn,
    caller: Reader,
    services: WithServices,
    signer: WithSigner,
    n: Annotated[
        int | None, Query(ge=1, le=500, description="results; by default as many as the conversation has")
    ] = None,
    cursor: Cursor = None,
    retriever: Annotated[str | None, Query(max_length=200, description="the results of another retriever")] = None,
    fields: Fields = (),
    sort: Sort = "",
) -> Response:
    """In the collection as it is now, a page at a time."""
    _, content = await _run(
        services, id, _write_json, services.conversations.results, caller, id, number, Wanted(fields, sort, signer),
        n=n, cursor=cursor, retriever=retriever,
    )  # fmt: skip
    return _respond(content)


@router.put(
    "/sessions/{id}/turns/{number}",
    summary="Say something else instead",
    response_model=Replay,
    responses=responses(404, 409),
)
@takes_body(json_up_to(WORDY_BODY))
async def edit_turn(
    id: Id,
    number: Turn,
    turn: TurnIn,
    caller: Reader,
    services: WithServices,
    signer: WithSigner,
    given_key: KeyHeader = None,
    fields: Fields = (),
    sort: Sort = "",
) -> Response:
    """On a new branch, where all turns after it are taken again; the old branch stays."""
    return await _edit(id, number, turn, caller, services, given_key, Wanted(fields, sort, signer))


@router.delete(
    "/sessions/{id}/turns/{number}", summary="Take something back", response_model=Replay, responses=responses(404, 409)
)
async def delete_turn(
    id: Id,
    number: Turn,
    caller: Reader,
    services: WithServices,
    signer: WithSigner,
    given_key: KeyHeader = None,
    parent: Annotated[
        int | None, Query(ge=0, le=1_000_000, description="as in a turn: the newest turn that the sender knew")
    ] = None,
    on_conflict: Annotated[Literal["refuse", "branch"], Query(description="as in a turn")] = "refuse",
    fields: Fields = (),
    sort: Sort = "",
) -> Response:
    """On a new branch, where all turns after it are taken again; the old branch stays."""
    placed = Placed(parent=parent, on_conflict=on_conflict)
    return await _edit(id, number, None, caller, services, given_key, Wanted(fields, sort, signer), placed)


@router.get(
    "/sessions/{id}/turns/{number}/events",
    summary="The question after a turn, and the reasons for its results",
    response_class=EventSourceResponse,
    responses=_EVENTS | responses(404, 409),
)
async def turn_events(
    id: Id, number: Turn, caller: Reader, services: WithServices, signer: WithSigner, heard: Heard = None
) -> EventSourceResponse:
    """`question` {"question": Question or null}; `why` {"why": {picture: reasons}}, in a few batches; `done` {}.

    Where addresses are signed, `question` has those of its examples, too: {"thumbnails": {picture: address}}. Where a
    questioner of another package failed, `question` says so: {"question": null, "problem": "the questioner ..."}.
    """
    shown = await _run(services, id, services.conversations.list_shown, caller, id, number)
    return _respond_events(services, _send_events(services, caller, id, number, shown, _read_id(heard), signer))


@router.get(
    "/sessions/{id}/turns/{number}/ranks/{picture}", summary="The rank of a picture", responses=responses(404, 409)
)
async def picture_rank(id: Id, number: Turn, picture: Picture, caller: Reader, services: WithServices) -> PictureRank:
    """In the whole collection, whatever the filters, after a turn; from 0, as measures count."""
    ranking = await _run(services, id, services.conversations.ranking, caller, id, number)
    best, worst = await services.pool.run(ranking.rank_bounds, picture)
    return PictureRank(best=best, worst=worst)


@router.get(
    "/sessions/{id}/turns/{number}/reply/events",
    summary="The words with which a turn is answered, as they are written",
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
    return _respond_events(services, _send_words(services, pieces, _read_id(heard)))


@router.get(
    "/sessions/{id}/pictures/{picture}/attributes",
    summary="The attributes that a conversation's retriever sees in a picture",
    responses=responses(404, 409),
)
async def picture_attributes(id: Id, picture: Picture, caller: Reader, services: WithServices) -> PictureAttributes:
    """They count when the picture is picked, unless the turn gives others. Empty if the retriever reads none."""
    return await services.pool.run(services.conversations.attributes, caller, id, picture)


@router.post(
    "/sessions/{id}/found", status_code=201, summary="Mark the picture that was meant", responses=responses(404, 409)
)
async def found_it(id: Id, given: Found, caller: Reader, services: WithServices) -> FoundAnswer:
    """Kept with the conversation as it is now, as data to learn from."""
    return await _run(services, id, services.conversations.note_found, caller, id, given, public=True)


@router.delete(
    "/sessions/{id}/found/{found}", status_code=204, summary="It was not that picture", responses=responses(404)
)
async def not_found_after_all(
    id: Id,
    found: Annotated[str, Path(max_length=64, description="the `id` of what was marked")],
    caller: Reader,
    services: WithServices,
) -> None:
    """Takes back that a picture was marked as the one that was meant."""
    await services.pool.run(services.conversations.forget_found, caller, id, found, public=True)


@router.get("/feedback", summary="The pictures that were meant", response_class=StreamingResponse, responses=_LINES)
async def feedback(caller: Admin, services: WithServices) -> StreamingResponse:
    """A line each: the picture, its rank, and the conversation that led there."""
    lines = await services.pool.run(services.conversations.list_feedback)
    return StreamingResponse(lines, media_type="application/jsonl")


async def _run(
    services: Services, id: str, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs
) -> Result:
    """Runs work on one conversation in a thread; it ends when its client has left, and runs aside if that is long."""
    long = services.conversations.is_long(id)
    return await (services.pool.run_aside if long else services.pool.run_stoppable)(work, *args, **kwargs)


def _write_json(work: Callable[Given, Answer], *args: Given.args, **kwargs: Given.kwargs) -> tuple[Answer, str]:
    """Runs `work` and writes its answer as JSON, in the same thread: that would hold up the event loop.

    The answer is valid; FastAPI would check and copy it again.
    """
    answer = work(*args, **kwargs)
    return answer, answer.model_dump_json(by_alias=True)


def _respond(content: str, status: int = 200, later: BackgroundTask | None = None) -> Response:
    return Response(content, status, media_type="application/json", background=later)


def _respond_events(services: Services, events: AsyncIterator[dict[str, str]]) -> EventSourceResponse:
    # Our streams end by themselves, so the event that would cut them off is never set: a server that ends waits.
    return EventSourceResponse(
        events, shutdown_event=anyio.Event(), shutdown_grace_period=services.settings.shutdown_s / 2
    )


async def _edit(
    id: str,
    number: int,
    turn: TurnIn | None,
    caller: Caller,
    services: Services,
    given_key: str | None,
    wanted: Wanted,
    placed: Placed | None = None,
) -> Response:
    edit, key = services.conversations.edit, request_key(given_key, f"edit {number}", turn)
    replay, content = await _run(
        services, id, _write_json, edit, caller, id, number, turn, key, wanted, placed=placed, public=True
    )
    later = BackgroundTask(_run, services, id, services.conversations.choose_question, id, replay.results.turn)
    return _respond(content, later=later)


async def _send_events(
    services: Services,
    caller: Caller,
    id: str,
    number: int,
    shown: tuple[str, ...],
    last: int,
    signer: Signer | None = None,
) -> AsyncIterator[dict[str, str]]:
    """Event 1 is the question, each of the next the reasons of a batch; events up to `last` were received before."""
    if last < 1:
        chosen = await _run(services, id, services.conversations.choose_question, id, number)
        question = question_to_api(await _await_question(chosen))
        told: dict[str, Any] = {"question": None if question is None else question.model_dump()}
        if question is None and (failure := services.conversations.find_question_failure(id, number)) is not None:
            told["problem"] = failure
        if signer is not None and question is not None:
            told["thumbnails"] = await services.pool.run(_sign_examples, signer, question.examples)
        yield _event("question", told, 1)
    batches = [shown[start : start + MAX_REASONS] for start in range(0, len(shown), MAX_REASONS)]
    unheard = list(enumerate(batches, 2))[max(last - 1, 0) :]
    if unheard:
        ranking = await _run(services, id, services.conversations.ranking, caller, id, number)
        for at, batch in unheard:
            here = [picture for picture in batch if ranking.gallery.snapshot.row_of(picture) is not None]
            if here:
                yield await services.pool.run(_explain, ranking, here, at)
    yield _event("done", {})


def _sign_examples(signer: Signer, pictures: Sequence[str]) -> dict[str, str]:
    return {picture: signer.sign_thumbnail(picture) for picture in pictures if picture}


async def _send_words(services: Services, pieces: Iterator[str], last: int) -> AsyncIterator[dict[str, str]]:
    """An event's id is the number of characters up to its end; `last` of them were received before.

    Each piece takes a thread of its own, so that a client that reads slowly holds none.
    """
    text = ""
    while (piece := await services.pool.run(next, pieces, None)) is not None:
        unheard = max(last, len(text))
        text += piece
        if len(text) > unheard:
            yield _event("words", {"text": text[unheard:]}, len(text))
    yield _event("done", {"text": text})


def _read_id(heard: str | None) -> int:
    """The id of the last event that a client has received; 0 if that is not one of ours, so that all are sent."""
    return int(heard) if heard is not None and _EVENT_ID.fullmatch(heard) else 0


async def _await_question(chosen: Future[Question | None]) -> Question | None:
    """Waits without a thread; a client that leaves does not cancel the choice for the others (`shield`)."""
    return await asyncio.shield(asyncio.wrap_future(chosen))


def _explain(ranking: Ranking, pictures: Sequence[str], id: int) -> dict[str, str]:
    return _event("why", {"why": ranking.why(pictures)}, id)


def _event(name: str, data: dict[str, Any], id: int | None = None) -> dict[str, str]:
    return {"event": name, "data": json.dumps(data), **({} if id is None else {"id": str(id)})}


search_router = make_router("search")


@search_router.post("/search", summary="Search once", response_model=SearchResults, responses=responses(409))
@takes_body(json_up_to(WORDY_BODY))
async def search(given: SearchIn, caller: Reader, services: WithServices, signer: WithSigner) -> Response:
    """By words, a picture of the library, an uploaded image, words to leave out, and filters; a page at a time."""
    _, content = await services.pool.run_stoppable(_write_json, services.conversations.search, caller, given, signer)
    return _respond(content)


retrievers_router = make_router("retrievers")

RetrieverName = Annotated[str, Path(max_length=200, description="the name of a retriever")]


@retrievers_router.get("/retrievers", summary="The retrievers that a conversation can have")
async def list_retrievers(caller: Reader, services: WithServices) -> Retrievers:
    """With what each reads of the pictures, and the reason if it cannot be used."""
    return await services.pool.run(services.conversations.retrievers.list_all)


@retrievers_router.get(
    "/retrievers/{name}/attributes", summary="The attributes of a picture", responses=responses(404, 409)
)
async def retriever_attributes(
    name: RetrieverName,
    caller: Reader,
    services: WithServices,
    like: Annotated[str | None, Query(max_length=64, description="the id of a picture")] = None,
    show: Annotated[str | None, Query(max_length=64, description="the id of an upload")] = None,
) -> PictureAttributes:
    """As they would count in a conversation. Give one of the two pictures."""
    return await services.pool.run(
        predict_picture_attributes,
        services.conversations.retrievers,
        services.uploads,
        caller,
        name,
        like=like,
        show=show,
    )


@retrievers_router.get("/questioners", summary="The questioners that a conversation can have")
async def list_questioners(caller: Reader, services: WithServices) -> Questioners:
    """With what is missing for each that cannot be used here; `none` asks nothing."""
    return await services.pool.run(services.conversations.questioners.list_all)
