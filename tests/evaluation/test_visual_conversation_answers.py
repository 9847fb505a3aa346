"""Answers that say the same, and kinds of questions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.dialogues import read_dialogues
from viewfinder.evaluation.visual_conversation import KINDS, OTHER, classify_question, normalize_answer


@pytest.mark.parametrize(
    "alike",
    [
        ("one", "1", "just one", "there is one", "I see one."),
        ("yes", "Yes, there are two", "yep!"),
        ("no", "no, it is black", "I don't see any shirts", "there are no shirts"),
        ("can't tell", "hard to say", "I can’t tell from the picture", "i cannot see that"),
        ("left", "on the left", "to the left", "at the left side"),
        ("lower left", "in the lower left corner"),
        ("bottom", "near the lower edge", "at the bottom"),
        ("navy blue", "it's navy blue", "It is navy blue."),
        ("a beach", "by the sea", "on a sandy beach"),
        ("big", "it is large", "huge"),
        ("day", "it is day", "by day"),
        ("none", "it is plain", "nothing else", "that's all"),
        ("checks", "it has checks", "checkered"),
    ],
)
def test_these_answers_say_the_same(alike: tuple[str, ...]) -> None:
    assert len({normalize_answer(answer) for answer in alike}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("yes", "no"), ("1", "2"), ("left", "lower left"), ("blue", "navy blue"), ("day", "night"), ("no", "can't tell")],
)
def test_these_answers_do_not(one: str, other: str) -> None:
    assert normalize_answer(one) != normalize_answer(other)


words = st.sampled_from(["it", "is", "the", "blue", "left", "on", "two", "Grey", "small", "Beach", ",", "a kite"])


@given(st.lists(words, max_size=6))
def test_small_words_and_case_do_not_matter(said: list[str]) -> None:
    answer = " ".join(said)
    assert normalize_answer(answer) == normalize_answer(f"it's {answer.upper()}.")


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("how many dogs are there?", "number"),
        ("is there only one dog?", "number"),
        ("is there anything else?", "more"),
        ("do you see any dogs in the picture?", "presence"),
        ("and its colour?", "colour"),
        ("is the kite navy blue?", "colour"),
        ("is the kite striped?", "pattern"),
        ("is the kite tiny?", "size"),
        ("which is larger, the kite or the dog?", "comparison"),
        ("is it day or night?", "light"),
        ("where was this taken?", "place"),
        ("where is the kite?", "position"),
        ("what is to the left of the kite?", "relation"),
        ("is it a lake?", "place guessed"),
        ("why?", OTHER),
    ],
)
def test_a_question_is_of_a_kind(question: str, kind: str) -> None:
    assert classify_question(question) == kind


def test_every_question_of_a_world_is_of_a_kind(scenes: Path) -> None:
    dialogues, _ = read_dialogues(scenes / "dialogues" / "world_train.json")
    kinds = {classify_question(one.question) for dialogue in dialogues for one in dialogue.rounds}
    assert OTHER not in kinds and len(kinds) >= len(KINDS) - 3
