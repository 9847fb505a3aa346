"""Mean reciprocal rank.

    MRR = 1/|Q| * sum over q of 1 / (rank_q + 1)

with 0-based ranks (Voorhees, "The TREC-8 question answering track report", 1999).
"""

from __future__ import annotations

import numpy as np

from viewfinder.metrics.ranks import Ranks, check_ranks


def mean_reciprocal_rank(ranks_q: Ranks) -> float:
    """Mean of 1 / (rank + 1): 1 if every target comes first, near 0 if all are far down.

    Of an expected rank it is the reciprocal of the mean place, a little below the mean of the reciprocals.

    >>> mean_reciprocal_rank([0, 1, 3])     # (1 + 1/2 + 1/4) / 3
    0.5833333333333334

    Raises:
        ValueError: there are no ranks, or one is negative or NaN.
    """
    return float(np.mean(1 / (check_ranks(ranks_q) + 1)))
