"""Looking ahead: the best question after each answer, and what the retriever would make of the answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Answer, Question
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.entropy import table_gains
from viewfinder.questioners.options import Option

TINY = 1e-12

MOST_ANSWERS = 8
"""That are told apart when looking ahead; the rarest of more count as one."""


def two_step_gains(
    belief_c: Float[np.ndarray, " c"], options: Sequence[Option], goes_on: float = 1.0
) -> Float[np.ndarray, " q"]:
    """Bits that each question is expected to take off, and with probability `goes_on` the best of the others after it.

    "Don't know" leaves the candidates as they are, and the second question to be asked.
    """
    tables = [_folded(belief_c, option.table()) for option in options]
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


def _folded(belief_c: Float[np.ndarray, " c"], table_ca: Float[np.ndarray, "c a"]) -> Float[np.ndarray, "c fewer"]:
    if table_ca.shape[1] <= MOST_ANSWERS:
        return table_ca
    order = np.argsort(-(belief_c @ table_ca), kind="stable")
    rest_c1 = table_ca[:, order[MOST_ANSWERS - 1 :]].sum(axis=1, keepdims=True)
    return np.concatenate([table_ca[:, order[: MOST_ANSWERS - 1]], rest_c1], axis=1)


def _best_of_others(gain_q: Float[np.ndarray, " q"]) -> Float[np.ndarray, " q"]:
    """For each question the largest gain among the others; 0 where there is none."""
    if len(gain_q) < 2:
        return np.zeros(len(gain_q))
    first, second = np.argsort(-gain_q, kind="stable")[:2]
    best_q = np.full(len(gain_q), gain_q[first])
    best_q[first] = gain_q[second]
    return best_q


def used_by_retriever(
    belief_c: Float[np.ndarray, " c"], option: Option, question: Question, view: Candidates, replies: int
) -> float:
    """Of the bits that the likeliest answers tell, the share (0 to 1) that the retriever is expected to make use of.

    With P(c, a) of the table, told are sum P(c, a) log2(P(c, a) / (P(c) P(a))), and the retriever, which believes P'(c)
    now and P'(c | a) after the answer, uses sum P(c, a) log2(P'(c | a) / P'(c)): by so much it is expected to raise the
    picture meant. That is nothing where it does not understand the answer, or is misled by it.
    """
    assert view.lookup is not None
    table_ca = option.table()
    share_a = belief_c @ table_ca
    kept = np.argsort(-share_a, kind="stable")[:replies]
    after_ac = view.lookup.foresee([Answer(question, option.labels[a]) for a in kept])
    joint_ac = table_ca[:, kept].T * belief_c
    told = (joint_ac * np.log2((table_ca[:, kept].T + TINY) / (share_a[kept] + TINY)[:, None])).sum()
    used = (joint_ac * np.log2((after_ac + TINY) / (view.probabilities_c + TINY))).sum()
    return float(np.clip(used / max(float(told), TINY), 0, 1))
