from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.errors import BadInput
from viewfinder.weights import TrainingList, join_lists, read_list_beside, write_list_beside

NAMES = st.sets(st.text(max_size=12), max_size=60)


@given(NAMES)
def test_a_list_is_read_back_as_it_was_written(names: set[str]) -> None:
    listed = TrainingList.of(names)
    again = TrainingList.decode(listed.encode())
    assert again.hashes_n.tolist() == sorted(listed.hashes_n.tolist()) and again.digest == listed.digest
    assert len(listed) == len(names)  # 60 names of 2**32 hashes


@given(NAMES, NAMES)
def test_two_lists_together_have_what_either_has(first: set[str], second: set[str]) -> None:
    together = TrainingList.of(first) | TrainingList.of(second)
    assert together.digest == TrainingList.of(first | second).digest


def test_an_upper_bound_stays_one_whatever_it_is_joined_with() -> None:
    bound, exact = TrainingList.of(["1"], at_most=True), TrainingList.of(["2"])
    assert TrainingList.decode(bound.encode()).at_most and not TrainingList.decode(exact.encode()).at_most
    assert (exact | bound).at_most and (exact | bound).digest == TrainingList.of(["1", "2"]).digest


def test_the_list_of_parts_together_is_unknown_if_one_is() -> None:
    one, other = TrainingList.of(["1"]).encode(), TrainingList.of(["2"]).encode()
    assert join_lists(None, one, other) == TrainingList.of(["1", "2"]).encode()
    assert (join_lists(one, "", None), join_lists(None, None)) == ("", None)


def test_a_picture_is_seen_where_any_of_its_names_is_listed() -> None:
    listed = TrainingList.of(["17", "9"])
    # The third is a scene with product 9 in it.
    assert listed.count_seen([("17",), ("18",), ("scenes/1/ab/000000000001", "18", "9")]) == 2
    assert TrainingList.of(()).count_seen([("17",)]) == 0


def test_seven_thousand_names_take_less_than_thirty_kilobytes() -> None:
    assert len(TrainingList.of(map(str, range(7000))).encode()) < 30_000


def test_a_list_beside_weights_is_found_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    weights = tmp_path / "head.safetensors"
    assert read_list_beside(weights) is None
    listed = TrainingList.of(map(str, range(500)))
    file = write_list_beside(weights, listed)
    again = read_list_beside(weights)
    assert again is not None and again.digest == listed.digest
    file.write_text("no list\n")
    with pytest.raises(BadInput, match=r"head.trained_on.txt: damaged"):
        read_list_beside(weights)


def test_remarks_above_a_list_are_for_people(tmp_path: Path) -> None:
    weights = tmp_path / "modern.safetensors"
    file = write_list_beside(weights, TrainingList.of(["1"], at_most=True), ["At most: position modulo 13", "and more"])
    assert file.read_text().splitlines()[:2] == ["# At most: position modulo 13", "# and more"]
    again = read_list_beside(weights)
    assert again is not None and again.at_most and again.count_seen([("1",), ("2",)]) == 1
