"""Sessions in memory, for one thread at a time each, as the database has them; the questions being chosen for them.

Nobody who says something waits for a questioner. Whether a question is due, the session knows
(`Session.question_due`). Its choice is begun once the turn is answered, by whoever comes first: the server, or a client
that wants the events. It is made without holding the session. If another turn is taken before it is made, it is
abandoned: what nobody has seen was not asked.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from viewfinder.conversation import Conversation, Question
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName, ViewfinderError
from viewfinder.index.turns import stop_if_asked
from viewfinder.server.conversations.pools import ReadablePictures, session_picture_bias
from viewfinder.server.database import SessionRow, TurnTaken
from viewfinder.server.problems import Problem, not_found
from viewfinder.session import Session

if TYPE_CHECKING:
    from viewfinder.server.conversations.pools import QuestionerPool, RetrieverPool
    from viewfinder.server.database import SessionRows
    from viewfinder.server.pictures.uploads import Uploads

LONG = 200
"""Turns from which on a conversation is long: what is asked of it has threads of its own."""

PAUSE_S = 0.1
"""How often who waits for a session looks whether anybody still waits for him."""

NAME_LENGTH = 60
"""Letters of what was said first that name a conversation without a name."""

SLOW_AT_ONCE = 16
"""Language models that are waited for at a time; choices beyond that wait for a place."""

_LOG = logging.getLogger("viewfinder.server")


@dataclass(frozen=True, eq=False)
class PendingQuestion:
    """A question that is being chosen, for the turn of this number; `done` has it, or None where there is none."""

    number: int
    done: Future[Question | None] = field(default_factory=Future)


@dataclass
class OpenSession:
    """One session in memory.

    `row` is as it was when `session` was made; `pending` the question that is being chosen; `replies` what turns were
    answered in words, by their number, as far as somebody has had that written.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    row: SessionRow | None = None
    session: Session | None = None
    pending: PendingQuestion | None = None
    replies: dict[int, str] = field(default_factory=dict)

    def forget(self) -> None:
        """The next who needs the session reads it again; a question that is being chosen is still waited for."""
        self.row = self.session = None
        self.replies = {}

    def abandon_question(self) -> None:
        """What is being chosen is not asked any more; who waits for it is told."""
        if self.pending is not None and not self.pending.done.done():
            self.pending.done.set_result(None)
        self.pending = None


class OpenSessions:
    """At most `size` sessions, and those being used; any other is read again from the database."""

    def __init__(
        self, rows: SessionRows, retrievers: RetrieverPool, questioners: QuestionerPool, uploads: Uploads, size: int
    ) -> None:
        self._rows, self._retrievers, self._questioners, self._uploads = rows, retrievers, questioners, uploads
        self._size = size
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, OpenSession] = OrderedDict()
        self._places = threading.BoundedSemaphore(SLOW_AT_ONCE)

    def __len__(self) -> int:
        return len(self._sessions)

    def is_long(self, id: str) -> bool:
        """Whether it is known of a conversation that it is long."""
        held = self._sessions.get(id)
        session = None if held is None else held.session
        return session is not None and len(session.conversation) >= LONG

    @contextmanager
    def held(self, id: str) -> Iterator[OpenSession]:
        """The session, for this thread alone."""
        with self._lock:
            held = self._sessions.setdefault(id, OpenSession())
            self._sessions.move_to_end(id)
            held.users += 1
        try:
            while not held.lock.acquire(timeout=PAUSE_S):
                stop_if_asked()
            try:
                yield held
            finally:
                held.lock.release()
        finally:
            with self._lock:
                held.users -= 1
                if held.session is None and not held.users:
                    del self._sessions[id]
                # The least recently used go first; one that somebody holds stays, lest there be two locks for it.
                if len(self._sessions) > self._size:
                    idle = [name for name, one in self._sessions.items() if not one.users]
                    for name in idle[: len(self._sessions) - self._size]:
                        del self._sessions[name]

    # -- as the database has them

    def load(self, held: OpenSession, row: SessionRow) -> Session:
        """The session in memory, unless another process has changed the conversation since."""
        session = held.session
        if session is None or held.row is None or not _is_current(held.row, row, session.conversation):
            due = session.conversation.here.number if session is not None and session.question_due else None
            held.abandon_question()
            held.forget()
            session = held.session = self.new_session(row, self._rows.conversation(row.id))
            if due == session.conversation.here.number:
                session.reopen_question()
        held.row = row
        return session

    def new_session(self, row: SessionRow, conversation: Conversation, retriever: str | None = None) -> Session:
        """A conversation at work as its row says, or as `retriever` would have it."""
        name = retriever or row.retriever
        loaded = self._retrievers.retriever(name)
        stand_in = self._questioners.stands_in(row.questioner)
        return Session(
            ReadablePictures(self._retrievers, name),
            loaded,
            self._questioners.spec(row.questioner) if stand_in is None else stand_in[0],
            n=row.n,
            where=row.where,
            conversation=conversation,
            # What is shown in a conversation is its owner's, whoever says so.
            image_file=partial(self._uploads.find, may_see=lambda owner: owner == row.owner),
            whose=row.owner or "",
            # Pictures are what a study and a look at another retriever are about.
            picture_bias=session_picture_bias(loaded, row.leaning, pictures_alone=row.hidden or retriever is not None),
        )

    def record(self, held: OpenSession, known: int, elapsed_ms: float) -> None:
        """Stores the nodes from number `known` on; if that fails, whoever needs the session next reads it again."""
        assert held.session is not None and held.row is not None
        id = held.row.id
        held.abandon_question()
        try:
            self._rows.append(id, *held.session.conversation.nodes[known:], elapsed_ms=elapsed_ms, at=time.time())
        except BaseException as error:
            held.forget()
            if isinstance(error, TurnTaken):
                raise taken_elsewhere(error) from error
            if isinstance(error, UnknownName):
                raise not_found("session", id) from error
            raise

    def name(self, held: OpenSession) -> None:
        """Names a conversation by what was said first in words; that can wait until its results are out."""
        row, session = held.row, held.session
        if row is None or session is None or row.name or row.hidden:
            return
        now = self._rows.get(row.id)  # somebody may have named it since
        if now is not None and not now.name:
            texts = (getattr(node.turn, "text", "").split() for node in session.conversation.nodes)
            name = " ".join(next(filter(None, texts), ()))[:NAME_LENGTH]
            now = self._rows.change(row.id, name=name, at=time.time()) if name else now
        held.row = now or row

    # -- questions

    def begin_question(self, id: str, held: OpenSession) -> Callable[[], None] | None:
        """Begins the choice that is due in a session that is held; call what it gives when it is held no more.

        None where no question is due, or where its choice has been begun.
        """
        if held.session is None or held.row is None or held.pending is not None:
            return None
        choose = held.session.question_choice()
        if choose is None:
            return None
        pending = held.pending = PendingQuestion(held.session.conversation.here.number)
        name = held.row.questioner
        if not self._questioners.is_slow(name):
            return partial(self._choose, id, pending, choose, name)
        # It ends with the process: a server that stops does not wait for a language model.
        given = (id, pending, choose, name)
        return threading.Thread(target=self._choose_in_turn, args=given, name="asking", daemon=True).start

    def _choose_in_turn(
        self, id: str, pending: PendingQuestion, choose: Callable[[], Question | None], name: str
    ) -> None:
        with self._places:
            if not pending.done.done():
                self._choose(id, pending, choose, name)

    def _choose(self, id: str, pending: PendingQuestion, choose: Callable[[], Question | None], name: str) -> None:
        """One choice, by the questioner that the session is set to, or by who stands in for it."""
        question, stand_in = None, self._questioners.stands_in(name)
        try:
            question = choose()
            if question is not None and stand_in is not None:
                question = replace(question, why=f"{stand_in[1]}; {question.why}")
        except ViewfinderError as error:
            _LOG.warning("nothing was asked by %s: %s", name, error)
            if isinstance(error, BadInput | EncoderMismatch):  # it will not pass: another asks from the next turn on
                self._questioners.gave_up(name, error)
                with self.held(id) as held:
                    held.forget()
        except Exception:
            _LOG.exception("unforeseen error of a questioner: nothing was asked")
        self._note_question(id, pending, question)

    def _note_question(self, id: str, pending: PendingQuestion, question: Question | None) -> None:
        """Notes what was chosen, unless the conversation has gone on without it."""
        with self.held(id) as held:
            if held.pending is not pending:  # abandoned, or the session is not in memory any more
                question = None
            try:
                if question is not None:
                    self._rows.note_question(id, pending.number, question)
            except BaseException:
                question = None
                raise
            finally:
                if held.pending is pending:
                    held.pending = None
                    if held.session is not None and held.session.conversation.here.number == pending.number:
                        held.session.record_question(question)
                if not pending.done.done():
                    pending.done.set_result(question)


def taken_elsewhere(error: TurnTaken) -> Problem:
    """409, with the number of the turn that somebody else has said."""
    return Problem(409, "conflict", str(error), turn=error.number)


def _is_current(known: SessionRow, row: SessionRow, conversation: Conversation) -> bool:
    """Whether a session in memory is what the database has, by its settings and by how many turns there are."""
    settings = ((one.retriever, one.questioner, dict(one.where), one.n, one.leaning) for one in (known, row))
    return next(settings) == next(settings) and row.turns == len(conversation)
