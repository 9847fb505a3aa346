"""Ranks of targets among the scores of a gallery, and what is measured with them: recall, MRR, percentile; by round.

Ranks are 0-based, with a rule for ties and for NaN. A target has `best` pictures above it, and `worst` above it or
level with it: its optimistic and its pessimistic rank. Both are counted, never sorted, in the time of a matrix
product; the rest follows from them. With `above` pictures scored higher and `equal` others scored the same, the rank is

    optimistic:   above
    expected:     above + equal / 2     (the mean over all orders of the equal ones)
    pessimistic:  above + equal

A picture without a score (NaN) comes after every picture with one, -inf included; targets without a score are equal to
each other. So a system that gives constant scores, or none, never looks good by the order of its rows (McSherry and
Najork, "Computing information retrieval performance measures efficiently in the presence of tied scores", ECIR 2008).

Float32 products give equal vectors scores that differ in the last bits, depending on their position in the product. So
a target's own score is taken from the same product as the others, and `tie` says how close counts as equal.

The official code of Fashion IQ is optimistic; that of Drill-down, ChatIR and MAI sorts, which leaves the order of
ties to the sort, another on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

import numpy as np
from jaxtyping import Bool, Float, Int, Int64, Real

Ties = Literal["expected", "optimistic", "pessimistic"]

Ranks = Real[np.ndarray, " q"] | Sequence[float | int]
"""0-based ranks; halves are possible if ties were counted as expected."""

Bounds = tuple[Int64[np.ndarray, " q"], Int64[np.ndarray, " q"]]
"""Best and worst rank of each query's target, 0-based."""

Rows = Int[np.ndarray, " _"]
"""Pictures, as rows of the gallery; their number may differ between queries."""

SCORES_AT_ONCE = 1 << 25
"""How many scores are held at a time, 134 MB in float32; more only if `MIN_QUERIES` rows of a gallery are more."""

MIN_QUERIES, MAX_QUERIES = 16, 1024
"""Queries in one product. Fewer read the gallery for little work, more add nothing (see benchmarks/ranks.py)."""


def rank_bounds(
    queries_qd: Float[np.ndarray, "q d"],
    gallery_nd: Float[np.ndarray, "n d"],
    targets_q: Int[np.ndarray, " q"],
    *,
    bias_n: Float[np.ndarray, " n"] | None = None,
    bias_weight_q: Float[np.ndarray, " q"] | None = None,
    excluded: Sequence[Rows] | None = None,
    tie: float = 0.0,
) -> Bounds:
    """Best and worst rank of each query's target among `query . picture + bias weight * bias` of the whole gallery.

    The q x n scores are never held at once: blocks of queries are multiplied, counted and discarded. For Euclidean
    distance let `bias_n` be -|picture|^2 / 2; for likeness less a background, the background with weight -1.

    Args:
        queries_qd: one vector a query (a round of a dialogue).
        gallery_nd: one vector a picture; copied once if there is a bias or if it is narrower than the queries.
        targets_q: row of the picture that each query looks for.
        bias_n: what is added to every score of a picture.
        bias_weight_q: how much of it each query takes; 1 if left out.
        excluded: for every query the rows that come after all others; an excluded target has rank n - 1.
        tie: scores that differ by at most this are equal.

    Raises:
        ValueError: a target or an excluded row is not one of the n pictures, lengths do not fit, or `tie` is below 0.
    """
    if bias_n is None and bias_weight_q is not None:
        raise ValueError("bias_weight_q without bias_n: there is nothing to weigh")
    _check(len(queries_qd), len(gallery_nd), targets_q, excluded, tie)
    dtype = np.result_type(queries_qd, gallery_nd, np.float32)
    pictures_dn = gallery_nd.T if bias_n is None else np.vstack((gallery_nd.T, bias_n), dtype=dtype)
    pictures_dn = pictures_dn.astype(dtype, copy=False)
    count, pictures = len(queries_qd), len(gallery_nd)
    weight_q = None if bias_n is None else np.ones(count) if bias_weight_q is None else bias_weight_q
    best_q, worst_q = np.empty(count, np.int64), np.empty(count, np.int64)
    rows = int(np.clip(SCORES_AT_ONCE // max(pictures, 1), MIN_QUERIES, MAX_QUERIES))
    scores_bn = np.empty((min(rows, count), pictures), dtype)
    for start in range(0, count, rows):
        block = slice(start, start + rows)
        vectors_bd = queries_qd[block] if weight_q is None else np.column_stack((queries_qd[block], weight_q[block]))
        part_bn = scores_bn[: len(vectors_bd)]
        np.matmul(vectors_bd.astype(dtype, copy=False), pictures_dn, out=part_bn)
        left_out = None if excluded is None else excluded[block]
        best_q[block], worst_q[block] = score_bounds(part_bn, targets_q[block], excluded=left_out, tie=tie)
    return best_q, worst_q


def score_bounds(
    scores_qn: Float[np.ndarray, "q n"],
    targets_q: Int[np.ndarray, " q"],
    *,
    excluded: Sequence[Rows] | None = None,
    tie: float = 0.0,
) -> Bounds:
    """Best and worst rank of each query's target in its row of scores, for scores that are not a plain product.

    >>> score_bounds(np.array([[0.9, 0.5, 0.5, 0.1]]), np.array([2]))
    (array([1]), array([2]))

    Raises:
        ValueError: a target or an excluded row is not one of the n pictures, lengths do not fit, or `tie` is below 0.
    """
    _check(len(scores_qn), scores_qn.shape[1], targets_q, excluded, tie)
    own_q = np.take_along_axis(scores_qn, targets_q[:, None], axis=1)[:, 0]
    high_q, low_q = own_q + tie, own_q - tie
    best_q, worst_q = np.empty(len(own_q), np.int64), np.empty(len(own_q), np.int64)
    held_n = np.empty(scores_qn.shape[1], dtype=bool)
    for row, (scores_n, high, low) in enumerate(zip(scores_qn, high_q, low_q, strict=True)):
        # Row by row, so that the second pass finds the scores in the cache.
        best_q[row] = np.count_nonzero(np.greater(scores_n, high, out=held_n))
        worst_q[row] = np.count_nonzero(np.greater_equal(scores_n, low, out=held_n)) - 1
    for unscored in np.flatnonzero(np.isnan(own_q)):  # comparisons with NaN are all false: count again
        best_q[unscored] = np.count_nonzero(~np.isnan(scores_qn[unscored]))
        worst_q[unscored] = scores_qn.shape[1] - 1
    for row, rows_e in enumerate(excluded or ()):
        apart_e = np.unique(rows_e)
        scores_e = scores_qn[row, apart_e]
        if np.isnan(own_q[row]):
            best_q[row] -= np.count_nonzero(~np.isnan(scores_e))
            worst_q[row] -= len(scores_e)
        else:
            best_q[row] -= np.count_nonzero(scores_e > high_q[row])
            worst_q[row] -= np.count_nonzero(scores_e >= low_q[row])
        if targets_q[row] in apart_e:
            best_q[row] = worst_q[row] = scores_qn.shape[1] - 1
    return best_q, worst_q


def _check(
    queries: int, pictures: int, targets_q: Int[np.ndarray, " q"], excluded: Sequence[Rows] | None, tie: float
) -> None:
    if len(targets_q) != queries:
        raise ValueError(f"{len(targets_q)} targets for {queries} queries: one each is needed")
    wrong = np.flatnonzero((targets_q < 0) | (targets_q >= pictures))
    if wrong.size:
        raise ValueError(f"target {targets_q[wrong[0]]} of query {wrong[0]}: there are pictures 0 to {pictures - 1}")
    if not tie >= 0:
        raise ValueError(f"tie={tie}: scores are equal within a distance of 0 or more")
    if excluded is not None and len(excluded) != queries:
        raise ValueError(f"{len(excluded)} lists of excluded pictures for {queries} queries: one each is needed")
    for query, rows_e in enumerate(excluded or ()):
        if rows_e.size and not (rows_e.min() >= 0 and rows_e.max() < pictures):
            raise ValueError(f"excluded pictures of query {query}: there are pictures 0 to {pictures - 1}")


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
    """Recall@k, how often the target is among the first k: the share of ranks below k.

        R@k = 1/|Q| * sum over q of [rank_q < k]

    With one target a query it is the success rate that retrieval papers call recall (Karpathy and Fei-Fei, "Deep
    visual-semantic alignments for generating image descriptions", CVPR 2015). Tables of multi-turn systems add the
    mean over several depths: {1, 5, 10, 20} for FashionMT, {1, 5, 10} for ChatSearch, {5, 8} for MT Fashion IQ.

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
    """MRR, the mean of 1 / (rank + 1): 1 if every target comes first, near 0 if all are far down.

        MRR = 1/|Q| * sum over q of 1 / (rank_q + 1)

    (Voorhees, "The TREC-8 question answering track report", 1999.)
    For an expected rank it is the reciprocal of the mean place, slightly below the mean of the reciprocals.

    >>> mean_reciprocal_rank([0, 1, 3])     # (1 + 1/2 + 1/4) / 3
    0.5833333333333334
    """
    return float(np.mean(1 / (check_ranks(ranks_q) + 1)))


def percentile(ranks: Real[np.ndarray, "*shape"], gallery: int) -> Float[np.ndarray, "*shape"]:
    """The share of the gallery that does not come before each target; P is its mean. NaN where a rank is NaN.

        P = 1/|Q| * sum over q of (1 - rank_q / G)

    with G pictures in the gallery: the rank percentile of Fashion IQ (Wu et al., CVPR 2021, Appendix C, in percent;
    first in Guo et al., "Dialog-based Interactive Image Retrieval", NeurIPS 2018). It is 1 if every target comes first,
    near 1/2 for chance. As ranks stop at G - 1, the worst is 1/G, not 0.

    >>> percentile(np.array([0, 10, 20]), gallery=100)
    array([1. , 0.9, 0.8])

    Raises:
        ValueError: a rank is not below the size of the gallery.
    """
    if (ranks >= gallery).any():
        raise ValueError(f"rank {np.nanmax(ranks):g} in a gallery of {gallery}: ranks run from 0 to {gallery - 1}")
    return np.asarray(1 - ranks / gallery)


# Dialogues: ranks by round


def carry_ranks(ranks_st: Real[np.ndarray, "s t"]) -> Float[np.ndarray, "s t"]:
    """Ranks in which a round without one (NaN) has the rank of the round before.

    A dialogue without such a round said nothing new, so its target stays where it was. The average target rank after
    each round, counted from 1 as its paper plots it, is 1 plus their mean over the dialogues:

        ATR(t)         = 1/|S| * sum over s of (rank_st + 1)
        frozen ATR(t)  = the same, where a dialogue keeps the rank of its first hit (`freeze_ranks`)

    Levy et al., "Chatting Makes Perfect: Chat-based Image Retrieval", NeurIPS 2023 (Sec. 4.2, Fig. 3b), does not say
    which of the two it means. In the running one every dialogue goes on, so a target found early can be lost again; the
    frozen one ends a dialogue where Hits@k does.

    >>> carry_ranks(np.array([[30, 4, np.nan], [7, np.nan, 2]]))
    array([[30.,  4.,  4.],
           [ 7.,  7.,  2.]])

    Raises:
        ValueError: there is no dialogue or no round, the first round has no rank, or a rank is negative.
    """
    if not ranks_st.size:
        raise ValueError(f"{ranks_st.shape[0]} dialogues of {ranks_st.shape[1]} rounds: a measure needs one of each")
    wrong = np.argwhere(ranks_st < 0)
    if wrong.size:
        raise ValueError(f"rank {ranks_st[tuple(wrong[0])]}: ranks are 0 or more")
    empty = np.flatnonzero(np.isnan(ranks_st[:, 0]))
    if empty.size:
        raise ValueError(f"dialogue {empty[0]} has no rank in its first round: there is nothing to carry on")
    last_st = np.where(np.isnan(ranks_st), 0, np.arange(ranks_st.shape[1]))
    return np.take_along_axis(ranks_st, np.maximum.accumulate(last_st, axis=1), axis=1).astype(np.float64)


def has_hit(k: int, ranks_st: Real[np.ndarray, "s t"]) -> Bool[np.ndarray, "s t"]:
    """Whether each dialogue had a rank below k at round t or before (round 0: the caption); Hits@k is the mean.

        Hits@k(t) = 1/|S| * sum over s of [min over u <= t of rank_su < k]

    A dialogue succeeds at the first round that brings the target among the first k, and then ends: later ranks do not
    matter, so the curve never falls (Levy et al., NeurIPS 2023, Sec. 4.2).

    NaN marks a round that a dialogue does not have: it is no hit, and earlier hits stay.

    >>> has_hit(10, np.array([[30, 4, 50], [12, 11, 10]])).mean(axis=0)
    array([0. , 0.5, 0.5])

    Raises:
        ValueError: k is below 1, or a rank is negative.
    """
    if (ranks_st < 0).any():
        raise ValueError(f"rank {ranks_st[ranks_st < 0][0]}: ranks are 0 or more")
    return np.logical_or.accumulate(ranks_st < check_depth(k), axis=1)


def freeze_ranks(k: int, ranks_st: Real[np.ndarray, "s t"]) -> Float[np.ndarray, "s t"]:
    """0-based ranks in which a dialogue keeps the rank of its first hit from then on; frozen ATR is computed from them.

    >>> freeze_ranks(10, np.array([[30, 4, 50], [12, 11, 10]])).mean(axis=0) + 1      # the first stays at 4
    array([22. ,  8.5,  8. ])
    """
    ranks_st = carry_ranks(ranks_st)
    hit_st = has_hit(k, ranks_st)
    first_s = hit_st.argmax(axis=1)[:, None]  # 0 if there is none, and then unused
    return np.where(hit_st, np.take_along_axis(ranks_st, first_s, axis=1), ranks_st)


def best_log_rank_integral(ranks_st: Real[np.ndarray, "s t"]) -> Float[np.ndarray, " s"]:
    """How high a dialogue brought its target, and how soon; BRI of PlugIR is the mean over the dialogues.

        best_st = 1 + min over u <= t of rank_su
        BRI     = 1/|S| * sum over s of 1/(T-1) * sum over t < T-1 of (ln best_st + ln best_s,t+1) / 2

    the area under the curve of the best log rank by the trapezoid rule, over its length. Lower is better, 0 if every
    target comes first from the first round on (Lee et al., "Interactive Text-to-Image Retrieval with Large Language
    Models: A Plug-and-Play Approach", ACL 2024).

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
