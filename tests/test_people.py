"""How people are measured: typos, the full-text index beside, the wordings, and the tables."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from people import (
    index_rows,
    misspell,
    name_turn,
    say_around,
    search_index,
    write_as_said,
)
from report_people import people_parts
from wordings import BUILT_WITH, CHOSEN_ON, REPORTED, THIRDS

from viewfinder.conversation import BackTo, Like, Reject, Say

ROWS = [
    {"id": "1", "name": "Norvale Shirt", "colour": "blue"},
    {"id": "2", "name": "Velisse Cap", "colour": "blue"},
    {"id": "3", "name": "Oakhurst Shirts", "colour": "red"},
]


@pytest.mark.parametrize(
    ("how", "longer"),
    [
        ("two swapped", 0),
        ("one dropped", -1),
        ("one dropped in two words", -2),
        ("one doubled", 1),
        ("another letter", 0),
    ],
)
def test_a_typo_changes_so_many_letters_of_long_words_only(how: str, longer: int) -> None:
    text = "a dog on the wooden bench"
    for seed in range(20):
        typed = misspell(text, how, random.Random(seed))
        assert typed != text
        assert len(typed) == len(text) + longer
        assert typed.split()[:4] == text.split()[:4]


def test_the_index_finds_stems_and_all_words_first() -> None:
    database = index_rows(ROWS)
    assert set(search_index(database, "shirts", 5, all_first=False)) == {"1", "3"}
    assert search_index(database, "blue shirt!", 5, all_first=True)[0] == "1"
    assert set(search_index(database, "blue shirt", 5, all_first=True)) == {"1", "2", "3"}
    assert search_index(database, "nothing", 5, all_first=True) == []


def test_no_wording_is_in_two_thirds() -> None:
    assert len({wording for some in THIRDS.values() for wording in some}) == sum(map(len, THIRDS.values()))
    assert min(map(len, (BUILT_WITH, CHOSEN_ON, REPORTED))) >= 12
    assert all(wording.count("{}") == 1 for wording in (*BUILT_WITH, *CHOSEN_ON, *REPORTED))


def test_a_wording_stands_around_a_caption_or_between_its_parts() -> None:
    assert say_around("show me {}", "a dog in the snow") == "show me a dog in the snow"
    assert say_around("{first}, I mean, {second}", "a brown dog in snow") == "a brown dog, I mean, in snow"
    assert say_around("{first}, er, {second}", "a dog runs") == "a, er, dog runs"


def test_a_caption_is_typed_without_capital_and_full_stop() -> None:
    assert write_as_said("Two dogs  run . ") == "two dogs run"


def test_turns_have_the_names_that_replies_are_listed_by() -> None:
    turns = (Like("p2", "black"), Like("p4"), Reject(), Reject(("p1",)), BackTo(0), BackTo(1), Say("two dogs"))
    assert [name_turn(turn) for turn in turns] == [
        "like 2 but black", "like the last", "reject all", "reject 1", "start", "back", "say",
    ]  # fmt: skip


def test_the_tables_have_a_row_for_all_that_was_measured() -> None:
    kept = json.loads((Path(__file__).parents[1] / "benchmarks" / "results" / "people.json").read_text())
    parts = people_parts(kept)
    assert len(parts["people-framing"]) == 3 + sum(map(len, kept["framing"]["thirds"].values()))
    assert len(parts["people-facts"]) == 4 + len(kept["facts"]["kinds"])
    assert len(parts["people-shop"]) == 2 + len(kept["shop"]["wordings"])
