"""Plots of a task: recall by turn with intervals, and how ranks are spread. Drawn off the screen, given as PNG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from viewfinder.evaluation.figures import Figure
from viewfinder.evaluation.results import TaskResult

INCHES = (6.4, 3.6)
DOTS = 110


def recall_plot(task: TaskResult) -> bytes | None:
    """Shares by turn, one line a metric, the interval as a band; None where turns are fewer than two."""
    lines = [figures for figures in _by_metric(task) if len(figures) > 1]
    if not lines:
        return None
    figure, axes = _axes()
    for figures in lines:
        turns = [one.turn for one in figures]
        means, lows, highs = (
            [100 * getattr(one.measure.interval, name) for one in figures] for name in ("mean", "low", "high")
        )
        labels = [one.name.at for one in figures]
        (line,) = axes.plot(turns, means, marker="o", markersize=3, label=figures[0].name.metric)
        axes.fill_between(turns, lows, highs, alpha=0.18, color=line.get_color(), linewidth=0)
        axes.set_xticks(turns, labels, rotation=30 if len(labels) > 6 else 0, fontsize=8)
    axes.set_ylabel("%")
    axes.set_ylim(0, 100)
    axes.legend(fontsize=8, frameon=False)
    return _png(figure)


def rank_plot(task: TaskResult) -> bytes:
    """The share of talks whose target is among the first k, for every k: first and last turn."""
    figure, axes = _axes()
    ranks_st = (task.ranks.best_st + task.ranks.worst_st) / 2 + 1
    last_s = np.array([row[~np.isnan(row)][-1] for row in ranks_st if not np.isnan(row).all()])
    curves = {"first turn": ranks_st[:, 0], "last turn": last_s} if ranks_st.shape[1] > 1 else {"all talks": last_s}
    for label, ranks_s in curves.items():
        known_s = np.sort(ranks_s[~np.isnan(ranks_s)])
        axes.step(known_s, 100 * np.arange(1, len(known_s) + 1) / max(len(known_s), 1), where="post", label=label)
    axes.set_xscale("log")
    axes.set_xlim(1, max(task.ranks.gallery_size, 2))
    axes.set_ylim(0, 100)
    axes.set_xlabel("place of the target")
    axes.set_ylabel("% of talks at or above")
    axes.legend(fontsize=8, frameon=False)
    return _png(figure)


def _by_metric(task: TaskResult) -> list[Sequence[Figure]]:
    """R@10 and Hits@10 by turn, or the nearest that the task has."""
    found: dict[str, list[Figure]] = {}
    for figure in task.figures:
        if figure.turn is not None and figure.turn >= 0 and not figure.setting and "@" in figure.name.metric:
            found.setdefault(figure.name.metric, []).append(figure)
    return [figures for metric, figures in found.items() if metric.partition("@")[0] in {"R", "Hits"}]


def _axes() -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=INCHES, dpi=DOTS, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.grid(visible=True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
