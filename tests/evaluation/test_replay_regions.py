from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.encoders.features import Features
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.replay import MAX_VECTORS_AT_ONCE, RegionScorer, split_into_runs
from viewfinder.query import Part, Query, RegionSpace
from viewfinder.search.scores import score_all
from viewfinder.testing import ColourEncoder, draw_halves

LOOKS = ("red-blue", "red-red", "blue-green", "white-black", "green-green")


def gallery() -> Any:
    encoder = ColourEncoder()
    keys = tuple(sorted(LOOKS))
    looks = [tuple(key.split("-")) for key in keys]
    seen = encoder.pictures([draw_halves(top, bottom) for top, bottom in looks], regions=True)
    assert seen.regions_brd is not None
    rows = {key: row for row, key in enumerate(keys)}
    raw = Features(tuple(rows), seen.global_bd, encoder.raw_version, seen.regions_brd.astype(np.float16))
    return Pictures(keys, encoder.project(seen.global_bd), encoder, raw=raw).gallery()


def drawn(space: RegionSpace, compare: Any, counts: list[int], seed: int = 0) -> list[Query]:
    """Queries of so many parts; half the parts of each are those of the query before."""
    rng = np.random.default_rng(seed)
    queries: list[Query] = []
    for count in counts:
        before = [part.vector_d for part in queries[-1].parts[: count // 2]] if queries else []
        fresh_kd = rng.standard_normal((count - len(before), 3)).astype(np.float32)
        vectors = [*before, *(fresh_kd / np.linalg.norm(fresh_kd, axis=1, keepdims=True))]
        weights = rng.uniform(0.1, 1.0, count)
        parts = (Part("regions", 1, "", float(w), vector_d) for w, vector_d in zip(weights, vectors, strict=True))
        queries.append(Query(tuple(parts), space, compare))
    return queries


@pytest.mark.parametrize("compare", ["late_interaction", "rank_fusion"])
def test_scores_of_many_queries_are_those_of_the_gallery(looking: Callable[..., Any], compare: str) -> None:
    home, space = gallery(), looking().space
    queries = drawn(space, compare, [1, 3, 2, 5, 4] * 12)
    together = list(RegionScorer(home, space, np.arange(5)).scores(queries))
    for query, scores_n in zip(queries, together, strict=True):
        np.testing.assert_allclose(scores_n, score_all(home, query).total_n, atol=1e-6)


def test_scores_of_some_rows_are_in_their_order(looking: Callable[..., Any]) -> None:
    home, space = gallery(), looking().space
    [query] = drawn(space, "late_interaction", [2])
    [some_k] = RegionScorer(home, space, np.array([1, 3])).scores([query])
    np.testing.assert_allclose(some_k, score_all(home, query).total_n[[1, 3]], atol=1e-6)


def test_parts_that_count_nothing_leave_all_pictures_equal(looking: Callable[..., Any]) -> None:
    home, space = gallery(), looking().space
    query = Query((Part("regions", 1, "", 0.0, np.array([1, 0, 0], np.float32)),), space, "late_interaction")
    [scores_n] = RegionScorer(home, space, np.arange(5)).scores([query])
    assert scores_n.tolist() == [0.0] * 5


SPACE = RegionSpace("s", "r", lambda raw: np.zeros((1, 1, 3), np.float32), 1, 3)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 5))
def test_runs_are_the_queries_in_order_and_never_too_wide(counts: list[int], seed: int) -> None:
    queries = drawn(SPACE, "late_interaction", counts, seed)
    cut = list(split_into_runs(queries))
    assert [query for run in cut for query in run] == queries
    assert all(different(run) <= MAX_VECTORS_AT_ONCE for run in cut)
    # None is cut before it must be: with the next query it would be too wide.
    assert all(different([*run, after[0]]) > MAX_VECTORS_AT_ONCE for run, after in pairwise(cut))


def different(run: list[Query]) -> int:
    return len({part.vector_d.tobytes() for query in run for part in query.parts if part.vector_d is not None})
