from __future__ import annotations

import pytest

from viewfinder.conversation import Answer, BackTo, Conversation, Like, Question, Reject, Say, Turn
from viewfinder.errors import BadInput
from viewfinder.session.replies import understand_reply

SHOWN = ("a", "b", "c")
WHO = Question("Who is in it?", ("a man", "a woman", "nobody", "don't know"), "test", "people")
IS_THERE = Question("Is there a dog?", ("yes", "no", "don't know"), "test", "dog")


def after(*said: str, asked: Question | None = None) -> Conversation:
    """A conversation in which this was said, and three pictures are shown."""
    conversation = Conversation()
    for text in said:
        conversation = conversation.then(Say(text)).recorded(shown=SHOWN, asked=asked)
    return conversation


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("the second one", Like("b")),
        ("more like 2", Like("b")),
        ("second one but black", Like("b", "black")),
        ("the last one", Like("c")),
        ("that's it", Like("a")),
        ("wrong", Reject()),
        ("try again", Reject()),
        ("not this", Reject()),
        ("not the first and the third", Reject(("a", "c"))),
        ("undo", BackTo(1)),
        ("start over", BackTo(0)),
    ],
)
def test_a_reply_to_what_is_shown_is_the_turn_that_it_means(text: str, turn: Turn) -> None:
    assert understand_reply(Say(text), after("a dog", "in the snow")) == turn


def test_a_reply_that_is_a_choice_in_other_words_answers_the_question() -> None:
    asked = after("a room", asked=WHO)
    for text in ("nobody", "No one.", "none", "no people"):
        assert understand_reply(Say(text), asked) == Answer(WHO, "nobody")
    assert understand_reply(Say("man"), asked) == Answer(WHO, "a man")
    assert understand_reply(Say("no idea"), asked) == Answer(WHO, "no idea")


def test_no_answers_a_question_of_yes_or_no_and_rejects_otherwise() -> None:
    assert understand_reply(Say("nope"), after("a park", asked=IS_THERE)) == Answer(IS_THERE, "no")
    assert understand_reply(Say("no, a cat"), after("a park", asked=IS_THERE)) == Answer(IS_THERE, "no, a cat")
    assert understand_reply(Say("nope"), after("a park")) == Reject()


def test_a_question_is_passed_over_in_words() -> None:
    for text in ("skip", "next question", "Ask something else."):
        assert understand_reply(Say(text), after("a room", asked=WHO)) == Answer(WHO, "")


def test_a_description_stays_one_and_so_does_a_reply_to_nothing() -> None:
    assert understand_reply(Say("two dogs"), after("a park")) == Say("two dogs")
    for text in ("wrong", "the second one", "undo", "skip"):
        assert understand_reply(Say(text), Conversation()) == Say(text)


def test_a_place_is_left_to_a_retriever_that_looks_back() -> None:
    assert understand_reply(Say("the first one"), after("a dress"), looks_back=True) == Say("the first one")
    assert understand_reply(Say("undo"), after("a dress"), looks_back=True) == BackTo(0)


def test_a_result_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match="there is no result 7: 3 are shown now"):
        understand_reply(Say("number 7"), after("a dog"))
