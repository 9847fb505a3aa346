"""The question after the newest turn of a conversation: which process of the server chooses it.

    settled   a turn is recorded                                          ▶ ours
    ours      it is chosen, and noted in the database                     ▶ settled, with a question or with none
    ours      another turn is recorded, or the conversation is deleted    ▶ settled, nothing was asked
    theirs    the other process has noted it                              ▶ settled
    theirs    its time is over, and this process takes it over            ▶ ours; for the other process, theirs

`ours`: this process is to choose until a time that stands in the turn's row; `theirs`: another process is. That time
(`choosing`) also names its holder, because no two are alike. The database notes a question only for the holder, and
only after the newest turn, so a process may be slow, or die, at any moment.

No turn waits for a questioner. The choice begins once the turn is answered, or when a client asks for the question, and
does not hold the session. If another turn arrives first, no question is asked.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from viewfinder.conversation import Question
from viewfinder.errors import BadInput, EncoderMismatch, PartFailed, ViewfinderError
from viewfinder.plugins import find_fault
from viewfinder.server.problems import trace_of
from viewfinder.server.redaction import hide_paths, to_unicode
from viewfinder.session.session import Session
from viewfinder.stopping import stoppable

if TYPE_CHECKING:
    from viewfinder.server.conversations.pools import QuestionerPool
    from viewfinder.server.database import SessionRow, SessionRows

QUICK_S, SLOW_S = 10.0, 60.0
"""How long a process may take to choose: with a questioner that computes, and with one that asks a language model."""

MAX_SLOW = 16
"""Language models awaited at a time; further choices wait for a place."""

MAX_FAILURES = 256
"""Failures of questioners of other packages that are told to whoever waits for the question; the newest stay."""

POLL_S = 0.04
"""Between two looks at the database for questions that other processes choose."""

_LOG = logging.getLogger("viewfinder.server")


@dataclass(eq=False)
class DueQuestion:
    """A question that is to be chosen after turn `number`, `until` a time in seconds since 1970.

    `begun`: this process is choosing it, or looking for it in the database. `is_chosen`: `question` is the outcome, not
    yet noted. `known`: what was asked in the end, or None. `misfit`: its questioner cannot ask in this library.
    """

    number: int
    until: float
    ours: bool
    begun: bool = False
    is_chosen: bool = False
    question: Question | None = None
    misfit: bool = False
    known: Future[Question | None] = field(default_factory=Future)

    def settle(self, asked: Question | None) -> None:
        """Tells all who wait; without effect if they were told before."""
        with suppress(InvalidStateError):
            self.known.set_result(asked)


@dataclass
class OpenSession:
    """A conversation in memory, for one thread at a time (`lock`); `users` have it, or wait for it.

    `row` is the conversation's row in the database as of which `session` has all turns and settings; the newest turn
    of that time may have been asked a question since. `due`: None is settled. `replies`: answers in words that were
    written, by number of turn.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    row: SessionRow | None = None
    session: Session | None = None
    due: DueQuestion | None = None
    replies: dict[int, str] = field(default_factory=dict)

    def forget(self) -> None:
        """Has the session read again before it is used; a question that is being chosen stays due."""
        self.session, self.replies = None, {}

    def drop_question(self) -> None:
        """Settles that nothing is asked."""
        if self.due is not None:
            self.due.settle(None)
            self.due = None

    def keep_step(self, revision: int | None) -> None:
        """Notes that this process has changed the conversation to a revision.

        If that is not the next one, another process has changed it, too. Then `row` stays, and the session catches up
        when it is next used.
        """
        assert self.row is not None and self.session is not None
        if revision == self.row.revision + 1:
            self.row = replace(self.row, revision=revision, turns=len(self.session.conversation.nodes) - 1)


class Questions:
    """Moves the questions of all conversations from state to state.

    `hold` gives an open session to this thread alone; `load` brings it up to date with its row.
    """

    def __init__(
        self,
        rows: SessionRows,
        questioners: QuestionerPool,
        hold: Callable[[str], AbstractContextManager[OpenSession]],
        load: Callable[[OpenSession, SessionRow], Session],
    ) -> None:
        self._rows, self._questioners, self._hold, self._load = rows, questioners, hold, load
        self._places = threading.BoundedSemaphore(MAX_SLOW)
        self._lock = threading.Lock()
        self._watched: dict[DueQuestion, str] = {}
        self._failures: dict[tuple[str, int], str] = {}

    def find_deadline(self, questioner: str) -> float:
        """Until when a question may be chosen from now on."""
        return time.time() + (SLOW_S if self._questioners.is_slow(questioner) else QUICK_S)

    def follow(self, held: OpenSession, id: str, session: Session, *, same_settings: bool) -> None:
        """Brings `held.due` to the state in the database; `session` was just made from that."""
        here, due, ours = session.conversation.nodes[-1], held.due, False
        found = self._rows.question(id, here.number) if here.number and here.asked is None else None
        until = None if found is None else found.choosing
        if due is not None and (due.number, due.until) == (here.number, until):
            if not due.ours or (due.begun and same_settings):
                return
            # Chosen anew, from the new session: the questioner or the retriever may be another.
            session.reopen_question()
            ours = True
            if not session.question_due:  # for example, the turn is now answered in words
                self._rows.note_question(id, here.number, None, choosing=until)
                until = None
        if due is not None:
            due.settle(here.asked if due.number == here.number else None)
        held.due = None if until is None else DueQuestion(here.number, until, ours)

    def choose(self, id: str, number: int) -> Future[Question | None]:
        """The question after a turn, as soon as it is known; its choice begins now, if this process is to make it.

        None if no question is worth asking, or if the conversation continues before it is chosen.
        """
        with self._hold(id) as held:
            if held.session is None or held.due is None or held.due.number != number:
                row = self._rows.get(id)
                nodes = () if row is None else self._load(held, row).conversation.nodes
                if held.due is None or held.due.number != number:
                    settled = Future[Question | None]()
                    settled.set_result(nodes[number].asked if number < len(nodes) else None)
                    return settled
            due = held.due
            begin = self._begin(id, held, due)
        begin()
        return due.known

    def find_failure(self, id: str, number: int) -> str | None:
        """Why nothing is asked after a turn, where a questioner of another package failed in this process."""
        return self._failures.get((id, number))

    def _keep_failure(self, id: str, number: int, fault: str) -> None:
        self._failures[id, number] = to_unicode(hide_paths(fault))
        while len(self._failures) > MAX_FAILURES:
            self._failures.pop(next(iter(self._failures)), None)

    def choose_anew(self, id: str) -> None:
        """Has the question after the newest turn chosen again, as other pictures are in question now."""
        row = self._rows.get(id)
        if row is None:
            return
        until = self.find_deadline(row.questioner)
        with self._hold(id) as held:
            here = self._load(held, row).conversation.nodes[-1]
            if not here.number or not self._rows.reopen_question(id, here.number, choosing=until):
                return
            held.forget()  # it holds the question that was taken back
            session = self._load(held, self._rows.get(id) or row)
            session.reopen_question()
            held.due = DueQuestion(here.number, until, ours=True)
            begin = self._begin(id, held, held.due)
        begin()

    def _begin(self, id: str, held: OpenSession, due: DueQuestion) -> Callable[[], None]:
        """The work that leads to the question, for after the session is released; none if it has begun before."""
        if due.begun:
            return lambda: None
        due.begun = True
        if not due.ours:
            return partial(self._watch, id, due)
        assert held.session is not None and held.row is not None
        choose = partial(self._choose, id, held, due, held.session.question_choice(), held.row.questioner)
        if not self._questioners.is_slow(held.row.questioner):
            return choose
        # It ends with the process: a server that stops does not wait for a language model.
        return threading.Thread(target=self._choose_in_turn, args=(due, choose), name="asking", daemon=True).start

    def _choose_in_turn(self, due: DueQuestion, choose: Callable[[], None]) -> None:
        with self._places:
            if not due.known.done():  # it may have been dropped meanwhile
                choose()

    def _choose(
        self, id: str, held: OpenSession, due: DueQuestion, choice: Callable[[], Question | None] | None, name: str
    ) -> None:
        """Chooses by the session's questioner, or the one that stands in for it; `choice`: None if none can ask."""
        stand_in = self._questioners.find_stand_in(name)
        try:
            with stoppable(None):  # others may wait for it when this request has gone
                question = None if choice is None else choice()
            if question is not None and stand_in is not None:
                question = replace(question, why=f"{stand_in[1]}; {question.why}")
            due.question = question
        except ViewfinderError as error:
            _LOG.warning("nothing was asked by %s: %s", name, error)
            if isinstance(error, BadInput | EncoderMismatch):  # it will persist: another one asks from the next turn on
                self._questioners.give_up(name, error)
                due.misfit = True
            if isinstance(error, PartFailed):
                self._keep_failure(id, due.number, str(error))
        except Exception as error:
            fault = find_fault(error)
            said = fault or "unforeseen error of a questioner"
            _LOG.error("nothing was asked: %s", said, exc_info=trace_of(error, fault, _LOG))
            if fault is not None:
                self._keep_failure(id, due.number, fault)
        due.is_chosen = True
        self.note_chosen(id, held)

    def note_chosen(self, id: str, held: OpenSession) -> None:
        """Notes what was chosen, unless another thread has the session: that calls this once it releases it.

        There are few threads, so none of them waits here.
        """
        while (due := held.due) is not None and due.is_chosen and held.lock.acquire(blocking=False):
            try:
                if held.due is due:
                    self._note(id, held, due)
            finally:
                held.lock.release()

    def _note(self, id: str, held: OpenSession, due: DueQuestion) -> None:
        held.due, asked, revision = None, None, None
        try:
            revision = self._rows.note_question(id, due.number, due.question, choosing=due.until)
            if revision is not None:
                asked = due.question
            elif (found := self._rows.question(id, due.number)) is not None:
                asked = found.asked
                if found.choosing is not None:  # it took too long, and another process has taken it over
                    due.until, due.ours, due.is_chosen, held.due = found.choosing, False, False, due
                    self._watch(id, due)
                    return
        except Exception as error:  # the thread may be one that does other work
            _LOG.warning("what was to be asked could not be noted: %s", error)
            held.forget()
        if held.session is not None:
            held.session.record_question(asked)
            held.keep_step(revision)
        if due.misfit:
            held.forget()
        due.settle(asked)

    # -- chosen by other processes

    def _watch(self, id: str, due: DueQuestion) -> None:
        with self._lock:
            self._watched[due] = id
            if len(self._watched) > 1:  # there is a thread
                return
        threading.Thread(target=self._look, name="questions elsewhere", daemon=True).start()

    def _look(self) -> None:
        """Looks for all questions that are waited for, until none is left."""
        while True:
            with self._lock:
                self._watched = {due: id for due, id in self._watched.items() if not due.known.done()}
                watched = tuple(self._watched.items())
            if not watched:
                return
            for due, id in watched:
                try:
                    self._look_for(id, due)
                except ViewfinderError:  # for example, the database is away: it may come back
                    continue
                except Exception:
                    _LOG.exception("unforeseen error: nothing was asked")
                    due.settle(None)
            time.sleep(POLL_S)

    def _look_for(self, id: str, due: DueQuestion) -> None:
        found = self._rows.question(id, due.number)
        if found is None or found.choosing is None:
            due.settle(None if found is None else found.asked)
        elif found.choosing < time.time():
            self._take_over(id, due.number, found.choosing)

    def _take_over(self, id: str, number: int, held_until: float) -> None:
        """Chooses what another process should have chosen by now; who waits for it sees it in the database."""
        row = self._rows.get(id)
        if row is None:
            return
        until = self.find_deadline(row.questioner)
        if not self._rows.take_over_question(id, number, held=held_until, choosing=until):
            return
        with self._hold(id) as held:
            session = self._load(held, row)
            if session.conversation.nodes[-1].number != number:
                return
            session.reopen_question()
            held.due = DueQuestion(number, until, ours=True)
            begin = self._begin(id, held, held.due)
        begin()
