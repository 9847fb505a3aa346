"""BRI, the best log rank integral of PlugIR: how high a dialogue brought its target, and how soon.

    best_st = 1 + min over u <= t of rank_su
    BRI     = 1/|S| * sum over s of 1/(T-1) * sum over t < T-1 of (ln best_st + ln best_s,t+1) / 2

the area under the curve of the best log rank by the trapezoid rule, over its length. Lower is better, 0 if every
target comes first from the first round on (Lee et al., "Interactive Text-to-Image Retrieval with Large Language
Models: A Plug-and-Play Approach", ACL 2024).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Real

from viewfinder.metrics.rounds import carry_ranks


def best_log_rank_integral(ranks_st: Real[np.ndarray, "s t"]) -> Float[np.ndarray, " s"]:
    """One value a dialogue; BRI is their mean.

    A round that a dialogue does not have (NaN) leaves the best rank as it was.

    >>> best_log_rank_integral(np.array([[7, 0, 3]])).mean() == np.log(8) / 4      # (ln 8 + ln 1) / 2, then 0
    np.True_

    Raises:
        ValueError: there is no dialogue or only one round, or a rank is negative, or missing in round 0.
    """
    best_st = np.log(np.minimum.accumulate(carry_ranks(ranks_st), axis=1) + 1)
    if best_st.shape[1] < 2:
        raise ValueError("BRI of one round: it is the area between rounds, and needs two")
    return np.asarray((best_st[:, :-1] + best_st[:, 1:]).mean(axis=1) / 2)
