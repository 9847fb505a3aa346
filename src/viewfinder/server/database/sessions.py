"""Conversations and their turns; what people found in them."""

from __future__ import annotations

import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, select, tuple_
from sqlalchemy.exc import IntegrityError

from viewfinder.conversation import Conversation, Node, Question, turn_from_json, turn_to_json
from viewfinder.errors import BadInput, DatabaseError, UnknownName, ViewfinderError
from viewfinder.server.database import tables
from viewfinder.server.database.engine import Database
from viewfinder.server.database.tables import FEEDBACK, NODES, SESSIONS


@dataclass(frozen=True)
class SessionRow:
    """A talk, without what was said in it; `turns` is how many there are, counted when the row is read."""

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


class TurnTaken(ViewfinderError):
    """Somebody else (another page, another server process) has said turn `number` of this talk in the meantime."""

    def __init__(self, number: int) -> None:
        super().__init__(f"turn {number} of this talk was said from elsewhere in the meantime: read the talk again")
        self.number = number


class SessionRows:
    """The talks in a database; any number of threads and processes may use them at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, row: SessionRow) -> None:
        """A new talk, without turns."""
        with self._database.writing() as connection:
            tables.insert_rows(connection, SESSIONS, row)

    def get(self, id: str) -> SessionRow | None:
        """One talk."""
        with self._database.reading() as connection:
            return _get(connection, id)

    def page(
        self, *, owner: str | None, everyone: bool, count: int, cursor: str | None
    ) -> tuple[list[SessionRow], str | None]:
        """Up to `count` talks of `owner` (or of everyone), the last used first, and where the next page begins.

        Hidden talks are left out. A talk that is used while somebody turns pages moves to the front; none of the
        others is left out or comes twice.

        Raises:
            BadInput: the cursor is none that was given out.
        """
        query = _SELECT.where(SESSIONS.c.hidden.is_(False))
        if not everyone:
            query = query.where(SESSIONS.c.owner.is_not_distinct_from(owner))
        if cursor is not None:
            query = query.where(tuple_(SESSIONS.c.updated, SESSIONS.c.id) < tuple_(*_place(cursor)))
        query = query.order_by(SESSIONS.c.updated.desc(), SESSIONS.c.id.desc()).limit(count + 1)
        with self._database.reading() as connection:
            found = tables.select_rows(connection, SessionRow, query)
        return found[:count], _cursor(found[count - 1]) if len(found) > count else None

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
        """Changes what is not None; gives the talk as it is then, or None where there is no such talk."""
        asks = {"retriever": retriever, "questioner": questioner, "where": where, "leaning": leaning}
        given = {"name": name, **asks, "updated": at}
        with self._database.writing() as connection:
            tables.update_row(
                connection, SESSIONS, id, {key: value for key, value in given.items() if value is not None}
            )
            return _get(connection, id)

    def delete(self, id: str) -> bool:
        """Deletes a talk with all its turns; whether there was one."""
        with self._database.writing() as connection:
            return connection.execute(SESSIONS.delete().where(SESSIONS.c.id == id)).rowcount > 0

    def conversation(self, id: str) -> Conversation:
        """What was said, shown and asked, as it was recorded; empty where there is no such talk.

        Raises:
            DatabaseError: the record is damaged; the turn is named.
        """
        with self._database.reading() as connection:
            found = connection.execute(_nodes_of(id)).mappings().all()
        talk = Conversation()
        for node in found:
            talk = _with(talk, dict(node), id)
        return talk

    def times(self, id: str) -> dict[int, float]:
        """When each turn was said, by number."""
        query = select(NODES.c.number, NODES.c.at).where(NODES.c.session == id).order_by(NODES.c.number)
        with self._database.reading() as connection:
            return {row.number: row.at for row in connection.execute(query)}

    def append(self, id: str, node: Node, *, elapsed_ms: float, at: float) -> None:
        """Records one more turn, and that the talk was used.

        Raises:
            TurnTaken: the talk has a turn of this number already.
            UnknownName: there is no such talk (any more).
        """
        assert node.turn is not None, "the root is not stored"
        try:
            with self._database.writing() as connection:
                if not connection.execute(_USED, {"talk": id, "now": at}).rowcount:
                    raise UnknownName(f"there is no talk {id}: it was deleted, or never begun")
                connection.execute(_NODE, {"session": id, "elapsed_ms": elapsed_ms, "at": at, **_recorded(node)})
        except IntegrityError as error:  # turns are numbered without gaps, so who missed one comes upon its number
            raise TurnTaken(node.number) from error

    def note_question(self, id: str, number: int, question: Question | None) -> None:
        """Records what was asked after a turn; where the talk was deleted in the meantime, nothing happens."""
        turn = NODES.update().where(NODES.c.session == id, NODES.c.number == number)
        with self._database.writing() as connection:
            connection.execute(turn.values(asked=None if question is None else asdict(question)))


# What every turn says to the database is made once: making it anew costs as much as saying it.
_USED = SESSIONS.update().where(SESSIONS.c.id == bindparam("talk")).values(updated=bindparam("now"))
_NODE = NODES.insert()
_TURNS = select(func.count()).where(NODES.c.session == SESSIONS.c.id).scalar_subquery()
_SELECT: Select[Any] = select(SESSIONS, _TURNS.label("turns"))
_TALK = _SELECT.where(SESSIONS.c.id == bindparam("talk"))


def _get(connection: Connection, id: str) -> SessionRow | None:
    return tables.select_row(connection, SessionRow, _TALK, {"talk": id})


def _nodes_of(id: str) -> Select[Any]:
    return select(NODES).where(NODES.c.session == id).order_by(NODES.c.number)


def _recorded(node: Node) -> dict[str, Any]:
    assert node.turn is not None
    return {
        "number": node.number,
        "parent": node.parent,
        "turn": turn_to_json(node.turn),
        "shown": list(node.shown),
        "asked": None if node.asked is None else asdict(node.asked),
    }


def _with(talk: Conversation, node: Mapping[str, Any], id: str) -> Conversation:
    """The talk with one more recorded turn."""
    try:
        asked = node["asked"]
        question = None if asked is None else Question(**asked | {"choices": tuple(asked["choices"])})
        longer = talk.then(turn_from_json(node["turn"])).recorded(shown=tuple(node["shown"]), asked=question)
        if (longer.here.number, longer.here.parent) != (node["number"], node["parent"]):
            raise ValueError(f"it follows turn {longer.here.parent}, not {node['parent']}")
    except (ValueError, TypeError, KeyError) as error:
        raise DatabaseError(f"turn {node['number']} of the talk {id} is damaged in the database: {error}") from error
    return longer


def _cursor(last: SessionRow) -> str:
    return urlsafe_b64encode(json.dumps([last.updated, last.id]).encode()).decode()


def _place(cursor: str) -> tuple[float, str]:
    try:
        updated, id = json.loads(urlsafe_b64decode(cursor))
    except (ValueError, TypeError) as error:
        raise BadInput("this cursor is none that was given out: begin again without one") from error
    if not isinstance(updated, float) or not math.isfinite(updated) or not isinstance(id, str):
        raise BadInput("this cursor is none that was given out: begin again without one")
    return updated, id


BATCH = 200


@dataclass(frozen=True)
class FeedbackRow:
    """The `picture` that was meant, its `rank` (from 1) after turn `node`, and the talk as it was then."""

    id: str
    owner: str | None
    session: str
    node: int
    picture: str
    rank: int | None
    retriever: str
    conversation: Mapping[str, Any]
    at: float


class FeedbackRows:
    """The feedback in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, row: FeedbackRow) -> None:
        """Notes what was found."""
        with self._database.writing() as connection:
            tables.insert_rows(connection, FEEDBACK, row)

    def all(self) -> Iterator[FeedbackRow]:
        """All of it, oldest first, in batches: whoever reads slowly holds no transaction open."""
        oldest_first = select(FEEDBACK).order_by(FEEDBACK.c.at, FEEDBACK.c.id).limit(BATCH)
        query = oldest_first
        while True:
            with self._database.reading() as connection:
                batch = tables.select_rows(connection, FeedbackRow, query)
            yield from batch
            if len(batch) < BATCH:
                return
            query = oldest_first.where(tuple_(FEEDBACK.c.at, FEEDBACK.c.id) > tuple_(batch[-1].at, batch[-1].id))
