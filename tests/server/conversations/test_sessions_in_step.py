"""A session in memory is the conversation in the database, whoever changes that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from viewfinder.conversation import ROOT, Conversation, Node, Turn
from viewfinder.server.access.tokens import LOCAL
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.conversations.schemas import SayTurn, SessionIn
from viewfinder.server.database import Database, SessionRows
from viewfinder.session.session import Session, TurnResult

OpenConversations = Callable[..., Conversations]
Reads = list[tuple[int, ...]]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """The numbers of the turns that were read, for each time that a conversation was."""
    found: Reads = []
    read = SessionRows.conversation

    def count(rows: SessionRows, id: str, known: Sequence[Node] = (ROOT,)) -> Conversation:
        conversation = read(rows, id, known)
        found.append(tuple(node.number for node in conversation.nodes[len(known) :]))
        return conversation

    monkeypatch.setattr(SessionRows, "conversation", count)
    return found


def begun(conversations: Conversations) -> str:
    return conversations.create(LOCAL, SessionIn(n=5)).id


def say(conversations: Conversations, id: str, *texts: str) -> None:
    """Takes turns, and has the question after each chosen."""
    for text in texts:
        conversations.question(id, conversations.take(LOCAL, id, SayTurn(say=text)).turn)


def test_what_another_process_asks_while_a_turn_is_taken_here_is_known_here(
    open_conversations: OpenConversations, sqlite: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = open_conversations(sqlite), open_conversations(sqlite)
    id = begun(there)
    there.take(LOCAL, id, SayTurn(say="something"))
    take_turn = Session.take_turn

    def meanwhile(session: Session, turn: Turn) -> TurnResult:
        monkeypatch.setattr(Session, "take_turn", take_turn)
        assert there.question(id, 1) is not None  # noted after the conversation was read here, before the turn is
        return take_turn(session, turn)

    monkeypatch.setattr(Session, "take_turn", meanwhile)
    here.take(LOCAL, id, SayTurn(say="bright"))
    asked = here.results(LOCAL, id, 1).question
    assert asked is not None
    assert asked == here.tree(LOCAL, id).tree[1].asked


def test_a_conversation_that_one_process_changes_is_read_from_the_database_once(
    conversations: Conversations, reads: Reads
) -> None:
    say(conversations, begun(conversations), "something", "bright", "red")
    assert reads == [()]


def test_of_a_conversation_that_goes_on_elsewhere_only_that_is_read(
    open_conversations: OpenConversations, sqlite: Database, reads: Reads
) -> None:
    here, there = open_conversations(sqlite), open_conversations(sqlite)
    id = begun(here)
    say(here, id, "something", "bright")
    say(there, id, "red")
    del reads[:]
    say(here, id, "dark")
    assert reads == [(2, 3)]  # something may have been asked after turn 2 in the meantime
