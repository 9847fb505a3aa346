"""The benchmark of verdicts: what counts as right, as lost, and as not there."""

from __future__ import annotations

import random

import numpy as np
import pytest
from verdicts_here import (
    Gallery,
    Judged,
    Shelf,
    Talk,
    is_right,
    remove_kinds,
    remove_types,
    verdict_now,
    weigh_quantile,
)

from viewfinder.search.own_scale import Curves


def shelf(captions: list[tuple[str, ...]], *, is_product: bool) -> Shelf:
    return Shelf(np.zeros((len(captions), 2), np.float32), np.zeros(len(captions), np.float32), captions, is_product)


PHOTOS = shelf(
    [("a dog runs in the snow", "a dog"), ("a cat on a sofa",), ("two dogs on a beach", "dogs")], is_product=False
)
GOODS = shelf(
    [
        ("Norvale Top 7", "blue tops"),
        ("Velisse Top", "blue tops"),
        ("Oakhurst Cap", "red caps"),
        *9 * [("x", "red mugs")],
    ],
    is_product=True,
)


def test_a_hit_is_right_if_its_captions_name_half_of_what_was_said_and_two_things_of_it() -> None:
    gallery = Gallery("photographs", [PHOTOS])
    asked = Talk(("a dog in the snow",), "sentences", "here", target=2)
    assert [is_right(gallery, asked, n) for n in range(3)] == [True, False, True]  # the last is the one meant
    assert is_right(gallery, Talk(("dogs",), "fragments", "here", target=2), 0)
    assert not is_right(gallery, Talk(("a dog on a red sofa at night",), "sentences", "here"), 1)  # one of four


def test_a_product_is_right_if_it_has_the_kind_and_colour_of_the_one_meant() -> None:
    gallery = Gallery("products", [GOODS])
    named = Talk(("Norvale Top 7",), "names", "here", target=0)
    assert [is_right(gallery, named, n) for n in range(3)] == [True, True, False]
    assert not is_right(gallery, Talk(("Norvale Top 7",), "names", "removed"), 1)


def test_of_what_is_not_there_all_pictures_are_removed() -> None:
    photos, goods = Gallery("photographs", [PHOTOS]), Gallery("products", [GOODS])
    dogs = list(remove_kinds(photos, ["dog"], random.Random(0)))
    assert {talk.removed for talk in dogs} == {(0, 2)}
    assert all("dog" in text for talk in dogs for text in talk.texts)
    # Mugs are more than a fifth of all products, so they stay.
    types = {talk.removed for talk in remove_types(goods, 0, random.Random(0))}
    assert types == {(0, 1), (2,)}


def test_a_share_of_the_weight_lies_below_a_weighted_quantile() -> None:
    values_k, weights_k = np.array([0.4, 0.1, 0.3, 0.2]), np.array([1.0, 1.0, 1.0, 7.0])
    assert weigh_quantile(values_k, weights_k, 0.05) == 0.1
    assert weigh_quantile(values_k, weights_k, 0.5) == 0.2
    assert weigh_quantile(values_k, weights_k, 0.85) == 0.3


@pytest.mark.parametrize(
    ("standings", "shown"),
    [((5.0, 1.0, 4.0), "found"), ((2.0, 2.2, 1.9), "found"), ((1.9, 1.9, 1.9), "unsure"), ((0.0, 0.0, 0.0), "nothing")],
)
def test_what_is_measured_is_what_is_shown(standings: tuple[float, ...], shown: str) -> None:
    # Here by the first standing less 2, a hit by its standing less 3; a chance of 0.25 is "maybe".
    curves = Curves((1.0, *(0.0,) * 7, -2.0), ((0.0,) * 8) + (1.0, 0.0, -3.0), (0.2, 0.2))
    features_f = np.array([standings[0], *(0.0,) * 7])
    one = Judged(
        Talk(("dog",), "fragments", "absent"), None, features_f, np.array(standings), (False,) * 3, (False,) * 3,
        ("found", [0.0] * 3),
    )  # fmt: skip
    verdict, chances = verdict_now(one, curves)
    assert chances[0] == pytest.approx(1 / (1 + np.exp(3 - standings[0])))
    assert chances == sorted(chances, reverse=True)
    assert verdict == shown
