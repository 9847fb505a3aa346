"""The rank of a target among the scores of a gallery, 0-based, with a rule for ties and for NaN.

With `above` pictures scored higher than the target and `equal` others scored the same, the rank is

    optimistic:   above
    expected:     above + equal / 2     (the mean over all orders of the equal ones)
    pessimistic:  above + equal

    argsort:      where an unstable descending sort happens to put it

A picture without a score (NaN) comes after every picture with one, -inf included; targets without a score are
equal to each other. So a system that gives constant scores, or none, never looks good by the order of its
rows (McSherry and Najork, "Computing information retrieval performance measures efficiently in the presence
of tied scores", ECIR 2008).

The official code of Fashion IQ is optimistic; that of Drill-down, ChatIR and MAI sorts, which leaves the order of
ties to the sort. `argsort` does as they do, with numpy's default sort: always the same on one machine, but not
on every machine, and never the same as torch's. It is for comparing with their figures, not for new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

import numpy as np
from jaxtyping import Float, Int, Real

from viewfinder.metrics.bounds import score_bounds

Ties = Literal["expected", "pessimistic", "optimistic", "argsort"]
Ranks = Real[np.ndarray, " q"] | Sequence[float | int]
"""0-based ranks; halves are possible where ties were counted as expected."""


def target_ranks(
    scores_qn: Float[np.ndarray, "q n"], targets_q: Int[np.ndarray, " q"], ties: Ties = "expected"
) -> Float[np.ndarray, " q"]:
    """Rank of each query's target among its row of scores.

    Raises:
        ValueError: a target is not one of the n pictures.
    """
    best_q, worst_q = score_bounds(scores_qn, targets_q)
    if ties == "argsort":
        orders = (np.argsort(-scores_n) for scores_n in scores_qn)
        places = [np.flatnonzero(order_n == target)[0] for order_n, target in zip(orders, targets_q, strict=True)]
        return np.array(places, dtype=np.float64)
    return ranks_between(best_q, worst_q, ties)


def ranks_between(
    best: Real[np.ndarray, "*shape"], worst: Real[np.ndarray, "*shape"], ties: Ties = "expected"
) -> Float[np.ndarray, "*shape"]:
    """The ranks that a tie rule takes between the bounds that `rank_bounds` or `score_bounds` found.

    >>> ranks_within(np.array([1]), np.array([2]))
    array([1.5])

    Raises:
        ValueError: the rule is "argsort": where a sort puts a target can only be told from the scores.
    """
    match ties:
        case "expected":
            return np.asarray((best + worst) / 2, dtype=np.float64)
        case "pessimistic":
            return worst.astype(np.float64)
        case "optimistic":
            return best.astype(np.float64)
        case "argsort":
            raise ValueError('ties="argsort" needs the scores: use `ranks`, or "expected" between bounds')
        case _:
            assert_never(ties)


def check_ranks(ranks_q: Ranks) -> Float[np.ndarray, " q"]:
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


def check_depth(k: int) -> int:
    """The number of first places that count.

    Raises:
        ValueError: it is below 1.
    """
    if k < 1:
        raise ValueError(f"k={k}, but at least the first place must count: k is 1 or more")
    return k
