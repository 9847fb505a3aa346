"""Hits@k over the rounds of dialogues, as ChatIR counts them.

    Hits@k(t) = 1/|S| * sum over s of [min over u <= t of rank_su < k]

A dialogue succeeds at the first round that brings the target among the first k, and is over then: what the
rank does later does not matter, so the curve never falls (Levy et al., "Chatting Makes Perfect: Chat-based
Image Retrieval", NeurIPS 2023, Sec. 4.2).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Real

from viewfinder.metrics.ranks import check_depth


def hits_at(k: int, ranks_st: Real[np.ndarray, "s t"]) -> Float[np.ndarray, " t"]:
    """Share of dialogues with a rank below k at round t or before, for every round t (round 0: the caption).

    NaN stands for a round that a dialogue does not have: it is no hit, and earlier hits stay.

    >>> hits_at(10, np.array([[30, 4, 50], [12, 11, 10]]))
    array([0. , 0.5, 0.5])

    Raises:
        ValueError: k is below 1, there is no dialogue, or a rank is negative.
    """
    if not len(ranks_st):
        raise ValueError("no dialogues: Hits@k over none has no value")
    return np.asarray(has_hit(k, ranks_st).mean(axis=0))


def has_hit(k: int, ranks_st: Real[np.ndarray, "s t"]) -> Bool[np.ndarray, "s t"]:
    """Whether each dialogue had a rank below k at round t or before; what intervals and tests are drawn from.

    Raises:
        ValueError: k is below 1, or a rank is negative.
    """
    if (ranks_st < 0).any():
        raise ValueError(f"rank {ranks_st[ranks_st < 0][0]}: ranks are 0 or more")
    return np.logical_or.accumulate(ranks_st < check_depth(k), axis=1)
