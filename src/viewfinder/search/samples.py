"""Random samples of a collection, always the same ones: what all pictures score is estimated on them.

The standard error of a mean is 1 / sqrt(pictures of the sample) of a deviation, that of the deviation itself about 0.7
times as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Float32, Int64

from viewfinder.encoders.base import Vocabulary
from viewfinder.search.parts import vocabulary_vectors
from viewfinder.store.half_rows import HalfRows

SAMPLE, SMALL_SAMPLE = 65_536, 4_096
"""Sizes of the samples of a collection: for scores that are inner products, and for all others."""


def sample_rows(size: int, count: int) -> Int64[np.ndarray, " k"]:
    """The rows of a random sample, always the same one; all rows if there are no more."""
    rows_k = np.arange(size) if size <= count else np.random.default_rng(0).choice(size, count, replace=False)
    return np.asarray(np.sort(rows_k), np.int64)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance of vectors with their background: they give those of the inner products with any query."""

    mean_w: Float32[np.ndarray, " w"]
    covariance_ww: Float32[np.ndarray, "w w"]

    @staticmethod
    def of(vectors_nw: Float32[np.ndarray, "n w"]) -> Moments:
        """The moments of these vectors, at least one."""
        mean_w = vectors_nw.mean(axis=0)
        apart_nw = vectors_nw - mean_w
        return Moments(mean_w, apart_nw.T @ apart_nw / len(vectors_nw))

    def measure(self, query_w: Float32[np.ndarray, " w"]) -> tuple[float, float]:
        """Mean and deviation of the inner products with a query."""
        return float(self.mean_w @ query_w), float(np.sqrt(max(query_w @ self.covariance_ww @ query_w, 0.0)))


class Samples:
    """Two samples of a collection, by the vectors and the background of its pictures, each read on the first call."""

    def __init__(
        self,
        vectors_nd: Float[np.ndarray, "n d"] | HalfRows,
        background_n: Float32[np.ndarray, " n"],
        vocabulary: Vocabulary | None,
    ) -> None:
        self._vectors_nd, self._background_n, self._vocabulary = vectors_nd, background_n, vocabulary

    def measure_moments(self) -> Moments:
        """The moments of the large sample."""
        return Moments.of(self._read(sample_rows(len(self._vectors_nd), SAMPLE)))

    @cached_property
    def rows_k(self) -> Int64[np.ndarray, " k"]:
        """The rows of the small sample, for scores that are not inner products."""
        return sample_rows(len(self._vectors_nd), SMALL_SAMPLE)

    @cached_property
    def vectors_kw(self) -> Float32[np.ndarray, "k w"]:
        """The vectors of the small sample, with their background."""
        return self._read(self.rows_k)

    @cached_property
    def words_kl(self) -> Float32[np.ndarray, "k l"]:
        """The small sample as the vocabulary describes it."""
        assert self._vocabulary is not None
        return vocabulary_vectors(self._vectors_nd[self.rows_k], self._vocabulary)

    def _read(self, rows_k: Int64[np.ndarray, " k"]) -> Float32[np.ndarray, "k w"]:
        from viewfinder.search.approximate import with_background  # few collections are so large

        return with_background(self._vectors_nd[rows_k], self._background_n[rows_k])
