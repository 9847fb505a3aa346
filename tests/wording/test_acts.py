from __future__ import annotations

import pytest

from viewfinder.wording import acts
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
        ("this one is closest", Act("pick")),
        ("2 is nearly right but outdoors", Act("pick", (2,), "outdoors")),
        ("the other one", Act("other")),
        ("the other picture but darker", Act("other", (), "darker")),
        ("the middle one", Act("middle")),
        ("the one on the left", Act("which")),
        ("the bottom right one", Act("which")),
        ("top left", Act("which")),
        ("both of them", Act("several")),
    ],
)
def test_a_picture_on_the_screen_is_picked_by_its_place(text: str, act: Act) -> None:
    assert read_act(text) == act


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("I like the second and the fourth", (2, 4)), ("both 1 and 3", (1, 3)), ("2 or 3", (2, 3)),
        ("the first two", (1, 2)), ("I like the first three pictures", (1, 2, 3)), ("the last two", (-2, -1)),
    ],
)  # fmt: skip
def test_all_pictures_that_are_named_are_read(text: str, places: tuple[int, ...]) -> None:
    assert read_act(text) == Act("pick", places)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("not this", ()), ("not that one", ()), ("wrong", ()), ("no", ()), ("Nope!", ()), ("none of these", ()),
        ("no, not these", ()), ("that's not it", ()), ("not the second one", (2,)), ("not 1, 3 and 4", (1, 3, 4)),
        ("I don't want number 3", (3,)), ("the second is wrong", (2,)),
        ("nothing like that", ()), ("not the first two", (1, 2)),
        ("none of these are right", ()), ("none of them is what I meant", ()), ("I don't like any of these", ()),
        ("no none of these", ()), ("no not that", ()), ("these aren't good", ()), ("you got it wrong", ()),
        ("not what I was looking for", ()), ("anything but the third", (3,)),
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
        ("let's start over", "restart"), ("lets start over", "restart"), ("forget everything", "restart"),
        ("cancel", "undo"), ("oops", "undo"), ("start again from scratch", "restart"),
        ("go back to the start", "restart"), ("redo", "redo"), ("can i see others", "more"),
        ("more of the same", "more"), ("could you show me more please", "more"), ("are there any more?", "more"),
        ("another one", "more"), ("nooo", "reject"), ("ugh no", "reject"), ("still wrong", "reject"),
        ("nothing good", "reject"), ("not him", "reject"), ("2 steps back", "undo"), ("the previous one", "before"),
        ("one of the first three", "pick"), ("the best one", "pick"), ("last but one", "which"),
        ("the 2nd from the left", "which"), ("i dont like any", "reject"), ("ok show me", "nothing"),
        ("more of 3", "pick"), ("again 3", "pick"), ("open 3", "nothing"), ("who is in the second one?", "nothing"),
        ("show 3 bigger", "nothing"), ("not like 2", "reject"), ("nothing like 3", "reject"),
        ("unlike the first", "reject"), ("2 i mean", "pick"),
        ("not sure when", "nothing"), ("the same dog but in the water", "pick"), ("between 2 and 3", "pick"),
        ("forget it all", "restart"),
    ],
)  # fmt: skip
def test_a_short_reply_is_an_act_and_no_description(text: str, kind: str) -> None:
    act = read_act(text)
    assert act is not None
    assert act.kind == kind


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("go back to the second search", Act("results", (2,))), ("back to the first results", Act("results", (1,))),
        ("the first ones again", Act("results", (1,))),
        ("can you show me the first results again?", Act("results", (1,))),
        ("the previous results", Act("results", (-1,))), ("go back to what we had before", Act("results", (-1,))),
        ("go back to turn 3", Act("turn", (3,))), ("go to turn 3", Act("turn", (3,))),
        ("go to the first search", Act("results", (1,))), ("the first ones", Act("pick", (1,))),
    ],
)  # fmt: skip
def test_earlier_results_are_meant_by_their_place_in_the_conversation(text: str, act: Act) -> None:
    assert read_act(text) == act


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("more like 1 than 2", Act("pick", (1,))), ("1 not 2", Act("pick", (1,))), ("not 1 but 2", Act("pick", (2,))),
        ("the second, not the first", Act("pick", (2,))), ("same as 2 but red", Act("pick", (2,), "red")),
        ("same but blue", Act("pick", (), "blue")),
        ("the same one in blue", Act("pick", (), "in blue")), ("same, no people", Act("pick", (), "no people")),
        ("can I see more like 2", Act("pick", (2,))),
        ("the second one is nice but it should be blue", Act("pick", (2,), "it should be blue")),
        ("exactly like the first but darker", Act("pick", (1,), "darker")),
        ("the one on the left but black", Act("which")),
    ],
)  # fmt: skip
def test_a_picture_is_picked_in_more_words(text: str, act: Act) -> None:
    assert read_act(text) == act


@pytest.mark.parametrize(
    ("text", "turns"),
    [("can you go back two steps", 2), ("undo 3", 3), ("go back twice", 2), ("undo the last two", 2), ("go back", 1)],
)
def test_several_turns_are_taken_back_at_once(text: str, turns: int) -> None:
    assert read_act(text) == Act("undo", turns=turns)


@pytest.mark.parametrize(
    "text",
    [
        "dunno", "I have no idea", "I can't remember", "can not remember, sorry", "doesn't matter", "not sure",
        "I'm not sure about that", "no more details", "that is all", "No, that's all.", "That's all I remember.",
        "nothing else", "I can't remember what colour it was", "thanks", "Thank you!", "ok", "ok, thanks", "cool",
        "hold on", "help", "why?", "?", "...",
    ],
)  # fmt: skip
def test_what_says_nothing_is_no_description(text: str) -> None:
    assert read_act(text) == Act("nothing")


@pytest.mark.parametrize(
    "text",
    [
        "no, two dogs", "yes, a dog", "the second floor of a house", "two dogs", "4 people", "a black one", "one man",
        "not a dog", "without people", "more dogs", "another picture of a dog", "I want a dog", "it's a dog", "nobody",
        "the one on the left is a dog", "two dogs, top left", "the first two people in a queue", "the other dog",
        "none of them is wearing a hat", "the first people again", "I don't like dogs", "these are not dogs",
        "the previous owner of a house", "go back to the beach", "they aren't running", "let me see a dog",
        "ok, a dog", "a dog but I can't remember the colour", "unclear in the fog", "not sure if it is a dog",
        "no details on a wall", "oops, two dogs", "cool dog", "that is right in front of a house", "back to the beach",
        "can you show me a dog", "nothing like that on a table", '"thanks"',
        "a cat next to the last one of three", "", "no " * 500,
        "2, " * 90 + "x", "# " * 140 + "2",
        "well, a dog", "oh no, a dog", "still life of fruit", "the next house", "the same dog", "this dog in the water",
        "all dogs", "any dog", "similar dogs", "the house next to it", "darker than the first floor",
        "a mix of colours",
        "how many dogs are there", "show me dogs", "the second man from the left", "one of the first three people",
        "open the second door", "a bigger dog", "more of the beach",
        "what is in the box", "nothing but sand", "better weather", "another dog", "2 dogs, not 3",
    ],
)  # fmt: skip
def test_what_describes_is_no_act(text: str) -> None:
    assert read_act(text) is None


def test_a_long_list_of_places_is_read_in_one_way() -> None:
    assert read_act("2 and " * 49 + "x") == Act("pick", (2,), "x")


def test_each_word_that_names_a_place_is_one_that_points() -> None:
    for word in (*acts._ORDINALS, *acts._CARDINALS):
        assert any(map(acts._points, acts._PIECES.findall(word))), word
