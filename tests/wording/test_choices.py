import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.wording.choices import YES_NO_CHOICES, find_choices
from viewfinder.wording.replies import DONT_KNOW


@pytest.mark.parametrize(
    "question",
    [
        "Is there a dog in the picture?",
        "isn’t it dark?",
        "Does the man wear a hat?",
        "And can you see the sea?",
        "In the background, are there houses?",
        "Can you tell me if the dog is black?",
        "Is it sunny or not?",
        "Are there any dogs or cats?",
        "Do you see a tree or a house?",
    ],
)
def test_what_yes_or_no_answers_offers_them(question: str) -> None:
    assert find_choices(question) == YES_NO_CHOICES


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Is the dog black or brown?", ("black", "brown")),
        ("Is the dog black or dark brown?", ("black", "dark brown")),
        ("Is it a wide shot or a close-up?", ("a wide shot", "a close-up")),
        ("Is it red, blue, or green?", ("red", "blue", "green")),
        ("What colour is it, red or blue?", ("red", "blue")),
        ("Is the man standing or sitting on the bench?", ("standing", "sitting")),
        ("Are the people in the picture men or women?", ("men", "women")),
        ("Is the photo in black and white or in colour?", ("in black and white", "in colour")),
        ("Was it taken during the day or at night?", ("during the day", "at night")),
    ],
)
def test_the_things_that_a_question_names_are_its_choices(question: str, named: tuple[str, ...]) -> None:
    assert find_choices(question) == (*named, DONT_KNOW)


@pytest.mark.parametrize(
    "question",
    ["What is he doing?", "Can you tell me what colour it is?", "How many men or women are there?", "A dog?", "?", ""],
)
def test_an_open_question_offers_nothing_but_not_knowing(question: str) -> None:
    assert find_choices(question) == (DONT_KNOW,)


@given(st.text())
def test_whatever_is_asked_not_knowing_is_the_last_choice_and_none_is_empty(question: str) -> None:
    choices = find_choices(question)
    assert choices[-1] == DONT_KNOW and all(choice.strip() for choice in choices)
