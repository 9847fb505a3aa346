from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float

from viewfinder.questioners.information_gain.gains import (
    code_shares,
    entropy_bits,
    guessed_answers_gain,
    known_answers_gain,
)


def obvious_gain(prior: list[float], answers: list[list[float]]) -> float:
    """Sum over candidates and answers of p(c, a) log2 (p(a | c) / p(a)), one term at a time."""
    total = 0.0
    for c, p in enumerate(prior):
        for a, q in enumerate(answers[c]):
            marginal = sum(prior[k] * answers[k][a] for k in range(len(prior)))
            if p > 0 and q > 0:
                total += p * q * math.log2(q / marginal)
    return total


def obvious_answers(codes: list[int], values: int, error: float) -> list[list[float]]:
    """What the user says of each candidate: right but for the error, anything where nothing is known."""
    rows = []
    for code in codes:
        if code < 0:
            rows.append([1 / values] * values)
        else:
            rows.append([1 - error if a == code else error / (values - 1) for a in range(values)])
    return rows


def test_entropies_of_small_distributions() -> None:
    assert entropy_bits(np.array([0.5, 0.5])) == 1
    assert entropy_bits(np.array([1.0, 0.0])) == 0
    assert entropy_bits(np.full(8, 1 / 8)) == 3
    # 1/2 * 1 + 2 * 1/4 * 2
    assert entropy_bits(np.array([0.5, 0.25, 0.25])) == 1.5


def test_entropy_is_taken_along_the_last_axis() -> None:
    assert entropy_bits(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist() == [1.0, 0.0]


def test_a_known_value_tells_the_entropy_of_its_shares() -> None:
    assert known_answers_gain(np.array([0.5, 0.5]), error=0) == 1
    assert known_answers_gain(np.array([0.25] * 4), error=0) == 2
    # 0.9 * log2(1/0.9) + 0.1 * log2(1/0.1) = 0.1368 + 0.3322
    assert known_answers_gain(np.array([0.9, 0.1]), error=0) == pytest.approx(0.4690, abs=1e-4)


def test_an_answer_that_is_wrong_one_time_in_twenty_tells_less() -> None:
    # The binary symmetric channel: 1 - H(0.05) = 1 - 0.2864.
    assert known_answers_gain(np.array([0.5, 0.5]), error=0.05) == pytest.approx(0.7136, abs=1e-4)
    assert known_answers_gain(np.array([0.5, 0.5]), error=0.5) == pytest.approx(0, abs=1e-12)


def test_one_value_or_none_tells_nothing() -> None:
    assert known_answers_gain(np.array([1.0]), error=0) == 0
    assert known_answers_gain(np.array([]), error=0) == 0
    assert known_answers_gain(np.array([0.0, 0.0]), unknown=1.0, error=0) == 0


def test_a_guess_that_is_alike_for_all_candidates_tells_nothing() -> None:
    answer_ca = np.tile(np.array([0.7, 0.2, 0.1]), (5, 1))
    assert guessed_answers_gain(np.full(5, 0.2), answer_ca, error=0) == pytest.approx(0, abs=1e-12)


def test_a_sure_guess_tells_as_much_as_knowing() -> None:
    answer_ca = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    prior_c = np.array([0.25, 0.25, 0.5])
    assert guessed_answers_gain(prior_c, answer_ca, error=0) == known_answers_gain(np.array([0.5, 0.5]), error=0) == 1


@st.composite
def priors(draw: st.DrawFn, most: int = 9) -> Float[np.ndarray, " c"]:
    weights = draw(st.lists(st.integers(0, 20), min_size=2, max_size=most).filter(any))
    return np.array(weights, np.float64) / sum(weights)


@settings(max_examples=100, deadline=None)
@given(prior_c=priors(), values=st.integers(2, 5), error=st.just(0.0) | st.floats(1e-9, 0.4), data=st.data())
def test_the_gain_of_a_known_value_is_that_of_the_definition_written_as_loops(
    prior_c: Float[np.ndarray, " c"], values: int, error: float, data: st.DataObject
) -> None:
    count = len(prior_c)
    codes = data.draw(st.lists(st.integers(-1, values - 1), min_size=count, max_size=count))
    share_v = code_shares(prior_c, np.array(codes), values)
    fast = known_answers_gain(share_v, unknown=1 - float(share_v.sum()), error=error)
    slow = obvious_gain(prior_c.tolist(), obvious_answers(codes, values, error))
    assert fast == pytest.approx(slow, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(prior_c=priors(), seed=st.integers(0, 2**32 - 1), error=st.just(0.0) | st.floats(1e-9, 0.4))
def test_the_gain_of_a_guess_is_that_of_the_definition_written_as_loops(
    prior_c: Float[np.ndarray, " c"], seed: int, error: float
) -> None:
    answer_ca = np.random.default_rng(seed).dirichlet(np.ones(4), size=len(prior_c))
    noisy = ((1 - error) * answer_ca + error / 4).tolist()
    fast = guessed_answers_gain(prior_c, answer_ca, error=error)
    assert fast == pytest.approx(obvious_gain(prior_c.tolist(), noisy), abs=1e-9)
    assert -1e-9 <= fast <= float(entropy_bits(prior_c)) + 1e-9


def test_shares_add_up_by_code_and_leave_the_unknown_out() -> None:
    found = code_shares(np.array([0.1, 0.2, 0.3, 0.4]), np.array([1, -1, 1, 0]), 3)
    np.testing.assert_allclose(found, [0.4, 0.4, 0.0])


def test_shares_of_candidates_that_are_all_unknown_are_zero_and_no_integers() -> None:
    found = code_shares(np.array([0.5, 0.5]), np.array([-1, -1]), 2)
    assert found.tolist() == [0, 0]
    assert found.dtype == np.float64
