"""What turns do with earlier ones, over the service: with every turn's results, read again, and never in a study."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import viewfinder.retrievers
from viewfinder.server.access.tokens import LOCAL
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.conversations.schemas import BackToTurn, KeepTurn, LikeTurn, SayTurn, SessionIn
from viewfinder.server.database import Database

OpenConversations = Callable[..., Conversations]

FIRST = {"said": 2, "kind": "rollback", "turn": 1, "attribute": "", "words": "the first"}
GIVEN = {"said": 3, "kind": "rollback", "turn": 1, "attribute": "", "words": ""}
KEPT = {"said": 4, "kind": "keep", "turn": 2, "attribute": "bottom", "words": ""}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch, looks_back: Callable[[], Any]) -> None:
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "looks-back", lambda checkpoint: looks_back())


def begun(
    conversations: Conversations, retriever: str = "looks-back", *, said: str = "like the first", **given: Any
) -> str:
    id = conversations.create(LOCAL, SessionIn(retriever=retriever, questioner="none", n=5), **given).id
    conversations.take(LOCAL, id, LikeTurn(like="p001", but="blue"))
    conversations.take(LOCAL, id, SayTurn(say=said))
    return id


def done(conversations: Conversations, id: str, number: int, **given: Any) -> list[dict[str, Any]]:
    return [each.model_dump() for each in conversations.results(LOCAL, id, number, **given).operations]


def test_results_say_what_all_turns_on_the_way_do(conversations: Conversations) -> None:
    id = begun(conversations)
    third = conversations.take(LOCAL, id, LikeTurn(like="p001", but="darker", turn=1))
    assert json.loads(third.model_dump_json())["operations"] == [FIRST, GIVEN]
    conversations.take(LOCAL, id, KeepTurn(keep="bottom", turn=2))
    assert [done(conversations, id, number) for number in range(1, 5)] == [
        [],
        [FIRST],
        [FIRST, GIVEN],
        [FIRST, GIVEN, KEPT],
    ]
    back = conversations.take(LOCAL, id, BackToTurn(back_to=2))
    assert [each.model_dump() for each in back.operations] == [FIRST]


def test_they_are_read_again_by_the_next_process(open_conversations: OpenConversations, sqlite: Database) -> None:
    id = begun(open_conversations(sqlite))
    again = open_conversations(sqlite)
    assert done(again, id, 2) == [FIRST]
    assert done(again, id, 2, n=1, cursor="3") == [FIRST]


def test_they_are_those_of_the_retriever_that_is_asked_for(conversations: Conversations) -> None:
    id = begun(conversations, "composer", said="blue like the first")
    assert done(conversations, id, 2) == []
    assert done(conversations, id, 2, retriever="looks-back") == [FIRST]


def test_a_turn_that_is_said_another_way_does_something_else(conversations: Conversations) -> None:
    id = begun(conversations)
    conversations.take(LOCAL, id, SayTurn(say="like the second"))
    replay = conversations.edit(LOCAL, id, 2, SayTurn(say="red"))
    [again] = replay.results.operations
    assert (again.said, again.turn, again.words) == (replay.numbers[3], 2, "the second")


def test_a_study_hides_them_as_they_would_tell_the_retriever(conversations: Conversations) -> None:
    assert done(conversations, begun(conversations, hidden=True), 2) == []
