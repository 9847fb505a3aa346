"""How much an answer would tell: entropies and information gain, in bits.

The gain of a question is the mutual information of the candidate and the answer,
I(candidate; answer) = H(answer) - E_candidate[H(answer | candidate)]: the entropy that the answer is expected
to take off the candidates.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int


def entropy_bits(probabilities: Float[np.ndarray, "*many a"]) -> Float[np.ndarray, "*many"]:
    """Entropy along the last axis; 0 log 0 = 0.

    >>> float(entropy_bits(np.array([0.5, 0.25, 0.25])))
    1.5
    """
    safe = np.where(probabilities > 0, probabilities, 1)
    # The sum over 0 or 1 alone may come out as -0.0.
    return np.asarray(-(probabilities * np.log2(safe)).sum(axis=-1) + 0.0)


def known_answers_gain(share_v: Float[np.ndarray, " v"], *, unknown: float = 0.0, error: float = 0.0) -> float:
    """Gain of asking for an attribute that the catalogue knows.

    Candidates whose value is v have `share_v[v]` of the probability, those without a value `unknown`. With
    probability `error` the user names another value (all alike); for a picture without one any value (alike).
    A yes-or-no question that halves the candidates takes one bit off:

    >>> gain_of_known(np.array([0.5, 0.5]))
    1.0
    """
    count = len(share_v)
    if count < 2:
        return 0.0
    wrong = error / (count - 1)
    # Answer a is right for those with value a, wrong for the others with a value, blind for those without.
    answer_v = (1 - error - wrong) * share_v + wrong * share_v.sum() + unknown / count
    channel = np.array([1 - error, *[wrong] * (count - 1)])
    noise = float(share_v.sum()) * float(entropy_bits(channel)) + unknown * float(np.log2(count))
    return max(float(entropy_bits(answer_v)) - noise, 0.0)


def guessed_answers_gain(
    probabilities_c: Float[np.ndarray, " c"], answer_ca: Float[np.ndarray, "c a"], *, error: float = 0.0
) -> float:
    """Gain of asking for something that is only guessed: `answer_ca` is each candidate's answer distribution.

    With probability `error` the answer says nothing (all alike).
    """
    noisy_ca = (1 - error) * answer_ca + error / answer_ca.shape[1]
    expected_a = probabilities_c @ noisy_ca
    return max(float(entropy_bits(expected_a)) - float(probabilities_c @ entropy_bits(noisy_ca)), 0.0)


def code_shares(
    probabilities_c: Float[np.ndarray, " c"], codes_c: Int[np.ndarray, " c"], count: int
) -> Float[np.ndarray, " v"]:
    """The probability that falls on each of `count` codes; candidates with code -1 fall on none."""
    known_c = codes_c >= 0
    share_v = np.bincount(codes_c[known_c], weights=probabilities_c[known_c], minlength=count)
    # Without a single known candidate bincount counts in integers.
    return share_v.astype(np.float64)


def table_gains(
    given_wc: Float[np.ndarray, "w c"], answer_ca: Float[np.ndarray, "c a"], starts_q: Int[np.ndarray, " starts"]
) -> Float[np.ndarray, "w q"]:
    """Gains of several questions at once, where the candidates are as likely as each row of `given_wc` says.

    Question q has the columns starts_q[q] to starts_q[q + 1] of `answer_ca`. A table may also hold answers drawn at
    random, the weight of each such that the drawn ones are alike in all: rows need not add up to 1.

    >>> halves = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> gains_of_tables(np.array([[0.5, 0.5], [1.0, 0.0]]), halves, np.array([0, 2])).tolist()
    [[1.0], [0.0]]
    """
    share_wa = given_wc @ answer_ca
    inside_wa = given_wc @ _times_log(answer_ca)
    gains_wq = np.add.reduceat(inside_wa - _times_log(share_wa), starts_q[:-1], axis=1)
    return np.asarray(np.maximum(gains_wq, 0.0))


def _times_log(x: Float[np.ndarray, "*many"]) -> Float[np.ndarray, "*many"]:
    return np.asarray(x * np.log2(np.where(x > 0, x, 1)))
