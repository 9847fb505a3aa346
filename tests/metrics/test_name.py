from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.metrics import Interval, Measure, MeasureName

NAME = MeasureName(
    metric="R@10",
    at="turn 3",
    gallery="test, 1000 pictures",
    split="test",
    caption="first two joined",
    ties="expected",
)
PARTS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=12).map(lambda text: f"a {text}")


def test_a_name_reads_as_one_line() -> None:
    assert str(NAME) == (
        "R@10 at turn 3 (gallery: test, 1000 pictures; split: test; caption: first two joined; ties: expected)"
    )


def test_a_key_holds_every_part() -> None:
    assert NAME.key == "R@10 | turn 3 | test, 1000 pictures | test | first two joined | expected"
    assert replace(NAME, ties="pessimistic").key != NAME.key


@settings(deadline=None)
@given(st.tuples(*[PARTS] * 6))
def test_names_come_back_from_json_and_from_their_keys(parts: tuple[str, ...]) -> None:
    fields = ("metric", "at", "gallery", "split", "caption", "ties")
    name = MeasureName(**dict(zip(fields, parts, strict=True)))
    assert MeasureName.from_json(json.loads(json.dumps(name.to_json()))) == name
    assert MeasureName.from_key(name.key) == name


def test_a_measure_comes_back_from_json() -> None:
    measure = Measure(NAME, Interval(0.5, 0.25, 0.75), sessions=40)
    record = json.loads(json.dumps(measure.to_json()))
    assert record["mean"] == 0.5
    assert record["gallery"] == "test, 1000 pictures"
    assert Measure.from_json(record) == measure
    assert str(measure) == f"{NAME}: 0.5000 [0.2500, 0.7500] over 40 sessions"


@pytest.mark.parametrize("bad", ["", " turn 3", "turn\n3", "turn | 3"])
def test_a_part_that_would_break_a_line_or_a_key_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="every part of a name is one line of text"):
        replace(NAME, at=bad)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ties": 3}, "ties=3: the parts of a name are text"),
        ({"extra": "x"}, "this record has"),
        ({"sessions": "many"}, "sessions='many'"),
        ({"sessions": True}, "sessions=True"),
        ({"low": None}, "low=None: a measure has a number there"),
    ],
)
def test_a_damaged_record_says_which_part(changed: dict[str, object], said: str) -> None:
    record = Measure(NAME, Interval(0.5, 0.25, 0.75), sessions=40).to_json()
    with pytest.raises(ValueError, match=said):
        Measure.from_json(record | changed)


def test_a_key_with_a_part_missing_is_refused() -> None:
    with pytest.raises(ValueError, match="has 2 parts, but a key has 6"):
        MeasureName.from_key("R@10 | turn 3")
