"""Why a picture is a hit, as JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.query import Part, Query
from viewfinder.search.explanation import explain_regions, explain_turns, round_to_thousandths


def part(kind: str, said: str, weight: float = 1.0, *, turn: int = 1) -> Part:
    return Part("value" if kind == "value" else "words", turn, f"top: {said}" if kind == "value" else said, weight)


def test_why_joins_the_parts_of_a_turn_and_shares_sum_to_one() -> None:
    asked = Query((part("words", "red", turn=1), part("value", "red", turn=1), part("words", "blue", -0.5, turn=3)))
    [why] = explain_turns(asked, np.array([[0.3, 0.1, -0.1]]))
    assert why == {
        "turns": [
            {"turn": 1, "parts": ["red", "top: red"], "adds": 0.4, "share": 0.8},
            {"turn": 3, "parts": ["blue"], "adds": -0.1, "share": -0.2},
        ]
    }


def test_what_slots_look_at_is_json_with_three_decimals() -> None:
    slots = tuple(Part("regions", turn, said, 1.0, np.ones(2)) for turn, said in [(3, "a car"), (2, "a tree")])
    attention_pr = np.array([[0.75, 0.25], [0.0004, 0.9996]], np.float32)
    boxes_r4 = np.array([[0, 0, 1 / 3, 1], [1 / 3, 0, 1, 1]])
    looks = explain_regions(Query(slots), np.array([0.123449, -0.1]), attention_pr, boxes_r4)
    assert json.loads(json.dumps(looks)) == {
        "boxes": [[0.0, 0.0, 0.333, 1.0], [0.333, 0.0, 1.0, 1.0]],
        "slots": [
            {"said": "a car", "turn": 3, "weights": [0.75, 0.25], "adds": 0.1234},
            {"said": "a tree", "turn": 2, "weights": [0.0, 1.0], "adds": -0.1},
        ],
    }


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=40))
def test_rounded_weights_still_add_up_to_one_and_are_close(weights: list[float]) -> None:
    exact_r = np.array(weights) / sum(weights)
    rounded = round_to_thousandths(exact_r)
    assert sum(rounded) == pytest.approx(1, abs=1e-12)
    assert np.abs(np.array(rounded) - exact_r).max() < 0.001
