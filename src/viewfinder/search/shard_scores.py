"""A turn over shards: parts of a snapshot's rows are scored elsewhere, and their answers merged into one.

A shard returns its best pictures with their scores, and how the scores of all its pictures are distributed: a few
kilobytes. Merged, they equal a scan of all: the same pictures in the same order, ties by id, the same scores, mean and
deviation. Who searches the shards, and what happens when one is lost, is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float32, Int, Int64

from viewfinder.query import Query
from viewfinder.search.kernels import best_rows, top_k
from viewfinder.search.near_scores import CANDIDATES, NearScores
from viewfinder.search.verdicts import CROWD


@dataclass(frozen=True, eq=False)
class ShardQuestion:
    """The question to one shard about the rows from `start` to `stop`.

    `prior_r`: what is added to the score of each (None: nothing); `open_r`: which of them may be results (None: all).
    """

    query: Query
    start: int
    stop: int
    prior_r: Float32[np.ndarray, " r"] | None = None
    open_r: Bool[np.ndarray, " r"] | None = None


@dataclass(frozen=True, eq=False)
class ShardAnswer:
    """The answer of one shard: the best `CANDIDATES` of its open pictures and the `CROWD` best of all, rows ascending.

    `size` is how many pictures it scored, `mean` the mean of all their scores, `squares` the sum of the squared
    differences from it.
    """

    rows_c: Int64[np.ndarray, " c"]
    total_c: Float32[np.ndarray, " c"]
    size: int
    mean: float
    squares: float


@runtime_checkable
class Shards(Protocol):
    """Searches the pictures of a gallery, part by part."""

    def ask(
        self, query: Query, prior_n: Float32[np.ndarray, " n"] | None, open_n: Bool[np.ndarray, " n"] | None
    ) -> tuple[list[ShardAnswer], list[slice]]:
        """The answers of the shards, in the order of their rows, and the rows that could not be searched."""
        ...


def split_rows(size: int, count: int, step: int) -> list[slice]:
    """About `count` parts of about equal size, each except the last a multiple of `step` rows.

    >>> split_rows(200, 3, 64)
    [slice(0, 64, None), slice(64, 128, None), slice(128, 200, None)]
    """
    steps = max(size // step, 1)
    bounds = [steps * part // count * step for part in range(count)]
    parts = zip(bounds, [*bounds[1:], size], strict=True)
    return [slice(start, stop) for start, stop in parts if start < stop]


def make_answer(
    total_r: Float32[np.ndarray, " r"], question: ShardQuestion, ids_r: Sequence[str] | None
) -> ShardAnswer:
    """The answer of a shard with these scores; `ids_r`: ids of its pictures, None if rows are in their order."""
    open_r = np.ones(len(total_r), bool) if question.open_r is None else question.open_r
    found_c = np.union1d(best_rows(total_r, CANDIDATES, open_r, None, ids_r), top_k(total_r, CROWD))
    mean = float(total_r.mean(dtype=np.float64))
    squares = float(np.square(total_r.astype(np.float64) - mean).sum())
    return ShardAnswer(found_c + question.start, total_r[found_c], len(total_r), mean, squares)


def merge_answers(
    answers: Sequence[ShardAnswer],
    lost: Sequence[slice],
    *,
    size: int,
    excluded_k: Int64[np.ndarray, " k"],
    allowed_n: Bool[np.ndarray, " n"] | None,
    score: Callable[[Int[np.ndarray, " r"]], Float32[np.ndarray, " r"]],
    ids: Sequence[str] | None,
) -> NearScores:
    """The best pictures of all shards that answered; `lost` are the rows of those that did not.

    Rows that were not searched are neither results nor counted, as if they were excluded; `missing` says how many.
    """
    nothing = (np.zeros(0, np.int64), np.zeros(0, np.float32))
    rows_c, total_c = (
        np.concatenate([empty, *found])
        for empty, found in zip(nothing, ([it.rows_c for it in answers], [it.total_c for it in answers]), strict=True)
    )
    open_c = ~np.isin(rows_c, excluded_k)
    if allowed_n is not None:
        open_c &= allowed_n[rows_c]
    best_k = best_rows(total_c, CANDIDATES, open_c, rows_c, ids)
    kept_c = np.isin(rows_c, np.union1d(best_k, rows_c[top_k(total_c, CROWD)]))
    lost_k = np.concatenate([nothing[0], *(np.arange(part.start, part.stop) for part in lost)])
    return NearScores(
        rows_c[kept_c],
        total_c[kept_c],
        np.union1d(excluded_k, lost_k),
        size,
        score,
        lambda: merge_moments(answers),
        ids=ids,
        missing=len(lost_k),
    )


def merge_moments(answers: Sequence[ShardAnswer]) -> tuple[float, float]:
    """Mean and deviation of all shards' scores together (Chan, Golub and LeVeque 1979); zeros if there are none."""
    size = sum(answer.size for answer in answers)
    if not size:
        return 0.0, 0.0
    mean = sum(answer.size * answer.mean for answer in answers) / size
    squares = sum(answer.squares + answer.size * (answer.mean - mean) ** 2 for answer in answers)
    return mean, math.sqrt(squares / size)
