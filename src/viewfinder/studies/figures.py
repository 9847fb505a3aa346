"""The results of a study, by the same measures as for simulated users, and its export.

Ranks go into the tables that `evaluation` reads, and out as JSON lines or as run folders for `viewfinder compare`.

Two trials are a pair if one picture was looked for under the same conditions with either retriever; retrievers are
compared on pairs. With `best`, only the best of all trials of a picture with a retriever counts, as in the user study
of Drill-down (Tan et al. 2019, section 4.2); a picture is then the pair.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from viewfinder.evaluation import RankTable, Run, Task, compare_runs, compute_figures, write_run
from viewfinder.evaluation.plan import SearchDialogue
from viewfinder.evaluation.results import Provenance, describe_machine, make_task_result
from viewfinder.metrics import Interval, bootstrap_interval, carry_ranks, difference_interval, permutation_test
from viewfinder.server.database import StudyRow, StudyRows, TrialRow
from viewfinder.studies.plan import ArmFigures, DifferenceOut, FigureOut, SettledPlan, StudyFigures

Count = Literal["every", "best"]

FOUND, MISTAKEN, GIVEN_UP, ROUNDS_OVER = "found", "mistaken", "given up", "rounds over"
"""How a trial ends. Mistaken: the participant took another picture for the one to find."""

GONE = "picture gone"
"""The picture to find left the library meanwhile: such a trial is in no figure."""

MAX_ROUNDS_SHOWN = 11
"""Rounds that figures are given for; of longer studies some are left out."""


@dataclass(frozen=True)
class EndedTrial:
    """A trial that has ended: 0-based ranks of its target after each round, at best and at worst."""

    pair: str
    target: str
    arm: int
    outcome: str
    ranks: tuple[tuple[int, int], ...]
    seconds: float

    @property
    def found_after(self) -> float:
        """Rounds until the participant found it; infinite if that never happened."""
        return float(len(self.ranks)) if self.outcome == FOUND else float("inf")


def select_trials(trials: Sequence[EndedTrial], count: Count) -> list[EndedTrial]:
    """The trials that count: every one, or of each target and retriever the best."""
    if count == "every":
        return list(trials)
    best: dict[tuple[str, int], EndedTrial] = {}
    for trial in trials:
        key, counted = (trial.target, trial.arm), replace(trial, pair=trial.target)
        best[key] = min(best.get(key, counted), counted, key=_measure_success)
    return list(best.values())


def _measure_success(trial: EndedTrial) -> tuple[float, float]:
    """Less is better: rounds until it was found, then the best mean rank that it ever had."""
    return trial.found_after, min((sum(bounds) / 2 for bounds in trial.ranks), default=float("inf"))


def rank_table(trials: Sequence[EndedTrial], rounds: int, pictures: int) -> RankTable:
    """The ranks of these trials, as simulated users get theirs (`evaluation.simulate`).

    A trial that ended early keeps its last rank for the rounds that are left; one that never began has the rank of a
    draw.
    """
    best_st, worst_st = (np.full((len(trials), rounds), np.nan) for _ in range(2))
    best_st[:, 0], worst_st[:, 0] = 0.0, float(pictures - 1)
    for row, trial in enumerate(trials):
        for turn, (best, worst) in enumerate(trial.ranks):
            best_st[row, turn], worst_st[row, turn] = float(best), float(worst)
    return RankTable(carry_ranks(best_st), carry_ranks(worst_st), pictures)


def found_by_round(trials: Sequence[EndedTrial], rounds: int) -> Float[np.ndarray, "s t"]:
    """1 where the participant had found the picture at this round or before, else 0."""
    return np.array([[float(trial.found_after <= turn + 1) for turn in range(rounds)] for trial in trials])


def make_runs(settled: SettledPlan, trials: Sequence[EndedTrial]) -> list[Run]:
    """One run a retriever that has any trial, like those that `viewfinder evaluate` writes."""
    runs = []
    for arm, retriever in enumerate(settled.plan.retrievers):
        own = [trial for trial in trials if trial.arm == arm]
        if not own:
            continue
        task, table = _make_task(settled, own), rank_table(own, settled.plan.rounds, settled.pictures)
        provenance = Provenance(
            system=retriever,
            data=settled.plan.name,
            encoder=settled.encoder,
            user="people",
            questioner="" if settled.plan.asks == "none" else settled.plan.asks,
            seed=0,
        )
        result = make_task_result(task, table, compute_figures(task, table))
        runs.append(Run(Path(f"{arm + 1}-{retriever}"), provenance, describe_machine(), (result,)))
    return runs


def study_figures(settled: SettledPlan, trials: Sequence[EndedTrial], count: Count) -> StudyFigures:
    """All figures of a study so far."""
    trials = select_trials(trials, count)
    runs = {run.provenance.system: run for run in make_runs(settled, trials)}
    return StudyFigures(
        name=settled.plan.name,
        count=count,
        pictures=settled.pictures,
        arms=[
            _describe_arm(settled, retriever, runs.get(retriever), [trial for trial in trials if trial.arm == arm])
            for arm, retriever in enumerate(settled.plan.retrievers)
        ],
        differences=_compare_arms(settled, list(runs.values()), trials) if len(runs) == 2 else [],
    )


def _describe_arm(settled: SettledPlan, retriever: str, run: Run | None, trials: Sequence[EndedTrial]) -> ArmFigures:
    figures = []
    if trials:
        found_st = found_by_round(trials, settled.plan.rounds)
        for turn in _select_rounds(settled):
            at, interval = _name_round(settled, turn), bootstrap_interval(found_st[:, turn])
            figures.append(_make_figure(FOUND, at, interval, len(trials)))
    for one in (figure.measure for task in (run.tasks if run else ()) for figure in task.figures):
        figures.append(_make_figure(one.name.metric, one.name.at, one.interval, one.sessions))
    return ArmFigures(
        retriever=retriever,
        trials=len(trials),
        outcomes=dict(Counter(trial.outcome for trial in trials)),
        median_seconds=median(trial.seconds for trial in trials) if trials else None,
        figures=figures,
    )


def _make_figure(metric: str, at: str, interval: Interval, trials: int) -> FigureOut:
    return FigureOut(metric=metric, at=at, mean=interval.mean, low=interval.low, high=interval.high, trials=trials)


def _compare_arms(settled: SettledPlan, runs: Sequence[Run], trials: Sequence[EndedTrial]) -> list[DifferenceOut]:
    """The second retriever beside the first, on whole pairs; found by people first, then by ranks."""
    first, second = ({trial.pair: trial for trial in trials if trial.arm == arm} for arm in (0, 1))
    pairs = [pair for pair in first if pair in second]
    if not pairs:
        return []
    first_pt, second_pt = (
        found_by_round([arm[pair] for pair in pairs], settled.plan.rounds) for arm in (first, second)
    )
    found = []
    for turn in _select_rounds(settled):
        first_p, second_p = first_pt[:, turn], second_pt[:, turn]
        means = (float(first_p.mean()), float(second_p.mean()))
        interval, p_value = difference_interval(second_p, first_p), permutation_test(second_p, first_p)
        found.append(_make_difference(FOUND, _name_round(settled, turn), len(pairs), means, interval, p_value))
    ranked = [
        _make_difference(row.metric, row.at, row.dialogues, (row.first, other.mean), other.difference, other.p_value)
        for row in compare_runs(runs)
        for other in row.others
    ]
    return [*found, *ranked]


def _make_difference(
    metric: str, at: str, pairs: int, means: tuple[float, float], interval: Interval, p_value: float
) -> DifferenceOut:
    return DifferenceOut(
        metric=metric,
        at=at,
        pairs=pairs,
        first=means[0],
        second=means[1],
        difference=interval.mean,
        low=interval.low,
        high=interval.high,
        p_value=p_value,
    )


def _make_task(settled: SettledPlan, trials: Sequence[EndedTrial]) -> Task:
    plan = settled.plan
    depths = sorted({1, 5, 10, plan.n})
    return Task(
        protocol="study",
        name=plan.name,
        split="people",
        gallery=(),  # the ranks are known; its size stands in their table
        dialogues=tuple(SearchDialogue(trial.pair, trial.target) for trial in trials),
        metrics=(*(f"R@{k}" for k in depths), *(f"Hits@{k}" for k in sorted({10, plan.n})), "rank", "median rank"),
        at=tuple(turn + 1 for turn in _select_rounds(settled)),
        first_turn=0 if plan.task == "answer" else 1,
        rounds=plan.rounds,
    )


def _select_rounds(settled: SettledPlan) -> list[int]:
    """The rounds that figures are given for, from 0: all, or some of a long study, first and last among them."""
    rounds = settled.plan.rounds
    return [int(turn) for turn in np.linspace(0, rounds - 1, min(rounds, MAX_ROUNDS_SHOWN)).round()]


def _name_round(settled: SettledPlan, turn: int) -> str:
    # A description before any question is round 0, as ChatIR counts.
    return f"round {turn}" if settled.plan.task == "answer" else f"turn {turn + 1}"


SCHEMA, VERSION = "viewfinder/study", 1

ConversationOf = Callable[[str], dict[str, Any]]
"""The conversation of a session, as JSON."""


def export_lines(study: StudyRow, rows: StudyRows, conversation_of: ConversationOf) -> Iterator[str]:
    """The study with its plan and targets, then one line a participant: consent, trials, conversations and ranks.

    Ranks are 0-based, [best, worst] where scores tie, one pair a round.
    """
    head = {"schema": SCHEMA, "version": VERSION, "study": study.id, "created": _to_iso(study.created), **study.plan}
    yield json.dumps(head, ensure_ascii=False) + "\n"
    retrievers = study.plan["plan"]["retrievers"]
    for participant in rows.participants(study.id):
        trials = [_dump_trial(trial, retrievers, conversation_of) for trial in rows.trials(participant.id)]
        agreed = {"consent": participant.consent, "agreed": _to_iso(participant.at)}
        line = {"participant": participant.number, **agreed, "trials": trials}
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _dump_trial(row: TrialRow, retrievers: Sequence[str], conversation_of: ConversationOf) -> dict[str, Any]:
    return {
        "trial": row.number,
        "retriever": retrievers[row.arm],
        "target": row.target,
        "outcome": row.outcome,
        "chosen": row.chosen,
        "started": _to_iso(row.started),
        "ended": _to_iso(row.ended),
        "ranks": [list(bounds) for bounds in row.ranks],
        "conversation": None if row.session is None else conversation_of(row.session),
    }


def export_archive(runs: Sequence[Run]) -> bytes:
    """The runs as a zip file, a folder each."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for run in runs:
            folder = Path(scratch) / run.folder
            write_run(replace(run, folder=folder))
            for file in sorted(folder.iterdir()):
                archive.write(file, str(run.folder / file.name))
    return packed.getvalue()


def _to_iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
