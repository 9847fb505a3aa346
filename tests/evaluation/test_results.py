from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from viewfinder.errors import BadInput
from viewfinder.evaluation import (
    RankTable,
    Run,
    SearchDialogue,
    Task,
    compare_runs,
    compute_figures,
    read_run,
    write_run,
)
from viewfinder.evaluation.results import Provenance, describe_machine, make_task_result


def run(folder: Path, system: str, ranks: list[list[float]], ids: str = "abcdefgh") -> Run:
    dialogues = tuple(SearchDialogue(ids[row], "x", setting="odd" if row % 2 else "even") for row in range(len(ranks)))
    task = Task("drilldown", "", "test", ("x",), dialogues, ("R@1", "median rank"), rounds=len(ranks[0]))
    table = RankTable(np.array(ranks, float), np.array(ranks, float), 10)
    provenance = Provenance(system=system, data="tiny", encoder="colours", user="", questioner="", seed=0)
    return Run(folder, provenance, describe_machine(), (make_task_result(task, table, compute_figures(task, table)),))


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    written = run(tmp_path / "a", "composer", [[0, 1], [3, 0]])
    write_run(written)
    read = read_run(tmp_path / "a")
    assert (read.provenance, read.machine) == (written.provenance, written.machine)
    assert read.tasks[0].figures == written.tasks[0].figures
    assert np.array_equal(read.tasks[0].ranks.best_st, written.tasks[0].ranks.best_st)
    assert (read.tasks[0].dialogue_ids, read.tasks[0].settings) == (("a", "b"), ("even", "odd"))


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no results\.json here"):
        read_run(tmp_path)


@pytest.mark.parametrize("damage", ["", "{", '{"schema": "other"}', "[]"])
def test_a_damaged_run_is_one_clear_line(tmp_path: Path, damage: str) -> None:
    write_run(run(tmp_path, "composer", [[0]]))
    (tmp_path / "results.json").write_text(damage)
    with pytest.raises(BadInput, match=str(tmp_path)):
        read_run(tmp_path)


def test_runs_are_compared_on_the_dialogues_they_share(tmp_path: Path) -> None:
    first = run(tmp_path, "random", [[5, 5], [5, 5], [5, 5]])
    second = run(tmp_path, "composer", [[0, 0], [0, 5]], ids="bc")
    rows = compare_runs([first, second])
    assert [(row.metric, row.at, row.dialogues) for row in rows[:2]] == [("R@1", "turn 1", 2), ("R@1", "turn 2", 2)]
    assert rows[0].first == 0
    assert rows[0].others[0].mean == 1
    assert rows[1].others[0].mean == 0.5
    assert rows[0].others[0].difference.mean == 1


def test_a_difference_on_eight_dialogues_has_its_exact_p_value(tmp_path: Path) -> None:
    first, second = run(tmp_path, "random", [[5]] * 8), run(tmp_path, "composer", [[0]] * 8)
    [row, *_] = compare_runs([first, second])
    assert row.others[0].p_value == 2 / 2**8


def test_runs_without_a_common_figure_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no figure in common"):
        compare_runs([run(tmp_path, "random", [[5]]), run(tmp_path, "composer", [[0]], ids="z")])


def test_runs_of_one_system_are_told_apart_by_who_talked_and_asked(tmp_path: Path) -> None:
    plain = run(tmp_path, "composer", [[0]])
    asked = replace(plain, provenance=replace(plain.provenance, user="oracle", questioner="information_gain"))
    [row, *_] = compare_runs([plain, asked])
    assert row.others[0].run == "composer + oracle + information_gain"


def test_one_run_alone_cannot_be_compared(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least two runs"):
        compare_runs([run(tmp_path, "random", [[5]])])
