from __future__ import annotations

import math

import numpy as np
import pytest

from viewfinder.evaluation import RankTable, SearchDialogue, Task, compute_figures
from viewfinder.evaluation.figures import LAST_TURN, metric_values, values_per_dialogue

NAN = math.nan


def table(best: list[list[float]], worst: list[list[float]] | None = None, gallery: int = 100) -> RankTable:
    return RankTable(np.array(best, float), np.array(best if worst is None else worst, float), gallery)


def test_recall_counts_every_turn_by_itself() -> None:
    assert metric_values("R@5", table([[9, 3, 6]])).tolist() == [[0, 1, 0]]


def test_hits_stay_once_they_happened() -> None:
    assert metric_values("Hits@5", table([[9, 3, 6]])).tolist() == [[0, 1, 1]]


def test_a_target_that_ties_across_the_border_counts_as_a_fraction() -> None:
    # Places 3 to 6 are equally likely, two of the four are below 5.
    tied = table([[3]], [[6]])
    assert metric_values("R@5", tied).tolist() == [[0.5]]
    assert metric_values("R@5", tied, "optimistic").tolist() == [[1]]
    assert metric_values("R@5", tied, "pessimistic").tolist() == [[0]]


def test_ranks_are_shown_from_one_and_a_hit_freezes_them() -> None:
    assert metric_values("rank", table([[30, 4, 50]])).tolist() == [[31, 5, 51]]
    assert metric_values("rank frozen@10", table([[30, 4, 50]])).tolist() == [[31, 5, 5]]


def test_the_percentile_is_one_for_the_first_place() -> None:
    assert metric_values("P", table([[0, 50]])).tolist() == [[1, 0.5]]


def test_bri_is_the_mean_log_of_the_best_rank_so_far() -> None:
    # Best ranks from 1: e^0 = 1 would be 0; here 8, then 2: (ln 8 + ln 2) / 2.
    assert metric_values("BRI", table([[7, 1]]))[0, 0] == pytest.approx((math.log(8) + math.log(2)) / 2)


def test_the_mean_of_several_recalls() -> None:
    assert metric_values("mean R@1,5,10,20", table([[6]])).tolist() == [[0.5]]


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(ValueError, match="no metric is called 'F1'"):
        metric_values("F1", table([[0]]))


def test_subset_recall_without_subsets_is_refused() -> None:
    with pytest.raises(ValueError, match="no subsets"):
        metric_values("R_subset@1", table([[0]]))


def test_the_last_turn_is_each_dialogues_own() -> None:
    values = metric_values("R@5", table([[9, 3], [2, NAN]]))
    assert values_per_dialogue(values, LAST_TURN, "", ["", ""]).tolist() == [1, 1]


def test_figures_carry_gallery_split_turn_and_setting() -> None:
    dialogues = (SearchDialogue("a", "x", setting="rollback"), SearchDialogue("b", "x", setting="combination"))
    task = Task("mai", "shoes", "test", ("x",), dialogues, ("R@1", "median rank"), rounds=2)
    found = compute_figures(task, table([[0, 5], [3, 0]]))
    names = [(one.name.metric, one.name.at) for one in found]
    assert names[:4] == [("R@1", "turn 1"), ("R@1", "turn 2"), ("median rank", "turn 1"), ("median rank", "turn 2")]
    assert ("R@1", "turn 1, rollback") in names
    by_name = {(one.name.metric, one.name.at): one.measure for one in found}
    assert by_name["R@1", "turn 1"].interval.mean == 0.5
    assert by_name["R@1", "turn 1, rollback"].interval.mean == 1
    assert by_name["median rank", "turn 1"].interval.mean == 2.5  # of ranks 1 and 4
    assert found[0].name.gallery == "shoes, test, 100 pictures"


def test_rounds_are_counted_from_zero_where_the_caption_is_round_zero() -> None:
    task = Task(
        "chatir", "Human", "val", ("x",), (SearchDialogue("a", "x"),), ("Hits@10", "BRI"), first_turn=0, rounds=2
    )
    found = compute_figures(task, table([[20, 5]]))
    assert [one.name.at for one in found] == ["round 0", "round 1", "whole talk"]


def test_only_the_turns_asked_for_are_reported() -> None:
    task = Task("fashioniq", "dress", "val", ("x",), (SearchDialogue("a", "x"),), ("P",), at=(1, 3, 5))
    found = compute_figures(task, table([[4, 3, 2, 1, 0]]))
    assert [(one.name.at, one.measure.interval.mean) for one in found] == [
        ("turn 1", 0.96),
        ("turn 3", 0.98),
        ("turn 5", 1.0),
    ]
