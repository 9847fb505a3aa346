"""Scores of many region queries at once: what a replay ranks their targets by.

A state keeps most of its vectors from one turn to the next, so the different vectors of a run of queries are compared
with the pictures once each, and every query's score is put together from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.index import Gallery, RegionBlock, query_vector_scores, rank_fusion
from viewfinder.retrievers import Query, RegionSpace

VECTORS_AT_ONCE = 64
"""In one product: with 36 regions, the similarities to 2,000 pictures are 18 MB."""


class RegionScorer:
    """Scores of some rows of a gallery in one space; ranks are fused among these alone."""

    def __init__(self, gallery: Gallery, space: RegionSpace, ranked_n: Int[np.ndarray, " n"]) -> None:
        block = gallery.block(space)
        whole = len(ranked_n) == len(block) and bool((ranked_n == np.arange(len(block))).all())
        self._block: RegionBlock = block if whole else block.at(ranked_n)
        self._temperature = space.temperature

    def scores(self, queries: Sequence[Query]) -> Iterator[Float32[np.ndarray, " n"]]:
        """The scores of each query in turn, as `Gallery.scores` has them."""
        for run in split_into_runs(queries):
            vectors_md, shares_qm = _stacked(run)
            yield from shares_qm @ self._per_vector(vectors_md, run[0].compare)

    def _per_vector(self, vectors_md: Float32[np.ndarray, "m d"], compare: str) -> Float32[np.ndarray, "m n"]:
        """What each vector alone gives every picture: its likeness, or minus its rank as a share of the pictures."""
        alike_mn = query_vector_scores(self._block, vectors_md, temperature=self._temperature)
        if compare != "rank_fusion":
            return alike_mn
        return np.stack([rank_fusion(alike_n[None]) for alike_n in alike_mn])


def split_into_runs(queries: Sequence[Query]) -> Iterator[list[Query]]:
    """Queries in order, cut where they compare in another way or their different vectors become too many."""
    run: list[Query] = []
    known: set[bytes] = set()
    for query in queries:
        own = {_vector(part.vector_d).tobytes() for part in query.parts}
        if run and (query.compare != run[0].compare or len(known | own) > VECTORS_AT_ONCE):
            yield run
            run, known = [], set()
        run.append(query)
        known |= own
    if run:
        yield run


def _stacked(run: Sequence[Query]) -> tuple[Float32[np.ndarray, "m d"], Float32[np.ndarray, "q m"]]:
    """The different vectors of some queries, and the share that each has in each query's score."""
    place: dict[bytes, int] = {}
    vectors: list[Float32[np.ndarray, " d"]] = []
    entries: list[tuple[int, int, float]] = []
    for number, query in enumerate(run):
        fused = query.compare == "rank_fusion"
        whole = (float(len(query.parts)) if fused else sum(part.weight for part in query.parts)) or 1.0
        for part in query.parts:
            vector_d = _vector(part.vector_d)
            at = place.setdefault(vector_d.tobytes(), len(vectors))
            if at == len(vectors):
                vectors.append(vector_d)
            entries.append((number, at, (1.0 if fused else part.weight) / whole))
    shares_qm = np.zeros((len(run), len(vectors)), np.float32)
    for number, at, share in entries:
        shares_qm[number, at] += share
    return np.stack(vectors), shares_qm


def _vector(vector_d: Float[np.ndarray, " d"] | None) -> Float32[np.ndarray, " d"]:
    assert vector_d is not None, "parts of kind regions have a vector"
    return np.ascontiguousarray(vector_d, dtype=np.float32)
