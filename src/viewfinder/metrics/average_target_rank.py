"""ATR: the average rank of the target after each round, counted from 1 as its paper plots it.

    ATR(t)         = 1/|S| * sum over s of (rank_st + 1)
    frozen ATR(t)  = the same, where a dialogue keeps the rank of its first hit (rank_su < k, u <= t)

Levy et al., "Chatting Makes Perfect: Chat-based Image Retrieval", NeurIPS 2023 (Sec. 4.2, Fig. 3b), does not say which
of the two it means. In the running one every dialogue goes on, so a target found early can be lost again; the frozen
one ends a dialogue where Hits@k does.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Real

from viewfinder.metrics.hits import has_hit
from viewfinder.metrics.rounds import carry_ranks


def average_target_rank(ranks_st: Real[np.ndarray, "s t"], *, frozen_at: int | None = None) -> Float[np.ndarray, " t"]:
    """Mean rank after every round, from 1: running, or frozen at a hit among the first `frozen_at`.

    A round that a dialogue does not have (NaN) has the rank of the round before.

    >>> average_target_rank(np.array([[30, 4, 50], [12, 11, 10]]))
    array([22. ,  8.5, 31. ])
    >>> average_target_rank(np.array([[30, 4, 50], [12, 11, 10]]), frozen_at=10)   # the first stays at 4
    array([22. ,  8.5,  8. ])

    Raises:
        ValueError: `frozen_at` is below 1, there is no dialogue, or a rank is negative, or missing in round 0.
    """
    kept_st = carry_ranks(ranks_st) if frozen_at is None else freeze_ranks(frozen_at, ranks_st)
    return np.asarray(kept_st.mean(axis=0) + 1)


def freeze_ranks(k: int, ranks_st: Real[np.ndarray, "s t"]) -> Float[np.ndarray, "s t"]:
    """0-based ranks in which a dialogue stays, from its first hit on, at the rank of that hit.

    Raises:
        ValueError: k is below 1, there is no dialogue, or a rank is negative, or missing in round 0.
    """
    ranks_st = carry_ranks(ranks_st)
    hit_st = has_hit(k, ranks_st)
    first_s = hit_st.argmax(axis=1)[:, None]  # 0 where there is none, and then not used
    return np.where(hit_st, np.take_along_axis(ranks_st, first_s, axis=1), ranks_st)
