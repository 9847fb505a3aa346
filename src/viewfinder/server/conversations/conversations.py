"""All conversations of a server. Any thread may call any method; a conversation serves one thread at a time.

Methods with a `public` refuse to change conversations that belong to a study, if it is True: the study changes those.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from viewfinder.conversation import Conversation, Node, PictureId, Question
from viewfinder.search.ranking import Ranking
from viewfinder.server.conversations import schemas
from viewfinder.server.conversations.answers import (
    SeenSession,
    answers_open_question,
    check_length,
    parse_conversation,
    parse_turn,
    results_to_api,
    search_once,
    session_to_api,
    tree_to_api,
)
from viewfinder.server.conversations.editing import find_following_turns, repeat_turns
from viewfinder.server.conversations.open_sessions import OpenSessions, turn_taken
from viewfinder.server.conversations.pools import DEFAULT, QuestionerPool, RetrieverPool, predict_picture_attributes
from viewfinder.server.conversations.questions import OpenSession
from viewfinder.server.conversations.sent_twice import check_same
from viewfinder.server.database import AlreadySaid, FeedbackRow, Said, SessionRow, TurnTaken
from viewfinder.server.pictures.library import parse_cursor
from viewfinder.server.problems import Problem, not_found
from viewfinder.session.session import Session

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.access.tokens import Caller
    from viewfinder.server.database import FeedbackRows, RequestKey, SessionRows
    from viewfinder.server.pictures.uploads import Uploads
    from viewfinder.server.settings import ServerSettings

_ID = re.compile(r"[0-9a-f-]{36}")
_BEGUN = uuid.UUID("5f8d3a52-0a0e-4a57-9d0c-6c1f1b7a4e21")
"""The namespace of the ids of conversations that were begun with a key."""


class Conversations:
    """Conversations kept in the database, the last used of them open in memory as sessions."""

    def __init__(
        self,
        library: Library,
        sessions: SessionRows,
        feedback: FeedbackRows,
        uploads: Uploads,
        settings: ServerSettings,
    ) -> None:
        self.retrievers = RetrieverPool(library, settings.retrievers)
        self.questioners = QuestionerPool(settings)
        self._sessions = sessions
        self._feedback = feedback
        self._uploads = uploads
        self._open = OpenSessions(sessions, self.retrievers, self.questioners, uploads, settings.sessions_in_memory)
        self.is_long, self.choose_question = self._open.is_long, self._open.questions.choose

    def __len__(self) -> int:
        """The number of sessions in memory."""
        return len(self._open)

    # -- conversations as a whole

    def create(
        self, caller: Caller, given: schemas.SessionIn, key: RequestKey | None = None, *, hidden: bool = False
    ) -> schemas.Session:
        """A new conversation; `hidden`: it belongs to a study. With a `key` that began one before, that one.

        Raises:
            UnknownName, BadInput: there is no such retriever, questioner, column or value.
            Problem: 409, the retriever has yet to be prepared, or there are no pictures.
        """
        self._check(given.retriever, given.questioner, given.where)
        return session_to_api(self._new_row(caller, given, key, hidden=hidden))

    def page(self, caller: Caller, count: int, cursor: str | None) -> schemas.SessionPage:
        """The caller's conversations, the last used first."""
        everyone = "admin" in caller.scopes
        rows, following = self._sessions.page(owner=caller.token, everyone=everyone, count=count, cursor=cursor)
        return schemas.SessionPage(sessions=[session_to_api(row) for row in rows], next=following)

    def tree(self, caller: Caller, id: str) -> schemas.SessionTree:
        """A conversation with all its branches."""
        row = self._find_row(caller, id)
        return tree_to_api(row, self._sessions.conversation(id), self._sessions.times(id))

    def change(self, caller: Caller, id: str, given: schemas.SessionChange, *, public: bool = False) -> schemas.Session:
        """Gives a conversation another name, retriever, questioner, filter or leaning from now on.

        Raises:
            UnknownName, BadInput, Problem: as `create`.
        """
        before = self._find_row(caller, id, public=public)
        self._check(given.retriever, given.questioner, given.where)
        changed = self._sessions.change(id, **given.model_dump(), at=time.time())
        if changed is None:
            raise not_found("session", id)
        if given.where is not None and given.where != dict(before.where):
            self._open.questions.choose_anew(id)
        return session_to_api(changed)

    def delete(self, caller: Caller, id: str, *, public: bool = False) -> None:
        """Forgets a conversation."""
        self._find_row(caller, id, public=public)
        with self._open.hold(id) as held:
            held.drop_question()
            held.forget()
            self._sessions.delete(id)

    def export(self, caller: Caller, id: str) -> schemas.Exported:
        """A conversation as a document."""
        row = self._find_row(caller, id)
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
        """A new conversation with all turns of a document.

        Raises:
            UnknownName, BadInput: it is no conversation, or names a part that is not here.
        """
        conversation = parse_conversation(document.conversation)
        kept = document.model_dump(include={"name", "questioner", "where", "n", "leaning"})
        given = schemas.SessionIn(retriever=document.retriever or DEFAULT, **kept)
        self.retrievers.retriever(given.retriever)  # it may still need preparing
        self._check(None, given.questioner, given.where)
        row = self._new_row(caller, given)
        try:
            self._sessions.append(row.id, *conversation.nodes[1:], elapsed_ms=0.0, at=row.created)
        except BaseException:
            self._sessions.delete(row.id)
            raise
        return self.tree(caller, row.id)

    # -- turns

    def take(
        self, caller: Caller, id: str, turn: schemas.TurnIn, key: RequestKey | None = None, *, public: bool = False
    ) -> schemas.Results:
        """Takes a turn and returns its results at once; `choose_question` then chooses the question.

        A question that is still being chosen is abandoned, unless the turn answers it. With a `key` that took a turn
        before, none is taken: that turn is answered again, with its results in the present collection.

        Raises:
            BadInput, UnknownName: the turn cannot be taken; the conversation stays as it was.
            Problem: 404; 409, another turn was taken meanwhile, or the retriever is not prepared; 422, the key
                came with another turn.
        """
        if answers := answers_open_question(turn):
            self.open_question(caller, id, key, public=public).result()
        started = time.perf_counter()
        if self.is_long(id):  # if its state so far must be computed, that is done without holding the conversation
            alone = self._see(caller, id, 0, public=public).session
            if not alone.is_remembered:
                alone.ranking()
        try:
            with self._load(caller, id, public=public) as (held, row, session):
                self._check_new(id, key)
                known = len(session.conversation.nodes)
                check_length(known)
                ranking = session.take_turn(parse_turn(turn, session.question if answers else None)).ranking
                number = session.conversation.nodes[-1].number
                seen = SeenSession(row, session, number if session.question_due else None, held.replies)
                results = results_to_api(seen, number, ranking, started)
                # Last: until then the work may be stopped, and the turn was not taken.
                self._open.record(held, known, results.elapsed_ms, key)
                return results
        except AlreadySaid as again:
            return self.results(caller, id, again.said.number)

    def open_question(
        self, caller: Caller, id: str, key: RequestKey | None = None, *, public: bool = False
    ) -> Future[Question | None]:
        """The question that an answer would answer now, as soon as it is known.

        There is none for an answer with a `key` that took a turn before.

        Raises:
            Problem: 404, or 403 in a study.
        """
        with self._load(caller, id, public=public) as (_, _, session):
            number = session.conversation.here.number
            if self.find_said(id, key) is not None:
                nothing = Future[Question | None]()
                nothing.set_result(None)
                return nothing
        return self.choose_question(id, number)

    def find_said(self, id: str, key: RequestKey | None) -> Said | None:
        """The turn that a request with this key has taken before in this conversation; None if there was none.

        Raises:
            Problem: 422, the key came with another turn.
        """
        found = None if key is None else self._sessions.said(id, key.key)
        if found is not None and key is not None:
            check_same(found, key)
        return found

    def _check_new(self, id: str, key: RequestKey | None) -> None:
        """Raises AlreadySaid if a request with this key was here before; Problem, as `find_said`."""
        if (found := self.find_said(id, key)) is not None:
            raise AlreadySaid(found)

    def question(self, id: str, number: int) -> Question | None:
        """The question asked after a turn; waits until it is known."""
        return self.choose_question(id, number).result()

    def results(
        self,
        caller: Caller,
        id: str,
        number: int,
        *,
        n: int | None = None,
        cursor: str | None = None,
        retriever: str | None = None,
    ) -> schemas.Results:
        """The results of a turn in the present collection, `n` of them from the cursor on.

        `retriever`: the results of another one, from the same conversation.
        """
        started, start = time.perf_counter(), parse_cursor(cursor)
        seen = self._see(caller, id, number, retriever)
        return results_to_api(seen, number, seen.session.ranking(number), started, n=n, start=start)

    def reply(self, caller: Caller, id: str, number: int) -> Iterator[str]:
        """The words that a turn is answered with, in pieces; none where it is answered with pictures, or in a study.

        They are written on demand, while the conversation may continue; once written they are kept with the session,
        if it is still open and unchanged.

        Raises:
            Problem: 404, there is no such conversation or turn.
        """
        seen = self._see(caller, id, number)
        pieces = iter(()) if seen.row.hidden else seen.session.reply(number)

        def write_reply() -> Iterator[str]:
            text = ""
            for piece in pieces:
                text += piece
                yield piece
            seen.replies[number] = text  # without effect if the session was read again meanwhile

        return write_reply()

    def ranking(self, caller: Caller, id: str, number: int, retriever: str | None = None) -> Ranking:
        """The collection as a turn orders it. It is large: do not keep it."""
        return self._see(caller, id, number, retriever).session.ranking(number)

    def list_shown(self, caller: Caller, id: str, number: int) -> tuple[PictureId, ...]:
        """The first page of a turn's results, as it was then.

        Raises:
            Problem: 404, there is no such conversation or turn.
        """
        with self._load(caller, id) as (_, _, session):
            return _find_node(session.conversation, number).shown

    def edit(
        self,
        caller: Caller,
        id: str,
        number: int,
        turn: schemas.TurnIn | None,
        key: RequestKey | None = None,
        *,
        public: bool = False,
    ) -> schemas.Replay:
        """Puts another turn in the place of one (None: no turn), on a new branch where all turns after it are repeated.

        With a `key` that made an edit before, nothing is done: that edit is answered again.

        Raises:
            BadInput, UnknownName: there is nothing to change, or the new turn cannot be taken; all stays as it was.
            Problem: as `take`.
        """
        started = time.perf_counter()
        seen = self._see(caller, id, number, public=public)
        edited, before = seen.session, seen.session.conversation
        known = len(before.nodes)
        try:
            self._check_new(id, key)
            check_length(known + len(find_following_turns(before, number)) + 1)
            snapshot = self.retrievers.gallery(seen.row.retriever).snapshot
            repeated = repeat_turns(
                edited,
                number,
                None if turn is None else partial(parse_turn, turn),
                lambda picture: snapshot.row_of(picture) is not None,
            )
            here = edited.conversation.here.number
            seen = replace(seen, asking=here if edited.question_due else None)
            results = results_to_api(seen, here, edited.ranking(), started)
            replay = {"numbers": repeated.numbers, "left_out": repeated.left_out}
            with self._load(caller, id, public=public) as (held, _, session):
                self._check_new(id, key)
                if len(session.conversation.nodes) != known:
                    raise turn_taken(TurnTaken(known))
                # A question may have been noted meanwhile.
                nodes = (*session.conversation.nodes, *edited.conversation.nodes[known:])
                edited.conversation, held.session = Conversation(nodes), edited
                self._open.record(held, known, results.elapsed_ms, key, None if key is None else replay)
            return schemas.Replay(**replay, results=results)
        except AlreadySaid as again:
            told = again.said.replay or {"numbers": {}, "left_out": []}
            return schemas.Replay(**told, results=self.results(caller, id, again.said.number))

    # -- found

    def note_found(self, caller: Caller, id: str, given: schemas.Found, *, public: bool = False) -> schemas.FoundAnswer:
        """Notes the picture that was meant, with the conversation.

        Raises:
            UnknownName: it is not in this library.
        """
        seen = self._see(caller, id, given.turn or 0, public=public)
        conversation = seen.session.conversation
        node = conversation.here if given.turn is None else conversation.nodes[given.turn]
        bounds = seen.session.ranking(node.number).rank_bounds(given.picture)
        rank = node.shown.index(given.picture) if given.picture in node.shown else bounds[1]
        noted = FeedbackRow(
            str(uuid.uuid4()), caller.token, id, node.number, given.picture, rank + 1, seen.row.retriever,
            conversation.to_json(), time.time(),
        )  # fmt: skip
        self._feedback.create(noted)
        return schemas.FoundAnswer(id=noted.id, picture=noted.picture, turn=noted.node, rank=rank + 1)

    def list_feedback(self) -> Iterator[str]:
        """All pictures that were meant, as JSON lines, without the people who looked for them."""
        rows = self._feedback.all()
        first = list(islice(rows, 1))  # a database that is away is noticed before an answer has begun
        return map(_feedback_line, chain(first, rows))

    def rank_bounds(self, id: str, picture: PictureId, number: int | None = None) -> tuple[int, int]:
        """The 0-based rank of a picture after a turn (by default, the newest), at best and at worst."""
        with self._open.hold(id) as held:
            row = self._sessions.get(id)
            if row is None:
                raise not_found("session", id)
            session = self._open.load(held, row)
            at = len(session.conversation) if number is None else number
            _find_node(session.conversation, at)
            return session.ranking(at).rank_bounds(picture)

    # -- attributes

    def attributes(self, caller: Caller, id: str, picture: PictureId) -> schemas.PictureAttributes:
        """The attributes that a conversation's retriever sees in a picture; none in a study, as they would reveal it.

        Raises:
            Problem: 404, there is no such conversation or picture.
        """
        row = self._find_row(caller, id)
        if row.hidden:
            return schemas.PictureAttributes(attributes=[], known=[])
        return predict_picture_attributes(self.retrievers, self._uploads, caller, row.retriever, like=picture)

    def search(self, caller: Caller, given: schemas.SearchIn) -> schemas.SearchResults:
        """A search without a conversation; raises as `search_once`."""
        return search_once(self.retrievers, self._uploads, caller, given)

    # -- inside

    def _check(self, retriever: str | None, questioner: str | None, where: Mapping[str, str] | None) -> None:
        if questioner is not None:
            self.questioners.check(questioner)
        if retriever is not None:
            self.retrievers.gallery(retriever)
        if where:
            self.retrievers.gallery(DEFAULT).snapshot.where(where)

    def _new_row(
        self, caller: Caller, given: schemas.SessionIn, key: RequestKey | None = None, *, hidden: bool = False
    ) -> SessionRow:
        now = time.time()
        # The id follows from the key, so that a request that comes twice finds what it has begun.
        id = str(uuid.uuid4() if key is None else uuid.uuid5(_BEGUN, f"{caller.token} {key.key} {key.request}"))
        row = SessionRow(id=id, owner=caller.token, **given.model_dump(), created=now, updated=now, hidden=hidden)
        return self._sessions.begin(row)

    def _find_row(self, caller: Caller, id: str, *, public: bool = False) -> SessionRow:
        row = self._sessions.get(id) if _ID.fullmatch(id) else None
        if row is None or not caller.may_see(row.owner):
            raise not_found("session", id)
        if public and row.hidden:
            raise Problem(403, "in-a-study", "this conversation belongs to a study: it goes on there")
        return row

    @contextmanager
    def _load(
        self, caller: Caller, id: str, *, public: bool = False
    ) -> Iterator[tuple[OpenSession, SessionRow, Session]]:
        """A session for this thread alone, up to date with the database.

        If its turns change and then something fails, it is read again before it is next used.
        """
        with self._open.hold(id) as held:
            row = self._find_row(caller, id, public=public)
            session = self._open.load(held, row)
            before = session.conversation
            try:
                yield held, row, session
            except BaseException:
                if held.session is not session or session.conversation is not before:
                    held.forget()
                raise

    def _see(
        self, caller: Caller, id: str, number: int, retriever: str | None = None, *, public: bool = False
    ) -> SeenSession:
        """A session of its own for one reader, with the conversation's retriever or another one; turn `number` exists.

        Reading may take long, and the conversation may go on meanwhile.
        """
        with self._load(caller, id, public=public) as (held, row, session):
            _find_node(session.conversation, number)
            other = None if retriever == row.retriever else retriever
            if other is not None and row.hidden:
                raise Problem(403, "in-a-study", "this conversation belongs to a study: its retriever stays")
            asking = None if held.due is None else held.due.number
            replies = held.replies if other is None else {}
            return SeenSession(row, self._open.new_session(row, session.conversation, other), asking, replies)


def _find_node(conversation: Conversation, number: int) -> Node:
    if not 0 <= number < len(conversation.nodes):
        raise not_found("turn", str(number))
    return conversation.nodes[number]


def _feedback_line(row: FeedbackRow) -> str:
    line = {"id": row.id, "at": row.at, "session": row.session, "turn": row.node}
    line |= {name: getattr(row, name) for name in ("picture", "rank", "retriever", "conversation")}
    return json.dumps(line) + "\n"
