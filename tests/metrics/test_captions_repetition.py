from __future__ import annotations

import json
from pathlib import Path

import pytest

from viewfinder.metrics import count_repeated_questions, count_unique_tokens

RELEASED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "chatir" / "dialogues"


def test_a_question_is_what_stands_before_the_first_mark() -> None:
    assert count_repeated_questions(
        [["Is it big? no, why?", " Is it big "], ["Is it big? why", "why? yes"]]
    ).tolist() == [1, 0]


def test_the_second_and_third_of_a_question_are_repetitions() -> None:
    rounds = ["Is it big? no", "Is it red? no", "Is it big? yes", "Is it big? no", "is it red? no"]
    assert count_repeated_questions([rounds, rounds[:2], []]).tolist() == [2, 0, 0]  # "is it red" has another letter


def test_words_are_counted_once_and_without_marks() -> None:
    assert count_unique_tokens([["Is it big? no", "Isn't it, no?"], []]).tolist() == [5, 0]  # is it big no isn't


def test_repeated_questions_have_fewer_words() -> None:
    varied, same = ["is it big", "has it wings", "where is it"], ["is it big"] * 3
    assert count_unique_tokens([varied, same]).tolist() == [6, 3]


@pytest.mark.data
@pytest.mark.skipif(not RELEASED.is_dir(), reason="the released ChatIR dialogues are not in ../shared/data")
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("Human_BLIP2", 16),
        ("ChatGPT_BLIP2", 0),
        ("Unanswered_ChatGPT_BLIP2", 1),
        ("FLAN_ALPACA_XXL_BLIP2", 13905),  # 6.74 a dialogue
    ],
)
def test_the_released_dialogues_repeat_what_is_known(name: str, asked: int) -> None:
    dialogues = [
        dialogue["dialog"][1:] for dialogue in json.loads((RELEASED / f"{name}.json").read_text(encoding="utf-8"))
    ]
    assert len(dialogues) == 2064
    assert count_repeated_questions(dialogues).sum() == asked
