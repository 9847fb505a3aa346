"""Recall@k: how often the target is among the first k.

    R@k = 1/|Q| * sum over q of [rank_q < k]

With one target a query it is the success rate that retrieval papers call recall (Karpathy and Fei-Fei, "Deep
visual-semantic alignments for generating image descriptions", CVPR 2015).
"""

from __future__ import annotations

import numpy as np

from viewfinder.measures.ranks import Ranks, checked, checked_depth


def recall_at(k: int, ranks_q: Ranks) -> float:
    """Share of ranks below k.

    Give pessimistic ranks, or use `expected_recall_at`, where scores may tie: an expected rank is compared as
    it stands, so that ten equal scores (rank 4.5) would all be hits at k = 5.

    >>> recall_at(2, [0, 1, 2, 8])
    0.5

    Raises:
        ValueError: k is below 1, there are no ranks, or one is negative or NaN.
    """
    return float(np.mean(checked(ranks_q) < checked_depth(k)))


def expected_recall_at(k: int, optimistic_q: Ranks, pessimistic_q: Ranks) -> float:
    """Mean of R@k over all orders of equal scores: a target that ties across the border counts as a fraction.

    A target with `above` pictures above it and `equal` others beside it stands in each of the places from
    above to above + equal with the same chance; of these equal + 1 places k - above are below k, at least
    none and at most all (McSherry and Najork, ECIR 2008).

    Raises:
        ValueError: k is below 1, there are no ranks, one is negative or NaN, or best and worst do not fit.

    >>> expected_recall_at(2, [1], [3])     # places 1, 2 and 3 are equally likely, one of them is below 2
    0.3333333333333333
    """
    best_q, worst_q = checked(optimistic_q), checked(pessimistic_q)
    if best_q.shape != worst_q.shape or (best_q > worst_q).any():
        raise ValueError("optimistic and pessimistic ranks must belong to the same queries, best rank first")
    chances_q = np.clip((checked_depth(k) - best_q) / (worst_q - best_q + 1), 0, 1)
    return float(np.mean(chances_q))
