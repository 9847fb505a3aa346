"""Two processes over one database: whichever somebody talks to, the conversation is the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from viewfinder.conversation import Say
from viewfinder.server.access.tokens import LOCAL
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.conversations.schemas import (
    AnswerTurn,
    BackToTurn,
    LikeTurn,
    SayTurn,
    SessionChange,
    SessionIn,
    SkipTurn,
    TurnIn,
)
from viewfinder.server.database import Database, SessionRows
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from tests.server.conftest import Model

OpenConversations = Callable[..., Conversations]


@pytest.fixture
def two(open_conversations: OpenConversations, database: Database, database_url: str) -> Iterator[list[Conversations]]:
    """Two of them, each with a connection of its own."""
    other = Database.open(database_url)
    yield [open_conversations(database), open_conversations(other)]
    other.close()


TURNS: Sequence[TurnIn] = (
    SayTurn(say="something"),
    AnswerTurn(answer="blue"),
    BackToTurn(back_to=1),
    SkipTurn(skip=True),
    SayTurn(say="not green"),
    LikeTurn(like="p010", but="brighter"),
    BackToTurn(back_to=2),
    SayTurn(say="over yellow"),
)


def talked(processes: Sequence[Conversations]) -> dict[str, Any]:
    """All that a conversation comes to whose turns, questions and looks go to one process after another."""
    id = processes[0].create(LOCAL, SessionIn(n=6)).id
    seen: list[Any] = []
    for at, turn in enumerate(TURNS):
        by, other = processes[at % len(processes)], processes[(at + 1) % len(processes)]
        results = by.take(LOCAL, id, turn)
        by.choice(id, results.turn)
        question = other.question(id, results.turn)
        looked = other.results(LOCAL, id, results.turn)
        assert [hit.id for hit in looked.results] == [hit.id for hit in results.results]
        assert looked.beliefs == results.beliefs
        assert looked.asking is False
        seen.append((results.model_dump(exclude={"elapsed_ms"}), question, looked.question))
    tree = other.tree(LOCAL, id).model_dump(exclude={"id", "created", "updated"})
    return {"seen": seen, "tree": [{**node, "at": None} for node in tree["tree"]], "name": tree["name"]}


def test_a_conversation_that_goes_from_one_to_another_is_the_one_that_stays(two: list[Conversations]) -> None:
    assert talked(two) == talked(two[:1])


def test_a_question_is_waited_for_where_it_is_not_chosen(
    open_conversations: OpenConversations, database: Database, model: Model
) -> None:
    here, there = (open_conversations(database, language_model=model.source) for _ in range(2))
    id = here.create(LOCAL, SessionIn(n=5, questioner="llm")).id
    model.speaks.clear()
    here.choice(id, here.take(LOCAL, id, SayTurn(say="red")).turn)
    assert model.is_asked.wait(120)
    assert there.results(LOCAL, id, 1).asking and not there.results(LOCAL, id, 0).asking
    waiting = there.open_question(LOCAL, id)
    assert not waiting.done()
    model.speaks.set()
    question = waiting.result(120)
    assert question is not None and (question.by, model.asked) == ("llm", 1)  # chosen once
    there.take(LOCAL, id, AnswerTurn(answer="paper"))
    turn = here.tree(LOCAL, id).tree[2].turn
    assert turn is not None and (turn["question"]["text"], turn["answer"]) == (question.text, "paper")


def test_a_turn_said_elsewhere_before_the_question_is_there_means_that_nothing_was_asked(
    open_conversations: OpenConversations, database: Database, model: Model
) -> None:
    here, there = (open_conversations(database, language_model=model.source) for _ in range(2))
    id = here.create(LOCAL, SessionIn(n=5, questioner="llm")).id
    model.speaks.clear()
    first = here.choice(id, here.take(LOCAL, id, SayTurn(say="red")).turn)
    assert model.is_asked.wait(120)
    assert there.take(LOCAL, id, SayTurn(say="over blue")).turn == 2
    model.speaks.set()
    assert first.result(120) is None
    assert [node.asked for node in here.tree(LOCAL, id).tree[:2]] == [None, None]


def test_who_died_while_choosing_is_replaced(two: list[Conversations], database: Database) -> None:
    id = two[0].create(LOCAL, SessionIn(n=5)).id
    number = two[0].take(LOCAL, id, SayTurn(say="something")).turn  # and dies before it chooses
    rows = SessionRows(database)
    claim = rows.question(id, number)
    assert claim is not None and claim.choosing is not None
    assert rows.take_over_question(id, number, held=claim.choosing, choosing=time.time() - 1)
    question = two[1].question(id, number)
    assert question is not None and question.by == "information_gain"
    assert two[0].results(LOCAL, id, number).question is not None
    assert SessionRows(database).conversation(id).pending == question


def test_one_claims_what_nobody_chooses_any_more(database: Database) -> None:
    rows = SessionRows(database)
    conversations = rows.conversation("none").then(Say("red"))
    assert not rows.take_over_question("none", conversations.here.number, held=1.0, choosing=2.0)


def test_of_two_who_speak_at_once_one_is_heard_and_the_other_told(two: list[Conversations]) -> None:
    id = two[0].create(LOCAL, SessionIn(n=5, questioner="none")).id
    start, refused = threading.Barrier(2), list[int]()

    def speak(by: Conversations) -> None:
        for _ in range(6):
            start.wait()
            try:
                by.take(LOCAL, id, SayTurn(say="red"))
            except Problem as problem:
                refused.append(problem.status)

    threads = [threading.Thread(target=speak, args=(by,)) for by in two]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = two[0].tree(LOCAL, id).tree
    assert [node.number for node in said] == list(range(len(said)))
    assert len(said) - 1 + len(refused) == 12
    assert set(refused) <= {409}


def test_what_is_set_in_one_holds_in_the_other(two: list[Conversations]) -> None:
    id = two[0].create(LOCAL, SessionIn(n=5, questioner="none")).id
    for by in two:
        by.take(LOCAL, id, SayTurn(say="red"))
    two[0].change(LOCAL, id, SessionChange(where={"bottom": "blue"}))
    found = two[1].take(LOCAL, id, SayTurn(say="red"))
    assert {hit.name.partition(" over ")[2] for hit in found.results} == {"blue.png"}
    two[1].delete(LOCAL, id)
    with pytest.raises(Problem) as gone:
        two[0].take(LOCAL, id, SayTurn(say="red"))
    assert gone.value.status == 404
