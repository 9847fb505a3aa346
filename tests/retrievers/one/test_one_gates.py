"""How much each system's opinion counts, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from viewfinder.conversation import Answer, Like, Question, Reject, Say, Show, Turn
from viewfinder.query import Collection
from viewfinder.retrievers.one.gates import (
    ASKED,
    CONVERSATION,
    INPUTS,
    SYSTEMS,
    WORLDS,
    Gates,
    compare_worlds,
    describe_conversation,
)

MEANS_WD = np.eye(3, dtype=np.float32)


def make_gates(**level: float) -> Gates:
    """Gates that are the same for every conversation: of each system named, ln(1 + exp(level)); of others nearly 0."""
    a_s = np.array([level.get(name.replace("-", "_"), -20.0) for name in SYSTEMS], np.float32)
    return Gates("seen", MEANS_WD, a_s, np.zeros((len(SYSTEMS), len(INPUTS)), np.float32))


def like(world: str, *, captions: bool = False, pictures: int = 100) -> Collection:
    return Collection("seen", MEANS_WD[WORLDS.index(world)], captions, pictures)


def test_a_weight_is_the_softplus_of_its_level() -> None:
    found = make_gates(composer=0.0, drilldown=1.0, chatir=-20.0).weigh([Say("a dog")], like("scenes"))
    assert found["composer"] == pytest.approx(math.log(2))
    assert found["drilldown"] == pytest.approx(math.log(1 + math.e))
    assert found["chatir"] == pytest.approx(math.exp(-20), rel=1e-3)


def test_each_world_has_systems_that_are_asked_there_and_photographs_the_composer_alone() -> None:
    found = {world: tuple(make_gates().weigh([Say("a dog")], like(world))) for world in WORLDS}
    assert found == ASKED
    assert found["photographs"] == ("composer",)
    assert "drilldown" in found["scenes"]
    assert "drilldown" not in found["products"]  # whose regions nobody has to make


def test_a_weight_depends_on_what_was_said_and_on_what_is_searched() -> None:
    gates = make_gates(composer=0.0)
    by_words, by_captions = INPUTS.index("picks with words"), INPUTS.index("captions")
    gates.w_sx[SYSTEMS.index("chatir"), by_words] = 60.0  # a pick with words is 1 / 3
    gates.w_sx[SYSTEMS.index("mai"), by_captions] = 21.0
    said: list[Turn] = [Say("a shirt")]
    picked = [*said, Like("1", "but red")]
    plain, by_picture = (gates.weigh(turns, like("products")) for turns in (said, picked))
    with_captions = gates.weigh(said, like("products", captions=True))
    assert [one["chatir"] > 0.5 for one in (plain, by_picture, with_captions)] == [False, True, False]
    assert [one["mai"] > 0.5 for one in (plain, by_picture, with_captions)] == [False, False, True]


def test_photographs_are_told_by_the_mean_of_a_collection_and_of_other_vectors_nothing_is() -> None:
    gates = make_gates()
    assert [gates.find_world(like(world)) for world in WORLDS] == list(WORLDS)
    assert gates.find_world(Collection("another encoder", MEANS_WD[0], False, 100)) == "photographs"


def test_few_pictures_count_as_photographs_and_none_as_well() -> None:
    gates = make_gates()
    assert gates.find_world(like("products", pictures=10)) == "products"
    assert gates.find_world(like("products", pictures=9)) == "photographs"
    assert gates.find_world(Collection("seen", np.zeros(3, np.float32), False, 0)) == "photographs"


def test_a_collection_is_compared_with_worlds_from_their_centre() -> None:
    assert compare_worlds(MEANS_WD[1], MEANS_WD) == pytest.approx([-0.5, 1.0, -0.5])
    assert not compare_worlds(MEANS_WD.mean(axis=0), MEANS_WD).any()  # like none


def test_a_conversation_is_described_by_what_was_done() -> None:
    turns: list[Turn] = [
        Say("a red shirt"), Answer(Question("Short?"), "yes"), Show("mine.png"), Reject(),
        Like("1.jpg", "is blue, like the first one"),
    ]  # fmt: skip
    found = dict(zip(CONVERSATION, describe_conversation(turns), strict=True))
    assert found == pytest.approx({
        "descriptions": 0.1, "answers": 0.1, "picks with words": 1 / 3, "picks without words": 1 / 3,
        "rejections": 1 / 3, "looks back": found["looks back"], "the last turn has a picture": 1.0,
        "turns": math.log2(5) / 4, "words of the last turn": 6 / 40,
    })  # fmt: skip
    assert describe_conversation([Say("x"), Like("1", "blue", turn=1)])[CONVERSATION.index("looks back")] == 1.0
    assert describe_conversation([Reject((), "the cap")])[CONVERSATION.index("words of the last turn")] == 0.0
