"""The scores of a large collection that a turn needs, without one for every picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float32, Int, Int64

from viewfinder.search.kernels import best_rows, top_k
from viewfinder.search.verdicts import CROWD, Spread

CANDIDATES = 1000
"""Pictures that a search of the index returns, as many as a question looks at."""


@dataclass(frozen=True, eq=False)
class NearScores:
    """The exact scores of the best pictures, and how the scores of all are distributed.

    `rows_c` ascend; they hold about the best `CANDIDATES` of the pictures that are open, and excluded ones besides.
    `size` is how many pictures there are; `is_of_all` says whether the best of all were searched for, not only of those
    that a filter allows. `score` gives the scores of any pictures, `measure` mean and deviation of all. `ids` are as in
    `Scores`. `missing` pictures, among those excluded, could not be searched (`shard_scores`).
    """

    rows_c: Int64[np.ndarray, " c"]
    total_c: Float32[np.ndarray, " c"]
    excluded_k: Int64[np.ndarray, " k"]
    size: int
    score: Callable[[Int[np.ndarray, " r"]], Float32[np.ndarray, " r"]]
    measure: Callable[[], tuple[float, float]]
    is_of_all: bool = True
    ids: Sequence[str] | None = None
    missing: int = 0

    def best(self, count: int, allowed_n: Bool[np.ndarray, " n"] | None = None) -> Int64[np.ndarray, " k"]:
        """Rows of the best pictures that are allowed and not excluded, best first, ties by id.

        `allowed_n` is the mask with which the candidates were found.
        """
        open_c = ~np.isin(self.rows_c, self.excluded_k)
        if allowed_n is not None:
            open_c &= allowed_n[self.rows_c]
        return best_rows(self.total_c, count, open_c, self.rows_c, self.ids)

    def at(self, rows_r: Int[np.ndarray, " r"]) -> Float32[np.ndarray, " r"]:
        """The scores of these pictures."""
        place_r = np.minimum(np.searchsorted(self.rows_c, rows_r), max(len(self.rows_c) - 1, 0))
        is_known = len(self.rows_c) > 0 and bool((self.rows_c[place_r] == rows_r).all())
        return np.asarray(self.total_c[place_r]) if is_known else self.score(rows_r)

    def count_open(self, allowed_n: Bool[np.ndarray, " n"] | None) -> int:
        """How many pictures are allowed and not excluded."""
        if allowed_n is None:
            return self.size - len(self.excluded_k)
        return int(allowed_n.sum()) - int(allowed_n[self.excluded_k].sum())

    @cached_property
    def crowd_k(self) -> Int64[np.ndarray, " k"]:
        """Rows of the `CROWD` best among all pictures."""
        return np.asarray(self.rows_c[top_k(self.total_c, CROWD)])

    @cached_property
    def spread(self) -> Spread:
        """How the scores of all are distributed, as estimated from the sample."""
        return Spread.of_best(self.total_c, self.size, *self.measure())
