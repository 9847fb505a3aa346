"""Talks in the database, against the same conversations in memory."""

from __future__ import annotations

import threading
import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test
from sqlalchemy import text

from viewfinder.conversation import Answer, BackTo, Conversation, Keep, Like, Question, Reject, Say, Show, Turn
from viewfinder.errors import BadInput, DatabaseError, UnknownName
from viewfinder.server.database import Database, SessionRow, SessionRows, TurnTaken

ASKED = Question("which colour?", ("red", "blue"), "information_gain", "splits them best", "colour")


def session(id: str, *, updated: float = 1.0, owner: str | None = None, hidden: bool = False) -> SessionRow:
    return SessionRow(id, owner, f"talk {id}", "composer", "none", {"kind": "dog"}, 50, 0.5, updated, hidden)


def conversation_of(*turns: Turn) -> Conversation:
    conversation = Conversation()
    for turn in turns:
        conversation = conversation.then(turn).recorded(
            shown=(f"p{len(conversation)}", "q"), asked=ASKED if len(conversation) % 2 else None
        )
    return conversation


def store(sessions: SessionRows, id: str, conversation: Conversation) -> None:
    for node in conversation.nodes[1:]:
        sessions.append(id, node, elapsed_ms=7.5, at=10.0 + node.number)


@pytest.fixture
def sessions(database: Database) -> SessionRows:
    return SessionRows(database)


def test_a_conversation_with_every_kind_of_turn_comes_back_as_it_was(sessions: SessionRows) -> None:
    conversation = conversation_of(
        Say("a dog, \U0001f415 or 'two'; -- \x00"),
        Answer(ASKED, "don't know"),
        Like("p1", "but brown", 1),
        Show("an upload", "bigger"),
        Keep("colour", 2),
        Reject(("p1", "p2"), "cats"),
        BackTo(2),
        Like("p2"),
        BackTo(0),
        Reject(),
    )
    sessions.create(session("a"))
    store(sessions, "a", conversation)
    assert sessions.conversation("a") == conversation  # keys too, by which steps are memoised
    assert sessions.times("a") == {number: 10.0 + number for number in range(1, 11)}
    assert sessions.get("a") == replace(session("a"), updated=20.0, turns=10)


def test_an_unknown_conversation_is_empty_and_takes_no_turns(sessions: SessionRows) -> None:
    assert (sessions.get("a"), sessions.conversation("a"), sessions.times("a")) == (None, Conversation(), {})
    with pytest.raises(UnknownName, match="no conversation a"):
        store(sessions, "a", conversation_of(Say("a dog")))
    sessions.note_question("a", 1, ASKED)
    assert sessions.change("a", name="x", at=3.0) is None
    assert not sessions.delete("a")


def test_a_question_can_be_noted_later_and_taken_back(sessions: SessionRows) -> None:
    sessions.create(session("a"))
    store(sessions, "a", conversation_of(Say("a dog")))
    sessions.note_question("a", 1, ASKED)
    assert sessions.conversation("a").pending == ASKED
    sessions.note_question("a", 1, None)
    assert sessions.conversation("a").pending is None


def test_a_turn_that_was_said_elsewhere_in_the_meantime_is_refused(sessions: SessionRows) -> None:
    here, there = conversation_of(Say("a dog")), conversation_of(Say("a cat"))
    sessions.create(session("a"))
    store(sessions, "a", here)
    with pytest.raises(TurnTaken, match="turn 1 ") as caught:
        sessions.append("a", there.here, elapsed_ms=1.0, at=99.0)
    assert caught.value.number == 1
    assert sessions.conversation("a") == here
    assert sessions.get("a") == replace(session("a"), updated=11.0, turns=1)


def test_of_many_who_say_the_same_turn_at_once_one_is_heard(database: Database, database_url: str) -> None:
    """Four threads of two servers: each of five turns is heard once, the others are told so."""
    servers = [database, Database.open(database_url)]
    SessionRows(database).create(session("a"))
    start, refused = threading.Barrier(4), []

    def conversation(sessions: SessionRows) -> None:
        for _ in range(5):
            conversation = sessions.conversation("a").then(Say("a dog")).recorded(shown=(), asked=None)
            start.wait()
            try:
                sessions.append("a", conversation.here, elapsed_ms=1.0, at=2.0)
            except TurnTaken as error:
                refused.append(error.number)
            start.wait()

    threads = [threading.Thread(target=conversation, args=(SessionRows(servers[which % 2]),)) for which in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(SessionRows(database).conversation("a")) == 5
    assert sorted(refused) == [number for number in range(1, 6) for _ in range(3)]
    servers[1].close()


def test_what_is_not_named_stays(sessions: SessionRows) -> None:
    sessions.create(session("a"))
    assert sessions.change("a", at=2.0) == replace(session("a"), updated=2.0)
    changed = sessions.change("a", name="", where={}, retriever="drilldown", questioner="llm", at=3.0)
    assert changed == sessions.get("a")
    # An empty name is a name: only None is left as it was.
    assert changed == SessionRow("a", None, "", "drilldown", "llm", {}, 50, 0.5, 3.0, False)


def test_a_deleted_conversation_takes_its_turns_with_it(sessions: SessionRows, database: Database) -> None:
    sessions.create(session("a"))
    store(sessions, "a", conversation_of(Say("a dog")))
    assert sessions.delete("a") and not sessions.delete("a")
    with database.reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM nodes")) == 0


def pages(sessions: SessionRows, count: int, **whose: Any) -> list[list[str]]:
    found, cursor = [], None
    while True:
        rows, cursor = sessions.page(count=count, cursor=cursor, **whose)
        found.append([row.id for row in rows])
        if cursor is None:
            return found


def test_pages_come_last_used_first_and_ties_by_id(sessions: SessionRows) -> None:
    for id, updated in {"a": 1.0, "b": 3.0, "c": 0.1 + 0.2, "d": 3.0, "e": 2.0}.items():
        sessions.create(session(id, updated=updated))
    assert pages(sessions, 2, owner=None, everyone=False) == [["d", "b"], ["e", "a"], ["c"]]
    assert pages(sessions, 5, owner=None, everyone=False) == [["d", "b", "e", "a", "c"]]


def test_pages_hold_ones_own_conversations_and_no_hidden_ones(sessions: SessionRows) -> None:
    for id, owner, hidden in (("a", None, False), ("b", "me", False), ("c", "you", False), ("d", "me", True)):
        sessions.create(session(id, owner=owner, hidden=hidden))
    assert pages(sessions, 9, owner="me", everyone=False) == [["b"]]
    assert pages(sessions, 9, owner=None, everyone=False) == [["a"]]
    assert pages(sessions, 9, owner=None, everyone=True) == [["c", "b", "a"]]


def test_a_conversation_that_is_used_between_two_pages_hides_no_other(sessions: SessionRows) -> None:
    for id, updated in {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}.items():
        sessions.create(session(id, updated=updated))
    first, cursor = sessions.page(owner=None, everyone=True, count=2, cursor=None)
    sessions.change("d", at=9.0)
    sessions.delete("c")  # the very one that the cursor names
    second, end = sessions.page(owner=None, everyone=True, count=2, cursor=cursor)
    assert ([row.id for row in first + second], end) == (["d", "c", "b", "a"], None)


@pytest.mark.parametrize("cursor", ["", "x", "é", "bnVsbA==", "WzEsIDJd", "W05hTiwgImEiXQ==", "WyIxIiwgImEiXQ=="])
def test_a_cursor_of_ones_own_making_is_refused(sessions: SessionRows, cursor: str) -> None:
    with pytest.raises(BadInput, match="this cursor is none that was given out"):
        sessions.page(owner=None, everyone=True, count=2, cursor=cursor)


def test_a_damaged_turn_is_named(sessions: SessionRows, database: Database) -> None:
    sessions.create(session("a"))
    store(sessions, "a", conversation_of(Say("a dog"), Say("in the snow")))
    with database.writing() as connection:
        connection.execute(text("UPDATE nodes SET parent = 7 WHERE number = 2"))
    with pytest.raises(DatabaseError, match=r"turn 2 of the conversation a is damaged .* it follows turn 1, not 7"):
        sessions.conversation("a")


class Talking(RuleBasedStateMachine):
    """People talk, branch, rename and delete; what the database holds is always what was said."""

    conversations: Bundle[str] = Bundle("talks")

    def __init__(self, sessions: SessionRows, owner: str) -> None:
        super().__init__()
        self.sessions, self.owner, self.clock = sessions, owner, 0.0
        self.rows: dict[str, SessionRow] = {}
        self.said: dict[str, Conversation] = {}

    def now(self) -> float:
        self.clock += 1.0
        return self.clock

    @rule(target=conversations, name=st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=5))
    def begin(self, name: str) -> str:
        id = str(uuid.uuid4())
        self.rows[id] = replace(session(id, updated=self.now(), owner=self.owner), name=name)
        self.said[id] = Conversation()
        self.sessions.create(self.rows[id])
        return id

    @rule(
        id=conversations,
        said=st.text(max_size=5),
        shown=st.lists(st.sampled_from("pqr"), max_size=2),
        asked=st.booleans(),
    )
    def say(self, id: str, said: str, shown: list[str], asked: bool) -> None:
        self.take(id, Say(said), tuple(shown), ASKED if asked else None)

    @rule(id=conversations, data=st.data())
    def branch(self, id: str, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.said[id])))
        self.take(id, BackTo(at), self.said[id].node(at).shown, None)

    @rule(id=conversations, data=st.data())
    def like(self, id: str, data: st.DataObject) -> None:
        self.take(id, Like("p", "but red", data.draw(st.integers(0, len(self.said[id])))), ("p",), None)

    def take(self, id: str, turn: Turn, shown: tuple[str, ...], asked: Question | None) -> None:
        self.said[id] = self.said[id].then(turn).recorded(shown=shown, asked=asked)
        self.sessions.append(id, self.said[id].here, elapsed_ms=1.0, at=self.now())
        self.rows[id] = replace(self.rows[id], updated=self.clock, turns=len(self.said[id]))

    @rule(id=conversations)
    def ask(self, id: str) -> None:
        here = self.said[id].here
        self.sessions.note_question(id, here.number, ASKED)
        if here.number:
            self.said[id] = self.said[id].recorded(shown=here.shown, asked=ASKED)

    @rule(id=conversations, behind=st.integers(0, 3))
    def say_too_late(self, id: str, behind: int) -> None:
        stale = Conversation(self.said[id].nodes[: max(len(self.said[id]) - behind, 1)]).then(Say("late"))
        if stale.here.number <= len(self.said[id]):
            with pytest.raises(TurnTaken):
                self.sessions.append(id, stale.here, elapsed_ms=1.0, at=self.now())

    @rule(id=conversations, where=st.dictionaries(st.sampled_from("ab"), st.text(max_size=2)))
    def change(self, id: str, where: dict[str, str]) -> None:
        self.rows[id] = replace(self.rows[id], where=where, updated=self.now())
        assert self.sessions.change(id, where=where, at=self.clock) == self.rows[id]

    @rule(id=consumes(conversations))
    def delete(self, id: str) -> None:
        del self.rows[id], self.said[id]
        assert self.sessions.delete(id)

    @invariant()
    def the_database_holds_what_was_said(self) -> None:
        for id, row in self.rows.items():
            assert (self.sessions.get(id), self.sessions.conversation(id)) == (row, self.said[id])

    @invariant()
    def pages_hold_every_conversation_once(self) -> None:
        listed = [id for page in pages(self.sessions, 2, owner=self.owner, everyone=False) for id in page]
        assert listed == sorted(self.rows, key=lambda id: -self.rows[id].updated)


def test_whatever_people_do_the_database_holds_what_was_said(sessions: SessionRows) -> None:
    class Here(Talking):
        def __init__(self) -> None:
            super().__init__(sessions, str(uuid.uuid4()))

    run_state_machine_as_test(Here, settings=settings(max_examples=15, stateful_step_count=20, deadline=None))
