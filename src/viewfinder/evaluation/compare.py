"""Runs side by side: the same talks, figure by figure, with the chance that a difference is chance alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from viewfinder.errors import BadInput
from viewfinder.evaluation.figures import Figure, values_per_dialogue
from viewfinder.evaluation.results import Run, TaskResult
from viewfinder.metrics import Interval, difference_interval, permutation_test


@dataclass(frozen=True)
class Difference:
    """One figure of a run beside the first run's: the difference on the talks that both have, and its p-value."""

    run: str
    mean: float
    difference: Interval
    p_value: float


@dataclass(frozen=True)
class ComparedFigure:
    """One figure in all runs; `others` follow the order of the runs."""

    title: str
    metric: str
    at: str
    talks: int
    first: float
    others: tuple[Difference, ...]


def compare_runs(runs: Sequence[Run]) -> list[ComparedFigure]:
    """Every figure that all runs have, each run against the first on the talks they share.

    Raises:
        BadInput: fewer than two runs, or nothing that all of them measured on the same talks.
    """
    if len(runs) < 2:
        raise BadInput("compare needs at least two runs: name their folders")
    rows = [row for task in runs[0].tasks for row in _rows(task, runs)]
    if not rows:
        names = ", ".join(str(run.folder) for run in runs)
        raise BadInput(f"{names}: these runs have no figure in common; evaluate the systems on the same data")
    return rows


def _rows(task: TaskResult, runs: Sequence[Run]) -> list[ComparedFigure]:
    others = [next((other for other in run.tasks if other.title == task.title), None) for run in runs[1:]]
    if any(other is None for other in others):
        return []
    shared = [talk for talk in task.talk_ids if all(talk in other.talk_ids for other in others if other)]
    rows = []
    for figure in task.figures:
        if not shared or figure.name.metric.startswith(("median", "BLEU")):
            continue  # without a value a talk: medians are compared by the ranks themselves, captions by ROUGE-L
        if any(figure.name.metric in task.asked and figure.name.metric not in other.asked for other in others if other):
            continue  # nothing was asked in the other run
        own_s = _shared(task, figure, figure.setting, shared)
        others_s = [_shared(other, figure, "", shared) for other in others if other is not None]
        known_s = ~np.isnan(own_s)
        if any(np.isnan(own_s + other_s).all() for other_s in (own_s, *others_s)):
            continue  # none of the talks that are shared is of this setting, or was asked anything
        compared = [
            _difference(run.provenance.label, own_s, other_s) for run, other_s in zip(runs[1:], others_s, strict=True)
        ]
        name, first = figure.name, float(own_s[known_s].mean())
        rows.append(ComparedFigure(task.title, name.metric, name.at, int(known_s.sum()), first, tuple(compared)))
    return rows


def _shared(task: TaskResult, figure: Figure, setting: str, talks: Sequence[str]) -> Float[np.ndarray, " s"]:
    row_of = {talk: row for row, talk in enumerate(task.talk_ids)}
    return values_per_dialogue(task.values_st(figure), figure.turn, setting, task.settings)[
        [row_of[talk] for talk in talks]
    ]


def _difference(system: str, own_s: Float[np.ndarray, " s"], other_s: Float[np.ndarray, " s"]) -> Difference:
    known_s = ~(np.isnan(own_s) | np.isnan(other_s))
    own_s, other_s = own_s[known_s], other_s[known_s]
    return Difference(
        system, float(other_s.mean()), difference_interval(other_s, own_s), permutation_test(other_s, own_s)
    )
