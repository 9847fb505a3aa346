"""Between the API and a session: turns come in, and what they come to goes out, a page at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from viewfinder.conversation import (
    Conversation,
    Like,
    Question,
    Reject,
    Say,
    Show,
    Turn,
    describe_turn,
    turn_from_json,
    turn_to_json,
)
from viewfinder.errors import BadInput, EmptyQuery
from viewfinder.index import Gallery, Verdict
from viewfinder.index.ranking import Hits, Ranking
from viewfinder.retrievers import Query
from viewfinder.retrievers.base import Operation
from viewfinder.server.conversations import schemas
from viewfinder.server.conversations.beliefs import find_beliefs
from viewfinder.server.conversations.retrievers import RetrieverPool, session_picture_bias
from viewfinder.server.conversations.schemas import Hit, SearchIn, SearchResults
from viewfinder.server.database import SessionRow
from viewfinder.server.pictures.library import make_hits, next_cursor, parse_cursor
from viewfinder.session import Session

if TYPE_CHECKING:
    from viewfinder.server.conversations.open_sessions import OpenSession
    from viewfinder.server.pictures.uploads import Uploads

OWN_IMAGE = "your image"

MOST_TURNS = 2000
"""Turns of a conversation that is imported."""


def parse_turn(given: schemas.TurnIn, pending: Question | None) -> Turn:
    """The turn that was sent; `pending` is the question that an answer without one answers.

    Raises:
        BadInput: an answer to nothing.
    """
    if answers_open_question(given) and pending is None:
        verb = "skip" if isinstance(given, schemas.SkipTurn) else "answer"
        raise BadInput(f"there is no question to {verb}: say what you are looking for instead")
    try:
        return turn_from_json(given.model_dump(exclude_none=True), pending=pending)
    except ValueError as error:
        raise BadInput(str(error)) from error


def answers_open_question(given: schemas.TurnIn) -> bool:
    """Whether it is about the question that is open, whichever that is."""
    return isinstance(given, schemas.AnswerTurn | schemas.SkipTurn) and given.question is None


def question_to_api(question: Question | None) -> schemas.Question | None:
    """A question as it goes out; it is ours, so the limits for what comes in are not asked."""
    if question is None:
        return None
    return schemas.Question.model_construct(
        text=question.text,
        choices=list(question.choices),
        by=question.by,
        why=question.why,
        attribute=question.attribute,
    )


def operations_to_api(done: Mapping[int, Sequence[Operation]]) -> list[schemas.Operation]:
    """What turns do with earlier ones, by the number of the turn, as it goes out."""
    return [schemas.Operation(said=number, **asdict(each)) for number, some in done.items() for each in some]


def parse_conversation(document: Mapping[str, Any]) -> Conversation:
    """The conversation in an imported document.

    Raises:
        BadInput: it is none, has too many turns, or text that no database keeps.
    """
    turns = document.get("turns")
    if isinstance(turns, list) and len(turns) > MOST_TURNS:
        raise BadInput(f"this talk has {len(turns)} turns: at most {MOST_TURNS} can be imported")
    try:
        if b"\0" in json.dumps(document, ensure_ascii=False).encode().replace(b"\\u0000", b"\0"):
            raise BadInput("this talk has characters that are no text (NUL): take them out")
        return Conversation.from_json(document)
    except UnicodeEncodeError as error:
        raise BadInput("this talk has characters that are no text (half of a surrogate pair): take them out") from error
    except ValueError as error:
        raise BadInput(str(error)) from error


def session_to_api(row: SessionRow) -> schemas.Session:
    """A talk as it goes out; which retriever a study compares stays hidden."""
    return schemas.Session(
        id=row.id,
        name=row.name,
        retriever=None if row.hidden else row.retriever,
        questioner=row.questioner,
        where=dict(row.where),
        n=row.n,
        created=_to_time(row.created),
        updated=_to_time(row.updated),
        turns=row.turns,
        leaning=row.leaning,
    )


def tree_to_api(row: SessionRow, talk: Conversation, times: dict[int, float]) -> schemas.SessionTree:
    """A talk with all its branches."""
    nodes = [
        schemas.TreeNode(
            number=node.number,
            parent=node.parent,
            turn=None if node.turn is None else turn_to_json(node.turn),
            told=describe_turn(node.turn, talk.nodes[node.parent].shown, own_image=OWN_IMAGE) if node.turn else "",
            shown=len(node.shown),
            first=node.shown[0] if node.shown else None,
            asked=question_to_api(node.asked),
            at=_to_time(times[node.number]) if node.number in times else None,
        )
        for node in talk.nodes
    ]
    path = [node.number for node in talk.path()]
    return schemas.SessionTree(
        **session_to_api(row).model_dump(exclude={"turns"}), turns=len(talk), tree=nodes, path=path
    )


def _to_time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@dataclass(frozen=True)
class ResultPage:
    """Some of the results of a query; `next` is the cursor of those after them, None where there are no more."""

    hits: list[Hit]
    total: int
    next: str | None
    query: Query
    adapters: tuple[str, ...]
    verdict: Verdict


def read_page(ranking: Ranking, n: int, start: int, *, why: bool = False) -> ResultPage:
    """The `n` results after the first `start`."""
    found = ranking.hits(n, start)
    reasons = ranking.why([hit.id for hit in found]) if why else None
    hits = make_hits(ranking.gallery.snapshot, found, reasons)
    following = next_cursor(start + len(hits), ranking.total)
    return ResultPage(hits, ranking.total, following, ranking.query, ranking.adapters, ranking.verdict)


def first_page(session: Session, hits: Hits, where: Mapping[str, str]) -> ResultPage:
    """The page of a turn that was just searched, without searching again."""
    gallery, query = session.gallery, session.last_query
    assert gallery is not None, "the search saw a gallery"
    shown, total = make_hits(gallery.snapshot, hits), 0
    if query.parts:  # as `Ranking.total`
        out = [row for picture in query.excluded if (row := gallery.snapshot.row_of(picture)) is not None]
        if where:
            allowed_n = gallery.snapshot.where(where)
            total = int(allowed_n.sum()) - int(allowed_n[out].sum())
        else:
            total = len(gallery) - len(out)
    return ResultPage(shown, total, next_cursor(len(shown), total), query, session.adapters, hits.verdict)


def results_to_api(held: OpenSession, number: int, page: ResultPage, seen: Session, started: float) -> schemas.Results:
    """What a turn came to, as it goes out; `seen`: the conversation as the retriever has it that was asked for."""
    assert held.session is not None and held.row is not None
    conversation = held.session.conversation
    answer = None
    if not held.row.hidden and (kind := seen.answered_at(number)) is not None:
        known = kind == "words" and seen is held.session
        answer = schemas.Answered(kind=kind, text=held.replies.get(number) if known else None)
    return schemas.Results(
        turn=number,
        verdict=page.verdict,
        results=page.hits,
        total=page.total,
        next=page.next,
        beliefs=find_beliefs(page.query, conversation, conversation.path(number)),
        # In a study these would name the retriever.
        adapters=[] if held.row.hidden else list(page.adapters),
        operations=[] if held.row.hidden else operations_to_api(seen.operations(number)),
        question=question_to_api(conversation.node(number).asked),
        asking=held.session.question_due and number == conversation.here.number,
        answer=answer,
        elapsed_ms=milliseconds_since(started),
    )


def milliseconds_since(started: float) -> float:
    """Since a `time.perf_counter()`, to hundredths."""
    return round((time.perf_counter() - started) * 1000, 2)


def search_once(retrievers: RetrieverPool, uploads: Uploads, given: SearchIn) -> SearchResults:
    """One search without a session: as a conversation of one or two turns that nobody keeps.

    Raises:
        EmptyQuery, UnknownName, BadInput: nothing is asked for; or something that is not there.
        Problem: the retriever has yet to be prepared.
    """
    started = time.perf_counter()
    retriever, gallery = retrievers.retriever(given.retriever), retrievers.gallery(given.retriever)
    conversation = Conversation()
    for turn in _parse_search(given, gallery, uploads):
        conversation = conversation.then(turn)
    session = Session(
        gallery,
        retriever,
        None,
        where=given.where,
        conversation=conversation,
        image_file=uploads.find,
        picture_bias=session_picture_bias(retriever, None, pictures_alone=True),
    )
    page = read_page(session.ranking(), given.n, parse_cursor(given.cursor), why=given.why)
    return SearchResults(
        verdict=page.verdict,
        results=page.hits,
        total=page.total,
        next=page.next,
        adapters=list(page.adapters),
        elapsed_ms=milliseconds_since(started),
    )


def _parse_search(given: SearchIn, gallery: Gallery, uploads: Uploads) -> list[Turn]:
    """The search as turns; what they name is there."""
    if given.like is not None and given.show is not None:
        raise BadInput("a search goes on from one picture: give `like` or `show`, not both")
    first: Turn
    attributes = None if given.attributes is None else tuple(given.attributes)
    if given.like is not None:
        gallery.row(given.like)
        first = Like(given.like, given.text, attributes=attributes)
    elif given.show is not None:
        uploads.find(given.show)
        first = Show(given.show, given.text, attributes)
    elif given.text.strip():
        first = Say(given.text)
    else:
        raise EmptyQuery("nothing to look for: give a few words, or a picture")
    return [first, *([Reject(text=given.without)] if given.without.strip() else [])]
