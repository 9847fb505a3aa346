from __future__ import annotations

import pytest

from viewfinder.wording.acts import Act, read_act


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("the second one", Act("pick", (2,))),
        ("2", Act("pick", (2,))),
        ("#3", Act("pick", (3,))),
        ("number four, please", Act("pick", (4,))),
        ("more like 2", Act("pick", (2,))),
        ("more like the last one", Act("pick", (-1,))),
        ("second one but black", Act("pick", (2,), "black")),
        ("Ok, the third one, with a hat", Act("pick", (3,), "with a hat")),
        ("something like the first but outdoors", Act("pick", (1,), "outdoors")),
        ("that one", Act("pick")),
        ("like this but darker", Act("pick", (), "darker")),
        ("the first one is close", Act("pick", (1,))),
    ],
)
def test_a_picture_on_the_screen_is_picked_by_its_place(text: str, act: Act) -> None:
    assert read_act(text) == act


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("not this", ()), ("not that one", ()), ("wrong", ()), ("no", ()), ("Nope!", ()), ("none of these", ()),
        ("no, not these", ()), ("that's not it", ()), ("not the second one", (2,)), ("not 1, 3 and 4", (1, 3, 4)),
        ("I don't want number 3", (3,)), ("the second is wrong", (2,)),
        ("hmm not that one", ()), ("uh, none of these either", ()), ("Well... not 2 at all, sorry", (2,)),
    ],
)  # fmt: skip
def test_pictures_are_rejected_all_or_by_their_places(text: str, places: tuple[int, ...]) -> None:
    assert read_act(text) == Act("reject", places)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("undo", "undo"), ("go back", "undo"), ("oops, undo that", "undo"), ("start over", "restart"), ("more", "more"),
        ("show me more, please", "more"), ("yes", "accept"), ("Yes, that's it!", "accept"), ("skip", "skip"),
    ],
)  # fmt: skip
def test_a_short_reply_is_an_act_and_no_description(text: str, kind: str) -> None:
    act = read_act(text)
    assert act is not None
    assert act.kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "no, two dogs", "yes, a dog", "the second floor of a house", "two dogs", "4 people", "a black one", "one man",
        "not a dog", "without people", "more dogs", "another picture of a dog", "I want a dog", "it's a dog", "nobody",
        "the one on the left", "a cat next to the last one of three", "", "no " * 500,
        "well, a dog", "oh no, a dog",
    ],
)  # fmt: skip
def test_what_describes_is_no_act(text: str) -> None:
    assert read_act(text) is None
