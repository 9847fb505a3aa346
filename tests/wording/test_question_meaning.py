"""Which questions are paraphrases."""

from __future__ import annotations

import pytest

from viewfinder.wording.questions import question_meaning


@pytest.mark.parametrize(
    "alike",
    [
        (
            "is there a wallet?",
            "are there any wallets?",
            "can you see a wallet?",
            "Do you see any wallets in the picture?",
        ),
        ("how many dogs are there?", "how many dogs can you count?", "how many dogs do you see?"),
        (
            "what colour is the bag?",
            "which colour is the bag?",
            "what is the colour of the bag?",
            "what color is the bag?",
        ),
        ("where is the cup?", "where in the picture is the cup?"),
    ],
)
def test_paraphrases_have_one_meaning(alike: tuple[str, ...]) -> None:
    assert len({question_meaning(question) for question in alike}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("is there a dog?", "how many dogs are there?"),
        ("is the dog left of the cat?", "is the cat left of the dog?"),
        ("what is on the table?", "what is under the table?"),
        ("is the dog black?", "is there a black dog?"),
        ("is it big?", "is it big or small?"),
        ("is the bag red?", "what colour is the bag?"),
    ],
)
def test_what_asks_for_something_else_has_another_meaning(one: str, other: str) -> None:
    assert question_meaning(one) != question_meaning(other)
