"""Scores of one vector a picture, and the best of them.

Axes: `n` pictures, `d` numbers of a vector, `m` query vectors, `k` results. Nothing here reads a disk or
knows a library.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64

from viewfinder.processors import share_out, use_one_blas_thread
from viewfinder.store.half_rows import HalfRows

TIE = 1e-6
"""Scores that differ by less count as equal: a matrix product gives equal vectors scores a few float32 steps apart."""

TOGETHER = 64
"""Rows of one matrix product; a shard of a library begins with such a block."""

BLOCKS, MIN_BLOCKS = 4, 512
"""Blocks per each of the k best, and in all: enough that few other scores reach the threshold, and that numpy compares
many at once."""


SHARED_NUMBERS = 2**22
"""Numbers of a matrix that a thread multiplies at a time: fewer are not worth a second thread."""

FEW_QUERIES, CACHED_ROWS = 4, 1024
"""Few queries are each multiplied with so many rows at a time, which stay in the processor's cache: two take little
more than one, where a product of matrices takes as long as both."""


@use_one_blas_thread()
def dot_scores(
    matrix_nd: Float[np.ndarray, "n d"] | HalfRows, query_d: Float[np.ndarray, "*m d"]
) -> Float32[np.ndarray, "*m n"]:
    """Dot product of every picture with a query (d) -> (n), or with several queries (m d) -> (m n)."""
    query = np.asarray(query_d, dtype=np.float32)
    if isinstance(matrix_nd, HalfRows):
        found = matrix_nd.products(np.ascontiguousarray(query.T))
        return found if query.ndim == 1 else np.ascontiguousarray(found.T)
    matrix = np.asarray(matrix_nd, dtype=np.float32)
    found_mn = np.empty((*query.shape[:-1], len(matrix)), np.float32)

    def multiply(part: slice) -> None:
        if query.ndim == 1 or len(query) > FEW_QUERIES:
            found_mn[..., part] = (matrix[part] @ query.T).T
            return
        for start in range(part.start, min(part.stop, len(matrix)), CACHED_ROWS):
            rows_bd = matrix[start : min(start + CACHED_ROWS, part.stop)]
            for found_n, one_d in zip(found_mn, query, strict=True):
                found_n[start : start + len(rows_bd)] = rows_bd @ one_d

    together = max(SHARED_NUMBERS // max(matrix.shape[1], 1), 1)
    share_out(multiply, [slice(start, start + together) for start in range(0, len(matrix), together)])
    return found_mn


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
    blocks = max(k * BLOCKS, MIN_BLOCKS)
    rows = _hopeful(scores_n, k, allowed_n, blocks) if k > 0 and blocks < len(scores_n) else None
    if rows is None:
        rows = np.arange(len(scores_n)) if allowed_n is None else np.flatnonzero(allowed_n)
    losses = -scores_n[rows]
    if 0 < k < len(rows):
        kept = _smallest(losses, k)
        rows, losses = rows[kept], losses[kept]
    return np.asarray(rows[np.argsort(losses, kind="stable")][:k], dtype=np.int64)


def best_rows(
    scores_c: Float[np.ndarray, " c"],
    k: int,
    open_c: Bool[np.ndarray, " c"] | None,
    rows_c: Int64[np.ndarray, " c"] | None,
    ids: Sequence[str] | None,
) -> Int64[np.ndarray, " k"]:
    """Rows of the k best of those that are open (None: all), best first, ties by id.

    `rows_c` are the rows (None: the scores are those of all), `ids` the ids of all pictures, None if rows are in their
    order.
    """
    best_k = top_k(scores_c, k, allowed_n=open_c)
    if ids is not None and len(best_k):
        # Pictures that tie with the last one may be in any row.
        is_tied_c = scores_c == scores_c[best_k[-1]]
        tied_k = np.flatnonzero(is_tied_c if open_c is None else open_c & is_tied_c)
        row_of = range(len(scores_c)) if rows_c is None else rows_c.tolist()
        places = {*best_k.tolist(), *tied_k.tolist()}
        order = sorted(places, key=lambda place: (-scores_c[place], ids[row_of[place]]))
        best_k = np.array(order[: len(best_k)], dtype=np.int64)
    return best_k if rows_c is None else np.asarray(rows_c[best_k])


def _hopeful(
    scores_n: Float[np.ndarray, " n"], k: int, allowed_n: Bool[np.ndarray, " n"] | None, blocks: int
) -> Int64[np.ndarray, " h"] | None:
    """Rows that hold the k best and not many more, found in two passes without sorting; None if that is impossible.

    The border is the k-th best of the blocks' best scores: k scores reach it, so no score below is among the k best.
    """
    open_n = scores_n if allowed_n is None else np.where(allowed_n, scores_n, -np.inf)
    whole = len(open_n) - len(open_n) % blocks
    # A block is every so-manieth score: numpy finds the maxima of columns several times faster than those of rows.
    best_b = open_n[:whole].reshape(-1, blocks).max(axis=0)
    border = np.partition(best_b, blocks - k)[blocks - k]
    if not np.isfinite(border) or np.isnan(best_b).any():
        return None
    return np.flatnonzero(open_n >= border)


def _smallest(losses_n: Float[np.ndarray, " n"], k: int) -> Int64[np.ndarray, " k"]:
    """Positions of the k smallest numbers (first ones on ties, NaN last), in ascending position."""
    border = losses_n[np.argpartition(losses_n, k - 1)[k - 1]]
    below_n = ~np.isnan(losses_n) if np.isnan(border) else losses_n < border
    level_n = np.isnan(losses_n) if np.isnan(border) else losses_n == border
    below_n[np.flatnonzero(level_n)[: k - np.count_nonzero(below_n)]] = True
    return np.flatnonzero(below_n)


def row_products(vectors_nd: Float[np.ndarray, "n d"], others_md: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """Dot products of rows with a few others, such that a row's do not depend on which rows are computed with it.

    On some processors the last bits of a matrix product do, and shards would break ties otherwise than one machine.
    Blocks of one size are computed; shards begin with a block.
    """
    whole = len(vectors_nd) // TOGETHER * TOGETHER
    blocks_btd = vectors_nd[:whole].reshape(-1, TOGETHER, vectors_nd.shape[1])
    last_1td = np.zeros((1, TOGETHER, vectors_nd.shape[1]), vectors_nd.dtype)
    last_1td[0, : len(vectors_nd) - whole] = vectors_nd[whole:]
    parts = [np.matmul(each, others_md.T).reshape(-1, len(others_md)) for each in (blocks_btd, last_1td)]
    return np.concatenate(parts)[: len(vectors_nd)]
