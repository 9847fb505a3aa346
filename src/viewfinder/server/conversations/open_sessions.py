"""Sessions in memory, in step with the database, one thread at a time each; the questions being chosen for them.

A turn never waits for a questioner. The session knows whether a question is due (`Session.question_due`). The choice
begins once the turn is answered, triggered by whoever comes first: the server, or a client that wants the events. It
runs without holding the session. If another turn is taken before it is done, it is abandoned: what nobody has seen was
not asked.

Another process of the same server may continue any conversation. The row of a conversation has a revision, which
grows with every change; a session in memory with a different revision is brought up to date before it is used.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from viewfinder.conversation import Conversation, Question
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName, ViewfinderError
from viewfinder.plugins import find_fault
from viewfinder.server.conversations.pools import ReadablePictures, session_picture_bias
from viewfinder.server.conversations.questions_elsewhere import QuestionsElsewhere
from viewfinder.server.database import SessionRow, TurnTaken
from viewfinder.server.problems import Problem, not_found
from viewfinder.session.session import Session
from viewfinder.stopping import stop_if_asked

if TYPE_CHECKING:
    from viewfinder.server.conversations.pools import QuestionerPool, RetrieverPool
    from viewfinder.server.database import RequestKey, SessionRows
    from viewfinder.server.pictures.uploads import Uploads

LONG = 200
"""From so many turns on a conversation is long: requests for it have threads of their own."""

PAUSE_S = 0.1
"""How often a request that waits for a session checks whether its client still waits."""

NAME_LENGTH = 60
"""How many characters of the first words name a conversation without a name."""

QUICK_S, SLOW_S = 10.0, 60.0
"""How long other processes wait for a question, of a questioner that computes and of one with a language model."""

SLOW_AT_ONCE = 16
"""How many language models are awaited at a time; further choices wait for a place."""

_LOG = logging.getLogger("viewfinder.server")


@dataclass(frozen=True, eq=False)
class PendingQuestion:
    """A question that is being chosen for the turn of this number; `done` has it, or None if there is none."""

    number: int
    done: Future[Question | None] = field(default_factory=Future)


class Choosing(NamedTuple):
    """The question after turn `number` is being chosen, by whichever process, `until` then (seconds since 1970)."""

    number: int
    until: float


@dataclass
class OpenSession:
    """One session in memory.

    `row` is as it was when `session` was made; `pending` the question that is being chosen; `replies` the answers in
    words, by number of turn, as far as somebody had them written.

    `revision` is that of the session (None: unknown, it may have missed something), and its first `sure` nodes never
    change again. `choosing`: what the database says of the question after its newest turn. `left`: tasks for whoever
    releases the session.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    row: SessionRow | None = None
    session: Session | None = None
    pending: PendingQuestion | None = None
    replies: dict[int, str] = field(default_factory=dict)
    revision: int | None = None
    sure: int = 1
    choosing: Choosing | None = None
    left: deque[Callable[[OpenSession], None]] = field(default_factory=deque)

    def is_asking(self, number: int) -> bool:
        """Whether the question after this turn is still to be chosen, here or elsewhere."""
        if self.choosing is not None and self.choosing.number == number:
            return True
        session = self.session
        return session is not None and session.question_due and session.conversation.here.number == number

    def forget(self) -> None:
        """The next user of the session reads it again; a question that is being chosen is still awaited."""
        self.row = self.session = self.revision = self.choosing = None
        self.replies, self.sure = {}, 1

    def abandon_question(self, asked: Question | None = None) -> None:
        """The question being chosen is not asked any more; whoever waits for it is told what is `asked` instead."""
        if self.pending is not None and not self.pending.done.done():
            self.pending.done.set_result(asked)
        self.pending = None

    def wrote(self, revision: int | None) -> None:
        """We have changed the conversation to this revision: unless it was only us, something was missed."""
        alone = self.revision is not None and revision == self.revision + 1
        self.revision = revision if alone else None


class OpenSessions:
    """At most `size` sessions, plus those in use; any other is read again from the database."""

    def __init__(
        self, rows: SessionRows, retrievers: RetrieverPool, questioners: QuestionerPool, uploads: Uploads, size: int
    ) -> None:
        self._rows, self._retrievers, self._questioners, self._uploads = rows, retrievers, questioners, uploads
        self._size = size
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, OpenSession] = OrderedDict()
        self._places = threading.BoundedSemaphore(SLOW_AT_ONCE)
        self._elsewhere = QuestionsElsewhere(rows, self._take_over)

    def __len__(self) -> int:
        return len(self._sessions)

    def is_long(self, id: str) -> bool:
        """Whether a conversation is known to be long."""
        held = self._sessions.get(id)
        session = None if held is None else held.session
        return session is not None and len(session.conversation) >= LONG

    @contextmanager
    def held(self, id: str) -> Iterator[OpenSession]:
        """The session, for this thread alone."""
        with self._used(id) as held:
            while not held.lock.acquire(timeout=PAUSE_S):
                stop_if_asked()
            try:
                yield held
            finally:
                held.lock.release()
                self._do_left(held)

    def leave(self, id: str, work: Callable[[OpenSession], None]) -> None:
        """Does something brief with a session: now, or in the thread that has it, when that releases it.

        No thread waits for that; there are few.
        """
        with self._used(id) as held:
            held.left.append(work)
            self._do_left(held)

    @staticmethod
    def _do_left(held: OpenSession) -> None:
        while held.left and held.lock.acquire(blocking=False):
            try:
                while held.left:
                    held.left.popleft()(held)
            finally:
                held.lock.release()

    @contextmanager
    def _used(self, id: str) -> Iterator[OpenSession]:
        """The session, kept in memory meanwhile."""
        with self._lock:
            held = self._sessions.setdefault(id, OpenSession())
            self._sessions.move_to_end(id)
            held.users += 1
        try:
            yield held
        finally:
            with self._lock:
                held.users -= 1
                if held.session is None and not held.users:
                    del self._sessions[id]
                # The least recently used go first; one in use stays, or there would be two locks for it.
                if len(self._sessions) > self._size:
                    idle = [name for name, one in self._sessions.items() if not one.users]
                    for name in idle[: len(self._sessions) - self._size]:
                        del self._sessions[name]

    # -- in step with the database

    def load(self, held: OpenSession, row: SessionRow) -> Session:
        """The session in memory, brought up to date if another process has changed the conversation."""
        session, before = held.session, held.row
        if session is None or before is None:
            held.abandon_question()
            held.forget()
            session = held.session = self.new_session(row, self._rows.conversation(row.id))
            held.choosing = self._choosing(row.id, session.conversation)
        elif held.revision != row.revision or _settings(before) != _settings(row):
            session = self._caught_up(held, session, before, row)
        held.row, held.revision = row, row.revision
        held.sure = max(1, len(session.conversation.nodes) - 1)  # but for what is asked after the newest
        return session

    def _caught_up(self, held: OpenSession, session: Session, before: SessionRow, row: SessionRow) -> Session:
        """A session with what came in since, and with its row's present settings; unchanged if nothing came."""
        conversation = self._rows.conversation(row.id, session.conversation.nodes[: held.sure])
        held.choosing = self._choosing(row.id, conversation)
        if _settings(before) == _settings(row) and conversation == session.conversation:
            return session
        due = session.conversation.here.number if session.question_due else None
        here = conversation.here
        held.abandon_question(here.asked if held.pending is not None and held.pending.number == here.number else None)
        held.replies = {}
        session = held.session = self.new_session(row, conversation)
        if due == here.number and here.asked is None:
            session.reopen_question()
            if held.choosing is not None and not session.question_due:  # we were to choose it
                self._rows.note_question(row.id, here.number, None, choosing=held.choosing.until)
                held.choosing = None
        return session

    def _choosing(self, id: str, conversation: Conversation) -> Choosing | None:
        here = conversation.here
        found = self._rows.question(id, here.number) if here.number and here.asked is None else None
        return None if found is None or found.choosing is None else Choosing(here.number, found.choosing)

    def new_session(self, row: SessionRow, conversation: Conversation, retriever: str | None = None) -> Session:
        """A session for a conversation as its row says, or with another `retriever`."""
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

    def record(
        self,
        held: OpenSession,
        known: int,
        elapsed_ms: float,
        key: RequestKey | None = None,
        replay: Mapping[str, Any] | None = None,
    ) -> None:
        """Stores the nodes from number `known` on; if that fails, the next user of the session reads it again.

        A conversation without a name gets one then.
        """
        assert held.session is not None and held.row is not None
        id, now, session = held.row.id, time.time(), held.session
        held.abandon_question()
        until = now + self._patience_s(held.row.questioner) if session.question_due else None
        try:
            revision = self._rows.append(
                id,
                *session.conversation.nodes[known:],
                elapsed_ms=elapsed_ms,
                at=now,
                name="" if held.row.name or held.row.hidden else first_words(session.conversation),
                choosing=until,
                key=key,
                replay=replay,
            )
        except BaseException as error:
            held.forget()
            if isinstance(error, TurnTaken):
                raise taken_elsewhere(error) from error
            if isinstance(error, UnknownName):
                raise not_found("session", id) from error
            raise
        held.choosing = None if until is None else Choosing(session.conversation.here.number, until)
        held.wrote(revision)
        if held.revision is not None:
            held.sure = len(session.conversation.nodes) - 1

    # -- questions

    def wait_for_question(self, id: str, number: int) -> Future[Question | None]:
        """The question after a turn that this process does not choose, as soon as it is known."""
        found, done = self._rows.question(id, number), Future[Question | None]()
        if found is not None and found.choosing is not None:
            return self._elsewhere.wait_for(id, number)
        done.set_result(None if found is None else found.asked)
        return done

    def _take_over(self, id: str, number: int, since: float) -> Future[Question | None] | None:
        """Chooses what another process should have chosen by `since`; None if that is not ours to do."""
        row = self._rows.get(id)
        if row is None:
            return None
        until = time.time() + self._patience_s(row.questioner)
        if not self._rows.take_over_question(id, number, held=since, choosing=until):
            return None
        with self.held(id) as held:
            session = self.load(held, row)
            if session.conversation.here.number != number:
                return None
            held.choosing = Choosing(number, until)
            session.reopen_question()
            begun = self.begin_question(id, held)
            pending = held.pending
        if begun is not None:
            begun()
        elif pending is None:  # nothing can be asked there any more
            self._rows.note_question(id, number, None, choosing=until)
        return None if pending is None else pending.done

    def _patience_s(self, questioner: str) -> float:
        return SLOW_S if self._questioners.is_slow(questioner) else QUICK_S

    def begin_question(self, id: str, held: OpenSession) -> Callable[[], None] | None:
        """Begins the choice that is due in a held session; call the result once the session is released.

        None if no question is due, or if its choice has already begun.
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
        """One choice, by the session's questioner or its stand-in."""
        question, stand_in = None, self._questioners.stands_in(name)
        try:
            question = choose()
            if question is not None and stand_in is not None:
                question = replace(question, why=f"{stand_in[1]}; {question.why}")
        except ViewfinderError as error:
            _LOG.warning("nothing was asked by %s: %s", name, error)
            if isinstance(error, BadInput | EncoderMismatch):  # it will persist: another one asks from the next turn on
                self._questioners.gave_up(name, error)
                with self.held(id) as held:
                    held.forget()
        except Exception as error:
            _LOG.exception("nothing was asked: %s", find_fault(error) or "unforeseen error of a questioner")
        self.leave(id, partial(self._note_question, id, pending, question))

    def _note_question(self, id: str, pending: PendingQuestion, question: Question | None, held: OpenSession) -> None:
        """Notes what was chosen, unless the conversation has continued without it."""
        try:
            asked = self._noted(id, pending, question, held)
        except Exception as error:  # the thread may be one that does other work
            asked = None
            _LOG.warning("what was to be asked could not be noted: %s", error)
        if held.pending is pending:
            held.pending = None
            if held.session is not None and held.session.conversation.here.number == pending.number:
                held.session.record_question(asked)
        if not pending.done.done():
            pending.done.set_result(asked)

    def _noted(
        self, id: str, pending: PendingQuestion, question: Question | None, held: OpenSession
    ) -> Question | None:
        """What the database then says was asked."""
        if held.pending is not pending:  # abandoned, or the session is no longer in memory
            return None
        noted = self._rows.note_question(id, pending.number, question, choosing=held.choosing and held.choosing.until)
        held.wrote(noted)
        held.choosing = None
        if noted is None:  # the conversation has continued elsewhere, or another process was faster
            found = self._rows.question(id, pending.number)
            return None if found is None else found.asked
        return question


def taken_elsewhere(error: TurnTaken) -> Problem:
    """409, with the number of the turn that somebody else has said."""
    return Problem(409, "conflict", str(error), turn=error.number)


def first_words(conversation: Conversation) -> str:
    """The name of a conversation without one: the first words said."""
    texts = (getattr(node.turn, "text", "").split() for node in conversation.nodes)
    return " ".join(next(filter(None, texts), ()))[:NAME_LENGTH]


def _settings(row: SessionRow) -> tuple[object, ...]:
    """What a session in memory is made from."""
    return row.retriever, row.questioner, dict(row.where), row.n, row.leaning
