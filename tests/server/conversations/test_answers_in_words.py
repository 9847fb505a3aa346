"""Answers of a retriever that speaks, over the service: with every turn, written on demand, and never in a study."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

import viewfinder.retrievers
from viewfinder.retrievers import Composer
from viewfinder.server.access.tokens import LOCAL
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.conversations.pools import choose_picture_bias, find_picture_bias
from viewfinder.server.conversations.schemas import (
    BackToTurn,
    Exported,
    SayTurn,
    SearchIn,
    SessionChange,
    SessionIn,
)
from viewfinder.server.database import Database
from viewfinder.server.problems import Problem

OpenConversations = Callable[..., Conversations]

PICTURES = {"with": "pictures", "text": None}
UNWRITTEN = {"with": "words", "text": None}
WRITTEN = {"with": "words", "text": "I have heard 'red' 'blue?'."}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch, talker: Callable[..., Any]) -> None:
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "talker", lambda checkpoint: talker())


def begun(conversations: Conversations, retriever: str = "talker", *, hidden: bool = False, **given: Any) -> str:
    """A conversation of two turns, the second of which is a question."""
    made = SessionIn(retriever=retriever, **{"questioner": "none", "n": 5, **given})
    id = conversations.create(LOCAL, made, hidden=hidden).id
    for said in ("red", "blue?"):
        conversations.take(LOCAL, id, SayTurn(say=said))
    return id


def answer(conversations: Conversations, id: str, number: int, **given: Any) -> Any:
    results = conversations.results(LOCAL, id, number, **given)
    return json.loads(results.model_dump_json(by_alias=True))["answer"]


def test_turns_say_what_they_are_answered_with(conversations: Conversations) -> None:
    id = begun(conversations)
    assert [answer(conversations, id, number) for number in range(3)] == [None, PICTURES, UNWRITTEN]
    first, second = (conversations.results(LOCAL, id, number).results for number in (1, 2))
    assert first == second
    back = conversations.take(LOCAL, id, BackToTurn(back_to=1))
    assert back.answer is not None and back.answer.kind == "pictures"


def test_words_are_known_once_somebody_has_had_them_written(conversations: Conversations) -> None:
    id = begun(conversations)
    assert list(conversations.reply(LOCAL, id, 1)) == list(conversations.reply(LOCAL, id, 0)) == []
    pieces = conversations.reply(LOCAL, id, 2)
    assert (next(pieces), answer(conversations, id, 2)) == ("I have", UNWRITTEN)
    assert "".join(pieces) == " heard 'red' 'blue?'."
    assert (answer(conversations, id, 2), answer(conversations, id, 1)) == (WRITTEN, PICTURES)
    with pytest.raises(Problem):
        conversations.reply(LOCAL, id, 3)


def test_the_conversation_goes_on_while_words_are_written(conversations: Conversations) -> None:
    id = begun(conversations)
    pieces = conversations.reply(LOCAL, id, 2)
    next(pieces)
    assert conversations.take(LOCAL, id, SayTurn(say="green")).turn == 3
    conversations.delete(LOCAL, id)
    assert "".join(pieces) == " heard 'red' 'blue?'."  # and it is noted nowhere
    assert len(conversations) == 0


def test_who_does_not_speak_answers_nothing(conversations: Conversations) -> None:
    id = begun(conversations, "composer", leaning=-5.0)
    assert (answer(conversations, id, 2), list(conversations.reply(LOCAL, id, 2))) == (None, [])


def test_another_leaning_is_kept_and_answers_otherwise(open_conversations: OpenConversations, sqlite: Database) -> None:
    conversations = open_conversations(sqlite)
    id = begun(conversations)
    list(conversations.reply(LOCAL, id, 2))
    assert conversations.change(LOCAL, id, SessionChange(leaning=2.0)).leaning == 2.0
    assert answer(conversations, id, 2) == PICTURES
    assert conversations.change(LOCAL, id, SessionChange(name="other")).leaning == 2.0
    conversations.change(LOCAL, id, SessionChange(leaning=-1000.0))
    again = open_conversations(sqlite)
    assert [answer(again, id, number) for number in (1, 2)] == [UNWRITTEN, UNWRITTEN]


def test_a_study_shows_pictures_alone_and_tells_of_no_answer(conversations: Conversations) -> None:
    id = begun(conversations, hidden=True, leaning=-1000.0)
    assert (answer(conversations, id, 2), list(conversations.reply(LOCAL, id, 2))) == (None, [])
    assert conversations.results(LOCAL, id, 1).results != conversations.results(LOCAL, id, 2).results


def test_a_look_at_another_retriever_is_a_look_at_its_pictures(conversations: Conversations) -> None:
    id = begun(conversations, "composer")
    seen = conversations.results(LOCAL, id, 2, retriever="talker")
    assert seen.answer is not None and seen.answer.kind == "pictures"
    assert seen.results == conversations.results(LOCAL, id, 2).results
    assert (
        conversations.search(LOCAL, SearchIn(text="blue?", retriever="talker"))
        .results[0]
        .name.startswith("blue over blue")
    )


def test_nobody_waits_for_a_question_after_words(conversations: Conversations) -> None:
    id = begun(conversations, questioner="information_gain")
    assert conversations.take(LOCAL, id, SayTurn(say="green?")).asking is False
    assert conversations.question(id, 3) is None
    assert conversations.take(LOCAL, id, SayTurn(say="green")).asking is True


def test_a_change_to_words_takes_back_that_something_is_to_be_asked(conversations: Conversations) -> None:
    id = conversations.create(LOCAL, SessionIn(retriever="talker", n=5)).id
    assert conversations.take(LOCAL, id, SayTurn(say="green")).asking is True
    conversations.change(LOCAL, id, SessionChange(leaning=-1000.0))
    assert conversations.results(LOCAL, id, 1).asking is False


def test_the_leaning_goes_with_an_exported_conversation(conversations: Conversations) -> None:
    document = conversations.export(LOCAL, begun(conversations, leaning=3.0))
    copy = conversations.import_(LOCAL, Exported.model_validate_json(document.model_dump_json(by_alias=True)))
    assert (copy.leaning, answer(conversations, copy.id, 2)) == (3.0, PICTURES)


def test_the_farthest_leaning_over_the_wire_is_infinity(talker: Callable[..., Any]) -> None:
    given = [choose_picture_bias(talker(), one) for one in (None, 2.5, 1000.0, -1000.0)]
    assert given == [None, 2.5, math.inf, -math.inf]
    assert choose_picture_bias(talker(), -3.0, pictures_alone=True) == math.inf
    assert choose_picture_bias(Composer(), 2.5) is choose_picture_bias(Composer(), 2.5, pictures_alone=True) is None
    assert [find_picture_bias(one) for one in (Composer(), talker(1.5), talker(-math.inf))] == [None, 1.5, -1000.0]


def test_retrievers_are_listed_with_their_own_leaning(
    conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in set(viewfinder.retrievers.RETRIEVERS) - {"talker", "composer"}:
        monkeypatch.delitem(viewfinder.retrievers.RETRIEVERS, name)
    listed = {info.name: info.leaning for info in conversations.retrievers.list_all().retrievers}
    assert listed == {"talker": 0.0, "composer": None}
