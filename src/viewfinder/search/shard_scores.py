"""A turn over shards: parts of a snapshot's rows are scored elsewhere, and their answers merged into one.

A shard returns its best pictures with their scores, and how the scores of all its pictures are distributed: a few
kilobytes. Merged, they equal a scan of all: the same pictures in the same order, ties by id, the same scores, mean and
deviation. A shard that has an index over its pictures looks for candidates with it and scores them exactly; how all
scores are distributed is then estimated, as it is on one machine. Who searches the shards, and what happens when one is
lost, is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float32, Int, Int64, UInt8

from viewfinder.query import Query
from viewfinder.search.indexed_pictures import CandidateSearch
from viewfinder.search.kernels import best_rows, top_k
from viewfinder.search.near_scores import CANDIDATES, NearScores
from viewfinder.search.verdicts import CROWD


@dataclass(frozen=True, eq=False)
class Addition:
    """What is added to scores: `adds_k` to those of the rows `rows_k`, ascending; None: one number for every row.

    What is written names few pictures of a collection, and a question to a shard is as long as these are many.
    """

    adds_k: Float32[np.ndarray, " k"]
    rows_k: Int64[np.ndarray, " k"] | None = None

    def cut(self, part: slice) -> Addition:
        """What is added to these rows, counted from the first of them."""
        if self.rows_k is None:
            return Addition(self.adds_k[part])
        first, end = np.searchsorted(self.rows_k, (part.start, part.stop)).tolist()
        return Addition(self.adds_k[first:end], self.rows_k[first:end] - part.start)

    def spread(self, size: int) -> Float32[np.ndarray, " r"]:
        """A number for every one of so many rows."""
        if self.rows_k is None:
            return self.adds_k
        adds_r = np.zeros(size, np.float32)
        adds_r[self.rows_k] = self.adds_k
        return adds_r


@dataclass(frozen=True, eq=False)
class ShardQuestion:
    """The question to one shard about the rows from `start` to `stop`.

    Attributes:
        prior: what is added to their scores; None: nothing.
        allowed_b: bits of those that a filter allows (`np.packbits`); None: all.
        excluded_k: which of them, counted from `start`, are no results, ascending.
        search: how a shard with an index looks for candidates; None: it scans all.
    """

    query: Query
    start: int
    stop: int
    prior: Addition | None = None
    allowed_b: UInt8[np.ndarray, " b"] | None = None
    excluded_k: Int64[np.ndarray, " k"] = field(default_factory=lambda: np.zeros(0, np.int64))
    search: CandidateSearch | None = None

    @property
    def count(self) -> int:
        """How many of its best pictures a shard is to return."""
        return CANDIDATES if self.search is None else self.search.count

    @cached_property
    def prior_r(self) -> Float32[np.ndarray, " r"] | None:
        """What is added to the score of each; None: nothing."""
        return None if self.prior is None else self.prior.spread(self.stop - self.start)

    @cached_property
    def allowed_r(self) -> Bool[np.ndarray, " r"] | None:
        """Which of them a filter allows; None: all."""
        if self.allowed_b is None:
            return None
        return np.unpackbits(self.allowed_b, count=self.stop - self.start).view(bool)

    def find_open(self, rows_c: Int64[np.ndarray, " c"] | slice) -> Bool[np.ndarray, " c"]:
        """Which of these rows, counted from `start`, may be results."""
        open_r = np.ones(self.stop - self.start, bool) if self.allowed_r is None else self.allowed_r.copy()
        open_r[self.excluded_k] = False
        return np.asarray(open_r[rows_c])


@dataclass(frozen=True, eq=False)
class ShardAnswer:
    """The answer of one shard: the best of its open pictures and the `CROWD` best of all, rows ascending.

    Attributes:
        size: how many pictures it searched.
        mean, squares: the mean of all their scores, and the sum of the squared differences from it; of a scan.
        hope_c: where something is computed of each picture later, how good these are taken to be with it; all that are
            to be scored are then returned, and their scores lack what is computed.
        is_scan: whether all were scored; else they are the best of candidates.
        is_indexed: whether the shard has an index.
    """

    rows_c: Int64[np.ndarray, " c"]
    total_c: Float32[np.ndarray, " c"]
    size: int
    mean: float = 0.0
    squares: float = 0.0
    hope_c: Float32[np.ndarray, " c"] | None = None
    is_scan: bool = True
    is_indexed: bool = False


@runtime_checkable
class Shards(Protocol):
    """Searches the pictures of a gallery, part by part."""

    @property
    def may_index(self) -> bool:
        """Whether parts are so large that each is searched with an index, as soon as it has one."""
        ...

    @property
    def is_indexed(self) -> bool:
        """Whether all parts that are so large have an index."""
        ...

    def ask(
        self,
        query: Query,
        prior: Addition | None,
        allowed_n: Bool[np.ndarray, " n"] | None,
        excluded_k: Int64[np.ndarray, " k"],
        search: CandidateSearch | None,
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


MAX_UNEVEN = 1.5
"""A part may have this many times its share of the pictures before all are divided anew."""


def split_rows_again(size: int, first_rows: Sequence[int | None], count: int, step: int) -> list[slice] | None:
    """Parts that begin at these rows, or as little before them as whole steps allow; the last one takes what was added.

    None: there are none of them, one has gone, or they have become too uneven.

    >>> split_rows_again(240, [0, 64, 130], 3, 64)
    [slice(0, 64, None), slice(64, 128, None), slice(128, 240, None)]
    >>> split_rows_again(400, [0, 64, 130], 3, 64)
    """
    if not first_rows or None in first_rows:
        return None
    bounds = [0, *(row // step * step for row in first_rows[1:] if row is not None), size]
    sizes = [stop - start for start, stop in pairwise(bounds)]
    if min(sizes) <= 0 or max(sizes) > MAX_UNEVEN * max(size / count, step):
        return None
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def ask_parts(
    parts: Sequence[slice],
    query: Query,
    prior: Addition | None,
    allowed_n: Bool[np.ndarray, " n"] | None,
    excluded_k: Int64[np.ndarray, " k"],
    search: CandidateSearch | None,
) -> list[ShardQuestion]:
    """One question to each part."""
    return [
        ShardQuestion(
            query,
            part.start,
            part.stop,
            None if prior is None else prior.cut(part),
            None if allowed_n is None else np.packbits(allowed_n[part]),
            excluded_k[slice(*np.searchsorted(excluded_k, (part.start, part.stop)).tolist())] - part.start,
            search,
        )
        for part in parts
    ]


def make_answer(
    total_r: Float32[np.ndarray, " r"], question: ShardQuestion, ids_r: Sequence[str] | None
) -> ShardAnswer:
    """The answer of a shard that scanned; `ids_r`: ids of its pictures, None if rows are in their order."""
    open_r = question.find_open(slice(None))
    found_c = np.union1d(best_rows(total_r, question.count, open_r, None, ids_r), top_k(total_r, CROWD))
    mean = float(total_r.mean(dtype=np.float64))
    squares = float(np.square(total_r.astype(np.float64) - mean).sum())
    return ShardAnswer(found_c + question.start, total_r[found_c], len(total_r), mean, squares)


def make_near_answer(
    rows_c: Int64[np.ndarray, " c"],
    total_c: Float32[np.ndarray, " c"],
    hope_c: Float32[np.ndarray, " c"] | None,
    question: ShardQuestion,
    ids_r: Sequence[str] | None,
    *,
    is_indexed: bool,
) -> ShardAnswer:
    """The answer of a shard that scored candidates, whose rows are counted from its first and ascend."""
    size = question.stop - question.start
    if hope_c is None:
        best_k = best_rows(total_c, question.count, question.find_open(rows_c), rows_c, ids_r)
        kept_c = np.isin(rows_c, np.union1d(best_k, rows_c[top_k(total_c, CROWD)]))
        rows_c, total_c = rows_c[kept_c], total_c[kept_c]
    return ShardAnswer(
        rows_c + question.start, total_c, size, hope_c=hope_c, is_scan=False, is_indexed=is_indexed
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Estimates:
    """What the asking machine knows of all pictures, for answers of shards that have not looked at all of theirs.

    Attributes:
        measure: estimates mean and deviation of all scores.
        compute: what is computed of pictures by themselves adds to their scores; None: nothing is.
    """

    measure: Callable[[], tuple[float, float]]
    compute: Callable[[Int64[np.ndarray, " c"]], Float32[np.ndarray, " c"]] | None = None


def merge_answers(
    answers: Sequence[ShardAnswer],
    lost: Sequence[slice],
    *,
    size: int,
    excluded_k: Int64[np.ndarray, " k"],
    allowed_n: Bool[np.ndarray, " n"] | None,
    score: Callable[[Int[np.ndarray, " r"]], Float32[np.ndarray, " r"]],
    ids: Sequence[str] | None,
    search: CandidateSearch | None = None,
    estimates: Estimates | None = None,
) -> NearScores:
    """The best pictures of all shards that answered; `lost` are the rows of those that did not.

    Rows that were not searched are neither results nor counted, as if they were excluded; `missing` says how many.
    `search` and `estimates` belong to the questions.
    """
    nothing = (np.zeros(0, np.int64), np.zeros(0, np.float32))
    rows_c, total_c = (
        np.concatenate([empty, *found])
        for empty, found in zip(nothing, ([it.rows_c for it in answers], [it.total_c for it in answers]), strict=True)
    )
    if search is not None and estimates is not None and estimates.compute is not None:
        # As on one machine: of so many is computed what takes its time, the best by what is known before.
        hope_c = np.concatenate([nothing[1], *(it.hope_c for it in answers if it.hope_c is not None)])
        kept_c = np.sort(top_k(hope_c, (search.keeps or len(hope_c)) + len(excluded_k)))
        rows_c = rows_c[kept_c]
        total_c = total_c[kept_c] + estimates.compute(rows_c)
    else:
        open_c = ~np.isin(rows_c, excluded_k)
        if allowed_n is not None:
            open_c &= allowed_n[rows_c]
        best_k = best_rows(total_c, CANDIDATES if search is None else search.count, open_c, rows_c, ids)
        kept_c = np.isin(rows_c, np.union1d(best_k, rows_c[top_k(total_c, CROWD)]))
        rows_c, total_c = rows_c[kept_c], total_c[kept_c]
    lost_k = np.concatenate([nothing[0], *(np.arange(part.start, part.stop) for part in lost)])
    is_scan = all(answer.is_scan for answer in answers)
    return NearScores(
        rows_c,
        total_c,
        np.union1d(excluded_k, lost_k),
        size,
        score,
        (lambda: merge_moments(answers)) if is_scan or estimates is None else estimates.measure,
        is_of_all=is_scan or allowed_n is None,
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
