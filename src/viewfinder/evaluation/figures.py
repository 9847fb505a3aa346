"""From ranks to figures: every metric as one number per dialogue and turn, then means with intervals.

R@k            1 if the rank is below k; a target that ties across the cut-off counts as a fraction (expected)
Hits@k         1 if that was so at this turn or before (ChatIR: a dialogue ends at its first hit)
rank           1-based; its mean is ATR when every dialogue goes on, "rank frozen@k" when a hit ends it
median rank    the same, but the median instead of the mean
P              1 - rank / gallery, 0-based: Fashion IQ's percentile
BRI            PlugIR's: the mean of ln(best rank so far), trapezoidal over the turns, 1-based
mean R@1,5     the mean of several R@k
R_subset@k     R@k within the dialogue's subset (CIRR)
mAP@k          the mean of AP@k, with all right pictures of a query (CIRCO, `metrics.average_precision`)

What a questioner asked is counted in `asked`; its figures are means of one value per dialogue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from viewfinder.evaluation.plan import Task
from viewfinder.evaluation.replay import RankTable
from viewfinder.metrics import (
    Measure,
    MeasureName,
    Ties,
    average_precision,
    best_log_rank_integral,
    bootstrap_interval,
    carry_ranks,
    expected_hits,
    freeze_ranks,
    median_interval,
    percentile,
    ranks_between,
)

ValuesST = Float[np.ndarray, "s t"]

WHOLE_DIALOGUE = frozenset({"BRI"})
"""Metrics with one value per dialogue."""

LAST_TURN = -1
"""Stands for the last turn of each dialogue."""


@dataclass(frozen=True)
class Figure:
    """One number of a report, and which values it is the mean of.

    `turn` counts from 0; `LAST_TURN` is each dialogue's last one, None the whole; `setting` is "" for all dialogues.
    """

    measure: Measure
    turn: int | None
    setting: str = ""

    @property
    def name(self) -> MeasureName:
        """The full name of the figure."""
        return self.measure.name


def compute_figures(task: Task, table: RankTable, ties: Ties = "expected") -> list[Figure]:
    """All figures of a task, in the order of its metrics and turns; each dialogue setting also separately."""
    settings = [dialogue.setting for dialogue in task.dialogues]
    found = []
    apart = sorted(set(settings) - {""}) if len(set(settings)) > 1 else []
    for setting in ("", *apart):
        for metric in task.metrics:
            values = metric_values(metric, table, ties)
            turns: Sequence[int | None] = range(values.shape[1])
            if metric in WHOLE_DIALOGUE or task.last_only:
                turns = (None if metric in WHOLE_DIALOGUE else LAST_TURN,)
            elif task.at is not None:
                turns = [turn - 1 for turn in task.at if turn <= values.shape[1]]
            for turn in turns:
                name = name_figure(task, table, metric, turn, setting, ties)
                values_s = values_per_dialogue(values, turn, setting, settings)
                found += _make_figure(name, values_s, turn, setting)
    return found


def mean_figures(values: Mapping[str, Float[np.ndarray, " s"]], name: MeasureName, seed: int = 0) -> list[Figure]:
    """Figures from values by metric, one per dialogue or picture: means over those that have one (others: NaN).

    `name` gives everything of their names but the metric.
    """
    return [
        figure
        for metric, values_s in values.items()
        for figure in _make_figure(replace(name, metric=metric), values_s, None, seed=seed)
    ]


def _make_figure(
    name: MeasureName, values_s: Float[np.ndarray, " s"], turn: int | None, setting: str = "", seed: int = 0
) -> list[Figure]:
    """The figure of these values; none where all of them are unknown."""
    known_s = values_s[~np.isnan(values_s)]
    if not known_s.size:
        return []
    interval = (median_interval if name.metric.startswith("median") else bootstrap_interval)(known_s, seed=seed)
    return [Figure(Measure(name, interval, len(known_s)), turn, setting)]


def values_per_dialogue(
    values: ValuesST, turn: int | None, setting: str, settings: Sequence[str]
) -> Float[np.ndarray, " s"]:
    """One value per dialogue: at a turn, at its last, or for the whole; NaN for dialogues of another setting."""
    if turn == LAST_TURN:
        known = (row[~np.isnan(row)] for row in values)
        values_s = np.array([row[-1] if row.size else np.nan for row in known])
    else:
        values_s = values[:, turn or 0]
    return np.where(np.asarray(settings) == setting, values_s, np.nan) if setting else np.asarray(values_s)


def name_figure(
    task: Task, table: RankTable, metric: str, turn: int | None, setting: str, ties: Ties | Literal["none"]
) -> MeasureName:
    """The full name of a task's figure; `turn` and `setting` as a `Figure` has them."""
    if turn is None:
        when = "whole talk"  # the name that committed results use for a whole dialogue
    elif turn == LAST_TURN:
        when = "last turn"
    else:
        when = f"{'turn' if task.first_turn else 'round'} {turn + task.first_turn}"
    of = ", ".join(part for part in (task.name, task.split) if part)
    gallery, at = f"{of}, {table.gallery_size:,} pictures", f"{when}, {setting}" if setting else when
    caption = task.caption or "none"
    return MeasureName(metric=metric, at=at, gallery=gallery, split=task.split, caption=caption, ties=ties)


def metric_values(metric: str, table: RankTable, ties: Ties = "expected") -> ValuesST:  # noqa: PLR0911 (one line a metric)
    """One value per dialogue and turn (per dialogue alone: one column); NaN where the dialogue has no such turn.

    Raises:
        ValueError: there is no such metric.
    """
    ranks_st = ranks_between(table.best_st, table.worst_st, ties)
    name, _, depths = metric.partition("@")
    ks = [int(k) for k in depths.split(",")] if depths else []
    match name:
        case "R" | "mean R":
            return np.asarray(np.mean([_recall_with_ties(k, table.best_st, table.worst_st, ties) for k in ks], axis=0))
        case "Hits":
            # Not `has_hit`: with expected ties a hit may be a probability between 0 and 1.
            return np.fmax.accumulate(_recall_with_ties(ks[0], table.best_st, table.worst_st, ties), axis=1)
        case "R_subset":
            if table.subset_best_st is None or table.subset_worst_st is None:
                raise ValueError("R_subset: the dialogues have no subsets")
            return _recall_with_ties(ks[0], table.subset_best_st, table.subset_worst_st, ties)
        case "mAP":
            return _average_precisions(ks[0], table, ties)
        case "rank" | "median rank":
            return ranks_st + 1
        case "rank frozen":
            return freeze_ranks(ks[0], ranks_st) + 1
        case "P":
            return percentile(ranks_st, table.gallery_size)
        case "BRI":
            return best_log_rank_integral(carry_ranks(ranks_st))[:, None]
        case _:
            raise ValueError(f"no metric is called {metric!r}")


def _average_precisions(k: int, table: RankTable, ties: Ties) -> ValuesST:
    best_stg, worst_stg = table.truth_best_stg, table.truth_worst_stg
    if best_stg is None or worst_stg is None:
        raise ValueError("mAP: the dialogues have one right picture each")
    values_st = np.full(best_stg.shape[:2], np.nan)
    for at in np.ndindex(values_st.shape):
        known_g = ~np.isnan(best_stg[at])
        if known_g.any():
            values_st[at] = average_precision(k, best_stg[at][known_g], worst_stg[at][known_g], ties)
    return values_st


def _recall_with_ties(k: int, best_st: ValuesST, worst_st: ValuesST, ties: Ties) -> ValuesST:
    if ties == "optimistic":
        worst_st = best_st
    elif ties == "pessimistic":
        best_st = worst_st
    return expected_hits(k, best_st, worst_st)
