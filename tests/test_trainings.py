"""How benchmarks train the rows of a table; the verbs themselves are recorded, not run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
import trainings
from cells import cell_of, rows_table
from trainings import BEST, Row, Runner, add_run_options, run_jobs

BASE = Row("both stages", "drilldown")
FURTHER = Row("further, of it", "drilldown", settings=("epochs=2",), start=("both stages", "first"))
FIRST = Row("its first stage", "drilldown", same_as=("both stages", "first"))
SHIPPED = Row("in the box", "drilldown", preset="")


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines that were asked for."""
    found: list[list[str]] = []

    def run(*command: object, log: Path) -> None:
        found.append([str(part) for part in command])
        Path(value_of("--out", found[-1])).mkdir(parents=True)

    monkeypatch.setattr(trainings, "run", run)
    return found


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    rows = {row.name: row for row in (BASE, FURTHER, FIRST, SHIPPED)}
    return Runner(rows, tmp_path / "runs", (tmp_path / "world",), tmp_path / "features")


def value_of(option: str, command: list[str]) -> str:
    return command[command.index(option) + 1]


def test_a_row_is_trained_after_the_one_whose_weights_it_continues(runner: Runner, commands: Any) -> None:
    weights = runner.train(FURTHER, 3)
    base, further = commands
    assert weights == runner.runs / "further-of-it-3" / BEST
    assert value_of("--out", base) == str(runner.runs / "both-stages-3") and "--start" not in base
    assert value_of("--start", further) == str(runner.runs / "both-stages-3" / "first" / BEST)
    assert (value_of("--set", further), value_of("--seed", further)) == ("epochs=2", "3")


def test_what_is_trained_is_not_trained_again(runner: Runner, commands: Any) -> None:
    assert not runner.is_trained(BASE, 0)
    runner.train(BASE, 0)
    runner.train(BASE, 0)
    assert len(commands) == 1 and runner.is_trained(BASE, 0) and runner.is_trained(FIRST, 0)


def test_a_stage_of_another_row_has_no_training_of_its_own(runner: Runner, commands: Any) -> None:
    assert runner.train(FIRST, 0) == runner.runs / "both-stages-0" / "first" / BEST
    assert [value_of("--out", command) for command in commands] == [str(runner.runs / "both-stages-0")]


def test_nothing_is_trained_for_a_row_without_a_preset(runner: Runner, commands: Any) -> None:
    assert runner.train(SHIPPED, 0) is None and runner.is_trained(SHIPPED, 0) and not commands


def test_jobs_of_the_rows_and_seeds_that_are_named_are_done() -> None:
    parser = argparse.ArgumentParser()
    add_run_options(parser, "runs", ("first", "second"))
    given = parser.parse_args(["DATA", "--rows", "a", "--seeds", "0", "1", "--only", "second"])
    done: list[tuple[str, int]] = []
    jobs = [(name, seed, lambda one=(name, seed): done.append(one)) for name in "ab" for seed in range(3)]
    run_jobs(jobs, given)
    assert (sorted(done), given.only) == ([("a", 0), ("a", 1)], ["second"])


def test_a_row_without_a_figure_has_an_empty_cell() -> None:
    rows = {"ours": {"R@10": {"mean": 0.5}}, "theirs": {}}
    assert rows_table(rows, {"R@10": cell_of("{:.1f}".format, "R@10", "mean")}, first="row") == [
        "| row | R@10 |", "|---|---|", "| ours | 0.5 |", "| theirs |  |",
    ]  # fmt: skip
