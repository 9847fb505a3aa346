"""Searches with several right pictures: average precision among the first k, and its mean, mAP@k.

As CIRCO defines it (Baldrati et al., "Zero-Shot Composed Image Retrieval with Textual Inversion", ICCV 2023, Sec. 4):

    AP@k  = 1/min(k, G) * sum over places p <= k that hold a right picture of (right pictures among the first p) / p
    mAP@k = the mean of AP@k over the queries

with G right pictures. So a query whose G right pictures come first has 1, also where G is less than k or more.

Ranks are 0-based bounds as in `metrics.ranks`: pictures with equal scores are equal in `best` and `worst`.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from jaxtyping import Real

from viewfinder.metrics.ranks import Ties, check_depth


def average_precision(
    k: int, best_g: Real[np.ndarray, " g"], worst_g: Real[np.ndarray, " g"], ties: Ties = "expected"
) -> float:
    """AP@k of one query, from the ranks of its g right pictures; NaN if they have none.

    The expected value is that over all orders of equal scores (McSherry and Najork, ECIR 2008): if r of the n
    pictures that share the places from `before` on are right, each of these places holds a right one with the
    probability r / n, and then (place - 1) * (r - 1) / (n - 1) more of them are expected above it.

    >>> average_precision(5, np.array([0, 2, 9]), np.array([0, 2, 9]))     # (1/1 + 2/3) / min(5, 3)
    0.5555555555555555

    Raises:
        ValueError: no right picture, k is below 1, or a rank is negative.
    """
    check_depth(k)
    if not len(best_g):
        raise ValueError("average precision of a query without a right picture has no value")
    if np.isnan(best_g).any():
        return float("nan")
    if (best_g < 0).any() or (worst_g < best_g).any():
        raise ValueError(f"ranks {best_g.tolist()} to {worst_g.tolist()}: they are 0 or more, the best first")
    precisions, above = 0.0, 0
    for (best, worst), right in sorted(Counter(zip(best_g.tolist(), worst_g.tolist(), strict=True)).items()):
        equal = max(int(worst - best) + 1, right)
        first, last = int(best) + 1, int(best) + equal  # places from 1
        if ties == "optimistic":
            precisions += sum((above + i) / (first + i - 1) for i in range(1, right + 1) if first + i - 1 <= k)
        elif ties == "pessimistic":
            places = enumerate(range(last - right + 1, last + 1), start=1)
            precisions += sum((above + i) / place for i, place in places if place <= k)
        else:
            more = (right - 1) / (equal - 1) if equal > 1 else 0.0
            places = enumerate(range(first, min(last, k) + 1))
            precisions += sum(right / equal * (above + 1 + i * more) / place for i, place in places)
        above += right
    return precisions / min(k, len(best_g))
