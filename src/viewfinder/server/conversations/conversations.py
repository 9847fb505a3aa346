"""Rows of talks: new ones, whether a talk in memory still is what its row says, what it is called.

Talks and what was found in them, as documents.

All talks of a server. Every method is for any thread; one talk is one thread's at a time.

Methods with a `public` refuse to change talks that belong to a study, if it is True: those are changed by the study.
"""

from __future__ import annotations

import json
import re
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from viewfinder.conversation import Conversation, Node, PictureId, Question
from viewfinder.errors import BadInput, UnknownName
from viewfinder.index.ranking import Ranking
from viewfinder.server.conversations import schemas
from viewfinder.server.conversations.answers import (
    ResultPage,
    answers_open_question,
    find_upload,
    first_page,
    milliseconds_since,
    operations_to_api,
    parse_cursor,
    parse_turn,
    question_to_api,
    read_page,
    search_once,
    session_to_api,
    tree_to_api,
)
from viewfinder.server.conversations.beliefs import find_beliefs
from viewfinder.server.conversations.editing import repeat_turns
from viewfinder.server.conversations.open_sessions import OpenSession, OpenSessions, QuestionChooser
from viewfinder.server.conversations.questioners import QuestionerPool
from viewfinder.server.conversations.retrievers import (
    DEFAULT,
    RetrieverPool,
    describe_answer,
    predict_picture_attributes,
    session_picture_bias,
    stream_reply,
)
from viewfinder.server.conversations.schemas import SessionIn
from viewfinder.server.database import FeedbackRow, SessionRow, TurnTaken
from viewfinder.server.problems import Problem, not_found
from viewfinder.session import Session

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.access.tokens import Caller
    from viewfinder.server.database import FeedbackRows, SessionRows
    from viewfinder.server.pictures.uploads import Uploads
    from viewfinder.server.settings import ServerSettings

NAME_LENGTH = 60
"""Letters of what was said first that name a talk without a name."""


def make_session_row(caller: Caller, given: SessionIn, *, hidden: bool) -> SessionRow:
    """The row of a talk that begins now."""
    now = time.time()
    id = str(uuid.uuid4())
    return SessionRow(id=id, owner=caller.token, **given.model_dump(), created=now, updated=now, hidden=hidden)


def is_current(known: SessionRow, row: SessionRow, talk: Conversation) -> bool:
    """Whether a talk in memory is what the database has, by its settings and by how many turns there are."""
    settings = ((one.retriever, one.questioner, dict(one.where), one.n, one.leaning) for one in (known, row))
    return next(settings) == next(settings) and row.turns == len(talk)


def name_conversation(talk: Conversation) -> str:
    """A talk is called what was said first; nothing, until something was said in words."""
    said = next((text for node in talk.nodes if (text := getattr(node.turn, "text", "").strip())), "")
    return " ".join(said.split())[:NAME_LENGTH]


MOST_TURNS = 2000
"""Turns of a talk that is imported."""


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


def intern_ids(talk: Conversation) -> Conversation:
    """The same talk; talks that were read from the database hold each id once between them, not each its own."""
    return Conversation(tuple(replace(node, shown=tuple(map(sys.intern, node.shown))) for node in talk.nodes))


def write_feedback_line(row: FeedbackRow) -> str:
    """What somebody found, as a JSON line; who it was is left out."""
    line = {
        "id": row.id,
        "at": row.at,
        "session": row.session,
        "turn": row.node,
        "picture": row.picture,
        "rank": row.rank,
        "retriever": row.retriever,
        "conversation": row.conversation,
    }
    return json.dumps(line) + "\n"


_ID = re.compile(r"[0-9a-f-]{36}")


class Conversations:
    """Talks kept in the database, the last used of them open in memory."""

    def __init__(
        self,
        library: Library,
        sessions: SessionRows,
        feedback: FeedbackRows,
        uploads: Uploads,
        settings: ServerSettings,
    ) -> None:
        self.retrievers = RetrieverPool(library)
        self.questioners = QuestionerPool(settings)
        self._sessions = sessions
        self._feedback = feedback
        self._uploads = uploads
        self._open = OpenSessions(settings.sessions_in_memory)
        self._asking = QuestionChooser(self._open, sessions, self.questioners)

    def __len__(self) -> int:
        """How many talks are open."""
        return len(self._open)

    # -- talks as a whole

    def create(self, caller: Caller, given: schemas.SessionIn, *, hidden: bool = False) -> schemas.Session:
        """A new talk.

        Raises:
            UnknownName, BadInput: there is no such retriever, questioner, column or value.
            Problem: 409, the retriever has yet to be prepared, or there are no pictures.
        """
        self._check(given.retriever, given.questioner, given.where)
        row = make_session_row(caller, given, hidden=hidden)
        self._sessions.create(row)
        return session_to_api(row)

    def page(self, caller: Caller, count: int, cursor: str | None) -> schemas.SessionPage:
        """The caller's talks, the last used first."""
        everyone = "admin" in caller.scopes
        rows, following = self._sessions.page(owner=caller.token, everyone=everyone, count=count, cursor=cursor)
        return schemas.SessionPage(sessions=[session_to_api(row) for row in rows], next=following)

    def tree(self, caller: Caller, id: str) -> schemas.SessionTree:
        """A talk with all its branches."""
        row = self._row(caller, id)
        return tree_to_api(row, self._sessions.conversation(id), self._sessions.times(id))

    def change(self, caller: Caller, id: str, given: schemas.SessionChange, *, public: bool = False) -> schemas.Session:
        """Another name, retriever, questioner or filter from now on.

        Raises:
            UnknownName, BadInput, Problem: as `create`.
        """
        self._row(caller, id, public=public)
        self._check(given.retriever, given.questioner, given.where)
        changed = self._sessions.change(id, **given.model_dump(), at=time.time())
        if changed is None:
            raise not_found("session", id)
        return session_to_api(changed)

    def delete(self, caller: Caller, id: str, *, public: bool = False) -> None:
        """Forgets a talk."""
        self._row(caller, id, public=public)
        with self._open.held(id) as live:
            live.abandon()
            live.forget()
            self._sessions.delete(id)

    def export(self, caller: Caller, id: str) -> schemas.Exported:
        """A talk as a document."""
        row = self._row(caller, id)
        return schemas.Exported(
            name=row.name,
            retriever=None if row.hidden else row.retriever,
            questioner=row.questioner,
            where=dict(row.where),
            n=row.n,
            leaning=row.leaning,
            conversation=self._sessions.conversation(id).to_json(),
        )

    def import_(self, caller: Caller, document: schemas.Exported) -> schemas.SessionTree:
        """A new talk, as a document says it went.

        Raises:
            UnknownName, BadInput: it is no talk, or says what is not here.
        """
        talk = parse_conversation(document.conversation)
        kept = document.model_dump(include={"name", "questioner", "where", "n", "leaning"})
        given = schemas.SessionIn(retriever=document.retriever or DEFAULT, **kept)
        self.retrievers.retriever(given.retriever)  # it may have yet to be prepared
        self._check(None, given.questioner, given.where)
        row = make_session_row(caller, given, hidden=False)
        self._sessions.create(row)
        try:
            for node in talk.nodes[1:]:
                self._sessions.append(row.id, node, elapsed_ms=0.0, at=row.created)
        except BaseException:
            self._sessions.delete(row.id)
            raise
        return self.tree(caller, row.id)

    # -- turns

    def take(self, caller: Caller, id: str, turn: schemas.TurnIn, *, public: bool = False) -> schemas.Results:
        """One turn, and its results at once; `choice` then chooses the question.

        A question that is still being chosen is given up, unless it is what the turn answers.

        Raises:
            BadInput, UnknownName: the turn cannot be taken; the talk stays as it was.
            Problem: 404; 409, somebody else has taken a turn in the meantime, or the retriever is not prepared.
        """
        if answers_open_question(turn):
            self.open_question(caller, id, public=public).result()
        started = time.perf_counter()
        with self._held(caller, id, public=public) as (live, row, session):
            self._name(live)
            before = session.conversation
            hits = session.search(parse_turn(turn, session.question))
            self._keep(live, len(before.nodes), milliseconds_since(started))
            assert session.gallery is not None, "the search looked at one"
            page = first_page(session.gallery, hits, session.last_query, session.adapters, row.where)
            return self._results(live, session.conversation.here.number, page, session, started)

    def choice(self, id: str, number: int) -> Future[Question | None]:
        """The question after a turn, as soon as it is known: its choice begins now, if that has not been done.

        None is asked where nothing is worth it, and where the talk goes on before it is chosen. A talk without a name
        gets one on this occasion.
        """
        begun = None
        with self._open.held(id) as live:
            self._name(live)
            begun = self._asking.begin(id, live)
            if live.choice is not None and live.choice.number == number:
                found = live.choice.done
            else:
                talk = self._sessions.conversation(id) if live.session is None else live.session.conversation
                found = Future()
                found.set_result(talk.nodes[number].asked if number < len(talk.nodes) else None)
        if begun is not None:
            begun()
        return found

    def open_question(self, caller: Caller, id: str, *, public: bool = False) -> Future[Question | None]:
        """What an answer would be to now, as soon as that is known.

        Raises:
            Problem: 404, or 403 in a study.
        """
        with self._held(caller, id, public=public) as (_, _, session):
            number = session.conversation.here.number
        return self.choice(id, number)

    def question(self, id: str, number: int) -> Question | None:
        """The question that was asked after a turn, waited for if need be."""
        return self.choice(id, number).result()

    def results(
        self, caller: Caller, id: str, number: int, *, n: int | None = None, cursor: str | None = None,
        retriever: str | None = None,
    ) -> schemas.Results:  # fmt: skip
        """What a turn comes to in the present collection, `n` results from where the cursor says.

        `retriever`: as another one would have it, from the same talk.
        """
        started, start = time.perf_counter(), parse_cursor(cursor)
        with self._held(caller, id) as (live, row, session):
            seen = self._seen_by(row, session, number, retriever)
            page = read_page(seen.ranking(number), n or row.n, start)
            return self._results(live, number, page, seen, started)

    def reply(self, caller: Caller, id: str, number: int) -> Iterator[str]:
        """The words that a turn is answered with, in pieces; none where it is answered with pictures, or in a study.

        They are written as they are asked for, while the talk may go on.

        Raises:
            Problem: 404, there is no such talk or turn.
        """
        with self._held(caller, id) as (_, row, session):
            _node(session.conversation, number)
            pieces = iter(()) if row.hidden else session.reply(number)
        return stream_reply(self._open, id, number, session, pieces)

    def why(
        self, caller: Caller, id: str, number: int, ids: Sequence[PictureId], retriever: str | None = None
    ) -> dict[PictureId, dict[str, Any]]:
        """Why these pictures stand where they stand after a turn.

        Raises:
            UnknownName: one of them is not in this library.
        """
        return self.view(caller, id, number, retriever).why(ids)

    def view(self, caller: Caller, id: str, number: int, retriever: str | None = None) -> Ranking:
        """The collection as a turn leaves it: for the moment, it is large."""
        with self._held(caller, id) as (_, row, session):
            return self._view(row, session, number, retriever)

    def shown(self, caller: Caller, id: str, number: int) -> tuple[PictureId, ...]:
        """The first page of a turn's results, as it was then.

        Raises:
            Problem: 404, there is no such talk or turn.
        """
        with self._held(caller, id) as (_, _, session):
            return _node(session.conversation, number).shown

    def edit(
        self, caller: Caller, id: str, number: int, turn: schemas.TurnIn | None, *, public: bool = False
    ) -> schemas.Replay:
        """Another turn in the place of one (None: no turn), on a branch of its own where all that followed is repeated.

        Raises:
            BadInput, UnknownName: there is nothing to change, or the new turn cannot be taken; all stays as it was.
        """
        started = time.perf_counter()
        with self._held(caller, id, public=public) as (live, row, session):
            self._name(live)
            _node(session.conversation, number)
            scratch = self._session(live, row, session.conversation)
            snapshot = self.retrievers.gallery(row.retriever).snapshot
            again = repeat_turns(
                scratch,
                number,
                None if turn is None else partial(parse_turn, turn),
                lambda picture: snapshot.row_of(picture) is not None,
            )
            live.session = scratch
            self._keep(live, len(session.conversation.nodes), milliseconds_since(started))
            here = scratch.conversation.here.number
            results = self._results(live, here, read_page(scratch.ranking(), row.n, 0), scratch, started)
            return schemas.Replay(numbers=again.numbers, left_out=again.left_out, results=results)

    # -- found

    def found(self, caller: Caller, id: str, given: schemas.Found, *, public: bool = False) -> schemas.FoundAnswer:
        """Notes which picture was meant.

        Raises:
            UnknownName: it is not in this library.
        """
        with self._held(caller, id, public=public) as (_, row, session):
            talk = session.conversation
            node = talk.here if given.turn is None else _node(talk, given.turn)
            bounds = self._view(row, session, node.number).rank_bounds(given.picture)
            rank = node.shown.index(given.picture) if given.picture in node.shown else bounds[1]
            noted = FeedbackRow(
                id=str(uuid.uuid4()),
                owner=caller.token,
                session=id,
                node=node.number,
                picture=given.picture,
                rank=rank + 1,
                retriever=row.retriever,
                conversation=talk.to_json(),
                at=time.time(),
            )
        self._feedback.create(noted)
        return schemas.FoundAnswer(id=noted.id, picture=noted.picture, turn=noted.node, rank=rank + 1)

    def feedback_lines(self) -> Iterator[str]:
        """All that was found, as JSON lines."""
        return map(write_feedback_line, self._feedback.all())

    def rank_bounds(self, id: str, picture: PictureId, number: int | None = None) -> tuple[int, int]:
        """The 0-based rank of a picture after a turn (by default, the newest), at best and at worst."""
        with self._open.held(id) as live:
            row = self._sessions.get(id)
            if row is None:
                raise not_found("session", id)
            session = self._loaded(live, row)
            at = len(session.conversation) if number is None else number
            return self._view(row, session, at).rank_bounds(picture)

    # -- attributes

    def attributes(self, caller: Caller, id: str, picture: PictureId) -> schemas.PictureAttributes:
        """What a talk's retriever sees in a picture; nothing in a study, as it would tell the retriever.

        Raises:
            Problem: 404, there is no such talk or picture.
        """
        row = self._row(caller, id)
        if row.hidden:
            return schemas.PictureAttributes(attributes=[], known=[])
        return predict_picture_attributes(self.retrievers, self._uploads, row.retriever, like=picture)

    # -- without a talk

    def search(self, caller: Caller, given: schemas.SearchIn) -> schemas.SearchResults:
        """One search.

        Raises:
            EmptyQuery, UnknownName, BadInput, Problem: as turns.
        """
        del caller  # whoever may read may search
        return search_once(self.retrievers, self._uploads, given)

    # -- inside

    def _check(self, retriever: str | None, questioner: str | None, where: Mapping[str, str] | None) -> None:
        if questioner is not None:
            self.questioners.check(questioner)
        if retriever is not None:
            self.retrievers.gallery(retriever)
        if where:
            self.retrievers.gallery(DEFAULT).snapshot.where(where)

    def _row(self, caller: Caller, id: str, *, public: bool = False) -> SessionRow:
        row = self._sessions.get(id) if _ID.fullmatch(id) else None
        if row is None or not caller.may_see(row.owner):
            raise not_found("session", id)
        if public and row.hidden:
            raise Problem(403, "in-a-study", "this talk belongs to a study: it goes on there")
        return row

    @contextmanager
    def _held(
        self, caller: Caller, id: str, *, public: bool = False
    ) -> Iterator[tuple[OpenSession, SessionRow, Session]]:
        """A talk for this thread alone, as the database has it now."""
        with self._open.held(id) as live:
            row = self._row(caller, id, public=public)
            yield live, row, self._loaded(live, row)

    def _loaded(self, live: OpenSession, row: SessionRow) -> Session:
        """The session in memory, unless another process has changed the talk since."""
        if live.session is None or live.row is None or not is_current(live.row, row, live.session.conversation):
            due = live.unasked
            live.abandon()
            live.forget()
            live.session = self._session(live, row, intern_ids(self._sessions.conversation(row.id)))
            if due == live.session.conversation.here.number:
                live.session.reopen_question()
                live.unasked = due if live.session.question_due else None
        live.row = row
        return live.session

    def _session(self, live: OpenSession, row: SessionRow, talk: Conversation, retriever: str | None = None) -> Session:
        name = retriever or row.retriever
        engine = self.retrievers.retriever(name)

        stand_in = self.questioners.stands_in(row.questioner)
        return Session(
            self.retrievers.pictures(name),
            engine,
            self.questioners.spec(row.questioner) if stand_in is None else stand_in[0],
            n=row.n,
            where=row.where,
            conversation=talk,
            image_file=partial(find_upload, self._uploads),
            # Pictures are what a study and a look at another retriever are about.
            leaning=session_picture_bias(engine, row.leaning, pictures_alone=row.hidden or retriever is not None),
        )

    def _view(self, row: SessionRow, session: Session, number: int, retriever: str | None = None) -> Ranking:
        return self._seen_by(row, session, number, retriever).ranking(number)

    def _seen_by(self, row: SessionRow, session: Session, number: int, retriever: str | None) -> Session:
        """The talk as another retriever has it; there is such a turn."""
        _node(session.conversation, number)
        if retriever is None or retriever == row.retriever:
            return session
        if row.hidden:
            raise Problem(403, "in-a-study", "this talk belongs to a study: its retriever stays")
        return self._session(OpenSession(), row, session.conversation, retriever)

    def _keep(self, live: OpenSession, known: int, elapsed_ms: float) -> None:
        """Records the nodes from number `known` on; if that fails, the talk is read again by the next who needs it."""
        assert live.session is not None and live.row is not None
        id, talk = live.row.id, live.session.conversation
        live.abandon()
        try:
            for node in talk.nodes[known:]:
                self._sessions.append(id, node, elapsed_ms=elapsed_ms, at=time.time())
        except BaseException as error:
            live.forget()
            if isinstance(error, TurnTaken):
                raise Problem(409, "conflict", str(error), turn=error.number) from error
            if isinstance(error, UnknownName):
                raise not_found("session", id) from error
            raise
        live.unasked = talk.here.number if live.session.question_due else None

    def _name(self, live: OpenSession) -> None:
        """A talk's name can wait until the results of its first turn are out."""
        if live.row is not None and live.session is not None and not live.row.name and not live.row.hidden:
            live.row = self._named(live.row, live.session.conversation)

    def _named(self, row: SessionRow, talk: Conversation) -> SessionRow:
        """A talk with its name, as the database has it: somebody may have given it one since."""
        now = self._sessions.get(row.id)
        if now is not None and not now.name and (name := name_conversation(talk)):
            now = self._sessions.change(row.id, name=name, at=time.time())
        return now or row

    def _results(
        self, live: OpenSession, number: int, page: ResultPage, seen: Session, started: float
    ) -> schemas.Results:
        """`seen`: the talk as the retriever has it that was asked for."""
        assert live.session is not None and live.row is not None
        talk = live.session.conversation
        text = live.replies.get(number) if seen is live.session else None
        return schemas.Results(
            turn=number,
            verdict=page.verdict,
            results=page.hits,
            total=page.total,
            next=page.next,
            beliefs=find_beliefs(page.query, talk, talk.path(number)),
            # In a study these would name the retriever.
            adapters=[] if live.row.hidden else list(page.adapters),
            operations=[] if live.row.hidden else operations_to_api(seen.operations(number)),
            question=question_to_api(talk.node(number).asked),
            asking=live.unasked == number,
            answer=None if live.row.hidden else describe_answer(seen, number, text),
            elapsed_ms=milliseconds_since(started),
        )


def _node(talk: Conversation, number: int) -> Node:
    if not 0 <= number < len(talk.nodes):
        raise not_found("turn", str(number))
    return talk.nodes[number]
