"""Which values a "but ..." names, and what is left of it."""

from __future__ import annotations

import pytest

from viewfinder.wording.changes import ValueFamily, find_named_changes

COLOURS = ValueFamily(("blue", "navy blue", "red", "brown"))
KINDS = ValueFamily(("Shirt", "Shoes"), column="articleType")


@pytest.mark.parametrize("text", ["brown", "in brown", "Brown, please", "the same but brown", "make it brown"])
def test_a_colour_is_named_however_it_is_put(text: str) -> None:
    [change], rest = find_named_changes(text, [COLOURS])
    assert (change.value, change.column, rest) == ("brown", None, "")


def test_the_longest_value_wins_and_all_others_of_its_family_are_its_rivals() -> None:
    [change], _ = find_named_changes("navy blue", [COLOURS])
    assert change.value == "navy blue"
    assert change.rivals == ("blue", "brown", "navy blue", "red")


def test_what_is_no_value_is_left_as_words() -> None:
    changes, rest = find_named_changes("red, with long sleeves", [COLOURS])
    assert [change.value for change in changes] == ["red"]
    assert rest == "with long sleeves"


def test_a_column_keeps_its_own_spelling_so_that_it_can_be_looked_up() -> None:
    [colour, kind], rest = find_named_changes("a blue shirt", [COLOURS, KINDS])
    assert (colour.value, kind.value, kind.column) == ("blue", "Shirt", "articleType")
    assert rest == ""


def test_parts_of_words_and_denied_values_are_not_meant() -> None:
    assert find_named_changes("with a redder hem, not brown", [COLOURS]) == ((), "with a redder hem, not brown")


def test_nothing_named_leaves_the_text_alone() -> None:
    assert find_named_changes("longer sleeves", [COLOURS]) == ((), "longer sleeves")


def test_nothing_is_left_of_a_value_with_the_word_that_led_to_it() -> None:
    changes, rest = find_named_changes("for men", [ValueFamily(("Men", "Women"), "gender")])
    assert ([change.value for change in changes], rest) == (["Men"], "")
