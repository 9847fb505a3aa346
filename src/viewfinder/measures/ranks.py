"""The rank of a target among the scores of a gallery, 0-based, with a rule for ties and for NaN.

With `above` pictures scored higher than the target and `equal` others scored the same, the rank is

    optimistic:   above
    expected:     above + equal / 2     (the mean over all orders of the equal ones)
    pessimistic:  above + equal

A picture without a score (NaN) comes after every picture with one, -inf included; targets without a score are
equal to each other. So a system that gives constant scores, or none, never looks good by the order of its
rows (McSherry and Najork, "Computing information retrieval performance measures efficiently in the presence
of tied scores", ECIR 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

import numpy as np
from jaxtyping import Float, Int, Int64, Real

Ties = Literal["expected", "pessimistic", "optimistic"]
Ranks = Real[np.ndarray, " q"] | Sequence[float | int]
"""0-based ranks; halves are possible where ties were counted as expected."""


def expected_rank(scores_n: Float[np.ndarray, " n"], target: int) -> float:
    """Mean rank of picture `target` over all orders of pictures with equal scores.

    >>> expected_rank(np.array([0.9, 0.5, 0.5, 0.1]), target=2)
    1.5

    Raises:
        ValueError: there is no such picture.
    """
    return float(ranks(scores_n[None], np.array([target]), ties="expected")[0])


def pessimistic_rank(scores_n: Float[np.ndarray, " n"], target: int) -> int:
    """Rank of picture `target` when every picture of equal score comes first.

    >>> pessimistic_rank(np.array([0.9, 0.5, 0.5, 0.1]), target=1)
    2

    Raises:
        ValueError: there is no such picture.
    """
    return int(ranks(scores_n[None], np.array([target]), ties="pessimistic")[0])


def ranks(
    scores_qn: Float[np.ndarray, "q n"], targets_q: Int[np.ndarray, " q"], ties: Ties = "expected"
) -> Float[np.ndarray, " q"]:
    """Rank of each query's target among its row of scores.

    Raises:
        ValueError: a target is not one of the n pictures.
    """
    above_q, equal_q = _above_and_equal(scores_qn, targets_q)
    match ties:
        case "expected":
            return np.asarray(above_q + equal_q / 2, dtype=np.float64)
        case "pessimistic":
            return np.asarray(above_q + equal_q, dtype=np.float64)
        case "optimistic":
            return np.asarray(above_q, dtype=np.float64)
        case _:
            assert_never(ties)


def checked(ranks_q: Ranks) -> Float[np.ndarray, " q"]:
    """Ranks as floats.

    Raises:
        ValueError: there are none, so that no mean exists, or one is negative or NaN.
    """
    array_q = np.asarray(ranks_q, dtype=np.float64)
    if not array_q.size:
        raise ValueError("no ranks: a measure over no queries has no value")
    wrong = np.flatnonzero(~(array_q >= 0))
    if wrong.size:
        raise ValueError(f"rank {array_q[wrong[0]]} of query {wrong[0]}: ranks are 0 or more, and never NaN")
    return array_q


def checked_depth(k: int) -> int:
    """The number of first places that count.

    Raises:
        ValueError: it is below 1.
    """
    if k < 1:
        raise ValueError(f"k={k}, but at least the first place must count: k is 1 or more")
    return k


def _above_and_equal(
    scores_qn: Float[np.ndarray, "q n"], targets_q: Int[np.ndarray, " q"]
) -> tuple[Int64[np.ndarray, " q"], Int64[np.ndarray, " q"]]:
    """How many pictures each target has above it, and how many others beside it."""
    count = scores_qn.shape[1]
    wrong = np.flatnonzero((targets_q < 0) | (targets_q >= count))
    if wrong.size:
        raise ValueError(f"target {targets_q[wrong[0]]} of query {wrong[0]}: there are pictures 0 to {count - 1}")
    own_q1 = np.take_along_axis(scores_qn, targets_q[:, None], axis=1)
    missing_q = np.isnan(own_q1[:, 0])
    above_q = np.count_nonzero(scores_qn > own_q1, axis=1)
    equal_q = np.count_nonzero(scores_qn == own_q1, axis=1) - 1
    if missing_q.any():  # comparisons with NaN are all false: count afresh
        nan_q = np.count_nonzero(np.isnan(scores_qn[missing_q]), axis=1)
        above_q[missing_q], equal_q[missing_q] = count - nan_q, nan_q - 1
    return above_q.astype(np.int64), equal_q.astype(np.int64)
