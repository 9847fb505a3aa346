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


@settings(deadline=None)
@given(st.tuples(*[PARTS] * 6))
def test_names_come_back_from_json(parts: tuple[str, ...]) -> None:
    fields = ("metric", "at", "gallery", "split", "caption", "ties")
    measure = Measure(MeasureName(**dict(zip(fields, parts, strict=True))), Interval(0.5, 0.25, 0.75), sessions=40)
    assert Measure.from_json(json.loads(json.dumps(measure.to_json()))) == measure


def test_a_measure_comes_back_from_json() -> None:
    measure = Measure(NAME, Interval(0.5, 0.25, 0.75), sessions=40)
    record = json.loads(json.dumps(measure.to_json()))
    assert record["mean"] == 0.5
    assert record["gallery"] == "test, 1000 pictures"
    assert Measure.from_json(record) == measure


@pytest.mark.parametrize("bad", ["", " turn 3", "turn\n3", "turn | 3"])
def test_a_part_that_would_break_a_line_is_refused(bad: str) -> None:
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
