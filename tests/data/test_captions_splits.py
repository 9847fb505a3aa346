from __future__ import annotations

from viewfinder.data.captions import SPLITS, split_of


def test_of_thirteen_in_a_row_ten_are_for_training() -> None:
    assert [split_of(number) for number in range(13)].count("train") == 10
    assert [number for number in range(26) if split_of(number) == "val"] == [6, 19]
    assert [number for number in range(26) if split_of(number) == "test"] == [3, 9, 16, 22]


def test_every_split_has_a_name() -> None:
    assert {split_of(number) for number in range(13)} == set(SPLITS)
