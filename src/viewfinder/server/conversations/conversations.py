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

from viewfinder.conversation import BackTo, Conversation, Node, PictureId, Question
from viewfinder.errors import BadInput
from viewfinder.search.hits import Hit
from viewfinder.search.ranking import Ranking
from viewfinder.server.conversations import schemas
from viewfinder.server.conversations.answers import (
    AS_THEY_RANK,
    SeenSession,
    Wanted,
    answers_open_question,
    check_length,
    list_to_api,
    news_to_api,
    parse_conversation,
    parse_turn,
    results_to_api,
    search_once,
    session_to_api,
    tree_to_api,
)
from viewfinder.server.conversations.editing import find_following_turns, repeat_turns
from viewfinder.server.conversations.moved_on import find_branch_point, try_again_when_overtaken
from viewfinder.server.conversations.open_sessions import OpenSessions, turn_taken
from viewfinder.server.conversations.pools import DEFAULT, QuestionerPool, RetrieverPool, predict_picture_attributes
from viewfinder.server.conversations.questions import OpenSession
from viewfinder.server.conversations.sent_twice import check_same
from viewfinder.server.database import AlreadySaid, FeedbackRow, Said, SessionRow, TurnTaken
from viewfinder.server.database.said_words import find_sought
from viewfinder.server.pictures.library import parse_cursor
from viewfinder.server.problems import Problem, not_found
from viewfinder.session.session import Session

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.access.signatures import Signer
    from viewfinder.server.access.tokens import Caller
    from viewfinder.server.database import FeedbackRows, RequestKey, SessionRows
    from viewfinder.server.pictures.uploads import Uploads
    from viewfinder.server.settings import ServerSettings
    from viewfinder.server.taking.filters import KeptFilters

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
        kept: KeptFilters | None = None,
    ) -> None:
        self._kept = kept
        self.retrievers = RetrieverPool(library, settings.retrievers)
        self.questioners = QuestionerPool(settings)
        self._sessions = sessions
        self._feedback = feedback
        self._uploads = uploads
        self._sessions_per_reader = settings.sessions_per_reader
        size = settings.sessions_in_memory
        self._open = OpenSessions(sessions, self.retrievers, self.questioners, uploads, size, self._read_where)
        self.is_long, self.choose_question = self._open.is_long, self._open.questions.choose
        self.find_question_failure = self._open.questions.find_failure

    def __len__(self) -> int:
        """The number of sessions in memory."""
        return len(self._open)

    # -- conversations as a whole

    def create(
        self, caller: Caller, given: schemas.SessionIn, key: RequestKey | None = None, *, hidden: bool = False
    ) -> schemas.Session:
        """A new conversation; `hidden`: it belongs to a study. With a `key` that began one before, that one.

        Of callers who may only read, the last used `sessions_per_reader` are kept.

        Raises:
            UnknownName, BadInput: there is no such retriever, questioner, column or value.
            Problem: 409, the retriever has yet to be prepared, or there are no pictures.
        """
        self._check(caller, given.retriever, given.questioner, given.where)
        row = self._new_row(caller, given, key, hidden=hidden)
        if "write" not in caller.scopes and not hidden:
            for old in self._sessions.oldest_beyond(self._sessions_per_reader, caller.token):
                self.delete(caller, old)
        return session_to_api(row)

    def page(self, caller: Caller, count: int, cursor: str | None, text: str = "") -> schemas.SessionPage:
        """The caller's conversations, the last used first; those with all words of `text`, in their names or turns."""
        everyone, sought = "admin" in caller.scopes, find_sought(text)
        rows, following = self._sessions.page(
            owner=caller.token, everyone=everyone, count=count, cursor=cursor, sought=sought
        )
        matches = self._sessions.matches([row.id for row in rows], sought)
        listed = [list_to_api(row, matches[row.id], sought) for row in rows]
        return schemas.SessionPage(sessions=listed, next=following)

    def tree(self, caller: Caller, id: str) -> schemas.SessionTree:
        """A conversation with all its branches."""
        row = self._find_row(caller, id)
        return tree_to_api(row, self._sessions.conversation(id), self._sessions.times(id))

    def news(self, caller: Caller, id: str, after: int) -> schemas.News:
        """The turns since turn `after`."""
        with self._load(caller, id) as (_, _, session):
            conversation = session.conversation
        is_new = len(conversation) > after
        return news_to_api(conversation, after, self._sessions.times(id) if is_new else {})

    def change(self, caller: Caller, id: str, given: schemas.SessionChange, *, public: bool = False) -> schemas.Session:
        """Gives a conversation another name, retriever, questioner, filter or leaning from now on.

        Raises:
            UnknownName, BadInput, Problem: as `create`.
        """
        before = self._find_row(caller, id, public=public)
        self._check(caller, given.retriever, given.questioner, given.where)
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
        self._check(caller, None, given.questioner, given.where)
        row = self._new_row(caller, given)
        try:
            self._sessions.append(row.id, *conversation.nodes[1:], elapsed_ms=0.0, at=row.created)
        except BaseException:
            self._sessions.delete(row.id)
            raise
        return self.tree(caller, row.id)

    # -- turns

    def take(
        self,
        caller: Caller,
        id: str,
        turn: schemas.TurnIn,
        key: RequestKey | None = None,
        wanted: Wanted = AS_THEY_RANK,
        *,
        public: bool = False,
    ) -> schemas.Results:
        """Takes a turn and returns its results at once; `choose_question` then chooses the question.

        A question that is still being chosen is abandoned, unless the turn answers it. With a `key` that took a turn
        before, none is taken: that turn is answered again, with its results in the present collection.

        Raises:
            BadInput, UnknownName: the turn cannot be taken; the conversation stays as it was.
            Problem: 404; 409, another turn was taken meanwhile, or the retriever is not prepared; 422, the key
                came with another turn.
        """
        return try_again_when_overtaken(turn, lambda: self._take(caller, id, turn, key, wanted, public=public))

    def _take(
        self, caller: Caller, id: str, turn: schemas.TurnIn, key: RequestKey | None, wanted: Wanted, *, public: bool
    ) -> schemas.Results:
        if answers := answers_open_question(turn):
            self.open_question(caller, id, key, parent=turn.parent, public=public).result()
        started = time.perf_counter()
        if self.is_long(id):  # if its state so far must be computed, that is done without holding the conversation
            alone = self._see(caller, id, 0, public=public).session
            if not alone.is_remembered:
                alone.ranking()
        try:
            with self._load(caller, id, public=public) as (held, row, session):
                self._check_new(id, key)
                known = len(session.conversation.nodes)
                back = find_branch_point(session.conversation, turn.parent, turn.on_conflict)
                check_length(known if back is None else known + 1)
                if back is not None and not isinstance(turn, schemas.BackToTurn):
                    session.take_turn(BackTo(back))
                ranking = session.take_turn(parse_turn(turn, session.question if answers else None)).ranking
                number = session.conversation.nodes[-1].number
                seen = SeenSession(row, session, number if session.question_due else None, held.replies)
                results = results_to_api(seen, number, ranking, started, wanted)
                note_order(session, results, wanted)
                # Last: until then the work may be stopped, and the turn was not taken.
                self._open.record(held, known, results.elapsed_ms, key)
                return results
        except AlreadySaid as again:
            return self.results(caller, id, again.said.number, wanted)

    def open_question(
        self,
        caller: Caller,
        id: str,
        key: RequestKey | None = None,
        *,
        parent: int | None = None,
        public: bool = False,
    ) -> Future[Question | None]:
        """The question that an answer would answer now, as soon as it is known.

        There is none for an answer with a `key` that took a turn before, or that was meant to follow a `parent` where
        the conversation does not stand any more.

        Raises:
            Problem: 404, or 403 in a study.
        """
        with self._load(caller, id, public=public) as (_, _, session):
            number = session.conversation.here.number
            moved_on = find_branch_point(session.conversation, parent, "branch") is not None
            if moved_on or self.find_said(id, key) is not None:
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
        wanted: Wanted = AS_THEY_RANK,
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
        return results_to_api(seen, number, seen.session.ranking(number), started, wanted, n=n, start=start)

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

    def list_best(
        self, caller: Caller, id: str, number: int | None = None, n: int | None = None
    ) -> tuple[str, tuple[Hit, ...]]:
        """A conversation's name, and the `n` best pictures after a turn (by default as many as it shows, the newest).

        Raises:
            Problem: 404, there is no such conversation or turn; 403, it belongs to a study.
        """
        seen = self._see(caller, id, number or 0, public=True)
        return seen.row.name, seen.session.ranking(number).hits(n or seen.row.n)

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
        wanted: Wanted = AS_THEY_RANK,
        *,
        placed: schemas.Placed | None = None,
        public: bool = False,
    ) -> schemas.Replay:
        """Puts another turn in the place of one (None: no turn), on a new branch where all turns after it are repeated.

        With a `key` that made an edit before, nothing is done: that edit is answered again. `placed`: what its sender
        saw, where `turn` does not say it; on a branch, the turns up to there are repeated.

        Raises:
            BadInput, UnknownName: there is nothing to change, or the new turn cannot be taken; all stays as it was.
            Problem: as `take`.
        """
        at = placed or turn
        return try_again_when_overtaken(
            at, lambda: self._edit(caller, id, number, turn, key, wanted, at, public=public)
        )

    def _edit(
        self,
        caller: Caller,
        id: str,
        number: int,
        turn: schemas.TurnIn | None,
        key: RequestKey | None,
        wanted: Wanted,
        at: schemas.Placed | None,
        *,
        public: bool,
    ) -> schemas.Replay:
        started = time.perf_counter()
        seen = self._see(caller, id, number, public=public)
        edited, before = seen.session, seen.session.conversation
        known = len(before.nodes)
        try:
            self._check_new(id, key)
            end = None if at is None else find_branch_point(before, at.parent, at.on_conflict)
            check_length(known + len(find_following_turns(before, number, end)) + 1)
            snapshot = self.retrievers.gallery(seen.row.retriever).snapshot
            repeated = repeat_turns(
                edited,
                number,
                None if turn is None else partial(parse_turn, turn),
                lambda picture: snapshot.row_of(picture) is not None,
                end,
            )
            here = edited.conversation.here.number
            seen = replace(seen, asking=here if edited.question_due else None)
            results = results_to_api(seen, here, edited.ranking(), started, wanted)
            note_order(edited, results, wanted)
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
            return schemas.Replay(**told, results=self.results(caller, id, again.said.number, wanted))

    # -- found

    def note_found(self, caller: Caller, id: str, given: schemas.Found, *, public: bool = False) -> schemas.FoundAnswer:
        """Notes the picture that was meant, with the conversation.

        Raises:
            UnknownName: it is not in this library.
            BadInput: there is no such turn.
        """
        seen = self._see(caller, id, 0, public=public)
        conversation = seen.session.conversation
        if given.turn is not None and given.turn >= len(conversation.nodes):
            # 404 would say that there is no such conversation: what a body names is not what an address names.
            raise BadInput(
                f"turn: turn {given.turn} does not exist: this conversation has turns 0 to {len(conversation)}"
            )
        node = conversation.here if given.turn is None else conversation.nodes[given.turn]
        bounds = seen.session.ranking(node.number).rank_bounds(given.picture)
        rank = node.shown.index(given.picture) if given.picture in node.shown else bounds[1]
        noted = FeedbackRow(
            str(uuid.uuid4()), caller.token, id, node.number, given.picture, rank + 1, seen.row.retriever,
            conversation.to_json(), time.time(),
        )  # fmt: skip
        self._feedback.create(noted)
        return schemas.FoundAnswer(id=noted.id, picture=noted.picture, turn=noted.node, rank=rank + 1)

    def forget_found(self, caller: Caller, id: str, found: str, *, public: bool = False) -> None:
        """Takes back that a picture was the one that was meant. Raises Problem: 404, it was not noted so."""
        self._find_row(caller, id, public=public)
        noted = self._feedback.get(found)
        if noted is None or noted.session != id or not self._feedback.delete(found):
            raise not_found("picture that was found", found)

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

    def search(self, caller: Caller, given: schemas.SearchIn, signer: Signer | None = None) -> schemas.SearchResults:
        """A search without a conversation; raises as `search_once`."""
        where = self._read_where(given.where, caller.token, new=True)
        return search_once(self.retrievers, self._uploads, caller, given.model_copy(update={"where": where}), signer)

    # -- inside

    def _read_where(self, where: Mapping[str, str], owner: str | None, *, new: bool = False) -> Mapping[str, str]:
        """The conditions of a search, those on what its owner keeps as pictures; raises as `KeptFilters.read`."""
        return where if self._kept is None else self._kept.read(where, owner, new=new)

    def _check(
        self, caller: Caller, retriever: str | None, questioner: str | None, where: Mapping[str, str] | None
    ) -> None:
        if questioner is not None:
            self.questioners.check(questioner)
        if retriever is not None:
            self.retrievers.gallery(retriever)
        if where:
            self.retrievers.gallery(DEFAULT).snapshot.where(self._read_where(where, caller.token, new=True))

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


def note_order(session: Session, results: schemas.Results, wanted: Wanted) -> None:
    """Notes what was shown after the newest turn as it was shown: "the third one" is the third on the screen."""
    if wanted.sort:
        shown = tuple(hit.id for hit in results.results)
        session.conversation = session.conversation.recorded(shown=shown, asked=session.conversation.here.asked)


def _find_node(conversation: Conversation, number: int) -> Node:
    if not 0 <= number < len(conversation.nodes):
        raise not_found("turn", str(number))
    return conversation.nodes[number]


def _feedback_line(row: FeedbackRow) -> str:
    line = {"id": row.id, "at": row.at, "session": row.session, "turn": row.node}
    line |= {name: getattr(row, name) for name in ("picture", "rank", "retriever", "conversation")}
    return json.dumps(line) + "\n"
