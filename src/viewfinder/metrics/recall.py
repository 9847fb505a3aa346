"""Recall@k: how often the target is among the first k.

    R@k = 1/|Q| * sum over q of [rank_q < k]

With one target a query it is the success rate that retrieval papers call recall (Karpathy and Fei-Fei, "Deep
visual-semantic alignments for generating image descriptions", CVPR 2015). Tables of multi-turn systems add the
mean over several depths: {1, 5, 10, 20} for FashionMT, {1, 5, 10} for ChatSearch, {5, 8} for MT Fashion IQ.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Real

from viewfinder.metrics.ranks import Ranks, check_depth, check_ranks


def recall_at(k: int, ranks_q: Ranks) -> float:
    """Share of ranks below k.

    Give pessimistic ranks, or use `chance_below`, where scores may tie: an expected rank is compared as it stands, so
    that ten equal scores (rank 4.5) would all be hits at k = 5.

    >>> recall_at(2, [0, 1, 2, 8])
    0.5

    Raises:
        ValueError: k is below 1, there are no ranks, or one is negative or NaN.
    """
    return float(np.mean(check_ranks(ranks_q) < check_depth(k)))


def expected_hits(
    k: int, best: Real[np.ndarray, "*shape"], worst: Real[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """The chance of each target, over all orders of equal scores, to be among the first k; NaN where a rank is NaN.

    A target with `above` pictures above it and `equal` others beside it stands in each of the places from
    above to above + equal with the same chance; of these equal + 1 places k - above are below k, at least
    none and at most all (McSherry and Najork, ECIR 2008).

    >>> chance_below(2, np.array([0, 1, 2]), np.array([0, 2, 2]))
    array([1. , 0.5, 0. ])

    Raises:
        ValueError: k is below 1.
    """
    return np.asarray(np.clip((check_depth(k) - best) / (worst - best + 1), 0, 1))
