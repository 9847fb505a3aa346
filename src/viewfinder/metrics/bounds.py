"""The rank kernel: the best and worst rank of a target, for many queries, in the time of a matrix product.

A target has `best` pictures above it, and `worst` above it or level with it: its optimistic and its pessimistic rank,
0-based. Everything that the tie rules of `target_ranks` and the measures need follows from these two numbers, which
are counted, never sorted. A picture without a score (NaN) comes after every picture with one.

Float32 products give equal vectors scores that differ in the last bits, depending on their position in the product. So
a target's own score is taken from the same product as the others, and `tie` says how close counts as equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int, Int64

Bounds = tuple[Int64[np.ndarray, " q"], Int64[np.ndarray, " q"]]
"""Best and worst rank of each query's target, 0-based."""

Rows = Int[np.ndarray, " _"]
"""Pictures, as rows of the gallery; their number may differ between queries."""

SCORES_AT_ONCE = 1 << 25
"""How many scores are held at a time, 134 MB in float32; more only if `LEAST_QUERIES` rows of a gallery are more."""

LEAST_QUERIES, MOST_QUERIES = 16, 1024
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
    rows = int(np.clip(SCORES_AT_ONCE // max(pictures, 1), LEAST_QUERIES, MOST_QUERIES))
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
