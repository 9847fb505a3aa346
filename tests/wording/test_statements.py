from __future__ import annotations

import pytest

from viewfinder.conversation import Answer, Conversation, Question, Say
from viewfinder.search.gallery import Gallery
from viewfinder.session.resolve import resolve_turn
from viewfinder.testing import ColourEncoder, tiny_snapshot
from viewfinder.wording.statements import write_statement


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("is there a dog?", "yes", "a dog"),
        ("Are there any people?", "No.", "no people"),
        ("can you see the sky", "yes, it is blue", "the sky, it is blue"),
        ("what colour is the car?", "red", "what colour is the car: red"),
        ("is it big?", "rather", "is it big: rather"),
        ("", "in a park", "in a park"),
        ("how many dogs are there?", "two", "how many dogs are there: two"),
    ],
)
def test_a_question_and_its_answer_become_one_statement(question: str, answer: str, said: str) -> None:
    assert write_statement(question, answer) == said


def test_an_open_question_is_resolved_with_what_it_asked_about() -> None:
    gallery = Gallery(tiny_snapshot([("red", "blue"), ("green", "green")]), ColourEncoder())
    dialogue = Conversation().then(Say("a picture")).then(Answer(Question("is there anything red?"), "yes"))
    assert resolve_turn(dialogue, dialogue.here, gallery).text == "anything red"
