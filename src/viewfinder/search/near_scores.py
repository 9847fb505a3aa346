"""Scores of a large collection without a pass over it.

A turn needs two things of the scores of all pictures: the best ones, and how all are distributed. The best come from an
`ApproximateIndex` and are scored exactly. The distribution is estimated from a fixed random sample: the standard error
of the mean is 1 / sqrt(pictures of the sample) of a deviation, that of the deviation itself about 0.7 times as much.

What answers and written words add (a prior, one number per picture) is not an inner product. So the pictures are
searched in layers of about equal prior, and the best of each are candidates: within a layer the inner product decides.
"But brown" is not one either: a query is fitted to its scores on the sample, and finds more candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Int64

from viewfinder.encoders.base import Encoder
from viewfinder.query import Part, Query, RegionSpace
from viewfinder.search.approximate import ApproximateIndex, as_query, encode_ids, with_background
from viewfinder.search.kernels import best_rows, top_k
from viewfinder.search.parts import positive_weight, sum_plain_parts, vocabulary_vectors
from viewfinder.search.verdicts import CROWD, Spread
from viewfinder.store.snapshot import Snapshot

SCANNED = 30_000
"""Up to this many pictures all are scored, which costs about as much as a search of the index."""

CANDIDATES = 1000
"""Pictures that a search of the index returns, as many as a question looks at."""

SAMPLE, SMALL_SAMPLE = 65_536, 4_096
"""Sizes of the samples of the collection: for scores that are inner products, and for all others."""

RIDGE = 1e-3
"""Added to the weighted mean square of unit vectors when a query is fitted to scores."""

FITTED_CANDIDATES = 3_000
"""Pictures that a search for a fitted query returns: it only approximates the one that is meant."""

LAYERS = (0.99, 0.9)
"""The layers begin above these shares of pictures with a lower prior."""


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


class IndexedPictures:
    """An index over the rows of a snapshot: it may know pictures that have gone, and lack some that are new.

    `row_s` has the row of the picture in each slot, -1 for those that have gone; `lacking_k` the rows that it lacks.
    """

    def __init__(self, index: ApproximateIndex, ids: Sequence[str]) -> None:
        """`ids` are those of the snapshot, by row."""
        self.index = index
        ids_n = encode_ids(ids)
        self._is_alike = len(ids_n) == len(index) and bool((ids_n == index.ids_s).all())
        if self._is_alike:
            self.row_s = np.arange(len(ids_n))
        else:
            order_n = np.argsort(ids_n, kind="stable")  # the last rows of a snapshot that grew are out of order
            place_s = np.minimum(np.searchsorted(ids_n, index.ids_s, sorter=order_n), max(len(ids_n) - 1, 0))
            row_s = order_n[place_s]
            self.row_s = np.where(ids_n[row_s] == index.ids_s, row_s, -1)
        self.size = len(index)
        self.gone = int((self.row_s < 0).sum())
        self.lacking_k = np.setdiff1d(np.arange(len(ids_n)), self.row_s)

    def best(
        self,
        query_w: Float32[np.ndarray, " w"],
        count: int,
        allowed_n: Bool[np.ndarray, " n"] | None = None,
        *,
        against: bool = False,
    ) -> Int64[np.ndarray, " k"]:
        """Rows of about the best `count` of the pictures that it knows and that are allowed."""
        if allowed_n is None:
            rows_k = self.row_s[self.index.search(query_w, count + self.gone, against=against)]
            return np.asarray(rows_k[rows_k >= 0])
        allowed_s = allowed_n if self._is_alike else allowed_n[self.row_s] & (self.row_s >= 0)
        return np.asarray(self.row_s[self.index.search(query_w, count, against=against, allowed_s=allowed_s)])

    def candidates(
        self,
        query_w: Float32[np.ndarray, " w"],
        count: int,
        *,
        against: bool = False,
        prior_n: Float32[np.ndarray, " n"] | None = None,
        allowed_n: Bool[np.ndarray, " n"] | None = None,
    ) -> Int64[np.ndarray, " c"]:
        """Rows, ascending, that hold about the best `count` by inner product plus prior, and some others.

        `against`: whether a part of the query counts against pictures.
        """
        found = [self.lacking_k if allowed_n is None else self.lacking_k[allowed_n[self.lacking_k]]]
        for layer_n in split_layers(prior_n, allowed_n):
            rows_k = None if layer_n is None else np.flatnonzero(layer_n)
            few = rows_k is not None and len(rows_k) <= SCANNED
            found.append(rows_k if rows_k is not None and few else self.best(query_w, count, layer_n, against=against))
        return np.unique(np.concatenate(found))


def split_layers(
    prior_n: Float32[np.ndarray, " n"] | None, allowed_n: Bool[np.ndarray, " n"] | None
) -> Iterator[Bool[np.ndarray, " n"] | None]:
    """The allowed pictures in layers of falling prior; None: all pictures."""
    if prior_n is None:
        yield allowed_n
        return
    sample_k = prior_n[:: max(len(prior_n) // SMALL_SAMPLE, 1)]
    borders, highest = np.quantile(sample_k, LAYERS).tolist(), np.inf
    for border in (*borders, -np.inf):
        layer_n = (prior_n <= highest) & (prior_n > border)  # those of which nothing is known share the lowest prior
        highest = border
        if allowed_n is not None:
            layer_n &= allowed_n
        if layer_n.any():
            yield layer_n


def fit_query(vectors_kw: Float32[np.ndarray, "k w"], scores_k: Float32[np.ndarray, " k"]) -> Float32[np.ndarray, " w"]:
    """The query whose inner products best approximate scores that are not inner products, high ones most closely.

    Weighted least squares: a picture counts e times as much as one that is one deviation worse.
    """
    deviation = float(scores_k.std()) or 1.0
    weight_k = np.exp((scores_k - scores_k.max()) / deviation).astype(np.float64)
    weight_k /= weight_k.sum()
    apart_kw = vectors_kw - weight_k @ vectors_kw
    level_k = scores_k - weight_k @ scores_k
    gram_ww = (apart_kw * weight_k[:, None]).T @ apart_kw + RIDGE * np.eye(vectors_kw.shape[1])
    return np.asarray(np.linalg.solve(gram_ww, (apart_kw * weight_k[:, None]).T @ level_k), np.float32)


def sample_rows(size: int, count: int) -> Int64[np.ndarray, " k"]:
    """The rows of a random sample, always the same one; all rows if there are no more."""
    rows_k = np.arange(size) if size <= count else np.random.default_rng(0).choice(size, count, replace=False)
    return np.asarray(np.sort(rows_k), np.int64)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance of vectors with their background: they give those of the inner products with any query."""

    mean_w: Float[np.ndarray, " w"]
    covariance_ww: Float[np.ndarray, "w w"]

    @staticmethod
    def of(vectors_nw: Float32[np.ndarray, "n w"]) -> Moments:
        """The moments of these vectors, at least one."""
        mean_w = vectors_nw.mean(axis=0)
        apart_nw = vectors_nw - mean_w
        return Moments(mean_w, apart_nw.T @ apart_nw / len(vectors_nw))

    def measure(self, query_w: Float32[np.ndarray, " w"]) -> tuple[float, float]:
        """Mean and deviation of the inner products with a query."""
        return float(self.mean_w @ query_w), float(np.sqrt(max(query_w @ self.covariance_ww @ query_w, 0.0)))


# -- a turn: candidates that are scored exactly, and the distribution of all scores


@runtime_checkable
class Pictures(Protocol):
    """The part of a gallery that is needed here."""

    snapshot: Snapshot
    encoder: Encoder

    @property
    def background_n(self) -> Float32[np.ndarray, " n"]:
        """How well each picture answers any text at all."""
        ...

    def scores_at(self, query: Query, rows_k: Int[np.ndarray, " k"]) -> Float32[np.ndarray, " k"]:
        """The scores of these pictures."""
        ...

    def likeness(self, part: Part, rows: Int[np.ndarray, " k"] | slice) -> Float[np.ndarray, " k"]:
        """How similar these pictures are to one part."""
        ...

    def prior(self, query: Query, rows_k: Int[np.ndarray, " k"] | None = None) -> Float32[np.ndarray, " k"] | None:
        """The sum that answers and written words add to the scores of these pictures, or of all; None: nothing."""
        ...


class NearSearch:
    """Searches pictures with an index over them."""

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures

    def scores(
        self, indexed: IndexedPictures, query: Query, allowed_n: Bool[np.ndarray, " n"] | None
    ) -> NearScores | None:
        """The best pictures of those allowed; None if an index does not serve the query.

        It does not for systems with vectors of their own, nor if only catalogue values are asked for.
        """
        compared = [part for part in query.parts if part.kind != "value"]
        if isinstance(query.space, RegionSpace) or not compared:
            return None
        snapshot, plain = self._pictures.snapshot, sum_plain_parts(query)
        is_plain, count = all(part.kind in ("words", "picture") for part in compared), CANDIDATES
        if is_plain and plain.vector_d is not None:
            query_w = as_query(plain.vector_d, plain.centred)
        else:
            query_w, count = fit_query(self._sample_kw, self._sample_scores(query, compared)), FITTED_CANDIDATES
        excluded_k = np.array([row for row in snapshot.rows_of(query.excluded) if row is not None], np.int64)
        prior_n = self._prior(query)
        against = any(part.weight < 0 for part in compared)
        rows_c = indexed.candidates(
            query_w, count + len(excluded_k), against=against, prior_n=prior_n, allowed_n=allowed_n
        )

        def measure() -> tuple[float, float]:
            if prior_n is None and is_plain:
                return self.moments.measure(query_w)
            sample_k = self._sample_scores(query, query.parts)
            known_k = self._pictures.prior(query, self._sample_rows)
            if known_k is not None:
                sample_k += known_k
            return float(sample_k.mean()), float(sample_k.std())

        score = partial(self._pictures.scores_at, query)
        return NearScores(
            rows_c, score(rows_c), excluded_k, len(snapshot), score, measure, allowed_n is None, snapshot.ids_to_order
        )

    @cached_property
    def moments(self) -> Moments:
        """The moments of the large sample."""
        rows_k = sample_rows(len(self._pictures.snapshot), SAMPLE)
        return Moments.of(
            with_background(self._pictures.snapshot.matrix_nd[rows_k], self._pictures.background_n[rows_k])
        )

    def _prior(self, query: Query) -> Float32[np.ndarray, " n"] | None:
        """The number added to the score of every picture besides its similarity; None: nothing."""
        prior_n = self._pictures.prior(query)
        for part in query.parts:
            if part.kind == "value":
                weight = np.float32(part.weight / positive_weight(query))
                adds_n = weight * self._pictures.likeness(part, slice(None))
                prior_n = adds_n if prior_n is None else prior_n + adds_n
        return prior_n

    # -- the small sample, for scores that are not inner products

    @cached_property
    def _sample_rows(self) -> Int[np.ndarray, " k"]:
        return sample_rows(len(self._pictures.snapshot), SMALL_SAMPLE)

    @cached_property
    def _sample_kw(self) -> Float32[np.ndarray, "k w"]:
        rows_k = self._sample_rows
        return with_background(self._pictures.snapshot.matrix_nd[rows_k], self._pictures.background_n[rows_k])

    @cached_property
    def _sample_words_kl(self) -> Float32[np.ndarray, "k l"]:
        """The sample as the vocabulary describes it."""
        vocabulary = self._pictures.encoder.vocabulary
        assert vocabulary is not None
        return vocabulary_vectors(self._pictures.snapshot.matrix_nd[self._sample_rows], vocabulary)

    def _sample_scores(self, query: Query, parts: Sequence[Part]) -> Float32[np.ndarray, " k"]:
        """The scores of some of a query's parts."""
        total_k = np.zeros(len(self._sample_rows), np.float32)
        for part in parts:
            in_words = part.kind == "vocabulary" and part.vector_d is not None
            likeness_k = (
                self._sample_words_kl @ part.vector_d if in_words else self._pictures.likeness(part, self._sample_rows)
            )
            total_k += np.float32(part.weight / positive_weight(query)) * likeness_k
        return total_k
