from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from viewfinder.conversation import Answer, Conversation, Like, Question, Reject, Say, Turn
from viewfinder.server.conversations.schemas import AnswerTurn, TurnIn
from viewfinder.server.problems import Problem
from viewfinder.studies.plan import Kind
from viewfinder.studies.studies import check_turn, describe_trial_turn

COLOUR = Question("What colour is it?", ("red", "blue"), by="information_gain", attribute="colour")


def course(*turns: Turn, shown: tuple[str, ...] = ("a", "b"), asked: Question | None = None) -> Conversation:
    conversation = Conversation()
    for turn in turns:
        conversation = conversation.then(turn).recorded(shown=shown, asked=asked)
    return conversation


def turn(**given: Any) -> TurnIn:
    read: TypeAdapter[TurnIn] = TypeAdapter(TurnIn)
    return read.validate_python(given)


@pytest.mark.parametrize(
    ("task", "given", "so_far"),
    [
        ("describe", turn(say="a dog"), course()),
        ("describe", turn(say="in the snow"), course(Say("a dog"))),
        ("feedback", turn(say="a dog"), course()),
        ("feedback", turn(like="a", but="brown"), course(Say("a dog"))),
        ("feedback", turn(reject=["a", "b"]), course(Say("a dog"))),
        ("feedback", turn(reject=[]), course(Say("a dog"))),
        ("answer", turn(say="a dog"), course()),
        ("answer", turn(say="it barks"), course(Say("a dog"), asked=None)),
    ],
)
def test_turns_that_belong_to_the_task_are_taken_as_they_are(task: Kind, given: TurnIn, so_far: Conversation) -> None:
    assert check_turn(task, given, so_far) == given


@pytest.mark.parametrize(
    ("task", "given", "so_far", "says"),
    [
        ("describe", turn(like="a"), course(Say("a dog")), "the turn is: say"),
        ("describe", turn(back_to=0), course(Say("a dog")), "the turn is: say"),
        ("describe", turn(show="upload"), course(), "the turn is: say"),
        ("feedback", turn(back_to=0), course(Say("a dog")), "say, like and reject"),
        ("feedback", turn(keep="colour", turn=1), course(Say("a dog")), "say, like and reject"),
        ("answer", turn(say="it is red"), course(Say("a dog"), asked=COLOUR), "the turn is: answer"),
        ("answer", turn(answer="red"), course(), "the turn is: say"),
    ],
)
def test_turns_of_other_tasks_are_refused(task: Kind, given: TurnIn, so_far: Conversation, says: str) -> None:
    with pytest.raises(Problem, match=says):
        check_turn(task, given, so_far)


def test_only_pictures_that_were_shown_can_be_named() -> None:
    for given in (turn(like="target"), turn(reject=["a", "target"])):
        with pytest.raises(Problem, match="target was not among the results"):
            check_turn("feedback", given, course(Say("a dog")))


def test_an_answer_is_to_the_question_that_was_asked() -> None:
    forged = turn(answer="red", question={"text": "Is it the third picture?"})
    assert check_turn("answer", forged, course(Say("a dog"), asked=COLOUR)) == AnswerTurn(answer="red")


def test_what_was_said_is_told_in_order() -> None:
    conversation = course(Say("a dog"), Answer(COLOUR, "red"), Like("b", "darker"), Reject(("a",)))
    assert [describe_trial_turn(node.turn).model_dump() for node in conversation.nodes if node.turn is not None] == [
        {"kind": "say", "text": "a dog", "pictures": [], "question": None},
        {"kind": "answer", "text": "red", "pictures": [], "question": "What colour is it?"},
        {"kind": "like", "text": "darker", "pictures": ["b"], "question": None},
        {"kind": "reject", "text": "", "pictures": ["a"], "question": None},
    ]
    assert len(conversation) == 4
