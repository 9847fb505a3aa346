import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.conversation import Answer, Question, Say
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.so_far import ConversationSoFar
from viewfinder.wording.questions import question_gist

DIALOGUE = "is are there the a dog dogs red what in picture it"
WORDS = st.lists(st.sampled_from(DIALOGUE.split()), min_size=1, max_size=6)
SAID = Say("Two black dogs and a man in a red shirt")


def view(*rounds: tuple[str, str]) -> Candidates:
    answers = [Answer(Question(q), a) for q, a in rounds]
    return Candidates(
        np.array([0.5, 0.5]),
        np.zeros((2, 3)),
        said=(SAID.text, *(answer.text for answer in answers)),
        asked=tuple(Question(q) for q, _ in rounds),
        turns=(SAID, *answers),
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Is there a cat?", "can you see any cats in the picture?"),
        ("What colour is the car?", "Could you tell me the color of the cars?"),
        ("Which hat is it?", "what hat is it"),
        ("What’s the girl's age?", "What is the girl age?"),
        ("Where is it?", "Where is it, please?"),
    ],
)
def test_courtesies_inflection_and_case_make_no_other_question(one: str, other: str) -> None:
    assert question_gist(one) == question_gist(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Is there a table?", "What is on the table?"), ("Is it red?", "Is it blue?"), ("Where is it?", "Who is it?")],
)
def test_what_asks_for_something_else_is_another_question(one: str, other: str) -> None:
    assert question_gist(one) != question_gist(other)


@pytest.mark.parametrize(
    "question",
    [
        "Is there a dog?",
        "Do you see a man in a red shirt?",
        "Are there any dogs in the picture?",
        "What colour are the dogs?",
        "What color is his shirt?",
        "Is the dog black?",
    ],
)
def test_what_the_dialogue_says_is_not_asked(question: str) -> None:
    assert not ConversationSoFar.of(view()).is_new(question)


@pytest.mark.parametrize(
    "question",
    ["Is there a cat?", "Is the man black?", "What colour is the grass?", "How many dogs are there?", "Is it dark?"],
)
def test_what_the_dialogue_leaves_open_is_asked(question: str) -> None:
    assert ConversationSoFar.of(view()).is_new(question)


def test_what_was_asked_is_not_asked_again_whatever_the_answer_was() -> None:
    assert not ConversationSoFar.of(view(("Is there a cat?", "don't know"))).is_new("are there cats?")
    assert not ConversationSoFar.of(view(("Is there a cat?", "no"))).is_new("are there cats?")


def test_an_answer_tells_what_its_question_was_about() -> None:
    assert ConversationSoFar.of(view(("Is there a car?", "yes"))).is_new("Is the car red?")
    assert not ConversationSoFar.of(view(("Is there a red car?", "yes"))).is_new("Is the car red?")
    assert ConversationSoFar.of(view(("Is there a car that is old and red?", "don't know"))).is_new("Is the car red?")


@given(WORDS)
def test_no_question_is_new_to_a_dialogue_in_which_it_was_asked(words: list[str]) -> None:
    text = " ".join(words)
    assert question_gist(text)
    assert not ConversationSoFar([], [text]).is_new(f"{text}?")


def test_what_an_answer_named_is_not_asked_for_by_yes_or_no() -> None:
    said = ["a skirt among dunes", "a desert"]
    so_far = ConversationSoFar(said, ["where is this?"])
    assert not so_far.is_new("is this in the desert?")
    assert so_far.is_new("is it a lake?")
    assert so_far.is_new("is this desert a large one?")
