"""A turn over an approximate index: candidates that are scored exactly, and the distribution of all scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from viewfinder.encoders.base import Encoder
from viewfinder.index.approximate import as_query, with_background
from viewfinder.index.near_scores import (
    CANDIDATES,
    FITTED_CANDIDATES,
    SAMPLE,
    SMALL_SAMPLE,
    IndexedPictures,
    Moments,
    NearScores,
    fit_query,
    sample_rows,
)
from viewfinder.index.scores import positive_weight, sum_plain_parts, vocabulary_vectors
from viewfinder.index.snapshot import Snapshot
from viewfinder.retrievers import Part, Query, RegionSpace


@runtime_checkable
class Pictures(Protocol):
    """What is searched: the part of a gallery that is needed here."""

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

    def evidence_adds(
        self, query: Query, rows: Int[np.ndarray, " k"] | slice = slice(None)
    ) -> Float32[np.ndarray, "evidence k"]:
        """What answers and written words add to the scores of these pictures."""
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
            sample_k += self._pictures.evidence_adds(query, self._sample_rows).sum(axis=0)
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
        """What is added to the score of every picture besides its similarity; None: nothing."""
        adds = [*self._pictures.evidence_adds(query)]
        for part in query.parts:
            if part.kind == "value":
                weight = np.float32(part.weight / positive_weight(query))
                adds.append(weight * self._pictures.likeness(part, slice(None)))
        return sum(adds[1:], adds[0]) if adds else None

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
        """What the vocabulary says about the sample."""
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
