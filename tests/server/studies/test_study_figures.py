from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from viewfinder.evaluation import compare_runs, read_run
from viewfinder.studies.figures import (
    EndedTrial,
    export_archive,
    found_by_round,
    make_runs,
    rank_table,
    select_trials,
    study_figures,
)
from viewfinder.studies.plan import SettledPlan, StudyPlan


def settled(rounds: int = 2, task: str = "describe") -> SettledPlan:
    plan = StudyPlan.model_validate(
        {
            "name": "Colours",
            "consent": "I agree.",
            "targets": ["a", "b"],
            "rounds": rounds,
            "task": task,
            "retrievers": ["composer", "clip-t"],
            "n": 3,
        }
    )
    return SettledPlan(plan=plan, targets=["a", "b"], pictures=101, encoder="colours")


def ended(
    pair: str, arm: int, *ranks: tuple[int, int], outcome: str = "rounds over", seconds: float = 10.0
) -> EndedTrial:
    return EndedTrial(pair, pair.rsplit("/", maxsplit=1)[-1], arm, outcome, tuple(ranks), seconds)


SEEN_BY_TWO = [
    ended("0/a", 0, (4, 4), (0, 0), outcome="found"),
    ended("0/b", 0, (20, 20), (12, 12), seconds=30.0),
    ended("0/a", 1, (0, 0), outcome="found", seconds=20.0),
    ended("0/b", 1, (40, 40), (2, 2), outcome="found", seconds=40.0),
]


def test_a_trial_that_ended_early_keeps_its_rank_and_one_that_never_began_has_that_of_a_draw() -> None:
    table = rank_table([ended("0/a", 0, (3, 5)), ended("0/b", 0)], 3, 101)
    assert table.best_st.tolist() == [[3, 3, 3], [0, 0, 0]]
    assert table.worst_st.tolist() == [[5, 5, 5], [100, 100, 100]]


def test_found_counts_from_the_round_in_which_the_participant_said_so() -> None:
    mistaken = ended("0/b", 0, (0, 0), outcome="mistaken")
    assert found_by_round([SEEN_BY_TWO[0], SEEN_BY_TWO[2], mistaken], 2).tolist() == [[0, 1], [1, 1], [0, 0]]


def test_figures_of_an_arm_are_those_of_simulated_users() -> None:
    found = study_figures(settled(), SEEN_BY_TWO, "every")
    means = {(one.metric, one.at): one.mean for one in found.arms[0].figures}
    assert means["found", "turn 1"] == 0.0
    assert means["found", "turn 2"] == 0.5
    assert means["R@3", "turn 1"] == 0.0  # places 5 and 21
    assert means["Hits@10", "turn 1"] == 0.5
    assert means["R@1", "turn 2"] == 0.5  # places 1 and 13
    assert means["rank", "turn 1"] == 13.0
    assert means["rank", "turn 2"] == 7.0
    assert found.arms[0].outcomes == {"found": 1, "rounds over": 1}
    assert (found.arms[0].median_seconds, found.arms[1].median_seconds) == (20.0, 30.0)


def test_the_second_retriever_is_compared_with_the_first_on_whole_pairs() -> None:
    alone = ended("1/a", 0, (0, 0), outcome="found")  # its partner has not come yet
    found = study_figures(settled(), [*SEEN_BY_TWO, alone], "every")
    assert found.arms[0].trials == 3
    rows = {(one.metric, one.at): one for one in found.differences}
    last = rows["found", "turn 2"]
    assert (last.pairs, last.first, last.second, last.difference) == (2, 0.5, 1.0, 0.5)
    assert last.p_value == 1.0  # one pair differs: either sign is as likely
    rank = rows["rank", "turn 2"]
    assert (rank.pairs, rank.first, rank.second, rank.difference) == (2, 7.0, 2.0, -5.0)  # places 1, 13 and 1, 3
    assert rank.low == -10.0
    assert rank.high == 0.0


def test_without_a_whole_pair_there_is_no_difference() -> None:
    assert study_figures(settled(), [SEEN_BY_TWO[0], SEEN_BY_TWO[3]], "every").differences == []


def test_a_study_that_nobody_took_part_in_has_empty_figures() -> None:
    found = study_figures(settled(), [], "every")
    assert [arm.retriever for arm in found.arms] == ["composer", "clip-t"]
    assert [(arm.trials, arm.figures, arm.median_seconds) for arm in found.arms] == [(0, [], None)] * 2
    assert found.differences == []


def test_the_best_trial_of_a_picture_is_the_one_that_found_it_first() -> None:
    slow = ended("0/a", 0, (9, 9), (1, 1), outcome="found")
    quick = ended("1/a", 0, (1, 1), outcome="found")
    lost = ended("2/a", 0, (0, 0), (0, 0))
    assert [one.ranks for one in select_trials([slow, lost, quick], "best")] == [((1, 1),)]
    assert select_trials([slow, lost, quick], "every") == [slow, lost, quick]


def test_where_nobody_found_it_the_best_trial_is_that_of_the_best_rank() -> None:
    near, far = ended("0/a", 0, (9, 9), (2, 4)), ended("1/a", 0, (9, 9), (3, 5))
    assert [one.ranks for one in select_trials([far, near], "best")] == [near.ranks]


def test_the_best_trials_of_a_picture_make_a_pair_whoever_had_them() -> None:
    trials = [ended("0/a", 0, (1, 1), outcome="found"), ended("7/a", 1, (3, 3))]
    assert study_figures(settled(), trials, "every").differences == []
    assert {one.pairs for one in study_figures(settled(), trials, "best").differences} == {1}


def test_a_description_before_questions_is_round_0() -> None:
    found = study_figures(settled(task="answer"), SEEN_BY_TWO, "every")
    assert {one.at for one in found.arms[0].figures} == {"round 0", "round 1"}


def test_long_studies_give_figures_at_eleven_rounds_the_last_among_them() -> None:
    found = study_figures(settled(rounds=50), SEEN_BY_TWO[:1], "every")
    at = [int(one.at.removeprefix("turn ")) for one in found.arms[0].figures if one.metric == "found"]
    assert (at[0], at[-1], len(at)) == (1, 50, 11)


def test_exported_runs_are_read_and_compared_as_those_of_evaluate(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(export_archive(make_runs(settled(), SEEN_BY_TWO)))) as archive:
        archive.extractall(tmp_path)
    first, second = (read_run(tmp_path / name) for name in ("1-composer", "2-clip-t"))
    assert first.provenance.label == "composer + people"
    assert first.tasks[0].dialogue_ids == second.tasks[0].dialogue_ids == ("0/a", "0/b")
    np.testing.assert_array_equal(second.tasks[0].ranks.best_st, [[0, 0], [40, 2]])
    row = next(row for row in compare_runs([first, second]) if (row.metric, row.at) == ("rank", "turn 2"))
    assert (row.first, row.others[0].mean) == (7.0, 2.0)
