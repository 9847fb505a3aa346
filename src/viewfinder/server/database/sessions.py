"""Conversations and their turns; what people found in them."""

from __future__ import annotations

import json
import math
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Select, bindparam, func, select, tuple_
from sqlalchemy.exc import IntegrityError

from viewfinder.conversation import ROOT, Conversation, Node, Question, next_node, turn_from_json, turn_to_json
from viewfinder.errors import BadInput, DatabaseError, UnknownName, ViewfinderError
from viewfinder.index.turns import stop_if_asked
from viewfinder.server.database.engine import Store, select_row, update_row
from viewfinder.server.database.tables import FEEDBACK, NODES, SESSIONS


@dataclass(frozen=True)
class SessionRow:
    """A conversation, without what was said in it; `turns` is how many there are, counted when the row is read."""

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
    """Somebody else (another page, another server process) has said turn `number` in the meantime."""

    def __init__(self, number: int) -> None:
        super().__init__(f"turn {number} was said from elsewhere in the meantime: read the conversation again")
        self.number = number


class SessionRows(Store[SessionRow]):
    """The conversations in a database; any number of threads and processes may use them at once."""

    table, row = SESSIONS, SessionRow

    def get(self, id: str) -> SessionRow | None:
        """One conversation."""
        return self._database.row(SessionRow, _SESSION, {"session": id})

    def page(
        self, *, owner: str | None, everyone: bool, count: int, cursor: str | None
    ) -> tuple[list[SessionRow], str | None]:
        """Up to `count` conversations of `owner` (or of everyone), the last used first, and where the next page begins.

        Hidden ones are left out. One that is used while somebody turns pages moves to the front; none of the
        others is left out or comes twice.

        Raises:
            BadInput: the cursor is none that was given out.
        """
        query = _SELECT.where(SESSIONS.c.hidden.is_(False))
        if not everyone:
            query = query.where(SESSIONS.c.owner.is_not_distinct_from(owner))
        if cursor is not None:
            query = query.where(tuple_(SESSIONS.c.updated, SESSIONS.c.id) < tuple_(*_parse_cursor(cursor)))
        query = query.order_by(SESSIONS.c.updated.desc(), SESSIONS.c.id.desc()).limit(count + 1)
        found = self._database.rows(SessionRow, query)
        if len(found) <= count:
            return found, None
        last = found[count - 1]
        return found[:count], urlsafe_b64encode(json.dumps([last.updated, last.id]).encode()).decode()

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
            update_row(connection, SESSIONS, id, {key: value for key, value in given.items() if value is not None})
            return select_row(connection, SessionRow, _SESSION, {"session": id})

    def conversation(self, id: str) -> Conversation:
        """What was said, shown and asked, as it was recorded; empty where there is none of this id.

        Raises:
            DatabaseError: the record is damaged; the turn is named.
        """
        with self._database.reading() as connection:
            in_order = select(NODES).where(NODES.c.session == id).order_by(NODES.c.number)
            found = connection.execute(in_order).mappings().all()
        nodes = [ROOT]
        for node in found:
            stop_if_asked()
            nodes.append(_read_node(nodes, dict(node), id))
        return Conversation(tuple(nodes))

    def times(self, id: str) -> dict[int, float]:
        """When each turn was said, by number."""
        query = select(NODES.c.number, NODES.c.at).where(NODES.c.session == id).order_by(NODES.c.number)
        with self._database.reading() as connection:
            return {row.number: row.at for row in connection.execute(query)}

    def append(self, id: str, *nodes: Node, elapsed_ms: float, at: float) -> None:
        """Records more turns, all or none, and that the conversation was used.

        Raises:
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
            }
            for node in nodes
            if node.turn is not None  # the root is not stored
        ]
        if not recorded:
            return
        try:
            with self._database.writing() as connection:
                if not connection.execute(_USED, {"used": id, "now": at}).rowcount:
                    raise UnknownName(f"there is no conversation {id}: it was deleted, or never begun")
                connection.execute(_NODE, recorded)
        except IntegrityError as error:  # turns are numbered without gaps, so who missed one comes upon its number
            raise TurnTaken(nodes[0].number) from error

    def note_question(self, id: str, number: int, question: Question | None) -> None:
        """Records what was asked after a turn; where the conversation was deleted in the meantime, nothing happens."""
        turn = NODES.update().where(NODES.c.session == id, NODES.c.number == number)
        with self._database.writing() as connection:
            connection.execute(turn.values(asked=None if question is None else asdict(question)))


# What every turn says to the database is made once: making it anew costs as much as saying it.
_USED = SESSIONS.update().where(SESSIONS.c.id == bindparam("used")).values(updated=bindparam("now"))
_NODE = NODES.insert()
_TURNS = select(func.count()).where(NODES.c.session == SESSIONS.c.id).scalar_subquery()
_SELECT: Select[Any] = select(SESSIONS, _TURNS.label("turns"))
_SESSION = _SELECT.where(SESSIONS.c.id == bindparam("session"))


def _read_node(nodes: Sequence[Node], node: Mapping[str, Any], id: str) -> Node:
    """The recorded turn that follows these."""
    try:
        asked = node["asked"]
        texts = {name: tuple((asked or {}).get(name, ())) for name in ("choices", "examples")}
        question = None if asked is None else Question(**asked | texts)
        # Each id is held once for all conversations, not once for each.
        shown = tuple(map(sys.intern, node["shown"]))
        read = replace(next_node(nodes, turn_from_json(node["turn"])), shown=shown, asked=question)
        if (read.number, read.parent) != (node["number"], node["parent"]):
            raise ValueError(f"it follows turn {read.parent}, not {node['parent']}")
    except (ValueError, TypeError, KeyError) as error:
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


class FeedbackRows(Store[FeedbackRow]):
    """What people found: data to learn from."""

    table, row = FEEDBACK, FeedbackRow

    def all(self) -> Iterator[FeedbackRow]:
        """All of it, oldest first, in batches: whoever reads slowly holds no transaction open."""
        oldest_first = select(FEEDBACK).order_by(FEEDBACK.c.at, FEEDBACK.c.id).limit(BATCH)
        query = oldest_first
        while True:
            batch = self._database.rows(FeedbackRow, query)
            yield from batch
            if len(batch) < BATCH:
                return
            query = oldest_first.where(tuple_(FEEDBACK.c.at, FEEDBACK.c.id) > tuple_(batch[-1].at, batch[-1].id))
