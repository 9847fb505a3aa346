"""A turn whose request comes twice is taken once, whichever process it comes to, and whenever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from viewfinder.server.access.tokens import LOCAL, Caller
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.conversations.schemas import (
    AnswerTurn,
    BackToTurn,
    LikeTurn,
    SayTurn,
    SessionIn,
    SkipTurn,
    TurnIn,
)
from viewfinder.server.conversations.sent_twice import request_key
from viewfinder.server.database import Database, RequestKey
from viewfinder.server.database.engine import alembic_config, upgrade_schema
from viewfinder.server.problems import Problem

OpenConversations = Callable[..., Conversations]


def key(name: str, asked: BaseModel, what: str = "take") -> RequestKey:
    made = request_key(f'"{name}"', what, asked)
    assert made is not None
    return made


def told(answer: BaseModel) -> dict[str, Any]:
    """An answer, without what may differ: how long it took, and whether its question is known by now."""
    return answer.model_dump(exclude={"elapsed_ms": True, "question": True, "asking": True})


def said(by: Conversations, id: str) -> list[Any]:
    return [node.turn for node in by.tree(LOCAL, id).tree[1:]]


TURNS: tuple[TurnIn, ...] = (
    SayTurn(say="something"),
    AnswerTurn(answer="blue"),
    BackToTurn(back_to=1),
    SkipTurn(skip=True),
    LikeTurn(like="p010", but="brighter"),
)


def test_the_same_request_is_answered_again_by_any_process_and_after_a_restart(
    two: list[Conversations], open_conversations: OpenConversations, database_url: str
) -> None:
    id = two[0].create(LOCAL, SessionIn(n=6)).id
    for at, turn in enumerate(TURNS):
        first = two[0].take(LOCAL, id, turn, key(f"k{at}", turn))
        two[0].question(id, first.turn)
        for by in two:
            assert told(by.take(LOCAL, id, turn, key(f"k{at}", turn))) == told(first)
    restarted = Database.open(database_url)
    later = open_conversations(restarted)
    assert later.take(LOCAL, id, TURNS[1], key("k1", TURNS[1])).turn == 2  # also when the conversation has gone on
    assert len(said(later, id)) == len(TURNS)
    assert later.take(LOCAL, id, SayTurn(say="green")).turn == len(TURNS) + 1
    restarted.close()


def test_requests_that_come_at_once_take_one_turn(two: list[Conversations]) -> None:
    id = two[0].create(LOCAL, SessionIn(n=5, questioner="none")).id
    turn, start, answers = SayTurn(say="red"), threading.Barrier(4), list[Any]()

    def speak(by: Conversations) -> None:
        for at in range(5):
            start.wait()
            answers.append((at, told(by.take(LOCAL, id, turn, key(f"k{at}", turn)))))

    threads = [threading.Thread(target=speak, args=(by,)) for by in two * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said(two[0], id)) == 5
    assert len(answers) == 20
    for at in range(5):
        mine = [answer for number, answer in answers if number == at]
        assert mine == mine[:1] * 4
        assert mine[0]["turn"] == at + 1


def test_a_key_that_comes_with_another_turn_is_refused(two: list[Conversations]) -> None:
    id = two[0].create(LOCAL, SessionIn(questioner="none")).id
    two[0].take(LOCAL, id, SayTurn(say="red"), key("k", SayTurn(say="red")))
    other = SayTurn(say="blue")
    for again in (
        lambda: two[1].take(LOCAL, id, other, key("k", other)),
        lambda: two[1].edit(LOCAL, id, 1, other, key("k", other, "edit 1")),
        lambda: two[1].open_question(LOCAL, id, key("k", SkipTurn(skip=True))),
    ):
        with pytest.raises(Problem, match="with another turn, which is turn 1: give each turn a new key") as refused:
            again()
        assert (refused.value.status, refused.value.kind) == (422, "key-reused")
    assert len(said(two[0], id)) == 1
    another = two[0].create(LOCAL, SessionIn(questioner="none")).id
    assert two[0].take(LOCAL, another, other, key("k", other)).turn == 1  # a key is one conversation's


def test_what_was_refused_has_used_no_key(two: list[Conversations]) -> None:
    id = two[0].create(LOCAL, SessionIn(questioner="none")).id
    with pytest.raises(Exception, match="nobody"):
        two[0].take(LOCAL, id, LikeTurn(like="nobody"), key("k", LikeTurn(like="nobody")))
    assert two[0].take(LOCAL, id, SayTurn(say="red"), key("k", SayTurn(say="red"))).turn == 1


def test_an_edit_that_comes_twice_makes_one_branch_and_tells_the_same(two: list[Conversations]) -> None:
    id = two[0].create(LOCAL, SessionIn(n=5, questioner="none")).id
    for turn in (SayTurn(say="red"), LikeTurn(like="p010"), LikeTurn(like="p011", turn=1), SayTurn(say="blue")):
        two[0].take(LOCAL, id, turn)
    green = SayTurn(say="green")
    first = two[0].edit(LOCAL, id, 1, green, key("k", green, "edit 1"))
    taken = len(said(two[0], id))
    for by in two:
        again = by.edit(LOCAL, id, 1, green, key("k", green, "edit 1"))
        assert (again.numbers, again.left_out) == (first.numbers, first.left_out)
        assert told(again.results) == told(first.results)
    assert len(said(two[0], id)) == taken
    without = two[0].edit(LOCAL, id, 1, None, request_key("d", "edit 1", None))
    assert two[1].edit(LOCAL, id, 1, None, request_key("d", "edit 1", None)).numbers == without.numbers


def test_a_conversation_that_is_begun_twice_is_one(two: list[Conversations]) -> None:
    given = SessionIn(n=7)
    ids = {by.create(LOCAL, given, key("k", given, "begin")).id for by in two * 2}
    assert len(ids) == 1
    somebody = Caller("somebody", frozenset({"read", "write"}))
    assert two[0].create(somebody, given, key("k", given, "begin")).id not in ids  # another's key is another key
    assert two[0].create(LOCAL, given).id not in ids


def test_turns_of_before_have_no_key_and_stay(open_conversations: OpenConversations, database: Database) -> None:
    from alembic import command

    conversations = open_conversations(database)
    id = conversations.create(LOCAL, SessionIn(questioner="none")).id
    for _ in range(2):
        conversations.take(LOCAL, id, SayTurn(say="red"))
    with database.writing() as connection:
        command.downgrade(alembic_config(connection), "0003")
        upgrade_schema(connection)
    later = open_conversations(database)
    assert later.take(LOCAL, id, SayTurn(say="red"), key("k", SayTurn(say="red"))).turn == 3
    assert len(said(later, id)) == 3
