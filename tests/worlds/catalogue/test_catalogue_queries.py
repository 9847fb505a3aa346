"""Queries in CIRR's form: sets of six that are alike, and captions that tell one of them from the others."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from viewfinder.data.cirr import read_cirr
from viewfinder.data.splits import SPLITS
from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.queries import (
    PER_SET,
    SET_SIZE,
    choose_statements,
    cirr_pairs,
    image_sets,
    rules_out,
)
from viewfinder.worlds.catalogue.statements import direct_statements


def shirt(key: int, colour: str, *more: tuple[str, str], family: str = "Topwear") -> Item:
    title = f"{colour} Shirt {key}"
    return Item(str(key), "Shirts", family, title, (("kind", "shirt"), ("colour", colour), *more), frozenset(), ())


CHECKED, PLAIN = ("pattern", "checked"), ("pattern", "plain")


def test_one_word_is_enough_where_it_rules_out_all_others() -> None:
    red, blue, green, black = (shirt(at, colour) for at, colour in enumerate(("red", "blue", "green", "black")))
    said, doubtful = choose_statements(red, blue, [green, black])
    assert [(one.facet, one.word) for one in said] == [("colour", "red")] and doubtful == 0


def test_as_much_is_said_as_tells_the_target_from_the_others() -> None:
    target, reference = shirt(1, "red", CHECKED), shirt(2, "blue", PLAIN)
    same_colour, same_pattern, twin = shirt(3, "red", PLAIN), shirt(4, "black", CHECKED), shirt(5, "red", CHECKED)
    said, doubtful = choose_statements(target, reference, [same_colour, same_pattern])
    assert {one.word for one in said} == {"red", "checked"} and doubtful == 0
    assert choose_statements(target, reference, [same_colour, same_pattern, twin])[1] == 1


def test_of_two_that_look_the_same_nothing_can_be_said() -> None:
    assert choose_statements(shirt(1, "red"), shirt(2, "red"), [shirt(3, "blue")]) == ([], 1)


def test_unknown_is_not_ruled_out() -> None:
    [red] = direct_statements(shirt(1, "red"), shirt(2, "blue"))
    nothing_known = Item("3", "Shirts", "Topwear", "Shirt", (("kind", "shirt"),), frozenset(), ())
    assert rules_out(red, shirt(4, "green"), shirt(2, "blue"))
    assert not rules_out(red, nothing_known, shirt(2, "blue"))


def test_sets_are_apart_of_one_family_and_no_two_of_them_look_the_same() -> None:
    colours = ("red", "blue", "green", "black", "white", "pink", "yellow")
    shirts = [shirt(at, colours[at % 7]) for at in range(28)]
    others = [shirt(100 + at, colours[at], family="Shoes") for at in range(5)]
    sets = list(image_sets([*shirts, *others], random.Random(0)))
    assert len(sets) == 4  # 28 in seven looks give four sets; of the other family there are only five
    assert all(len({item.words for item in members}) == SET_SIZE for members in sets)
    assert all(item.family == "Topwear" for members in sets for item in members)
    keys = [item.key for members in sets for item in members]
    assert len(keys) == len(set(keys))


def test_a_target_is_wanted_once_a_set_and_numbers_go_on() -> None:
    colours = ("red", "blue", "green", "black", "white", "pink")
    pairs = cirr_pairs([shirt(at, colours[at]) for at in range(6)], random.Random(1), first=40)
    assert [pair.pairid for pair in pairs] == [40, 41, 42, 43]
    assert len({pair.target for pair in pairs}) == PER_SET
    for pair in pairs:
        assert pair.target is not None and colours[int(pair.target)] in pair.caption
        assert pair.reference != pair.target and len(pair.members) == SET_SIZE


@pytest.mark.parametrize("split", SPLITS)
def test_a_worlds_queries_are_read_back_with_their_pictures(drawn_world: Path, split: str) -> None:
    read, report = read_cirr(drawn_world / "cirr", split)
    assert not report.dropped and set(read.paths) == set(read.gallery)
    for pair in read.pairs:
        assert {pair.reference, pair.target} <= set(pair.members) <= set(read.gallery)
        assert pair.caption and len(pair.candidates) == SET_SIZE - 1
    assert read.pairs or split != "train"
