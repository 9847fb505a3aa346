"""The scoring kernels for pictures of one vector each: dot products, and the best k.

Axes: `n` pictures, `d` numbers of a vector, `m` query vectors, `k` results. Nothing here reads a disk or knows a
library; every kernel is tested against slow, obvious code. Pictures of many vectors: `interaction`.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64

BLOCKS = 4
"""Blocks for each of the k best: enough that few scores beside those reach the border."""

TIE = 1e-6
"""Scores that differ by less are equal: a matrix product gives equal vectors scores a few float32 steps apart."""


def dot_scores(matrix_nd: Float[np.ndarray, "n d"], query_d: Float[np.ndarray, "*m d"]) -> Float32[np.ndarray, "*m n"]:
    """Dot product of every picture with a query (d) -> (n), or with several queries (m d) -> (m n)."""
    query = np.asarray(query_d, dtype=np.float32)
    matrix = np.asarray(matrix_nd, dtype=np.float32)
    if query.ndim == 1:
        return np.asarray(matrix @ query)
    return np.ascontiguousarray((matrix @ query.T).T)


def top_k(
    scores_n: Float[np.ndarray, " n"], k: int, *, allowed_n: Bool[np.ndarray, " n"] | None = None
) -> Int64[np.ndarray, " k"]:
    """Rows of the k best scores among the allowed ones, best first, ties in row order.

    Always min(k, allowed) rows; NaN comes after everything else.

    Raises:
        ValueError: k is negative.

    >>> top_k(np.array([0.1, 0.3, 0.3, 0.2], dtype=np.float32), 3).tolist()
    [1, 2, 3]
    """
    if k < 0:
        raise ValueError(f"k={k}, but nobody can be shown fewer than 0 pictures")
    rows = _hopeful(scores_n, k, allowed_n) if 0 < k * BLOCKS < len(scores_n) else None
    if rows is None:
        rows = np.arange(len(scores_n)) if allowed_n is None else np.flatnonzero(allowed_n)
    losses = -scores_n[rows]
    if 0 < k < len(rows):
        kept = _smallest(losses, k)
        rows, losses = rows[kept], losses[kept]
    return np.asarray(rows[np.argsort(losses, kind="stable")][:k], dtype=np.int64)


def _hopeful(
    scores_n: Float[np.ndarray, " n"], k: int, allowed_n: Bool[np.ndarray, " n"] | None
) -> Int64[np.ndarray, " h"] | None:
    """Rows that hold the k best and not many more, found in two passes without sorting; None where that cannot be told.

    Of k blocks, each has a score as good as the worst of their best ones: what is below that is not among the k best.
    """
    open_n = scores_n if allowed_n is None else np.where(allowed_n, scores_n, -np.inf)
    blocks = k * BLOCKS
    whole = len(open_n) - len(open_n) % blocks
    best_b = open_n[:whole].reshape(blocks, -1).max(axis=1)
    border = np.partition(best_b, blocks - k)[blocks - k]
    if not np.isfinite(border) or np.isnan(best_b).any():
        return None
    return np.flatnonzero(open_n >= border)


def _smallest(losses_n: Float[np.ndarray, " n"], k: int) -> Int64[np.ndarray, " k"]:
    """Positions of the k smallest numbers (first ones on ties, NaN last), in ascending position."""
    border = losses_n[np.argpartition(losses_n, k - 1)[k - 1]]
    below_n = ~np.isnan(losses_n) if np.isnan(border) else losses_n < border
    level_n = np.isnan(losses_n) if np.isnan(border) else losses_n == border
    level = np.flatnonzero(level_n)[: k - np.count_nonzero(below_n)]
    below_n[level] = True
    return np.flatnonzero(below_n)
