from __future__ import annotations

import pytest

from viewfinder.conversation import Answer, BackTo, Conversation, Like, Question, Reject, Say, Turn
from viewfinder.errors import BadInput, EmptyQuery
from viewfinder.questioners.photographs import REMEMBER
from viewfinder.session.replies import understand_reply, understand_turns
from viewfinder.wording.replies import is_dont_know

SHOWN = ("a", "b", "c")
WHO = Question("Who is in it?", ("a man", "a woman", "nobody", "don't know"), "test", "people")
WHAT_ELSE = Question("What else do you remember?", ("don't know",), "test")
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
        ("can you go back two steps", BackTo(0)),
        ("the first ones again", BackTo(1)),
        ("go back to the second search", BackTo(2)),
        ("back to turn 1", BackTo(1)),
        ("the previous results", BackTo(1)),
        ("the middle one", Like("b")),
        ("this one is closest", Like("a")),
        ("nothing like that", Reject()),
        ("can i see others", Reject()),
    ],
)
def test_a_reply_to_what_is_shown_is_the_turn_that_it_means(text: str, turn: Turn) -> None:
    assert understand_reply(Say(text), after("a dog", "in the snow")) == turn


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I think so", "yes"), ("probably", "yes"), ("yeah, I think", "yes"), ("I don't think so", "no"),
        ("not really", "no"), ("probably not", "no"), ("no, there isn't", "no"),
    ],
)  # fmt: skip
def test_who_is_not_quite_sure_says_yes_or_no_all_the_same(text: str, answer: str) -> None:
    assert understand_reply(Say(text), after("a room", asked=IS_THERE)) == Answer(IS_THERE, answer)
    assert understand_reply(Say("not really"), after("a room")) == Reject()


@pytest.mark.parametrize("text", ["back to the third search", "go back to turn 4"])
def test_results_of_a_turn_that_there_was_not_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"there is no (?:search 3: 2 count now|turn 4: the last one is 2)"):
        understand_reply(Say(text), after("a dog", "in the snow"))


def test_a_search_is_counted_among_the_turns_that_still_count() -> None:
    conversation = after("a dog", "in the snow").then(BackTo(1)).then(Say("on a beach"))
    assert understand_reply(Say("go back to the second search"), conversation) == BackTo(4)
    assert understand_reply(Say("the previous results"), after("a dog")) == BackTo(0)


def test_a_reply_that_is_a_choice_in_other_words_answers_the_question() -> None:
    asked = after("a room", asked=WHO)
    for text in ("nobody", "No one.", "none", "no people"):
        assert understand_reply(Say(text), asked) == Answer(WHO, "nobody")
    assert understand_reply(Say("man"), asked) == Answer(WHO, "a man")
    assert understand_reply(Say("no idea"), asked) == Answer(WHO, "no idea")


@pytest.mark.parametrize(
    "text",
    ["dunno", "I have no idea", "I can't remember", "can not remember, sorry", "doesn't matter", "not sure",
     "no more details", "that is all", "nothing else"],
)  # fmt: skip
def test_who_knows_no_more_answers_the_question_and_describes_nothing(text: str) -> None:
    for question in (WHO, WHAT_ELSE):
        assert understand_reply(Say(text), after("a room", asked=question)) == Answer(question, text)
    assert is_dont_know(text)
    for conversation in (after("a room"), Conversation()):
        with pytest.raises(EmptyQuery, match=r"that describes nothing: say what is in the picture$"):
            understand_reply(Say(text), conversation)


@pytest.mark.parametrize("text", ["thanks", "ok", "cool", "hold on", "help", "why?"])
def test_a_courtesy_is_no_answer_and_no_description(text: str) -> None:
    with pytest.raises(EmptyQuery, match="say what is in the picture, or answer the question"):
        understand_reply(Say(text), after("a room", asked=WHO))


def test_a_choice_is_named_by_its_letter_or_place() -> None:
    asked = after("a room", asked=WHO)
    for text, choice in (
        ("b", "a woman"), ("option b", "a woman"), ("the first choice", "a man"), ("The second option.", "a woman"),
        ("answer 3", "nobody"),
    ):  # fmt: skip
        assert understand_reply(Say(text), asked) == Answer(WHO, choice)
    assert understand_reply(Say("b"), after("a room")) == Say("b")
    assert understand_reply(Say("the second one"), asked) == Like("b")


@pytest.mark.parametrize(
    "text", ["I like the second and the third", "both 1 and 3", "the first two", "the last two", "2 or 3"]
)
def test_several_pictures_are_refused_and_none_is_picked_in_silence(text: str) -> None:
    with pytest.raises(BadInput, match="one picture at a time"):
        understand_reply(Say(text), after("a dog"))


@pytest.mark.parametrize(
    "text", ["the one on the left", "the bottom right one", "top left", "the one next to it", "the other one"]
)
def test_a_picture_that_is_not_told_by_its_number_is_asked_for(text: str) -> None:
    with pytest.raises(BadInput, match=r"which picture\? give the number of one"):
        understand_reply(Say(text), after("a dog"))
    assert understand_reply(Say(text), Conversation()) == Say(text)
    assert understand_reply(Say(text), after("a dress"), looks_back=True) == Say(text)


def test_where_something_is_answers_an_open_question() -> None:
    asked = after("a room", asked=WHAT_ELSE)
    assert understand_reply(Say("top left"), asked) == Answer(WHAT_ELSE, "top left")
    with pytest.raises(BadInput, match="which picture"):
        understand_reply(Say("the one on the left"), asked)


WHERE = Question("Where is it?", ("on grass", "in the snow", "something else", "don't know"), "test", "place")
COLOUR = Question("What colour is it?", ("brown", "black", "white", "something else", "don't know"), "test", "colour")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("grass", "on grass"), ("probably the grass", "on grass"), ("it was in the snow, I think", "in the snow"),
        ("on the grass maybe", "on grass"), ("no, it's in snow", "in the snow"), ("b, I think", "in the snow"),
        ("grass or snow", "on grass or in the snow"), ("a and b", "on grass and in the snow"),
        ("both", "on grass and in the snow"), ("all of them", "on grass and in the snow"), ("either", "don't know"),
        ("any of them", "don't know"), ("snows", "in the snow"),
        ("dont care just show me", "dont care just show me"), ("neither", "something else"), ("who cares", "who cares"),
    ],
)  # fmt: skip
def test_choices_are_named_in_more_words_or_fewer(text: str, answer: str) -> None:
    assert understand_reply(Say(text), after("a dog", asked=WHERE)) == Answer(WHERE, answer)


@pytest.mark.parametrize(
    "text",
    ["long grass", "a dog on grass", "not on grass", "grass and a tree", "in the snow near a lake", "a", "snowing"],
)
def test_what_says_more_than_a_choice_describes(text: str) -> None:
    asked = after("a dog", asked=WHERE)
    assert text == "a" or understand_reply(Say(text), asked) == Say(text)


def test_both_of_more_than_two_is_asked_for() -> None:
    with pytest.raises(BadInput, match=r'what do you mean by both.* such as "brown and black"'):
        understand_reply(Say("both"), after("a dog", asked=COLOUR))
    with pytest.raises(BadInput, match=r"what do you mean by both.*answer in words$"):
        understand_reply(Say("both"), after("a dog", asked=IS_THERE))
    with pytest.raises(BadInput, match="which picture"):
        understand_reply(Say("both"), after("a dog"))


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("start over, a cat", (BackTo(0), Say("a cat"))), ("undo that and add a hat", (BackTo(1), Say("add a hat"))),
        ("none of these, at night", (Reject(), Say("at night"))),
        ("skip, at night", (Answer(WHO, ""), Say("at night"))),
        ("forget that, I want a boat", (BackTo(0), Say("I want a boat"))), ("at night", (Say("at night"),)),
        ("start over", (BackTo(0),)), ("nobody", (Answer(WHO, "nobody"),)), ("no, a cat", (Say("no, a cat"),)),
    ],
)  # fmt: skip
def test_a_sentence_may_be_two_turns(text: str, turns: tuple[Turn, ...]) -> None:
    assert understand_turns(Say(text), after("a dog", "in the snow", asked=WHO)) == turns


def test_at_the_start_of_two_turns_in_a_sentence_only_the_second_counts() -> None:
    for text in ("start over, a cat", "undo that, a cat", "none of these, a cat", "skip, a cat"):
        assert understand_turns(Say(text), Conversation()) == (Say("a cat"),)


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("2 except the hat", Like("b", "without the hat")), ("2 except for the hat", Like("b", "without the hat")),
        ("2 except red", Like("b", "red")), ("2, no people", Like("b", "no people")),
        ("2 not so dark", Like("b", "not so dark")),
        ("a bit darker than the second", Like("b", "a bit darker")), ("bigger than that", Like("a", "bigger")),
        ("neither 2 nor 3", Reject(("b", "c"))), ("this", Like("a")), ("show similar ones", Like("a")),
        ("the one before", BackTo(1)), ("previous page", BackTo(1)), ("any more?", Reject()),
        ("all of them wrong", Reject()),
    ],
)  # fmt: skip
def test_replies_in_the_words_of_impatient_people(text: str, turn: Turn) -> None:
    assert understand_reply(Say(text), after("a dog", "in the snow")) == turn


@pytest.mark.parametrize(
    "text",
    [
        "how many do you have?", "how many are there", "what do you mean", "i dont understand", "i told you already",
        "already said that", "same again", "better", "where is it?", "stop asking", "just show me", "I give up",
    ],
)  # fmt: skip
def test_talk_about_the_conversation_describes_nothing(text: str) -> None:
    with pytest.raises(EmptyQuery, match="describes nothing"):
        understand_reply(Say(text), after("a dog"))


@pytest.mark.parametrize(
    "text",
    [
        "how many dogs", "a dog that is bigger than the first", "I told you a dog", "the same dog", "better light",
        "where the river bends", "a stop sign", "2 dogs not 3", "both dogs", "all dogs", "this dog", "similar dogs",
        "a taller man than the first", "neither a dog nor a cat", "the dog before the house", "just a dog",
        "more people",
        "not one dog but two", "the one next to the tree is a dog",
    ],
)  # fmt: skip
def test_words_that_only_begin_as_a_reply_describe(text: str) -> None:
    assert understand_turns(Say(text), after("a dog", "in the snow")) == (Say(text),)


def test_the_other_of_two_pictures_is_the_one_not_spoken_of() -> None:
    two = Conversation().then(Say("a dog")).recorded(shown=("a", "b"), asked=None)
    picked = two.then(Like("a")).recorded(shown=("a", "b"), asked=None)
    assert understand_reply(Say("the other one, but darker"), picked) == Like("b", "darker")
    with pytest.raises(BadInput, match="which picture"):
        understand_reply(Say("the other one"), two)


def test_turns_that_were_taken_back_are_taken_up_again() -> None:
    undone = after("a dog", "in the snow", "at night").then(BackTo(2)).then(BackTo(1))
    assert understand_reply(Say("redo"), undone) == BackTo(2)
    assert understand_reply(Say("redo"), undone.then(BackTo(2))) == BackTo(3)
    with pytest.raises(BadInput, match="no turn was taken back"):
        understand_reply(Say("redo"), after("a dog"))
    with pytest.raises(BadInput, match=r"several turns went on from here \(2, 6\)"):
        understand_reply(Say("redo"), undone.then(Say("on a beach")).then(BackTo(1)))


def test_no_more_turns_are_taken_back_than_there_are() -> None:
    with pytest.raises(BadInput, match="3 turns cannot be taken back: 2 count now"):
        understand_reply(Say("undo 3"), after("a dog", "in the snow"))


def test_at_the_start_of_a_conversation_that_went_on_there_is_nothing_to_take_back() -> None:
    with pytest.raises(BadInput, match="nothing to take back at the start"):
        understand_reply(Say("undo"), after("a dog", "in the snow").then(BackTo(0)))


def test_no_answers_a_question_of_yes_or_no_and_rejects_otherwise() -> None:
    assert understand_reply(Say("nope"), after("a park", asked=IS_THERE)) == Answer(IS_THERE, "no")
    assert understand_reply(Say("no, a cat"), after("a park", asked=IS_THERE)) == Answer(IS_THERE, "no, a cat")
    assert understand_reply(Say("nope"), after("a park")) == Reject()


def test_a_question_is_passed_over_in_words() -> None:
    for text in ("skip", "next question", "Ask something else."):
        assert understand_reply(Say(text), after("a room", asked=WHO)) == Answer(WHO, "")


def test_a_description_stays_one_and_so_does_a_reply_to_nothing() -> None:
    assert understand_reply(Say("two dogs"), after("a park")) == Say("two dogs")
    for text in ("wrong", "the second one", "undo", "skip", "both", "the one before"):
        assert understand_reply(Say(text), Conversation()) == Say(text)


def test_a_place_is_left_to_a_retriever_that_looks_back() -> None:
    assert understand_reply(Say("the first one"), after("a dress"), looks_back=True) == Say("the first one")
    assert understand_reply(Say("undo"), after("a dress"), looks_back=True) == BackTo(0)


def test_a_result_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match="there is no result 7: 3 are shown now"):
        understand_reply(Say("number 7"), after("a dog"))


MORE = Question("Is there any other detail that you remember?", (), "test", REMEMBER)


def test_no_to_whether_there_is_more_rejects_nothing_and_yes_picks_nothing() -> None:
    asked = after("a dog", asked=MORE)
    for text in ("no", "Nope!", "no, sorry", "not really", "no, that's all"):
        assert is_dont_know(getattr(understand_reply(Say(text), asked), "text", "a dog")), text
    assert understand_reply(Say("no, a cat"), asked) == Say("no, a cat")
    assert understand_reply(Say("no"), after("a dog", asked=WHAT_ELSE)) == Reject()
    assert understand_reply(Say("nothing"), after("a dog", asked=WHAT_ELSE)) == Answer(WHAT_ELSE, "don't know")
    with pytest.raises(EmptyQuery, match="say what there is"):
        understand_reply(Say("yes"), asked)
    assert understand_reply(Say("that's it"), asked) == Like("a")
    with pytest.raises(EmptyQuery, match="say what there is"):
        understand_reply(Say("yes"), after("a dog", asked=COLOUR))


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("undo", (BackTo(0),)), ("start over, a cat", (BackTo(0), Say("a cat"))), ("show me more", (Reject(),)),
        ("in the snow", (Answer(MORE, "in the snow"),)), ("no", (Answer(MORE, "no"),)),
        ("both", (Answer(MORE, "both"),)),
    ],
)  # fmt: skip
def test_an_answer_to_an_open_question_may_be_none(text: str, turns: tuple[Turn, ...]) -> None:
    assert understand_turns(Answer(MORE, text), after("a dog", asked=MORE)) == turns
    assert understand_turns(Answer(WHO, text), after("a dog", asked=WHO)) == (Answer(WHO, text),)
