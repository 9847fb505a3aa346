"""Nobody waits for a questioner: a language model that hangs holds up no turn, no other conversation and no answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

import pytest

import viewfinder.questioners
from viewfinder.conversation import Question
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.questioners import Candidates, NoQuestions
from viewfinder.server.access.tokens import LOCAL
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.conversations.schemas import (
    AnswerTurn,
    BackToTurn,
    SayTurn,
    SessionChange,
    SessionIn,
    SkipTurn,
)
from viewfinder.server.database import Database

if TYPE_CHECKING:
    from tests.server.conftest import Model

OpenConversations = Callable[..., Conversations]
SKIP = SkipTurn(skip=True)


@pytest.fixture
def asked_by_model(open_conversations: OpenConversations, sqlite: Database, model: Model) -> Conversations:
    return open_conversations(sqlite, language_model=model.source)


def begun(conversations: Conversations, questioner: str = "llm") -> str:
    return conversations.create(LOCAL, SessionIn(n=5, questioner=questioner)).id


def said(conversations: Conversations, id: str, text: str) -> Future[Question | None]:
    """A turn, and the question after it, as soon as there is one."""
    return conversations.choose_question(id, conversations.take(LOCAL, id, SayTurn(say=text)).turn)


def test_a_language_model_asks(asked_by_model: Conversations) -> None:
    id = begun(asked_by_model)
    question = said(asked_by_model, id, "red").result(120)
    assert question is not None
    assert (question.text, question.by) == ("What is it made of?", "llm")


def test_a_turn_does_not_wait_for_the_question_before_it(asked_by_model: Conversations, model: Model) -> None:
    id = begun(asked_by_model)
    model.speaks.clear()
    first = said(asked_by_model, id, "red")
    assert model.is_asked.wait(120)
    results = asked_by_model.take(LOCAL, id, SayTurn(say="over blue"))
    assert not model.speaks.is_set()  # it has not said a word, and yet:
    assert (results.turn, len(results.results), results.asking) == (2, 5, True)
    assert first.result(0) is None
    assert asked_by_model.tree(LOCAL, id).tree[1].asked is None


def test_what_a_model_says_too_late_is_asked_of_nobody(asked_by_model: Conversations, model: Model) -> None:
    id = begun(asked_by_model)
    model.says = ["What is it made of?", "Is it a flag?"]
    model.speaks.clear()
    said(asked_by_model, id, "red")
    assert model.is_asked.wait(120)
    asked_by_model.take(LOCAL, id, SayTurn(say="over blue"))
    model.speaks.set()
    second = asked_by_model.question(id, 2)
    tree = asked_by_model.tree(LOCAL, id).tree
    assert second is not None and tree[1].asked is None
    assert tree[2].asked is not None and tree[2].asked.text == second.text


def test_one_conversation_that_waits_holds_up_no_other(asked_by_model: Conversations, model: Model) -> None:
    slow, quick = begun(asked_by_model), begun(asked_by_model, "information_gain")
    model.speaks.clear()
    waiting = said(asked_by_model, slow, "red")
    question = said(asked_by_model, quick, "something").result(0)  # chosen by who asked for it
    assert question is not None and question.by == "information_gain"
    assert not waiting.done()


def test_a_model_that_talks_nonsense_is_replaced_and_that_is_said(asked_by_model: Conversations, model: Model) -> None:
    model.says = ["I am sorry, as a language model"]
    question = said(asked_by_model, begun(asked_by_model), "something").result(120)
    assert question is not None and question.by == "information_gain"
    assert question.why.startswith("llm failed (tiny ")
    assert ": asked by information_gain instead; " in question.why


def test_an_answer_waits_for_the_question_that_it_is_to(asked_by_model: Conversations) -> None:
    id = begun(asked_by_model)
    asked_by_model.take(LOCAL, id, SayTurn(say="red"))
    asked_by_model.take(LOCAL, id, AnswerTurn(answer="paper"))
    turn = asked_by_model.tree(LOCAL, id).tree[2].turn
    assert turn is not None
    assert (turn["question"]["text"], turn["answer"]) == ("What is it made of?", "paper")


def test_another_questioner_takes_over_while_one_still_thinks(asked_by_model: Conversations, model: Model) -> None:
    id = begun(asked_by_model)
    model.speaks.clear()
    first = said(asked_by_model, id, "something")
    asked_by_model.change(LOCAL, id, SessionChange(questioner="information_gain"))
    assert asked_by_model.results(LOCAL, id, 1).asking
    question = asked_by_model.question(id, 1)
    assert question is not None and question.by == "information_gain"
    assert first.result(0) is None


def test_a_deleted_conversation_is_waited_for_by_nobody(asked_by_model: Conversations, model: Model) -> None:
    id = begun(asked_by_model)
    model.speaks.clear()
    waiting = said(asked_by_model, id, "red")
    asked_by_model.delete(LOCAL, id)
    assert waiting.result(0) is None


def test_a_skipped_question_says_nothing_and_is_not_asked_again(conversations: Conversations) -> None:
    id = begun(conversations, "information_gain")
    first = said(conversations, id, "something").result()
    before = conversations.results(LOCAL, id, 1)
    results = conversations.take(LOCAL, id, SKIP)
    second = conversations.question(id, 2)
    assert [hit.id for hit in results.results] == [hit.id for hit in before.results]
    assert results.beliefs == before.beliefs
    assert first is not None and (second is None or second.text != first.text)
    node = conversations.tree(LOCAL, id).tree[2]
    assert node.turn is not None and node.turn["answer"] == ""
    assert node.told == f"skipped: {first.text}"


def test_going_back_before_a_skip_asks_the_question_again(conversations: Conversations) -> None:
    id = begun(conversations, "information_gain")
    first = said(conversations, id, "something").result()
    conversations.take(LOCAL, id, SKIP)
    back = conversations.take(LOCAL, id, BackToTurn(back_to=1))
    assert back.question is not None and first is not None
    assert back.question.text == first.text


def test_a_skip_can_be_made_an_answer_and_an_answer_a_skip(conversations: Conversations) -> None:
    id = begun(conversations, "information_gain")
    said(conversations, id, "something").result()
    skipped = conversations.take(LOCAL, id, SKIP).turn
    answered = conversations.edit(LOCAL, id, skipped, AnswerTurn(answer="blue")).numbers[skipped]
    assert any("blue" in belief.label for belief in conversations.results(LOCAL, id, answered).beliefs)
    again = conversations.edit(LOCAL, id, answered, SKIP).numbers[answered]
    node = conversations.tree(LOCAL, id).tree[again]
    assert node.turn is not None and (node.turn["answer"], bool(node.turn["question"]["text"])) == ("", True)


def test_without_a_question_there_is_nothing_to_skip(conversations: Conversations) -> None:
    id = begun(conversations, "none")
    said(conversations, id, "red")
    with pytest.raises(BadInput, match="no question to skip"):
        conversations.take(LOCAL, id, SKIP)


class Misfit(NoQuestions):
    """Trained on other vectors."""

    def ask(self, view: Candidates) -> Question | None:
        raise EncoderMismatch("trained on another-raw")


def test_a_questioner_that_does_not_fit_is_replaced_from_the_next_turn_on(
    conversations: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(viewfinder.questioners.QUESTIONERS, "misfit", lambda source, tags: Misfit("misfit"))
    id = begun(conversations, "misfit")
    assert said(conversations, id, "something").result() is None
    second = said(conversations, id, "bright").result()
    assert second is not None
    assert second.why.startswith("misfit cannot be used here: asked by information_gain instead; ")
    infos = {info.name: info for info in conversations.questioners.list_all().questioners}
    assert (infos["misfit"].ready, infos["misfit"].problem) == (False, "trained on another-raw")
