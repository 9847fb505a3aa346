"""Ranks, recall and reciprocal ranks against trec_eval, which ir-measures runs."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest

from viewfinder.metrics import mean_reciprocal_rank, recall_at, target_ranks

QUERIES, PICTURES = 40, 25


@pytest.fixture(scope="module")
def scores_qn() -> np.ndarray:
    return np.random.default_rng(8).permuted(np.tile(np.arange(PICTURES, dtype=np.float64), (QUERIES, 1)), axis=1)


@pytest.fixture(scope="module")
def targets_q() -> np.ndarray:
    return np.random.default_rng(9).integers(0, PICTURES, QUERIES)


def of_trec(scores_qn: np.ndarray, targets_q: np.ndarray, measures: list[ir_measures.Measure]) -> dict[str, float]:
    run = [
        ir_measures.ScoredDoc(str(query), str(row), score)
        for query, scores_n in enumerate(scores_qn)
        for row, score in enumerate(scores_n.tolist())
    ]
    wanted = [ir_measures.Qrel(str(query), str(target), 1) for query, target in enumerate(targets_q)]
    return {str(name): value for name, value in ir_measures.calc_aggregate(measures, wanted, run).items()}


def test_recall_is_its_success_and_its_recall(scores_qn: np.ndarray, targets_q: np.ndarray) -> None:
    places_q = target_ranks(scores_qn, targets_q)
    for k in (1, 5, 10):
        theirs = of_trec(scores_qn, targets_q, [ir_measures.R @ k, ir_measures.Success @ k])
        assert list(theirs.values()) == pytest.approx([recall_at(k, places_q)] * 2)


def test_the_mean_reciprocal_rank_is_its_own(scores_qn: np.ndarray, targets_q: np.ndarray) -> None:
    theirs = of_trec(scores_qn, targets_q, [ir_measures.RR])
    assert theirs["RR"] == pytest.approx(mean_reciprocal_rank(target_ranks(scores_qn, targets_q)))
