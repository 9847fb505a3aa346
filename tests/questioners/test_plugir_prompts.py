from __future__ import annotations

import pytest

from viewfinder.conversation import Answer, Like, Question, Reject, Say, Turn
from viewfinder.questioners.plugir import summarize_turns, write_question_prompt
from viewfinder.wording.replies import is_uncertain


def test_the_description_is_what_was_said_with_answers_as_statements() -> None:
    turns: list[Turn] = [
        Say("two dogs  on grass."),
        Answer(Question("Are there any people?"), "no"),
        Answer(Question("Is there a ball?"), "yes, a red one"),
        Answer(Question("What breed are they?"), "I can't tell"),
        Reject(("p1",)),
        Like("p2", "but darker"),
    ]
    assert summarize_turns(turns) == "two dogs on grass, no people, a ball, a red one, but darker"


def test_what_says_nothing_has_no_description() -> None:
    assert summarize_turns([Like("p1"), Reject()]) == ""


@pytest.mark.parametrize(
    "reply", ["uncertain", "It is uncertain.", "Not sure", "unknown", "I don't know", "not specified"]
)
def test_uncertain_replies_are_known(reply: str) -> None:
    assert is_uncertain(reply)


@pytest.mark.parametrize("reply", ["red", "yes", "on a bed", "two"])
def test_an_answer_is_not_uncertain(reply: str) -> None:
    assert not is_uncertain(reply)


def test_prompts_hold_what_they_are_about_and_end_where_the_model_goes_on() -> None:
    asked = write_question_prompt("a dog", ("a black dog swims", "a dog in the snow"))
    assert "a black dog swims; a dog in the snow" in asked
    assert asked.endswith("Question:") and write_question_prompt("a dog", ()).endswith("Question:")
    assert "imilar pictures" not in write_question_prompt("a dog", ())
