"""Differences in words, checked against the truth."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.conversation import Question
from viewfinder.data.truth import PictureTruth
from viewfinder.users import Comparer, Oracle, TruthComparer, list_differences
from viewfinder.worlds.records import picture_truth
from viewfinder.worlds.scene import sample_scene

TRUTHS = {truth.image: truth for truth in (picture_truth(sample_scene(seed=4, number=n)) for n in range(1, 31))}
PICTURES = st.sampled_from(sorted(TRUTHS))


def test_all_that_sets_one_evening_apart_from_a_day(beach: PictureTruth, evening: PictureTruth) -> None:
    assert list(list_differences(beach, evening)) == [
        "is at sunset instead of by day",
        "has only one dog instead of 2",
        "has a blue clock",
        "has no kite",
        "has a blue car instead of a red one",
    ]


def test_a_second_one_is_said_with_its_place(beach: PictureTruth, evening: PictureTruth) -> None:
    assert "has a second dog in the lower left" in list_differences(evening, beach)
    moved = replace(beach, place="desert")
    assert list(list_differences(moved, beach)) == ["is on the beach instead of in the desert"]


def test_what_a_background_may_show_is_left_out(beach: PictureTruth, evening: PictureTruth) -> None:
    night = replace(beach, place="city", light="night")
    assert not [said for said in list_differences(evening, night) if "star" in said or "house" in said]


def test_an_article_is_compared_by_its_facets(dress: PictureTruth, shirt: PictureTruth) -> None:
    assert list(list_differences(shirt, dress)) == [
        "is a dress instead of a shirt",
        "is navy blue instead of red",
        "is striped",
        "is made of cotton",
        "has long sleeves instead of short sleeves",
        "has longer sleeves",
        "is for women",
        "has a belt",
    ]


def test_goods_of_any_other_catalogue_are_compared_by_their_columns() -> None:
    one = PictureTruth("1", category="Watch", attributes={"baseColour": ("Red",), "strap": ("steel",)})
    other = PictureTruth("2", category="Watch", attributes={"baseColour": ("Blue",), "strap": ()})
    assert list(list_differences(other, one)) == ["is red instead of blue", "has the strap steel"]
    assert list(list_differences(one, one)) == []


def test_a_comparer_says_few_things_and_the_same_for_the_same_seed(beach: PictureTruth, evening: PictureTruth) -> None:
    truths = {truth.image: truth for truth in (beach, evening)}
    comparer = TruthComparer(truths, seed=3, most=2)
    said = comparer.compare("evening.jpg", "beach.jpg")
    assert isinstance(comparer, Comparer)
    assert said == TruthComparer(truths, seed=3, most=2).compare("evening.jpg", "beach.jpg")
    assert said.count(" and ") == 1
    assert len({TruthComparer(truths, seed=seed).compare("evening.jpg", "beach.jpg") for seed in range(20)}) > 1
    assert comparer.compare("beach.jpg", "beach.jpg") == ""


def test_likeness_is_the_share_of_what_both_have() -> None:
    truths = {
        "a": PictureTruth("a", attributes={"colour": ("red",), "part": ("hood", "zip")}),
        "b": PictureTruth("b", attributes={"colour": ("red",), "part": ("hood",)}),
        "c": PictureTruth("c", attributes={"colour": ("blue",)}),
    }
    comparer = TruthComparer(truths)
    assert comparer.likeness("a", "b") == 2 / 3
    assert comparer.likeness("a", "a") == 1
    assert comparer.likeness("b", "c") == 0


@given(PICTURES, PICTURES)
@settings(max_examples=100, deadline=None)
def test_everything_said_is_true_of_the_wanted_picture_and_new(shown: str, wanted: str) -> None:
    oracle = Oracle(TRUTHS)

    def holds(what: str, picture: str) -> str:
        return oracle.answer(Question(f"Is there {what}?"), picture)

    for said in list_differences(TRUTHS[shown], TRUTHS[wanted]):
        if found := re.fullmatch(r"has no (.+)", said):
            assert (holds(f"a {found[1]}", wanted), holds(f"a {found[1]}", shown)) == ("no", "yes")
        elif found := re.fullmatch(r"has (an? .+?)(?: instead of an? (.+) one)?", said):
            what = re.sub(r"^a (second|third|fourth|larger|smaller) (\w+).*", r"a \2", found[1])
            assert holds(what, wanted) == "yes"
            assert what != found[1] or holds(what, shown) == "no"
    assert (shown == wanted) <= (not list(list_differences(TRUTHS[shown], TRUTHS[wanted])))
