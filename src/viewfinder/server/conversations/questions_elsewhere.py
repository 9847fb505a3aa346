"""Questions that another server process chooses: awaited here, by polling the database while anybody waits.

The process that takes a turn notes in the database until when it will choose the question after it. Others wait for
that. If the time is over and nothing was noted, that process has died, and one of the waiting ones chooses.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from viewfinder.conversation import Question
from viewfinder.errors import ViewfinderError

if TYPE_CHECKING:
    from viewfinder.server.database import SessionRows, TurnQuestion

LOOK_S = 0.04
"""Seconds between two polls of the database, while somebody waits."""

Turn = tuple[str, int]
"""A conversation's id, and the number of a turn of it."""

_LOG = logging.getLogger("viewfinder.server")


class QuestionsElsewhere:
    """What one process waits for. `take_over` chooses if nobody does any more; it may itself take a while."""

    def __init__(
        self, rows: SessionRows, take_over: Callable[[str, int, float], Future[Question | None] | None]
    ) -> None:
        self._rows, self._take_over = rows, take_over
        self._lock = threading.Lock()
        self._waited: dict[Turn, Future[Question | None]] = {}
        self._watching = False

    def wait_for(self, id: str, number: int) -> Future[Question | None]:
        """The question after a turn, as soon as it is known; None if nothing is asked."""
        with self._lock:
            future = self._waited.setdefault((id, number), Future())
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="questions elsewhere", daemon=True).start()
        return future

    def _watch(self) -> None:
        while True:
            with self._lock:
                waited = tuple(self._waited)
                self._watching = bool(waited)
            if not waited:
                return
            for turn in waited:
                try:
                    self._look(*turn)
                except ViewfinderError:  # for example, the database is away: it may come back
                    continue
                except Exception:
                    _LOG.exception("unforeseen error: nothing was asked")
                    self._settle(turn, None)
            time.sleep(LOOK_S)

    def _look(self, id: str, number: int) -> None:
        found: TurnQuestion | None = self._rows.question(id, number)
        if found is None or found.choosing is None:
            self._settle((id, number), None if found is None else found.asked)
        elif found.choosing < time.time():
            chosen = self._take_over(id, number, found.choosing)
            if chosen is not None:
                chosen.add_done_callback(lambda done: self._settle((id, number), done.result()))

    def _settle(self, turn: Turn, question: Question | None) -> None:
        with self._lock:
            future = self._waited.pop(turn, None)
        if future is not None:
            future.set_result(question)
