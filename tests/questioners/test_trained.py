"""Chances of answers, packed: against the plain way, one question and one picture at a time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.questioners.trained import MAX_CANDIDATES_AT_ONCE, answer_chances, bound_biases

LOG3 = float(np.log(3))


def test_one_question_by_hand() -> None:
    # Two answers; the first picture says "yes" with odds of 3 to 1, the second nothing.
    told = answer_chances(
        np.array([[1, 0], [0, 1]], np.float32),
        np.array([[LOG3, 0], [0, 0]], np.float32),
        np.zeros(2, np.float32),
        np.array([0, 2]),
    )
    assert told == pytest.approx(np.array([[0.75, 0.25], [0.5, 0.5]]))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(2, 5), min_size=1, max_size=6),
    st.integers(0, 99),
    st.sampled_from([1, 3, MAX_CANDIDATES_AT_ONCE + 5]),
)
def test_packed_chances_are_softmaxes_of_each_question(sizes: list[int], seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *sizes])
    towers = rng.normal(size=(starts[-1], 4)).astype(np.float32) * 3
    bias = rng.normal(size=starts[-1]).astype(np.float32)
    seen = rng.normal(size=(count, 4)).astype(np.float32)
    seen /= np.linalg.norm(seen, axis=1, keepdims=True)
    found = answer_chances(seen, towers, bound_biases(towers, bias, starts[:-1].tolist()), starts)
    for first, end in pairwise(starts.tolist()):
        raised = np.exp(seen.astype(float) @ towers[first:end].T + bias[first:end])
        assert found[:, first:end] == pytest.approx(raised / raised.sum(axis=1, keepdims=True), abs=1e-5)
