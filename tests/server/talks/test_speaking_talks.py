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
from viewfinder.server.conversations.retrievers import own_picture_bias, session_picture_bias
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

OpenTalks = Callable[..., Conversations]

PICTURES = {"with": "pictures", "text": None}
UNWRITTEN = {"with": "words", "text": None}
WRITTEN = {"with": "words", "text": "I have heard 'red' 'blue?'."}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch, talker: Callable[..., Any]) -> None:
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "talker", lambda checkpoint: talker())


def begun(talks: Conversations, retriever: str = "talker", *, hidden: bool = False, **given: Any) -> str:
    """A talk of two turns, the second of which is a question."""
    made = SessionIn(retriever=retriever, **{"questioner": "none", "n": 5, **given})
    id = talks.create(LOCAL, made, hidden=hidden).id
    for said in ("red", "blue?"):
        talks.take(LOCAL, id, SayTurn(say=said))
    return id


def answer(talks: Conversations, id: str, number: int, **given: Any) -> Any:
    results = talks.results(LOCAL, id, number, **given)
    return json.loads(results.model_dump_json(by_alias=True))["answer"]


def test_turns_say_what_they_are_answered_with(talks: Conversations) -> None:
    id = begun(talks)
    assert [answer(talks, id, number) for number in range(3)] == [None, PICTURES, UNWRITTEN]
    first, second = (talks.results(LOCAL, id, number).results for number in (1, 2))
    assert first == second
    back = talks.take(LOCAL, id, BackToTurn(back_to=1))
    assert back.answer is not None and back.answer.kind == "pictures"


def test_words_are_known_once_somebody_has_had_them_written(talks: Conversations) -> None:
    id = begun(talks)
    assert list(talks.reply(LOCAL, id, 1)) == list(talks.reply(LOCAL, id, 0)) == []
    pieces = talks.reply(LOCAL, id, 2)
    assert (next(pieces), answer(talks, id, 2)) == ("I have", UNWRITTEN)
    assert "".join(pieces) == " heard 'red' 'blue?'."
    assert (answer(talks, id, 2), answer(talks, id, 1)) == (WRITTEN, PICTURES)
    with pytest.raises(Problem):
        talks.reply(LOCAL, id, 3)


def test_the_talk_goes_on_while_words_are_written(talks: Conversations) -> None:
    id = begun(talks)
    pieces = talks.reply(LOCAL, id, 2)
    next(pieces)
    assert talks.take(LOCAL, id, SayTurn(say="green")).turn == 3
    talks.delete(LOCAL, id)
    assert "".join(pieces) == " heard 'red' 'blue?'."  # and it is noted nowhere
    assert len(talks) == 0


def test_who_does_not_speak_answers_nothing(talks: Conversations) -> None:
    id = begun(talks, "composer", leaning=-5.0)
    assert (answer(talks, id, 2), list(talks.reply(LOCAL, id, 2))) == (None, [])


def test_another_leaning_is_kept_and_answers_otherwise(open_talks: OpenTalks, sqlite: Database) -> None:
    talks = open_talks(sqlite)
    id = begun(talks)
    list(talks.reply(LOCAL, id, 2))
    assert talks.change(LOCAL, id, SessionChange(leaning=2.0)).leaning == 2.0
    assert answer(talks, id, 2) == PICTURES
    assert talks.change(LOCAL, id, SessionChange(name="other")).leaning == 2.0
    talks.change(LOCAL, id, SessionChange(leaning=-1000.0))
    again = open_talks(sqlite)
    assert [answer(again, id, number) for number in (1, 2)] == [UNWRITTEN, UNWRITTEN]


def test_a_study_shows_pictures_alone_and_tells_of_no_answer(talks: Conversations) -> None:
    id = begun(talks, hidden=True, leaning=-1000.0)
    assert (answer(talks, id, 2), list(talks.reply(LOCAL, id, 2))) == (None, [])
    assert talks.results(LOCAL, id, 1).results != talks.results(LOCAL, id, 2).results


def test_a_look_at_another_retriever_is_a_look_at_its_pictures(talks: Conversations) -> None:
    id = begun(talks, "composer")
    seen = talks.results(LOCAL, id, 2, retriever="talker")
    assert seen.answer is not None and seen.answer.kind == "pictures"
    assert seen.results == talks.results(LOCAL, id, 2).results
    assert talks.search(LOCAL, SearchIn(text="blue?", retriever="talker")).results[0].name.startswith("blue over blue")


def test_nobody_waits_for_a_question_after_words(talks: Conversations) -> None:
    id = begun(talks, questioner="information_gain")
    assert talks.take(LOCAL, id, SayTurn(say="green?")).asking is False
    assert talks.question(id, 3) is None
    assert talks.take(LOCAL, id, SayTurn(say="green")).asking is True


def test_a_change_to_words_takes_back_that_something_is_to_be_asked(talks: Conversations) -> None:
    id = talks.create(LOCAL, SessionIn(retriever="talker", n=5)).id
    assert talks.take(LOCAL, id, SayTurn(say="green")).asking is True
    talks.change(LOCAL, id, SessionChange(leaning=-1000.0))
    assert talks.results(LOCAL, id, 1).asking is False


def test_the_leaning_goes_with_an_exported_talk(talks: Conversations) -> None:
    document = talks.export(LOCAL, begun(talks, leaning=3.0))
    copy = talks.import_(LOCAL, Exported.model_validate_json(document.model_dump_json(by_alias=True)))
    assert (copy.leaning, answer(talks, copy.id, 2)) == (3.0, PICTURES)


def test_the_farthest_leaning_over_the_wire_is_infinity(talker: Callable[..., Any]) -> None:
    given = [session_picture_bias(talker(), one) for one in (None, 2.5, 1000.0, -1000.0)]
    assert given == [None, 2.5, math.inf, -math.inf]
    assert session_picture_bias(talker(), -3.0, pictures_alone=True) == math.inf
    assert session_picture_bias(Composer(), 2.5) is session_picture_bias(Composer(), 2.5, pictures_alone=True) is None
    assert [own_picture_bias(one) for one in (Composer(), talker(1.5), talker(-math.inf))] == [None, 1.5, -1000.0]


def test_retrievers_are_listed_with_their_own_leaning(talks: Conversations, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(viewfinder.retrievers.RETRIEVERS) - {"talker", "composer"}:
        monkeypatch.delitem(viewfinder.retrievers.RETRIEVERS, name)
    listed = {info.name: info.leaning for info in talks.engines.listed().retrievers}
    assert listed == {"talker": 0.0, "composer": None}
