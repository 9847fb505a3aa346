"""Talks that are open: the last used stay in memory, any other is read again from the database."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

from viewfinder.conversation import Question
from viewfinder.server.database import SessionRow
from viewfinder.session import Session


@dataclass(frozen=True, eq=False)
class PendingQuestion:
    """A question that is being chosen, for the turn of this number; `done` has it, or None where there is none."""

    number: int
    done: Future[Question | None] = field(default_factory=Future)


@dataclass
class OpenSession:
    """One talk in memory, for one thread at a time.

    `row` is as it was when `session` was made; `unasked` the turn whose follow-up question is still to be chosen,
    `choice` that question where somebody has begun to choose it;
    `replies` what turns were answered in words, by their number, as far as somebody has had that written.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    row: SessionRow | None = None
    session: Session | None = None
    unasked: int | None = None
    choice: PendingQuestion | None = None
    replies: dict[int, str] = field(default_factory=dict)

    def forget(self) -> None:
        """The next who needs the talk reads it again; a question that is being chosen is still waited for."""
        self.row = self.session = None
        self.replies = {}

    def abandon(self) -> None:
        """Nothing is to be asked any more after the turn that was the newest; who waits for it is told."""
        if self.choice is not None and not self.choice.done.done():
            self.choice.done.set_result(None)
        self.unasked = self.choice = None


class OpenSessions:
    """At most `size` talks, and those being used."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._talks: OrderedDict[str, OpenSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._talks)

    @contextmanager
    def held(self, id: str) -> Iterator[OpenSession]:
        """The talk, for this thread alone."""
        with self._lock:
            live = self._talks.setdefault(id, OpenSession())
            self._talks.move_to_end(id)
            live.users += 1
        try:
            with live.lock:
                yield live
        finally:
            with self._lock:
                live.users -= 1
                if live.session is None and not live.users:
                    del self._talks[id]
                self._shrink()

    def _shrink(self) -> None:
        """The least recently used go first; one that somebody holds stays, lest there be two locks for it."""
        if len(self._talks) > self._size:
            idle = [id for id, live in self._talks.items() if not live.users]
            for id in idle[: len(self._talks) - self._size]:
                del self._talks[id]
