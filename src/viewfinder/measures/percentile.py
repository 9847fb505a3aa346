"""P, the rank percentile of Fashion IQ.

    P = 1/|Q| * sum over q of (1 - rank_q / G)

with G pictures in the gallery: 1 if every target comes first, near 1/2 for chance (Wu et al., "Fashion IQ", CVPR
2021, Appendix C, in percent; first in Guo et al., "Dialog-based Interactive Image Retrieval", NeurIPS 2018). As ranks
stop at G - 1, the worst is 1/G, not 0.
"""

from __future__ import annotations

import numpy as np

from viewfinder.measures.ranks import Ranks, checked


def percentile(ranks_q: Ranks, gallery: int) -> float:
    """Mean share of the gallery that does not come before the target.

    >>> percentile([0, 10, 20], gallery=100)
    0.9

    Raises:
        ValueError: there are no ranks, one is negative or NaN, or one is not below the size of the gallery.
    """
    array_q = checked(ranks_q)
    if array_q.max() >= gallery:
        raise ValueError(f"rank {array_q.max():g} in a gallery of {gallery}: ranks run from 0 to {gallery - 1}")
    return float(1 - np.mean(array_q) / gallery)
