import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.conversation import Answer, Like, Question, Reject, Say, Show, Turn
from viewfinder.questioners.llm import (
    MAX_PROMPTED_ROUNDS,
    MAX_QUESTION_WORDS,
    MIN_QUESTION_WORDS,
    join_descriptions,
    parse_question,
    parse_questions,
    write_next_question_prompt,
    write_ten_questions_prompt,
)


def test_the_prompt_ends_with_the_dialogue_where_the_next_question_stands() -> None:
    turns = (Say("A dog."), Answer(Question("Is it\nbig?"), "no"), Answer(Question("Is it old?"), ""))
    prompt = write_next_question_prompt(turns)
    assert prompt is not None and prompt.endswith(
        "\n\nPhotograph: A dog\nQuestion: Is it big?\nAnswer: no\nQuestion: Is it old?\nAnswer: don't know\nQuestion:"
    )


def test_all_that_was_said_in_words_describes_the_picture() -> None:
    turns: tuple[Turn, ...] = (Show("my.jpg"), Say("a dog"), Like("p1", "but brown"), Reject(("p2",), "a cat"))
    assert join_descriptions(turns) == "a dog; but brown"


def test_where_nothing_was_said_there_is_nothing_to_ask_about() -> None:
    assert write_next_question_prompt((Show("my.jpg"), Reject(("p2",)))) is None


def test_of_a_long_dialogue_the_newest_rounds_are_told() -> None:
    rounds = [Answer(Question(f"Is it the {n}th?"), "no") for n in range(MAX_PROMPTED_ROUNDS + 2)]
    prompt = write_next_question_prompt((Say("a dog"), *rounds))
    assert prompt is not None and "the 1th?" not in prompt and "the 2th?" in prompt and "Photograph: a dog\n" in prompt


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        (" what colour is the dog?\nAnswer: black", "What colour is the dog?"),
        ("Question: Is it big? No. Is it small?", "Is it big?"),
        ('1. "Is the well-fed dog, on the left, black?"', "Is the well-fed dog, on the left, black?"),
        ("In the picture, is there a dog?", "In the picture, is there a dog?"),
        ("Q2: who   is\tit?", "Who is it?"),
    ],
)
def test_the_question_is_what_stands_before_the_first_question_mark(reply: str, question: str) -> None:
    assert parse_question(reply) == question


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "?",
        "The dog is black.",
        "is it a woman? no."[:13],
        "The dog is black. What else?",
        "A man?",
        "Dog dog cat?",
        "is is is is it big?",
        "what 1234 %% 5678 9?",
        "what is qwertyuiopasdfghjklzxcvbnm doing?",
        "what is " + "very " * MAX_QUESTION_WORDS + "big?",
        "Answer: is it big?",
    ],
)
def test_what_is_no_question_or_nonsense_is_refused(reply: str) -> None:
    assert parse_question(reply) is None


def test_a_list_is_read_by_line_by_number_or_one_after_the_other() -> None:
    asked = ("Is it big?", "Is it black-and-white, or red?", "Where is it?")
    assert parse_questions("\n".join(f"{n}. {text}" for n, text in enumerate(asked, 1))) == asked
    assert parse_questions(" ".join(f"{n}) {text}" for n, text in enumerate(asked, 1))) == asked
    assert parse_questions("\n".join(f"- {text}" for text in asked)) == asked
    assert parse_questions("Here are some:\n" + " ".join(asked)) == asked


def test_a_forgotten_question_mark_is_put_where_a_question_begins() -> None:
    assert parse_questions("What is the dog doing\n2. Is it big.\n3. A dog on a beach") == (
        "What is the dog doing?",
        "Is it big?",
    )


def test_answers_between_questions_are_left_out() -> None:
    assert parse_questions("1. Is it big? Yes.\nAnswer: no\n2. Who is it? A man") == ("Is it big?", "Who is it?")


@given(st.text())
def test_every_question_found_is_one_of_a_few_words_that_ends_in_its_only_mark(reply: str) -> None:
    for question in parse_questions(f"{reply} is it big? {reply}"):
        assert question.index("?") == len(question) - 1
        assert MIN_QUESTION_WORDS <= len(question.split()) <= MAX_QUESTION_WORDS


def test_ten_questions_are_asked_for_after_the_caption() -> None:
    assert write_ten_questions_prompt("a {dog}\n on a beach.").endswith("Photograph: a {dog} on a beach\n1.")
