"""Products of all kinds searched together (benchmarks/mixed_products.py, benchmarks/product_wishes.py)."""

import random

import numpy as np
import pytest
from mixed_products import FOUND, OF_FAMILY, RIGHT, count_first, keep_picks
from network_data import Kind, Talks
from product_wishes import Shop, make_task, make_wish

from viewfinder.conversation import Like
from viewfinder.data.catalogue import CatalogueRow
from viewfinder.worlds.catalogue.items import Item, make_item


def make_product(key: str, kind: str, family: str, gender: str, colour: str) -> Item:
    cells = {"gender": gender, "articleType": kind, "subCategory": family, "baseColour": colour}
    return make_item(CatalogueRow(key, cells | {"productDisplayName": f"{gender} {colour} {kind}"}))


SHOES = [
    make_product("1", "Casual Shoes", "Shoes", "Men", "Black"),
    make_product("2", "Casual Shoes", "Shoes", "Women", "Black"),
    make_product("3", "Heels", "Shoes", "Women", "Red"),
]
SHOP = Shop("train", [*SHOES, make_product("4", "Belts", "Belts", "Women", "Red")])


def test_a_wish_is_one_that_the_product_does_not_fit_and_what_is_right_fits_it() -> None:
    rng, told = random.Random(0), set[str]()
    for _ in range(60):
        made = make_wish(SHOES[0], SHOP, rng)
        assert made is not None
        wish, target = made
        assert SHOES[0].key not in wish.right
        assert target.key in wish.right
        if "women" in wish.words:
            assert wish.right == {"2", "3"}  # the belt is no shoe
            told.add(wish.words)
    assert "for women instead" in told


def test_a_dialogue_goes_from_like_to_like_until_its_target() -> None:
    task, right = make_task(SHOP)
    assert task.gallery == ("1", "2", "3", "4")
    for one in task.dialogues:
        picks = [turn.picture for turn in one.turns if isinstance(turn, Like)]
        wanted = one.targets[-len(picks) :]
        assert picks == [one.id, *wanted[:-1]]
        assert (one.target, one.target in right[one.id]) == (wanted[-1], True)


def test_the_first_pictures_are_counted_as_a_share_of_those_that_could_be_there() -> None:
    keys = [str(number) for number in range(12)]
    families = {key: "shoes" if int(key) < 4 else "bags" for key in keys}
    scores_n = -np.arange(12.0)  # 0 is first; two bags, 10 and 11, are not among the first ten
    scores_n[2] = -20.0  # nor is one shoe
    out_1n = np.array([[False] * 11 + [True]])
    counted = count_first(scores_n[None], np.array([1]), out_1n, keys, families, [frozenset({"1", "2"})])
    assert counted[FOUND].tolist() == [1.0]
    assert counted[OF_FAMILY].tolist() == [3 / 4]
    assert counted[RIGHT].tolist() == [1 / 2]


def test_of_a_dialogue_the_network_reads_picks_with_words_and_later_ones_without() -> None:
    turns = [
        (Kind.SAID, Kind.COMPOSED),
        (Kind.PICKED, Kind.COMPOSED),
        (Kind.PICKED, Kind.BUT, Kind.COMPOSED),
        (Kind.PICKED, Kind.COMPOSED),
    ]
    kind_m = np.array([kind for turn in turns for kind in turn])
    turn_m = np.repeat(np.arange(4), [len(turn) for turn in turns])
    none_m, none_q = np.zeros(len(kind_m), int), np.zeros(4, int)
    vectors_md = np.arange(len(kind_m), dtype=float)[:, None]
    talks = Talks(
        np.eye(2, dtype=np.float32), np.arange(8.0).reshape(4, 2), none_q, np.arange(4), np.array([0, 1, 0, 1]),
        vectors_md, kind_m, turn_m, none_m, none_m,
    )  # fmt: skip
    kept = keep_picks(talks)
    assert kept.scores_qn.tolist() == [[4.0, 5.0], [6.0, 7.0]]
    assert (kept.turn_q.tolist(), kept.target_q.tolist()) == ([0, 1], [0, 1])
    assert kept.turn_m.tolist() == [0, 0, 0, 1, 1]
    assert kept.vectors_md[:, 0].tolist() == pytest.approx([4, 5, 6, 7, 8])
