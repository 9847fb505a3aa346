"""Two turns in one sentence."""

from __future__ import annotations

import pytest

from viewfinder.wording.acts import Act
from viewfinder.wording.openings import split_opening


@pytest.mark.parametrize(
    ("text", "kind", "rest"),
    [
        ("start over, a cat", "restart", "a cat"), ("new search: a red car", "restart", "a red car"),
        ("new search a red car", "restart", "a red car"),
        ("ok, Start again. Kids on a beach", "restart", "Kids on a beach"),
        ("no start over with a dog", "restart", "a dog"), ("lets start over show me dogs", "restart", "show me dogs"),
        ("forget that, I'm looking for a boat", "restart", "I'm looking for a boat"),
        ("never mind, a boat", "restart", "a boat"), ("forget all that and find me a cat", "restart", "find me a cat"),
        ("never mind, it was in the snow", "undo", "it was in the snow"),
        ("undo that and add a hat", "undo", "add a hat"),
        ("scratch that, red shirt", "undo", "red shirt"), ("go back, without the hat", "undo", "without the hat"),
        ("none of these, it was in the snow", "reject", "it was in the snow"),
        ("not that, the other dog", "reject", "the other dog"),
        ("these are wrong, i want a dog", "reject", "i want a dog"),
        ("skip, it was raining", "skip", "it was raining"),
    ],
)  # fmt: skip
def test_a_sentence_may_do_something_and_then_describe(text: str, kind: str, rest: str) -> None:
    found = split_opening(text)
    assert found is not None
    assert (found[0].kind, found[1]) == (kind, rest)


@pytest.mark.parametrize(
    "text",
    [
        "start over", "start over, thanks", "start over please", "undo, undo", "a cat, start over", "clear, blue water",
        "back, front and side of a car", "go back to the beach", "a new search party", "never mind the dog",
        "not those people", "not it", "none of them is wearing a hat", "something else, in a car", "others, in red",
        "step back from the car", "not that i remember", "not these dogs", "no, a cat", "wrong, a cat", "",
        "a dog", "none", "not quite, in the snow",
    ],
)  # fmt: skip
def test_who_does_or_describes_alone_says_one_thing(text: str) -> None:
    assert split_opening(text) is None


def test_what_is_done_first_names_no_pictures() -> None:
    assert split_opening("start over: a cat") == (Act("restart"), "a cat")
