"""Ranks of targets among the scores of a gallery, and measures of one rank a query: recall, MRR, percentile.

Ranks are 0-based, with a rule for ties and for NaN.

With `above` pictures scored higher than the target and `equal` others scored the same, the rank is

    optimistic:   above
    expected:     above + equal / 2     (the mean over all orders of the equal ones)
    pessimistic:  above + equal

A picture without a score (NaN) comes after every picture with one, -inf included; targets without a score are equal to
each other. So a system that gives constant scores, or none, never looks good by the order of its rows (McSherry and
Najork, "Computing information retrieval performance measures efficiently in the presence of tied scores", ECIR 2008).

The official code of Fashion IQ is optimistic; that of Drill-down, ChatIR and MAI sorts, which leaves the order of
ties to the sort, another on every machine.

Recall@k: how often the target is among the first k.

    R@k = 1/|Q| * sum over q of [rank_q < k]

With one target a query it is the success rate that retrieval papers call recall (Karpathy and Fei-Fei, "Deep
visual-semantic alignments for generating image descriptions", CVPR 2015). Tables of multi-turn systems add the
mean over several depths: {1, 5, 10, 20} for FashionMT, {1, 5, 10} for ChatSearch, {5, 8} for MT Fashion IQ.

Mean reciprocal rank.

    MRR = 1/|Q| * sum over q of 1 / (rank_q + 1)

with 0-based ranks (Voorhees, "The TREC-8 question answering track report", 1999).

P, the rank percentile of Fashion IQ.

    P = 1/|Q| * sum over q of (1 - rank_q / G)

with G pictures in the gallery: 1 if every target comes first, near 1/2 for chance (Wu et al., "Fashion IQ", CVPR
2021, Appendix C, in percent; first in Guo et al., "Dialog-based Interactive Image Retrieval", NeurIPS 2018). As ranks
stop at G - 1, the worst is 1/G, not 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

import numpy as np
from jaxtyping import Float, Int, Real

from viewfinder.metrics.bounds import score_bounds

Ties = Literal["expected", "optimistic", "pessimistic"]
Ranks = Real[np.ndarray, " q"] | Sequence[float | int]
"""0-based ranks; halves are possible if ties were counted as expected."""


def target_ranks(
    scores_qn: Float[np.ndarray, "q n"], targets_q: Int[np.ndarray, " q"], ties: Ties = "expected"
) -> Float[np.ndarray, " q"]:
    """Rank of each query's target in its row of scores.

    Raises:
        ValueError: a target is not one of the n pictures.
    """
    return ranks_between(*score_bounds(scores_qn, targets_q), ties)


def ranks_between(
    best: Real[np.ndarray, "*shape"], worst: Real[np.ndarray, "*shape"], ties: Ties = "expected"
) -> Float[np.ndarray, "*shape"]:
    """The ranks that a tie rule gives between the bounds from `rank_bounds` or `score_bounds`.

    >>> ranks_between(np.array([1]), np.array([2]))
    array([1.5])
    """
    match ties:
        case "expected":
            return np.asarray((best + worst) / 2, dtype=np.float64)
        case "pessimistic":
            return worst.astype(np.float64)
        case "optimistic":
            return best.astype(np.float64)
        case _:
            assert_never(ties)


def check_ranks(ranks_q: Ranks) -> Float[np.ndarray, " q"]:
    """Ranks as floats.

    Raises:
        ValueError: there are none, so that no mean exists, or one is negative or NaN.
    """
    array_q = np.asarray(ranks_q, dtype=np.float64)
    if not array_q.size:
        raise ValueError("no ranks: a measure over no queries has no value")
    wrong = np.flatnonzero(~(array_q >= 0))
    if wrong.size:
        raise ValueError(f"rank {array_q[wrong[0]]} of query {wrong[0]}: ranks are 0 or more, and never NaN")
    return array_q


def check_depth(k: int) -> int:
    """The number of first places that count.

    Raises:
        ValueError: it is below 1.
    """
    if k < 1:
        raise ValueError(f"k={k}, but at least the first place must count: k is 1 or more")
    return k


def recall_at(k: int, ranks_q: Ranks) -> float:
    """Share of ranks below k.

    If scores may tie, give pessimistic ranks or use `expected_hits`: an expected rank is compared as it is, so that
    ten equal scores (rank 4.5) would all be hits at k = 5.

    >>> recall_at(2, [0, 1, 2, 8])
    0.5
    """
    return float(np.mean(check_ranks(ranks_q) < check_depth(k)))


def expected_hits(
    k: int, best: Real[np.ndarray, "*shape"], worst: Real[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """Each target's probability, over all orders of equal scores, of being among the first k; NaN where a rank is NaN.

    A target with `above` pictures above it and `equal` others level with it is at each of the places from
    above to above + equal with the same probability; of these equal + 1 places k - above are below k, at least
    none and at most all (McSherry and Najork, ECIR 2008).

    >>> expected_hits(2, np.array([0, 1, 2]), np.array([0, 2, 2]))
    array([1. , 0.5, 0. ])

    Raises:
        ValueError: k is below 1.
    """
    return np.asarray(np.clip((check_depth(k) - best) / (worst - best + 1), 0, 1))


def mean_reciprocal_rank(ranks_q: Ranks) -> float:
    """Mean of 1 / (rank + 1): 1 if every target comes first, near 0 if all are far down.

    For an expected rank it is the reciprocal of the mean place, slightly below the mean of the reciprocals.

    >>> mean_reciprocal_rank([0, 1, 3])     # (1 + 1/2 + 1/4) / 3
    0.5833333333333334
    """
    return float(np.mean(1 / (check_ranks(ranks_q) + 1)))


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
