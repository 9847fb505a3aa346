"""A question that could be asked, what its answer would tell, and what the best question after it would.

The gain of a question is the mutual information of the candidate and the answer,
I(candidate; answer) = H(answer) - E_candidate[H(answer | candidate)]: the entropy, in bits, that the answer is expected
to take off the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

OptionSource = Literal["column", "photograph", "tag", "caption", "trained", "open"]
"""Where a question comes from: the catalogue, facets of photographs, zero-shot tags, what people wrote about the
candidates, questions that were learnt, and those that all the learnt ones about what is there answer at once."""

AnswerTable = Callable[[], Float[np.ndarray, "c a"]]
"""How likely each candidate is to be answered with each label; made when it is needed."""


ERROR = 0.05
"""The share of wrong answers: on columns another value, elsewhere any answer."""

MIN_GAIN = 0.5
"""Bits below which a question costs the user more than it helps."""

GOES_ON = 0.8
"""How likely the user answers one more question."""

MAX_ANSWERS = 8
"""Answers that are told apart when looking ahead; of more, the rarest count as one."""

TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Option:
    """A question that could be asked.

    Attributes:
        choices: what is offered, "don't know" left out; None: what a learnt question itself leaves open, else the
            labels, the likeliest first.
    """

    source: OptionSource  # where it comes from
    text: str  # as it would be asked
    labels: tuple[str, ...]  # what may be answered
    share_a: Float[np.ndarray, " a"]  # how likely each label is
    gain: float  # bits that it is expected to take off, as far as a user can tell
    table: AnswerTable  # each candidate's answers, errors included
    attribute: str = ""  # the catalogue's column or the tags' group that it asks for; "" for a free question
    can_tell: float = 1.0  # how likely a user can answer at all
    ordered: bool = False  # whether the labels are ranges, to be shown in their order
    choices: tuple[str, ...] | None = None


def add_errors(answer_ca: Float[np.ndarray, "c a"], error: float = ERROR) -> Float[np.ndarray, "c a"]:
    """Answer distributions of which a share `error` says nothing: any answer, all alike."""
    return np.asarray((1 - error) * answer_ca + error / answer_ca.shape[1])


def softmax(logits: Float[np.ndarray, "*many a"]) -> Float[np.ndarray, "*many a"]:
    """Chances along the last axis, in double precision.

    >>> softmax(np.log(np.array([1.0, 3.0]))).round(2).tolist()
    [0.25, 0.75]
    """
    weight = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def entropy_bits(probabilities: Float[np.ndarray, "*many a"]) -> Float[np.ndarray, "*many"]:
    """Entropy along the last axis; 0 log 0 = 0.

    >>> float(entropy_bits(np.array([0.5, 0.25, 0.25])))
    1.5
    """
    # The sum over 0 or 1 alone may come out as -0.0.
    return np.asarray(-_times_log(probabilities).sum(axis=-1) + 0.0)


def known_answers_gain(share_v: Float[np.ndarray, " v"], *, unknown: float = 0.0, error: float = ERROR) -> float:
    """Gain of asking for an attribute that the catalogue knows.

    Candidates whose value is v have `share_v[v]` of the probability, those without a value `unknown`. With
    probability `error` the user names another value (all alike); for a picture without one any value (alike).
    A yes-or-no question that halves the candidates takes one bit off:

    >>> known_answers_gain(np.array([0.5, 0.5]), error=0)
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
    probabilities_c: Float[np.ndarray, " c"], answer_ca: Float[np.ndarray, "c a"], *, error: float = ERROR
) -> float:
    """Gain of asking for something that is only guessed: `answer_ca` is each candidate's answer distribution.

    With probability `error` the answer says nothing (all alike).
    """
    noisy_ca = add_errors(answer_ca, error)
    return max(float(entropy_bits(probabilities_c @ noisy_ca)) - float(probabilities_c @ entropy_bits(noisy_ca)), 0.0)


def guessed_option(
    source: OptionSource,
    text: str,
    labels: tuple[str, ...],
    probabilities_c: Float[np.ndarray, " c"],
    answer_ca: Float[np.ndarray, "c a"],
    **more: Any,
) -> Option:
    """A question whose answers are only guessed: `answer_ca` is each candidate's answer distribution."""
    gain, share_a = guessed_answers_gain(probabilities_c, answer_ca), probabilities_c @ answer_ca
    return Option(source, text, labels, share_a, gain, partial(add_errors, answer_ca), **more)


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
    >>> table_gains(np.array([[0.5, 0.5], [1.0, 0.0]]), halves, np.array([0, 2])).tolist()
    [[1.0], [0.0]]
    """
    share_wa = given_wc @ answer_ca
    inside_wa = given_wc @ _times_log(answer_ca)
    gains_wq = np.add.reduceat(inside_wa - _times_log(share_wa), starts_q[:-1], axis=1)
    return np.asarray(np.maximum(gains_wq, 0.0))


def _times_log(x: Float[np.ndarray, "*many"]) -> Float[np.ndarray, "*many"]:
    return np.asarray(x * np.log2(np.where(x > 0, x, 1)))


def two_step_gains(
    belief_c: Float[np.ndarray, " c"], options: Sequence[Option], goes_on: float = GOES_ON
) -> Float[np.ndarray, " q"]:
    """Bits that each question is expected to take off, and with probability `goes_on` the best of the others after it.

    "Don't know" leaves the candidates as they are, and the second question to be asked.
    """
    tables = [_fold_rare_answers(belief_c, option.table()) for option in options]
    starts_q = np.cumsum([0, *(table_ca.shape[1] for table_ca in tables)])
    answer_ca = np.concatenate(tables, axis=1)
    tell_q = np.array([option.can_tell for option in options])
    joint_ac = answer_ca.T * belief_c
    share_a = joint_ac.sum(axis=1)
    after_ac = joint_ac / np.maximum(share_a, TINY)[:, None]
    # The first row is of "don't know": nothing has changed.
    gain_wq = tell_q * table_gains(np.concatenate([belief_c[None], after_ac]), answer_ca, starts_q)
    first_q = np.repeat(np.arange(len(options)), np.diff(starts_q))
    gain_wq[np.arange(1, len(gain_wq)), first_q] = 0.0
    next_q = np.add.reduceat(share_a * gain_wq[1:].max(axis=1), starts_q[:-1])
    after_q = tell_q * next_q + (1 - tell_q) * _best_of_others(gain_wq[0])
    return np.asarray(gain_wq[0] + goes_on * after_q)


def _fold_rare_answers(
    belief_c: Float[np.ndarray, " c"], table_ca: Float[np.ndarray, "c a"]
) -> Float[np.ndarray, "c fewer"]:
    if table_ca.shape[1] <= MAX_ANSWERS:
        return table_ca
    order = np.argsort(-(belief_c @ table_ca), kind="stable")
    rest_c1 = table_ca[:, order[MAX_ANSWERS - 1 :]].sum(axis=1, keepdims=True)
    return np.concatenate([table_ca[:, order[: MAX_ANSWERS - 1]], rest_c1], axis=1)


def _best_of_others(gain_q: Float[np.ndarray, " q"]) -> Float[np.ndarray, " q"]:
    """For each question the largest gain among the others; 0 where there is none."""
    if len(gain_q) < 2:
        return np.zeros(len(gain_q))
    first, second = np.argsort(-gain_q, kind="stable")[:2]
    best_q = np.full(len(gain_q), gain_q[first])
    best_q[first] = gain_q[second]
    return best_q
