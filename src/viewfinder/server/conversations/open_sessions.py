"""Sessions in memory, in step with the database, one thread at a time each.

Another process of the same server may continue any conversation. The row of a conversation has a revision, which
grows with every change; a session in memory with a different revision is brought up to date before it is used.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from viewfinder.conversation import ROOT, Conversation, Node
from viewfinder.errors import UnknownName
from viewfinder.server.conversations.pools import ReadablePictures, choose_picture_bias
from viewfinder.server.conversations.questions import DueQuestion, OpenSession, Questions
from viewfinder.server.database import SessionRow, TurnTaken
from viewfinder.server.problems import Problem, not_found
from viewfinder.session.session import Session
from viewfinder.stopping import stop_if_asked

if TYPE_CHECKING:
    from viewfinder.server.conversations.pools import QuestionerPool, RetrieverPool
    from viewfinder.server.database import RequestKey, SessionRows
    from viewfinder.server.pictures.uploads import Uploads

ReadWhere = Callable[[Mapping[str, str], str | None], Mapping[str, str]]
"""Reads the conditions of a conversation for its owner, as far as they are none on columns."""

MIN_LONG = 200
"""From so many turns on a conversation is long: requests for it have threads of their own."""

CHECK_S = 0.1
"""How often a request that waits for a session checks whether its client still waits."""

MAX_NAME = 60
"""How many characters of the first words name a conversation without a name."""


class OpenSessions:
    """At most `size` sessions, plus those in use; any other is read again from the database."""

    def __init__(
        self,
        rows: SessionRows,
        retrievers: RetrieverPool,
        questioners: QuestionerPool,
        uploads: Uploads,
        size: int,
        read_where: ReadWhere,
    ) -> None:
        self._read_where = read_where
        self._rows, self._retrievers, self._questioners, self._uploads = rows, retrievers, questioners, uploads
        self._size = size
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, OpenSession] = OrderedDict()
        self.questions = Questions(rows, questioners, self.hold, self.load)

    def __len__(self) -> int:
        return len(self._sessions)

    def is_long(self, id: str) -> bool:
        """Whether a conversation is known to be long."""
        held = self._sessions.get(id)
        session = None if held is None else held.session
        return session is not None and len(session.conversation.nodes) > MIN_LONG

    @contextmanager
    def hold(self, id: str) -> Iterator[OpenSession]:
        """A session for this thread alone, kept in memory meanwhile."""
        with self._lock:
            held = self._sessions.setdefault(id, OpenSession())
            self._sessions.move_to_end(id)
            held.users += 1
        try:
            while not held.lock.acquire(timeout=CHECK_S):
                stop_if_asked()
            try:
                yield held
            finally:
                held.lock.release()
                self.questions.note_chosen(id, held)
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

    def load(self, held: OpenSession, row: SessionRow) -> Session:
        """The session in memory, brought up to date if another process has changed the conversation."""
        session, before = held.session, held.row
        if session is None or before is None or before.revision != row.revision:
            # The nodes before the newest one of that time never change again.
            known = () if session is None or before is None else session.conversation.nodes[: before.turns]
            conversation = self._rows.conversation(row.id, known or (ROOT,))
            same_settings = before is None or _list_settings(before) == _list_settings(row)
            if session is None or not same_settings or conversation != session.conversation:
                session = self.new_session(row, conversation)
                self.questions.follow(held, row.id, session, same_settings=same_settings)
                held.session, held.replies = session, {}
        held.row = row
        return session

    def new_session(self, row: SessionRow, conversation: Conversation, retriever: str | None = None) -> Session:
        """A session for a conversation as its row says, or with another `retriever`."""
        name = retriever or row.retriever
        loaded = self._retrievers.retriever(name)
        stand_in = self._questioners.find_stand_in(row.questioner)
        return Session(
            ReadablePictures(self._retrievers, name),
            loaded,
            self._questioners.find_spec(row.questioner) if stand_in is None else stand_in[0],
            n=row.n,
            where=self._read_where(row.where, row.owner),
            conversation=conversation,
            # An image that is shown belongs to the conversation's owner, also when an admin takes the turn.
            image_file=partial(self._uploads.find, may_see=lambda owner: owner == row.owner),
            whose=row.owner or "",
            # Pictures are what a study and a look at another retriever are about.
            picture_bias=choose_picture_bias(loaded, row.leaning, pictures_alone=row.hidden or retriever is not None),
            # In a study, each picture may be the one that is looked for.
            fold=not row.hidden,
        )

    def record(
        self,
        held: OpenSession,
        known: int,
        elapsed_ms: float,
        key: RequestKey | None = None,
        replay: Mapping[str, Any] | None = None,
    ) -> None:
        """Stores the nodes from number `known` on; if that fails, the session is read again before it is next used.

        A conversation without a name gets one.
        """
        assert held.session is not None and held.row is not None
        id, now, session = held.row.id, time.time(), held.session
        nodes = session.conversation.nodes
        name = "" if held.row.name or held.row.hidden else find_first_words(nodes)
        until = self.questions.find_deadline(held.row.questioner) if session.question_due else None
        try:
            revision = self._rows.append(
                id,
                *nodes[known:],
                elapsed_ms=elapsed_ms,
                at=now,
                name=name,
                choosing=until,
                key=key,
                replay=replay,
            )
        except BaseException as error:
            held.forget()
            if isinstance(error, TurnTaken):
                raise turn_taken(error) from error
            if isinstance(error, UnknownName):
                raise not_found("session", id) from error
            raise
        held.drop_question()
        if until is not None:
            held.due = DueQuestion(nodes[-1].number, until, ours=True)
        held.keep_step(revision)


def turn_taken(error: TurnTaken) -> Problem:
    """409, with the number of the turn that another client or process has taken."""
    return Problem(409, "conflict", str(error), turn=error.number)


def find_first_words(nodes: Sequence[Node]) -> str:
    """The name of a conversation without one: the first words said."""
    texts = (getattr(node.turn, "text", "").split() for node in nodes)
    return " ".join(next(filter(None, texts), ()))[:MAX_NAME]


def _list_settings(row: SessionRow) -> tuple[object, ...]:
    """The settings from which a session is made."""
    return row.retriever, row.questioner, dict(row.where), row.n, row.leaning
