"""P, the rank percentile of Fashion IQ.

    P = 1/|Q| * sum over q of (1 - rank_q / G)

with G pictures in the gallery: 1 if every target comes first, near 1/2 for chance (Wu et al., "Fashion IQ", CVPR
2021, Appendix C, in percent; first in Guo et al., "Dialog-based Interactive Image Retrieval", NeurIPS 2018). As ranks
stop at G - 1, the worst is 1/G, not 0.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Real


def percentile(ranks: Real[np.ndarray, "*shape"], gallery: int) -> Float[np.ndarray, "*shape"]:
    """The share of the gallery that does not come before each target; P is its mean. NaN where a rank is NaN.

    >>> percentile(np.array([0, 10, 20]), gallery=100)
    array([1. , 0.9, 0.8])

    Raises:
        ValueError: a rank is not below the size of the gallery.
    """
    if (ranks >= gallery).any():
        raise ValueError(f"rank {np.nanmax(ranks):g} in a gallery of {gallery}: ranks run from 0 to {gallery - 1}")
    return np.asarray(1 - ranks / gallery)
