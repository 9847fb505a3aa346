"""What typed lines mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from viewfinder.cli.typed import Command, parse_line
from viewfinder.conversation import Answer, BackTo, Conversation, Keep, Like, Question, Reject, Say, Show
from viewfinder.errors import BadInput

COLOUR = Question("Which colour is it?", ("red", "blue", "2", "don't know"))
OPEN = Question("What is she wearing?", ("don't know",))
YES_NO = Question("Is it big?", ("yes", "no", "don't know"))
CONVERSATION = (
    Conversation()
    .then(Say("a dog"))
    .recorded(shown=("p", "q"), asked=None)
    .then(Say("in the snow"))
    .recorded(shown=("r", "s", "t"), asked=None)
)
ASKED = CONVERSATION.recorded(shown=("r", "s", "t"), asked=COLOUR)


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("a dog in the snow", Say("a dog in the snow")),
        ("2 dogs", Say("2 dogs")),
        ("like a dog", Say("like a dog")),
        ("2", Like("s")),
        ("#2", Like("s")),
        ("like 3", Like("t")),
        ("2 but brown", Like("s", "brown")),
        ("Like 2, but brown", Like("s", "brown")),
        ("2 of turn 1 but brown", Like("q", "brown", 1)),
        ("2 with floral, cotton but longer", Like("s", "longer", None, ("floral", "cotton"))),
        ("like 2 of turn 1, with long sleeves and silk", Like("q", "", 1, ("long sleeves", "silk"))),
        ("2 with nothing, but red", Like("s", "red", None, ())),
        ("2 dogs with long ears", Say("2 dogs with long ears")),
        ("2 but with a hat", Like("s", "with a hat")),
        ("not 1 3", Reject(("r", "t"))),
        ("not 1, 2 and 3", Reject(("r", "s", "t"))),
        ("none of these", Reject()),
        ("not this", Reject()),
        ("neither", Say("neither")),
        ("not the second one", Reject(("s",))),
        # What these mean, the session knows: its retriever may look back, or speak.
        ("wrong", Say("wrong")),
        ("undo", Say("undo")),
        ("that's it", Say("that's it")),
        ("the second one", Say("the second one")),
        ("not stripes", Reject(text="stripes")),
        ("without stripes", Reject(text="stripes")),
        ("keep colour of turn 1", Keep("colour", 1)),
        ("keep the colour", Keep("colour", 2)),
        ("back 1", BackTo(1)),
        ("back", BackTo(1)),
        ("back to 0", BackTo(0)),
        ("back -1", BackTo(-1)),
        ("show dog.jpg but brown", Show("dog.jpg", "brown")),
        ("show my pictures/dog.png", Show("my pictures/dog.png")),
        ("show me a red car", Say("show me a red car")),
        ("why 2", Command("why", 2)),
        ("tree", Command("tree")),
        ("/tree", Command("tree")),
        ("say tree", Say("tree")),
        ("a tree", Say("a tree")),
        ("quit", Command("quit")),
        ("save talk", Command("save", Path("talk"))),
        ("save the whales", Say("save the whales")),
        ("open talk.json", Command("open", Path("talk.json"))),
        ("open door", Say("open door")),
        ("b", Say("b")),
    ],
)
def test_a_line_means(line: str, meaning: object) -> None:
    assert parse_line(line, CONVERSATION) == meaning


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("b", Answer(COLOUR, "blue")),
        ("B)", Answer(COLOUR, "blue")),
        ("Blue", Answer(COLOUR, "blue")),
        ("answer b", Answer(COLOUR, "blue")),
        ("answer a bit of both", Answer(COLOUR, "a bit of both")),
        ("don't know", Answer(COLOUR, "don't know")),
        ("?", Answer(COLOUR, "?")),
        ("2", Like("s")),
        ("answer 2", Answer(COLOUR, "blue")),  # the second
        ("answer 7", Answer(COLOUR, "7")),
        ("it is blue", Answer(COLOUR, "blue")),
        ("it has blue stripes", Say("it has blue stripes")),
        ("e", Say("e")),
    ],
)
def test_with_a_question_pending_a_line_means(line: str, meaning: object) -> None:
    assert parse_line(line, ASKED) == meaning


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("4", "3 are shown now"),
        ("0", "no result 0"),
        ("not 1 9", "no result 9"),
        ("3 of turn 1", "2 were shown after turn 1"),
        ("1 of turn 7", "turn 7 does not exist"),
        ("answer blue", "no question"),
    ],
)
def test_what_is_not_there_cannot_be_named(line: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        parse_line(line, CONVERSATION)


@pytest.mark.parametrize("line", ["skip", "/skip", "Skip this question", "next question", "answer skip"])
def test_a_question_is_skipped(line: str) -> None:
    assert parse_line(line, ASKED) == Answer(COLOUR, "")


def test_skipping_needs_a_question() -> None:
    with pytest.raises(BadInput, match="no question to skip"):
        parse_line("skip", CONVERSATION)
    assert parse_line("say skip", CONVERSATION) == Say("skip")


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("a red coat", Answer(OPEN, "a red coat")),
        ("don't know", Answer(OPEN, "don't know")),
        ("say a red coat", Say("a red coat")),
        ("the second one", Say("the second one")),
        ("wrong", Say("wrong")),
        ("2 but brown", Like("s", "brown")),
        ("without stripes", Reject(text="stripes")),
    ],
)
def test_what_is_typed_after_an_open_question_answers_it_unless_it_is_a_command(line: str, meaning: object) -> None:
    assert parse_line(line, CONVERSATION.recorded(shown=("r", "s", "t"), asked=OPEN)) == meaning


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("yes", Answer(YES_NO, "yes")),
        ("no, rather small", Answer(YES_NO, "no, rather small")),
        ("Yes. Very", Answer(YES_NO, "Yes. Very")),
        ("no dogs", Say("no dogs")),
        ("a big one", Say("a big one")),
    ],
)
def test_yes_and_no_may_say_more(line: str, meaning: object) -> None:
    assert parse_line(line, CONVERSATION.recorded(shown=("r", "s", "t"), asked=YES_NO)) == meaning


def test_nobody_in_other_words_answers_who_is_in_it() -> None:
    who = Question("Who is in it?", ("a man", "a woman", "nobody", "don't know"))
    for line in ("nobody", "no one", "No people.", "c"):
        assert parse_line(line, CONVERSATION.recorded(shown=("r", "s", "t"), asked=who)) == Answer(who, "nobody")


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("not a dog but a cat", Answer(OPEN, "not a dog but a cat")),
        ("not mountain, city", Answer(OPEN, "not mountain, city")),
        ("not so dark", Answer(OPEN, "not so dark")), ("not that, the other dog", Say("not that, the other dog")),
        ("not a dog", Reject(text="a dog")),
        ("not a dog either", Reject(text="a dog")), ("without people in it", Reject(text="people in it")),
        ("start over, a cat", Say("start over, a cat")), ("2, no people", Say("2, no people")),
        ("both", Say("both")), ("too dark", Answer(OPEN, "too dark")),
    ],
)  # fmt: skip
def test_a_line_that_does_or_says_two_things_is_left_to_the_session(line: str, meaning: object) -> None:
    assert parse_line(line, CONVERSATION.recorded(shown=("r", "s", "t"), asked=OPEN)) == meaning


def test_what_says_what_is_wanted_besides_is_no_rejection() -> None:
    for line in ("not a dog but a cat", "not mountain, city", "not so dark", "not a hat a cap", "not a crowd just 2"):
        assert parse_line(line, CONVERSATION) == Say(line)


def test_where_no_attributes_are_read_a_picture_with_something_is_one_that_differs() -> None:
    assert parse_line("2 with snow", CONVERSATION) == Like("s", "", None, ("snow",))
    assert parse_line("2 with snow", CONVERSATION, names_attributes=False) == Say("2 with snow")
    assert parse_line("2 but brown", CONVERSATION, names_attributes=False) == Like("s", "brown")
