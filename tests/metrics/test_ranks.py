from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.metrics import Ties, ranks_between, target_ranks
from viewfinder.metrics.ranks import check_ranks


def expected_rank(scores_n: np.ndarray, target: int) -> float:
    return float(target_ranks(scores_n[None], np.array([target]))[0])


def pessimistic_rank(scores_n: np.ndarray, target: int) -> float:
    return float(target_ranks(scores_n[None], np.array([target]), "pessimistic")[0])


SCORES = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, np.inf, np.nan])


def test_the_rank_is_the_number_of_better_pictures() -> None:
    scores_n = np.array([0.2, 0.9, 0.4, 0.7])
    assert [expected_rank(scores_n, target) for target in range(4)] == [3, 0, 2, 1]
    assert [pessimistic_rank(scores_n, target) for target in range(4)] == [3, 0, 2, 1]


def test_a_tie_counts_half_as_expected_and_whole_as_pessimistic() -> None:
    scores_n = np.array([0.9, 0.5, 0.5, 0.5, 0.1])
    assert expected_rank(scores_n, target=1) == 1 + 2 / 2  # one above, two others beside
    assert pessimistic_rank(scores_n, target=1) == 1 + 2
    assert target_ranks(scores_n[None], np.array([1]), ties="optimistic").tolist() == [1]


def test_constant_scores_place_every_target_in_the_middle() -> None:
    assert [expected_rank(np.zeros(11), target) for target in range(11)] == [10 / 2] * 11


def test_pictures_without_a_score_come_after_all_others() -> None:
    scores_n = np.array([np.nan, -np.inf, 0.3, np.nan])
    assert expected_rank(scores_n, target=1) == 1  # only 0.3 is above -inf
    assert expected_rank(scores_n, target=0) == 2 + 1 / 2  # two have scores, one other has none
    assert pessimistic_rank(scores_n, target=3) == 3


@pytest.mark.parametrize("target", [-1, 3])
def test_a_target_outside_the_gallery_is_refused(target: int) -> None:
    with pytest.raises(ValueError, match=f"target {target} of query 0: there are pictures 0 to 2"):
        pessimistic_rank(np.zeros(3), target)


def test_no_queries_have_no_ranks() -> None:
    assert target_ranks(np.zeros((0, 3)), np.zeros(0, dtype=np.int64)).shape == (0,)


@settings(deadline=None)
@given(st.lists(st.lists(SCORES, min_size=5, max_size=5), min_size=1, max_size=6), st.data())
def test_batched_ranks_are_those_of_one_query_at_a_time(rows: list[list[float]], data: st.DataObject) -> None:
    scores_qn = np.array(rows)
    targets_q = np.array([data.draw(st.integers(0, 4)) for _ in rows])
    pairs = list(zip(scores_qn, targets_q.tolist(), strict=True))
    assert target_ranks(scores_qn, targets_q).tolist() == [expected_rank(row, target) for row, target in pairs]
    assert target_ranks(scores_qn, targets_q, "pessimistic").tolist() == [pessimistic_rank(*pair) for pair in pairs]


def _slow_place(scores: list[float], target: int, ties: Ties) -> int:
    """Sort, with the target first or last among its equals, and look where it is."""
    last = {"optimistic": 0, "pessimistic": 1}[ties]

    def key(row: int) -> tuple[bool, float, int]:
        missing = bool(np.isnan(scores[row]))
        return missing, 0 if missing else -scores[row], int(row == target) * (1 if last else -1)

    return sorted(range(len(scores)), key=key).index(target)


@settings(deadline=None)
@given(st.lists(SCORES, min_size=1, max_size=12), st.data())
def test_ranks_are_places_in_a_sorted_list(scores: list[float], data: st.DataObject) -> None:
    target = data.draw(st.integers(0, len(scores) - 1))
    scores_n = np.array(scores, dtype=np.float32)
    best, worst = (_slow_place(scores, target, ties) for ties in ("optimistic", "pessimistic"))
    assert target_ranks(scores_n[None], np.array([target]), "optimistic")[0] == best
    assert pessimistic_rank(scores_n, target) == worst
    assert expected_rank(scores_n, target) == (best + worst) / 2


@pytest.mark.parametrize(("bad", "said"), [([], "no ranks"), ([0.0, np.nan], "query 1"), ([-1], "rank -1.0")])
def test_what_is_no_rank_is_refused(bad: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_ranks(bad)


def test_bounds_give_the_ranks_of_every_rule() -> None:
    best_q, worst_q = np.array([0, 3]), np.array([3, 3])
    assert ranks_between(best_q, worst_q).tolist() == [1.5, 3]
    assert ranks_between(best_q, worst_q, "optimistic").tolist() == [0, 3]
    assert ranks_between(best_q, worst_q, "pessimistic").tolist() == [3, 3]
