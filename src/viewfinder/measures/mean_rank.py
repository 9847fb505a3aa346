"""Mean and median rank of the target.

    MR = 1/|Q| * sum over q of rank_q

0-based, where most papers count from 1: add 1 to compare. The mean is moved by a few lost targets, the median
is not (Das et al., "Visual Dialog", CVPR 2017, report the mean).
"""

from __future__ import annotations

import numpy as np

from viewfinder.measures.ranks import Ranks, checked


def mean_rank(ranks_q: Ranks) -> float:
    """Mean of the ranks; with expected ranks, the mean over all orders of equal scores.

    >>> mean_rank([0, 1, 8])
    3.0

    Raises:
        ValueError: there are no ranks, or one is negative or NaN.
    """
    return float(np.mean(checked(ranks_q)))


def median_rank(ranks_q: Ranks) -> float:
    """Median of the ranks; of an even number, the mean of the two in the middle.

    >>> median_rank([0, 1, 8, 100])
    4.5

    Raises:
        ValueError: there are no ranks, or one is negative or NaN.
    """
    return float(np.median(checked(ranks_q)))
