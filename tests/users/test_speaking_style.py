"""How things are said wrong, vaguely, or not at all."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.conversation import Question
from viewfinder.errors import BadInput
from viewfinder.users import SpeakingStyle
from viewfinder.users.person import make_vague, make_wrong_answer, misspeak

SEEDS = st.integers(0, 10**6)
TEXT = "a small red car left of two striped orange cups"


def rng(seed: int = 0) -> random.Random:
    return random.Random(seed)


@given(SEEDS)
def test_without_noise_nothing_changes(seed: int) -> None:
    assert misspeak(TEXT, rng(seed), 0.0) == TEXT and make_vague(TEXT, rng(seed), 0.0) == TEXT


@given(SEEDS)
def test_with_all_noise_every_word_that_has_rivals_is_another_one(seed: int) -> None:
    said = misspeak(TEXT, rng(seed), 1.0)
    changed = {old for old, new in zip(TEXT.split(), said.split(), strict=True) if old != new}
    assert changed == {"small", "red", "left", "two", "striped", "orange"}


@given(SEEDS)
def test_a_vague_person_leaves_no_adjective_plain(seed: int) -> None:
    said = make_vague(TEXT, rng(seed), 1.0).split()
    for word in ("small", "red", "striped", "orange"):
        assert word not in said or said[said.index(word) - 2 : said.index(word)] == ["kind", "of"]
    assert said[-1] == "cups"


def test_a_statement_of_nothing_but_an_adjective_keeps_it() -> None:
    assert {make_vague("is red", rng(seed), 1.0) for seed in range(20)} == {"is red", "is kind of red"}


@pytest.mark.parametrize(
    "answer",
    ["yes", "no", "yes, a red one", "none", "nothing", "two", "3", "red", "one brown and one black", "on the left",
     "a beach", "night", "a dog", "there is no cat", "large", "striped"],
)  # fmt: skip
@given(seed=SEEDS)
def test_a_wrong_answer_is_another_one(answer: str, seed: int) -> None:
    told = make_wrong_answer(answer, Question("?"), rng(seed))
    assert told not in {answer, "don't know"}


@given(SEEDS)
def test_a_wrong_answer_is_one_of_the_choices(seed: int) -> None:
    question = Question("Which?", ("red", "blue", "green", "don't know"))
    assert make_wrong_answer("red", question, rng(seed)) in {"blue", "green"}


def test_what_nobody_can_get_wrong_is_not_known() -> None:
    assert make_wrong_answer("a striking resemblance", Question("?"), rng()) == "don't know"


@pytest.mark.parametrize(
    "wrong",
    [{"noise": 1.5}, {"vagueness": -0.1}, {"verbosity": 0}, {"patience": 0}, {"looks_at": 0}],
)
def test_manners_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(wrong))):
        SpeakingStyle(**wrong)
