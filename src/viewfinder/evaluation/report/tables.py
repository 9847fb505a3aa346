"""Figures as rows of plain texts, for a terminal or a page."""

from __future__ import annotations

from collections.abc import Sequence

from viewfinder.evaluation.asked import BY_ANOTHER, REPEATED, SHRUGS
from viewfinder.evaluation.compare import ComparedFigure
from viewfinder.evaluation.figures import Figure
from viewfinder.evaluation.results import TaskResult
from viewfinder.evaluation.talking import SHARES
from viewfinder.metrics import Interval

OF_TEXT = frozenset({"BLEU-4", "ROUGE-L", "CIDEr-D"})
"""Metrics of captions, which the papers' tables have times 100."""

FIGURE_HEAD = ("metric", "at", "mean", "95 % interval", "talks")


def figure_rows(task: TaskResult) -> list[tuple[str, ...]]:
    """One row a figure: metric, when, mean, interval, talks."""
    return [
        (figure.name.metric, figure.name.at, *_values(figure), f"{figure.measure.sessions:,}")
        for figure in task.figures
    ]


def overview_table(task: TaskResult) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The means alone, a row a metric and a column a turn: head and rows."""
    cells: dict[str, dict[str, str]] = {}
    for figure in task.figures:
        cells.setdefault(figure.name.metric, {})[figure.name.at] = format_value(
            figure.name.metric, figure.measure.interval.mean
        )
    moments = list(dict.fromkeys(figure.name.at for figure in task.figures))
    rows = [(metric, *(means.get(at, "") for at in moments)) for metric, means in cells.items()]
    return ("", *moments), rows


def _values(figure: Figure) -> tuple[str, str]:
    interval = figure.measure.interval
    return format_value(figure.name.metric, interval.mean), format_interval(figure.name.metric, interval)


def format_value(metric: str, value: float) -> str:
    """A figure as people read it: shares in percent, figures of captions times 100, ranks as they are.

    >>> shown("R@10", 0.4217), shown("median rank", 31.0)
    ('42.2 %', '31.0')
    """
    if is_share(metric):
        return f"{100 * value:.1f} %"
    if metric in OF_TEXT:
        return f"{100 * value:.1f}"
    return f"{value:,.2f}" if metric in {"BRI", REPEATED} else f"{value:,.1f}"


def format_interval(metric: str, interval: Interval) -> str:
    """An interval as people read it."""
    return f"{format_value(metric, interval.low)} to {format_value(metric, interval.high)}"


def is_share(metric: str) -> bool:
    """Whether a metric lies between 0 and 1, or is a difference of two that do."""
    if metric.removeprefix("above ").partition(":")[0] in SHARES:
        return True
    return metric in {"P", SHRUGS, BY_ANOTHER} or metric.partition("@")[0] in {"R", "Hits", "mean R", "R_subset"}


def comparison_head(systems: Sequence[str]) -> tuple[str, ...]:
    """The head of a comparison: the first system, then each other with its difference and p-value."""
    first, *others = systems
    return ("metric", "at", "talks", first, *(text for other in others for text in (other, "difference", "p")))


def comparison_rows(rows: Sequence[ComparedFigure]) -> list[tuple[str, ...]]:
    """One row a figure that all runs have."""
    table = []
    for row in rows:
        metric = row.metric
        cells = [metric, row.at, f"{row.talks:,}", format_value(metric, row.first)]
        for other in row.others:
            difference = other.difference
            cells += [
                format_value(metric, other.mean),
                f"{_signed(metric, difference.mean)} ({_signed(metric, difference.low)} to "
                f"{_signed(metric, difference.high)})",
                f"{other.p_value:.4f}",
            ]
        table.append(tuple(cells))
    return table


def _signed(metric: str, value: float) -> str:
    return f"{100 * value:+.1f}" if is_share(metric) or metric in OF_TEXT else f"{value:+,.1f}"
