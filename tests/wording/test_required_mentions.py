"""What a question takes for granted, and when it can be asked."""

from __future__ import annotations

import numpy as np
import pytest

from viewfinder.conversation import Answer, Question, Say, Turn
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.so_far import ConversationSoFar
from viewfinder.wording.mentions import required_mentions


@pytest.mark.parametrize(
    ("question", "needed"),
    [
        ("is there an umbrella?", ()),
        ("anything else in the scene?", ()),
        ("what is in the background?", ()),
        ("is it dark?", ()),
        ("what time of day is it?", ()),
        ("was this taken in a kitchen?", ()),
        ("what colour is the umbrella?", ("umbrella",)),
        ("is the blue umbrella big or small?", ("blu", "umbrella")),
        ("is the shoe accessory plain?", ("sho", "accessory")),
        ("is the umbrella expensive?", ("umbrella",)),
        ("is the dog on the left?", ("dog",)),
        ("does the top have a pattern?", ("top",)),
        ("what is at the top of the tree?", ("tre",)),
        ("where is the pair of gloves?", ("glov",)),
        ("is he wearing a hat?", ("he",)),
    ],
)
def test_what_is_taken_for_known_must_have_been_mentioned(question: str, needed: tuple[str, ...]) -> None:
    assert required_mentions(question) == needed


@pytest.mark.parametrize(
    "question",
    ["is it big?", "where is it?", "and its colour?", "are they new?", "is this dog young?", "the red one?", ""],
)
def test_what_needs_an_antecedent_is_never_asked(question: str) -> None:
    assert required_mentions(question) is None
    assert not ConversationSoFar(["a big red dog with its toys"]).grants(required_mentions(question))


def test_all_that_is_needed_must_be_there() -> None:
    needed = required_mentions("where is the blue umbrella?")
    assert not ConversationSoFar(["an umbrella"]).grants(needed)
    assert ConversationSoFar(["two umbrellas", "one is blue"]).grants(needed)


def test_she_is_a_woman_that_was_mentioned() -> None:
    needed = required_mentions("is she smiling?")
    assert ConversationSoFar(["two women on a bench"]).grants(needed)
    assert not ConversationSoFar(["a man on a bench"]).grants(needed)


def test_a_question_mentions_its_thing_unless_it_was_denied() -> None:
    asked = [Question("is there a wallet?"), Question("is there a dog?"), Question("any cats?"), Question("a cup?")]
    answers = ["yes, just one", "no", "I don't see any cats", "don't know"]
    turns: tuple[Turn, ...] = (
        Say("a bag"),
        *(Answer(question, said) for question, said in zip(asked, answers, strict=True)),
    )
    view = Candidates(np.ones(1), np.ones((1, 2)), said=("a bag", *answers), turns=turns)
    mentioned = ConversationSoFar.of(view).mentioned
    assert {"bag", "wallet"} <= mentioned
    assert mentioned.isdisjoint({"dog", "cup"})
