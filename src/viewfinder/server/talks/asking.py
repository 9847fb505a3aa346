"""Choosing what to ask while the talk goes on: nobody who says something waits for a questioner.

A choice is begun once its turn is answered, by whoever comes first: the server, or a client that wants the events. It
is made without holding the talk. If another turn is taken before it is made, it is abandoned: what nobody has seen
was not asked.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from viewfinder.conversation import Question
from viewfinder.errors import BadInput, EncoderMismatch, ViewfinderError
from viewfinder.server.talks.live import OpenSession, PendingQuestion

if TYPE_CHECKING:
    from viewfinder.server.database import SessionRows
    from viewfinder.server.talks.live import OpenSessions
    from viewfinder.server.talks.questioners import QuestionerPool

SLOW_AT_ONCE = 16
"""Language models that are waited for at a time; choices beyond that wait for a place."""

_LOG = logging.getLogger("viewfinder.server")


class QuestionChooser:
    """The choices that are being made."""

    def __init__(self, open_talks: OpenSessions, sessions: SessionRows, askers: QuestionerPool) -> None:
        self._open, self._sessions, self._askers = open_talks, sessions, askers
        self._places = threading.BoundedSemaphore(SLOW_AT_ONCE)

    def begin(self, id: str, live: OpenSession) -> Callable[[], None] | None:
        """Begins the choice that is due, of a talk that is held; what it gives is to be called when it is held no more.

        None where nothing is to be chosen, or where that has been begun.
        """
        if live.unasked is None or live.choice is not None or live.session is None or live.row is None:
            return None
        choose = live.session.question_choice()
        if choose is None:
            live.abandon()
            return None
        choice = live.choice = PendingQuestion(live.unasked)
        stand_in = self._askers.stands_in(live.row.questioner)
        name = live.row.questioner
        make = _Making(self, id, choice, choose if stand_in is None else saying_why(choose, stand_in[1]), name)
        if not self._askers.is_slow(name):
            return make
        # It ends with the process: a server that stops does not wait for a language model.
        thread = threading.Thread(target=make.in_its_turn, args=(self._places,), name="asking", daemon=True)
        return thread.start

    def failed(self, id: str, name: str, error: ViewfinderError) -> None:
        """Another questioner asks from the next turn on, if it is nothing that passes."""
        _LOG.warning("nothing was asked by %s: %s", name, error)
        if isinstance(error, BadInput | EncoderMismatch):
            self._askers.gave_up(name, error)
            with self._open.held(id) as live:
                live.forget()

    def made(self, id: str, choice: PendingQuestion, question: Question | None) -> None:
        """Notes what was chosen, unless the talk has gone on without it."""
        with self._open.held(id) as live:
            if live.choice is not choice:  # abandoned, or the talk is not in memory any more
                question = None
            else:
                live.unasked = live.choice = None
            try:
                if question is not None:
                    self._note(id, live, choice.number, question)
            finally:
                if not choice.done.done():
                    choice.done.set_result(question)

    def _note(self, id: str, live: OpenSession, number: int, question: Question) -> None:
        self._sessions.note_question(id, number, question)
        if live.session is not None and live.session.conversation.here.number == number:
            live.session.record_question(question)


class _Making:
    """One choice, made by whoever calls it."""

    def __init__(
        self,
        asking: QuestionChooser,
        id: str,
        choice: PendingQuestion,
        choose: Callable[[], Question | None],
        name: str,
    ) -> None:
        self._asking, self._id, self._choice, self._choose, self._name = asking, id, choice, choose, name

    def __call__(self) -> None:
        question = None
        try:
            question = self._choose()
        except ViewfinderError as error:
            self._asking.failed(self._id, self._name, error)
        except Exception:
            _LOG.exception("unforeseen error of a questioner: nothing was asked")
        self._asking.made(self._id, self._choice, question)

    def in_its_turn(self, places: threading.BoundedSemaphore) -> None:
        with places:
            if not self._choice.done.done():
                self()


def saying_why(choose: Callable[[], Question | None], why: str) -> Callable[[], Question | None]:
    """The same choice, by a questioner that stands in for another."""

    def chosen() -> Question | None:
        question = choose()
        return None if question is None else replace(question, why=f"{why}; {question.why}")

    return chosen
