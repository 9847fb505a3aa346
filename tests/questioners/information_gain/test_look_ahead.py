from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float

from viewfinder.questioners.information_gain.gains import Option, two_step_gains

FOUR = np.full(4, 0.25)


def option(*columns: Sequence[float], can_tell: float = 1.0) -> Option:
    """A question with these answers, each a column: how likely every candidate is to give it."""
    table_ca = np.array(columns, np.float64).T
    share_a = np.full(len(columns), 1 / len(columns))
    labels = tuple(f"answer {a}" for a in range(len(columns)))
    return Option("trained", "which?", labels, share_a, 0.0, lambda: table_ca, can_tell=can_tell)


FIRST_HALF = option([1, 1, 0, 0], [0, 0, 1, 1])
EVEN = option([1, 0, 1, 0], [0, 1, 0, 1])


def test_two_questions_that_halve_differently_take_two_bits() -> None:
    assert two_step_gains(FOUR, [FIRST_HALF, EVEN], goes_on=1).tolist() == [2.0, 2.0]


def test_a_question_followed_by_itself_in_other_words_takes_one_bit() -> None:
    assert two_step_gains(FOUR, [FIRST_HALF, FIRST_HALF], goes_on=1).tolist() == [1.0, 1.0]


def test_the_second_step_counts_as_far_as_the_user_goes_on() -> None:
    assert two_step_gains(FOUR, [FIRST_HALF, EVEN], goes_on=0.8).tolist() == pytest.approx([1.8, 1.8])


def test_dont_know_leaves_the_other_question() -> None:
    # "first half" is answered by half of the users: 0.5 bits, then the even ones (1 bit) whether answered or not.
    # "even" (1 bit) is followed by 0.5 bits.
    unsure = option([1, 1, 0, 0], [0, 0, 1, 1], can_tell=0.5)
    assert two_step_gains(FOUR, [unsure, EVEN], goes_on=1).tolist() == pytest.approx([1.5, 1.5])


def test_nobody_is_asked_again_what_they_could_not_tell() -> None:
    # "first half" (0.5 bits) is followed by "even" (0.25 bits) whether it is answered or not, never by itself;
    # "even" is followed by "first half".
    unsure = option([1, 1, 0, 0], [0, 0, 1, 1], can_tell=0.5)
    less_sure = option([1, 0, 1, 0], [0, 1, 0, 1], can_tell=0.25)
    assert two_step_gains(FOUR, [unsure, less_sure], goes_on=1).tolist() == pytest.approx([0.75, 0.75])
    assert two_step_gains(FOUR, [unsure], goes_on=1).tolist() == pytest.approx([0.5])


def test_what_opens_the_better_second_question_wins_over_the_greedy_choice() -> None:
    # "thirds" takes log2 3 = 1.58 bits, more than any other; but what is left of it is told by nothing. The two
    # questions of one bit each together take two.
    six = np.full(6, 1 / 6)
    thirds = option([1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1])
    pairs = option([1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0])
    worth_q = two_step_gains(six, [thirds, pairs], goes_on=1)
    assert worth_q.tolist() == pytest.approx([np.log2(3), np.log2(3)])
    odd = option([1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1])
    assert two_step_gains(six, [thirds, pairs, odd], goes_on=1)[2] == pytest.approx(np.log2(6))


def slowly(
    belief_c: Float[np.ndarray, " c"], tables: Sequence[Float[np.ndarray, "c a"]], can_tell: Sequence[float]
) -> list[float]:
    """The same by the definition: entropies before and after, answer by answer, or as before where nobody can tell."""

    def entropy(p: Float[np.ndarray, " c"]) -> float:
        return float(-(p[p > 0] * np.log2(p[p > 0])).sum())

    def answered(p: Float[np.ndarray, " c"], q: int) -> list[tuple[float, np.ndarray]]:
        joint = [p * tables[q][:, a] for a in range(tables[q].shape[1])]
        return [(float(j.sum()), j / j.sum()) for j in joint if j.sum() > 0]

    def gain(p: Float[np.ndarray, " c"], q: int) -> float:
        return can_tell[q] * (entropy(p) - sum(share * entropy(after) for share, after in answered(p, q)))

    worth = []
    for q in range(len(tables)):
        others = [other for other in range(len(tables)) if other != q]
        told = sum(share * max((gain(after, o) for o in others), default=0.0) for share, after in answered(belief_c, q))
        untold = max((gain(belief_c, o) for o in others), default=0.0)
        worth.append(gain(belief_c, q) + can_tell[q] * told + (1 - can_tell[q]) * untold)
    return worth


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 4))
def test_two_steps_are_what_the_definition_says(seed: int, candidates: int, questions: int) -> None:
    rng = np.random.default_rng(seed)
    belief_c = rng.dirichlet(np.ones(candidates))
    tables = [rng.dirichlet(np.ones(rng.integers(2, 5)), size=candidates) for _ in range(questions)]
    can_tell = rng.choice([0.2, 0.6, 1.0], questions).tolist()
    options = [option(*table.T.tolist(), can_tell=sure) for table, sure in zip(tables, can_tell, strict=True)]
    assert two_step_gains(belief_c, options, goes_on=1).tolist() == pytest.approx(
        slowly(belief_c, tables, can_tell), abs=1e-6
    )
