"""A run for people: a table in the terminal, and one HTML page with plots and example dialogues.

Figures as rows of plain texts, for a terminal or a page.

Small copies of pictures inside a page.

Plots of a task: recall by turn with intervals, and how ranks are spread. Drawn off the screen, given as PNG.

The HTML page of a run: one file, pictures and plots inside it, so that it can be sent to somebody.

The HTML page of captions: every pair of pictures, what people said of it, and what the captioner says.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from viewfinder.errors import BadInput, PictureError
from viewfinder.evaluation.captioning import CaptioningRun, PairCaption
from viewfinder.evaluation.evaluate import SHARES
from viewfinder.evaluation.examples import Example, attention_plot
from viewfinder.evaluation.figures import Figure
from viewfinder.evaluation.results import ComparedFigure, Run, TaskResult
from viewfinder.evaluation.simulate import BY_ANOTHER, REPEATED, SHRUGS
from viewfinder.metrics import Interval
from viewfinder.pictures import AtMost, decode_one

__all__ = [
    "ATTENTION",
    "FIGURE_HEAD",
    "attention_plot",
    "comparison_head",
    "comparison_rows",
    "figure_rows",
    "overview_table",
    "rank_plot",
    "recall_plot",
    "write_report",
]

OF_TEXT = frozenset({"BLEU-4", "ROUGE-L", "CIDEr-D"})
"""Metrics of captions, which the papers' tables have times 100."""

FIGURE_HEAD = ("metric", "at", "mean", "95 % interval", "talks")


def figure_rows(task: TaskResult) -> list[tuple[str, ...]]:
    """One row a figure: metric, when, mean, interval, dialogues."""
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


class Thumbnails:
    """Small copies of pictures as data URIs, each made once; "" where a file cannot be read."""

    def __init__(self, longest: int) -> None:
        """`longest` is the longest side, in pixels."""
        self._longest = longest
        self._made: dict[str, str] = {}

    def __call__(self, file: str) -> str:
        """The small copy of a picture file."""
        if file and file not in self._made:
            self._made[file] = _small(Path(file), self._longest)
        return self._made.get(file, "")


def _small(file: Path, longest: int) -> str:
    from PIL import Image

    try:
        pixels = decode_one(file, AtMost(longest)).pixels
    except PictureError:
        return ""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=70)
    return data_uri(buffer.getvalue(), "jpeg")


def data_uri(image: bytes, kind: str) -> str:
    """A picture as a data URI."""
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"


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
    """The share of dialogues whose target is among the first k, for every k: first and last turn."""
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


PAGE = "report.html"
ATTENTION = "attention"
"""The folder beside the page with the drawings of what state vectors look at."""

THUMBNAIL = 84


def write_report(run: Run, shown: Sequence[Example] = ()) -> Path:
    """Writes the page into the run's folder.

    Raises:
        BadInput: it cannot be written.
    """
    from jinja2 import Environment, StrictUndefined

    template = files("viewfinder.evaluation").joinpath("report.html").read_text(encoding="utf-8")
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page.filters["thumbnail"] = Thumbnails(THUMBNAIL)
    page.filters["png"] = lambda image: data_uri(image, "png")
    drawn = {one: plot for one in shown if (plot := attention_plot(one)) is not None}
    tasks = [
        {
            "title": task.title,
            "overview": overview_table(task),
            "rows": figure_rows(task),
            "left_out": task.left_out,
            "recall": recall_plot(task),
            "ranks": rank_plot(task),
            "examples": [(one, drawn.get(one)) for one in shown if one.task == task.title],
        }
        for task in run.tasks
    ]
    text = page.from_string(template).render(run=run, head=FIGURE_HEAD, tasks=tasks)
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
        (run.folder / PAGE).write_text(text, encoding="utf-8")
        _write_drawings(run.folder / ATTENTION, drawn)
    except OSError as error:
        raise BadInput(f"{run.folder}: cannot be written ({error.strerror}); choose another --out") from error
    return run.folder / PAGE


def _write_drawings(folder: Path, drawn: Mapping[Example, bytes]) -> None:
    """One PNG a dialogue, to be looked at without the page; those of an earlier run go."""
    for old in folder.glob("*.png"):
        old.unlink()
    if not drawn:
        with suppress(OSError):  # there is none, or something else lies in it
            folder.rmdir()
    for number, (example, plot) in enumerate(drawn.items(), start=1):
        folder.mkdir(exist_ok=True)
        name = re.sub(r"\W+", "-", f"{number} {example.task} {example.dialogue}")
        (folder / f"{name[:100]}.png").write_bytes(plot)


CAPTION_THUMBNAIL = 128
PAIRS = 60
"""Pairs shown of a kind, taken evenly: all of a large set would make a page that no browser opens gladly."""


def write_caption_page(captioning: CaptioningRun) -> Path:
    """Writes the page into the run's folder.

    Raises:
        BadInput: it cannot be written.
    """
    from jinja2 import Environment, StrictUndefined

    template = files("viewfinder.evaluation").joinpath("captions.html").read_text(encoding="utf-8")
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page.filters["thumbnail"] = Thumbnails(CAPTION_THUMBNAIL)
    run, files_of = captioning.run, captioning.files
    kinds = dict.fromkeys(one.kind for one in captioning.captions)
    text = page.from_string(template).render(
        run=run,
        head=("", *(metric for metric, *_ in figure_rows(run.tasks[0])), "pairs"),
        rows=[_row(task) for task in run.tasks],
        left_out=[line for task in run.tasks for line in task.left_out],
        kinds=[(kind, *_shown(captioning.captions, kind)) for kind in kinds],
        files=files_of,
    )
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
        (run.folder / PAGE).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{run.folder}: cannot be written ({error.strerror}); choose another --out") from error
    return run.folder / PAGE


def _row(task: TaskResult) -> tuple[str, ...]:
    """A task in one line: every mean with its interval."""
    means = [f"{mean} ({span})" for _, _, mean, span, _ in figure_rows(task)]
    return (task.title, *means, f"{len(task.dialogue_ids):,}")


def _shown(captions: Sequence[PairCaption], kind: str) -> tuple[int, list[PairCaption]]:
    """How many pairs of a kind there are, and those that are shown, in their order."""
    own = [one for one in captions if one.kind == kind]
    if len(own) <= PAIRS:
        return len(own), own
    return len(own), [own[place * (len(own) - 1) // (PAIRS - 1)] for place in range(PAIRS)]
