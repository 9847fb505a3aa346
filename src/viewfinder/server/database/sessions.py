"""Conversations and their turns; what people found in them."""

from __future__ import annotations

import json
import math
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any

from sqlalchemy import Float, Select, Text, and_, bindparam, case, exists, func, select, tuple_
from sqlalchemy.exc import IntegrityError

from viewfinder.conversation import ROOT, Conversation, Node, Question, next_node, turn_from_json, turn_to_json
from viewfinder.errors import BadInput, DatabaseError, UnknownName, ViewfinderError
from viewfinder.server.database.engine import Database, RowStore, insert_rows, select_row, update_row
from viewfinder.server.database.said_words import ADD_WORD, NAME, list_said, narrow_to, rows_to_add, select_matches
from viewfinder.server.database.tables import FEEDBACK, NODES, SAID_WORDS, SESSIONS
from viewfinder.stopping import stop_if_asked


@dataclass(frozen=True)
class SessionRow:
    """A conversation, without what was said in it; `turns` is how many there are, counted when the row is read.

    `revision` grows with every change of it, of its turns and of what was asked: two rows that differ in nothing else
    are the same conversation.
    """

    id: str
    owner: str | None
    name: str
    retriever: str
    questioner: str
    where: Mapping[str, str]
    n: int
    created: float
    updated: float
    hidden: bool
    leaning: float | None = None
    turns: int = 0
    revision: int = field(default=0, compare=False)


@dataclass(frozen=True)
class TurnQuestion:
    """The question after a turn. `choosing`: until when a process may choose it (seconds since 1970)."""

    asked: Question | None
    choosing: float | None


@dataclass(frozen=True)
class RequestKey:
    """By this a request that is sent again is known: the client's `key`, and a digest of what is asked with it."""

    key: str
    request: str


@dataclass(frozen=True)
class Said:
    """The turn that a request with a key has taken. `replay`: where it was an edit, what else it was answered."""

    number: int
    request: str
    replay: Mapping[str, Any] | None


class AlreadySaid(ViewfinderError):
    """A request with this key has taken its turn: there is nothing to say again."""

    def __init__(self, said: Said) -> None:
        super().__init__(f"this was said already: it is turn {said.number}")
        self.said = said


class TurnTaken(ViewfinderError):
    """Another page or another server process has taken turn `number` in the meantime."""

    def __init__(self, number: int) -> None:
        super().__init__(f"turn {number} was said from elsewhere in the meantime: read the conversation again")
        self.number = number


class SessionRows(RowStore[SessionRow]):
    """The conversations in a database; any number of threads and processes may use them at once."""

    table, row = SESSIONS, SessionRow

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._session, self._used, self._node, self._said, self._changed, self._asked, self._asked_by_holder = map(
            database.prepare, (_SESSION, _USED, _NODE, _SAID, _CHANGED, _ASKED, _ASKED_BY_HOLDER)
        )
        self._word = database.prepare(ADD_WORD)

    def get(self, id: str) -> SessionRow | None:
        """One conversation."""
        with self._database.reading_prepared() as cursor:
            found = self._session.first(cursor, {"session": id})
        return None if found is None else SessionRow(**found)

    def create(self, row: SessionRow) -> None:
        """A new conversation, which is found by its name."""
        with self._database.writing() as connection:
            insert_rows(connection, SESSIONS, row)
            if words := rows_to_add(row.id, NAME, row.name):
                connection.execute(ADD_WORD, words)

    def begin(self, row: SessionRow) -> SessionRow:
        """A new conversation; where one of its id has begun already, that one."""
        try:
            self.create(row)
        except IntegrityError:
            if (begun := self.get(row.id)) is not None:
                return begun
            raise
        return row

    def page(
        self, *, owner: str | None, everyone: bool, count: int, cursor: str | None, sought: Sequence[str] = ()
    ) -> tuple[list[SessionRow], str | None]:
        """Up to `count` conversations of `owner` (or of everyone), the last used first, and where the next page begins.

        Hidden ones are left out. One that is used between two pages moves to the front; none of the others is skipped
        or repeated. `sought`: only those with all these words (`said_words.find_sought`).

        Raises:
            BadInput: the cursor is none that was given out.
        """
        query = select(SESSIONS.c.id).where(SESSIONS.c.hidden.is_(False), *narrow_to(sought))
        if not everyone:
            query = query.where(SESSIONS.c.owner.is_not_distinct_from(owner))
        if cursor is not None:
            query = query.where(tuple_(SESSIONS.c.updated, SESSIONS.c.id) < tuple_(*_parse_cursor(cursor)))
        newest_first = SESSIONS.c.updated.desc(), SESSIONS.c.id.desc()
        # The turns of a conversation are counted only if it is on the page.
        page = _SELECT.where(SESSIONS.c.id.in_(query.order_by(*newest_first).limit(count + 1)))
        found = self._database.rows(SessionRow, page.order_by(*newest_first))
        if len(found) <= count:
            return found, None
        last = found[count - 1]
        return found[:count], urlsafe_b64encode(json.dumps([last.updated, last.id]).encode()).decode()

    def oldest_beyond(self, count: int, owner: str | None) -> list[str]:
        """The ids of the conversations of `owner` beyond the `count` last used; those of studies do not count."""
        mine = select(SESSIONS.c.id).where(SESSIONS.c.owner.is_not_distinct_from(owner), SESSIONS.c.hidden.is_(False))
        last_used_first = mine.order_by(SESSIONS.c.updated.desc(), SESSIONS.c.id.desc())
        with self._database.reading() as connection:
            return list(connection.scalars(last_used_first.offset(count)))

    def matches(self, ids: Sequence[str], sought: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
        """Where these words were said first in some conversations: by conversation, number and text of the turns."""
        found: dict[str, dict[int, str]] = {id: {} for id in ids}
        if ids and sought:
            with self._database.reading() as connection:
                for id, number, turn in connection.execute(select_matches(ids, sought)):
                    found[id][number] = list_said(turn)
        return {id: sorted(turns.items()) for id, turns in found.items()}

    def change(
        self,
        id: str,
        *,
        name: str | None = None,
        retriever: str | None = None,
        questioner: str | None = None,
        where: Mapping[str, str] | None = None,
        leaning: float | None = None,
        at: float,
    ) -> SessionRow | None:
        """Changes what is not None; gives the conversation as it is then, or None where there is none."""
        asks = {"retriever": retriever, "questioner": questioner, "where": where, "leaning": leaning}
        given = {"name": name, **asks, "updated": at}
        with self._database.writing() as connection:
            changed = {key: value for key, value in given.items() if value is not None}
            update_row(connection, SESSIONS, id, {**changed, "revision": SESSIONS.c.revision + 1})
            row = select_row(connection, SessionRow, _SESSION, {"session": id})
            if name is not None and row is not None:
                connection.execute(_OLD_NAME, {"of": id})
                if words := rows_to_add(id, NAME, name):
                    connection.execute(ADD_WORD, words)
            return row

    def conversation(self, id: str, known: Sequence[Node] = (ROOT,)) -> Conversation:
        """Reads a conversation as it was recorded; empty where there is none of this id.

        `known`: its first nodes, if the caller has them already; they are not read again.

        Raises:
            DatabaseError: the record is damaged; the turn is named.
        """
        with self._database.reading() as connection:
            found = connection.execute(_NODES_SINCE, {"of": id, "since": known[-1].number}).mappings().all()
        nodes = list(known)
        for node in found:
            stop_if_asked()
            nodes.append(_read_node(nodes, dict(node), id))
        return Conversation(tuple(nodes))

    def times(self, id: str) -> dict[int, float]:
        """When each turn was said, by number."""
        query = select(NODES.c.number, NODES.c.at).where(NODES.c.session == id).order_by(NODES.c.number)
        with self._database.reading() as connection:
            return {row.number: row.at for row in connection.execute(query)}

    def append(
        self,
        id: str,
        *nodes: Node,
        elapsed_ms: float,
        at: float,
        name: str = "",
        choosing: float | None = None,
        key: RequestKey | None = None,
        replay: Mapping[str, Any] | None = None,
    ) -> int:
        """Records more turns, all or none, and that the conversation was used; gives its revision.

        A conversation without a name is called `name`. `choosing`: until when it is chosen what to ask after the last.
        `key`: of the request that says them; `replay`: what that is answered beside the results. Both are kept with
        the last turn.

        Raises:
            AlreadySaid: a request with this key was here before.
            TurnTaken: it has a turn of the first's number already.
            UnknownName: there is no such conversation (any more).
        """
        recorded = [
            {
                "session": id,
                "number": node.number,
                "parent": node.parent,
                "turn": turn_to_json(node.turn),
                "shown": list(node.shown),
                "asked": None if node.asked is None else asdict(node.asked),
                "elapsed_ms": elapsed_ms,
                "at": at,
                "choosing": choosing if node is nodes[-1] else None,
                "key": key.key if key is not None and node is nodes[-1] else None,
                "request": key.request if key is not None and node is nodes[-1] else None,
                "replay": replay if node is nodes[-1] else None,
            }
            for node in nodes
            if node.turn is not None  # the root is not stored
        ]
        words = [
            row
            for node in nodes
            if node.turn is not None
            for row in rows_to_add(id, node.number, list_said(turn_to_json(node.turn)))
        ]
        try:
            with self._database.writing_prepared() as cursor:
                used = self._used.first(cursor, {"used": id, "now": at, "called": name})
                if used is None:
                    raise UnknownName(f"there is no conversation {id}: it was deleted, or never begun")
                if recorded:
                    self._node.run_each(cursor, recorded)
                if words:
                    self._word.run_each(cursor, words)
        except IntegrityError as error:  # turns are numbered without gaps, so a process that missed one collides
            if key is not None and (said := self.said(id, key.key)) is not None:
                raise AlreadySaid(said) from error
            raise TurnTaken(nodes[0].number) from error
        return int(used["revision"])

    def said(self, id: str, key: str) -> Said | None:
        """The turn that a request with this key has taken; None if none has."""
        with self._database.reading_prepared() as cursor:
            found = self._said.first(cursor, {"of": id, "by": key})
        return None if found is None else Said(**found)

    def note_question(
        self, id: str, number: int, question: Question | None, *, choosing: float | None = None
    ) -> int | None:
        """Records the question after a turn, which ends its choosing; gives the revision.

        None, without effect, if the question is outdated (the conversation has continued, or was deleted), or if
        another process has noted a `choosing` of its own.
        """
        asked = None if question is None else asdict(question)
        with self._database.writing_prepared() as cursor:
            changed = self._changed.first(cursor, {"changed": id})  # from here on no turn comes in between
            statement, held = (self._asked, {}) if choosing is None else (self._asked_by_holder, {"held": choosing})
            noted = statement.run(cursor, {"of": id, "after": number, "what": asked, **held})
        return int(changed["revision"]) if noted and changed else None

    def question(self, id: str, number: int) -> TurnQuestion | None:
        """Reads the question after a turn, or until when it is being chosen; None if there is no such turn.

        Once the conversation has continued, it is not being chosen any more.
        """
        with self._database.reading() as connection:
            found = connection.execute(_QUESTION, {"of": id, "after": number}).mappings().first()
        return None if found is None else TurnQuestion(_read_question(found["asked"]), found["choosing"])

    def take_over_question(self, id: str, number: int, *, held: float, choosing: float) -> bool:
        """Takes over the choice of a question from the process that `held` it; False: another process was first."""
        with self._database.writing() as connection:
            given = {"of": id, "after": number, "held": held, "until": choosing}
            return connection.execute(_TAKEN_OVER, given).rowcount > 0

    def reopen_question(self, id: str, number: int, *, choosing: float) -> bool:
        """Takes back the question after the newest turn, so that it is chosen anew.

        False, without effect, if the conversation has continued, or if it is just being chosen.
        """
        with self._database.writing() as connection:
            connection.execute(_CHANGED, {"changed": id})
            return connection.execute(_REOPENED, {"of": id, "after": number, "until": choosing}).rowcount > 0


# The statements of every turn are built once, and most of them prepared: building one costs as much as executing it.
_MORE = SESSIONS.c.revision + 1
_USED = (
    SESSIONS.update()
    .where(SESSIONS.c.id == bindparam("used"))
    .values(
        updated=bindparam("now"),
        revision=_MORE,
        name=case((SESSIONS.c.name == "", bindparam("called", type_=Text)), else_=SESSIONS.c.name),
    )
    .returning(SESSIONS.c.revision)
)
_CHANGED = (
    SESSIONS.update().where(SESSIONS.c.id == bindparam("changed")).values(revision=_MORE).returning(SESSIONS.c.revision)
)
_NODE = NODES.insert()
_OLD_NAME = SAID_WORDS.delete().where(SAID_WORDS.c.session == bindparam("of"), SAID_WORDS.c.turn == NAME)
_SAID = select(NODES.c.number, NODES.c.request, NODES.c.replay).where(
    NODES.c.session == bindparam("of"), NODES.c.key == bindparam("by")
)
_NODES_SINCE = (
    select(NODES.c.number, NODES.c.parent, NODES.c.turn, NODES.c.shown, NODES.c.asked, NODES.c.at)
    .where(NODES.c.session == bindparam("of"), NODES.c.number > bindparam("since"))
    .order_by(NODES.c.number)
)
_TURN = and_(NODES.c.session == bindparam("of"), NODES.c.number == bindparam("after"))
_LATER = NODES.alias()
_IS_LAST = ~exists().where(_LATER.c.session == bindparam("of"), _LATER.c.number > bindparam("after"))
_HELD = bindparam("held", type_=Float)
_ASKED = NODES.update().where(_TURN, _IS_LAST).values(asked=bindparam("what", type_=NODES.c.asked.type), choosing=None)
_ASKED_BY_HOLDER = _ASKED.where(NODES.c.choosing == _HELD)
_TAKEN_OVER = NODES.update().where(_TURN, NODES.c.choosing == _HELD).values(choosing=bindparam("until"))
_REOPENED = (
    NODES.update().where(_TURN, _IS_LAST, NODES.c.choosing.is_(None)).values(asked=None, choosing=bindparam("until"))
)
_QUESTION = select(NODES.c.asked, case((_IS_LAST, NODES.c.choosing), else_=None).label("choosing")).where(_TURN)
_TURNS = select(func.count()).where(NODES.c.session == SESSIONS.c.id).scalar_subquery()
_SELECT: Select[Any] = select(SESSIONS, _TURNS.label("turns"))
_SESSION = _SELECT.where(SESSIONS.c.id == bindparam("session"))


def _read_question(asked: Mapping[str, Any] | None) -> Question | None:
    if asked is None:
        return None
    return Question(**{**asked, **{name: tuple(asked.get(name, ())) for name in ("choices", "examples")}})


def _read_node(nodes: Sequence[Node], node: Mapping[str, Any], id: str) -> Node:
    """The recorded turn that follows these."""
    try:
        question = _read_question(node["asked"])
        # Each id is held once for all conversations, not once for each.
        shown = tuple(map(sys.intern, node["shown"]))
        day = date.fromtimestamp(node["at"]).isoformat()
        read = replace(next_node(nodes, turn_from_json(node["turn"])), shown=shown, asked=question, day=day)
        if (read.number, read.parent) != (node["number"], node["parent"]):
            raise ValueError(f"it follows turn {read.parent}, not {node['parent']}")
    except (ValueError, TypeError, KeyError, OverflowError, OSError) as error:
        raise DatabaseError(
            f"turn {node['number']} of the conversation {id} is damaged in the database: {error}"
        ) from error
    return read


def _parse_cursor(cursor: str) -> tuple[float, str]:
    with suppress(ValueError, TypeError):
        updated, id = json.loads(urlsafe_b64decode(cursor))
        if isinstance(updated, float) and math.isfinite(updated) and isinstance(id, str):
            return updated, id
    raise BadInput("this cursor is none that was given out: begin again without one")


BATCH = 200


@dataclass(frozen=True)
class FeedbackRow:
    """The `picture` that was meant, its `rank` (from 1) after turn `node`, and the conversation as it was then."""

    id: str
    owner: str | None
    session: str
    node: int
    picture: str
    rank: int | None
    retriever: str
    conversation: Mapping[str, Any]
    at: float


class FeedbackRows(RowStore[FeedbackRow]):
    """The pictures that people found, as data to learn from."""

    table, row = FEEDBACK, FeedbackRow

    def all(self) -> Iterator[FeedbackRow]:
        """All of it, oldest first, in batches: a slow reader holds no transaction open."""
        oldest_first = select(FEEDBACK).order_by(FEEDBACK.c.at, FEEDBACK.c.id).limit(BATCH)
        query = oldest_first
        while True:
            batch = self._database.rows(FeedbackRow, query)
            yield from batch
            if len(batch) < BATCH:
                return
            query = oldest_first.where(tuple_(FEEDBACK.c.at, FEEDBACK.c.id) > tuple_(batch[-1].at, batch[-1].id))
