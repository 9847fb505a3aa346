"""A run for people: tables for the terminal, and one HTML page with plots and example dialogues.

Pictures and plots are embedded, so that the page can be sent as one file.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from viewfinder.errors import BadInput, PictureError
from viewfinder.evaluation import deciding, grounding, visual_conversation
from viewfinder.evaluation.examples import Example, draw_attention, make_canvas, to_png
from viewfinder.evaluation.figures import Figure
from viewfinder.evaluation.plan import pick_evenly
from viewfinder.evaluation.results import ComparedFigure, MeasuredRun, Run, TaskResult
from viewfinder.evaluation.simulate import BY_ANOTHER, REPEATED, SHRUGS
from viewfinder.pictures import AtMost, decode_one

if TYPE_CHECKING:
    from viewfinder.evaluation.captioning import PairCaption

OF_TEXT = frozenset({"BLEU-4", "ROUGE-L", "CIDEr-D"})
"""Caption metrics, which the papers' tables give times 100."""

SHARES = {
    "P", SHRUGS, BY_ANOTHER, deciding.BOTH, *deciding.RIGHT.values(),
    visual_conversation.ACCURACY, visual_conversation.TEXT_ONLY, visual_conversation.MAJORITY,
    visual_conversation.BY_KIND, grounding.GROUNDED, grounding.CLIP, grounding.LARGEST, grounding.RANDOM,
    grounding.BEST,
}  # fmt: skip
"""Metrics between 0 and 1, besides those with a depth ("R@10")."""

FIGURE_HEAD = ("metric", "at", "mean", "95 % interval", "dialogues")

PAGE = "report.html"
ATTENTION = "attention"
"""The folder beside the page with the drawings of what state vectors look at."""

INCHES, DOTS = (6.4, 3.6), 110
THUMBNAIL, CAPTION_THUMBNAIL = 84, 128
PAIRS = 60
"""Pairs shown per kind, evenly spaced: a page with all of a large set would be too heavy for a browser."""


# -- tables


def format_figures(task: TaskResult) -> list[tuple[str, ...]]:
    """One row per figure: metric, when, mean, interval, dialogues."""
    rows: list[tuple[str, ...]] = []
    for figure in task.figures:
        metric, interval = figure.name.metric, figure.measure.interval
        mean, low, high = (format_value(metric, one) for one in (interval.mean, interval.low, interval.high))
        rows.append((metric, figure.name.at, mean, f"{low} to {high}", f"{figure.measure.sessions:,}"))
    return rows


def make_overview_table(task: TaskResult) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The means alone, one row per metric and one column per turn: head and rows."""
    cells: dict[str, dict[str, str]] = {}
    for metric, at, mean, *_ in format_figures(task):
        cells.setdefault(metric, {})[at] = mean
    moments = list(dict.fromkeys(figure.name.at for figure in task.figures))
    rows = [(metric, *(means.get(at, "") for at in moments)) for metric, means in cells.items()]
    return ("", *moments), rows


def format_value(metric: str, value: float) -> str:
    """A figure as people read it: shares in percent, caption metrics times 100, ranks as they are.

    >>> format_value("R@10", 0.4217), format_value("median rank", 31.0)
    ('42.2 %', '31.0')
    """
    if is_share(metric):
        return f"{100 * value:.1f} %"
    if metric in OF_TEXT:
        return f"{100 * value:.1f}"
    return f"{value:,.2f}" if metric in {"BRI", REPEATED} else f"{value:,.1f}"


def is_share(metric: str) -> bool:
    """Whether a metric lies between 0 and 1, or is a difference of two that do."""
    name = metric.removeprefix("above ").partition(":")[0]
    return name in SHARES or metric.partition("@")[0] in {"R", "Hits", "mean R", "R_subset", "mAP"}


def make_comparison_table(rows: Sequence[ComparedFigure]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """One row per figure and run (runs are called A, B ...): its mean, its difference from A and the p-value of that.

    Narrow enough for a terminal of 80 columns, however many runs there are.
    """
    counts = {row.dialogues for row in rows}
    head = ("metric", "at", *(["dialogues"] if len(counts) > 1 else []), "run", "mean", "difference", "p")
    table = []
    for row in rows:
        in_hundreds = is_share(row.metric) or row.metric in OF_TEXT
        figure = (row.metric, row.at, *([f"{row.dialogues:,}"] if len(counts) > 1 else []))
        table.append((*figure, run_letter(0), format_value(row.metric, row.first), "", ""))
        for number, other in enumerate(row.others, start=1):
            difference = (other.difference.mean, other.difference.low, other.difference.high)
            mean, low, high = (f"{100 * one:+.1f}" if in_hundreds else f"{one:+,.1f}" for one in difference)
            blank = ("",) * len(figure)
            value = format_value(row.metric, other.mean)
            table.append((*blank, run_letter(number), value, f"{mean} ({low} to {high})", f"{other.p_value:.4f}"))
    return head, table


def run_letter(number: int) -> str:
    """The letter of a run in a comparison: A, B ... Z, then its number."""
    return chr(ord("A") + number) if number < 26 else str(number + 1)


# -- plots, drawn off the screen, as PNG


def draw_recalls(task: TaskResult) -> bytes | None:
    """Shares by turn, one line per metric, the interval as a band; None if there are fewer than two turns."""
    by_metric: dict[str, list[Figure]] = {}
    for figure in task.figures:
        if figure.turn is not None and figure.turn >= 0 and not figure.setting:
            by_metric.setdefault(figure.name.metric, []).append(figure)
    lines = [one for metric, one in by_metric.items() if len(one) > 1 and metric.partition("@")[0] in {"R", "Hits"}]
    if not lines:
        return None
    canvas, axes = _make_axes()
    for figures in lines:
        turns, labels = [one.turn for one in figures], [one.name.at for one in figures]
        intervals = [one.measure.interval for one in figures]
        means, lows, highs = 100 * np.array([(one.mean, one.low, one.high) for one in intervals]).T
        (line,) = axes.plot(turns, means, marker="o", markersize=3, label=figures[0].name.metric)
        axes.fill_between(turns, lows, highs, alpha=0.18, color=line.get_color(), linewidth=0)
        axes.set_xticks(turns, labels, rotation=30 if len(labels) > 6 else 0, fontsize=8)
    axes.set_ylabel("%")
    axes.set_ylim(0, 100)
    axes.legend(fontsize=8, frameon=False)
    return to_png(canvas)


def draw_ranks(task: TaskResult) -> bytes:
    """The share of dialogues whose target is among the first k, for every k: first and last turn."""
    canvas, axes = _make_axes()
    ranks_st = (task.ranks.best_st + task.ranks.worst_st) / 2 + 1
    last_s = np.array([row[~np.isnan(row)][-1] for row in ranks_st if not np.isnan(row).all()])
    curves = {"first turn": ranks_st[:, 0], "last turn": last_s} if ranks_st.shape[1] > 1 else {"all dialogues": last_s}
    for label, ranks_s in curves.items():
        known_s = np.sort(ranks_s[~np.isnan(ranks_s)])
        axes.step(known_s, 100 * np.arange(1, len(known_s) + 1) / max(len(known_s), 1), where="post", label=label)
    axes.set_xscale("log")
    axes.set_xlim(1, max(task.ranks.gallery_size, 2))
    axes.set_ylim(0, 100)
    axes.set_xlabel("place of the target")
    axes.set_ylabel("% of dialogues at or above")
    axes.legend(fontsize=8, frameon=False)
    return to_png(canvas)


def _make_axes() -> tuple[Any, Any]:
    canvas = make_canvas(INCHES, DOTS)
    axes = canvas.add_subplot()
    axes.grid(visible=True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return canvas, axes


# -- pages


def write_report(run: Run, shown: Sequence[Example] = ()) -> Path:
    """Writes the page of a run into its folder, and beside it one PNG per dialogue of what state vectors look at."""
    drawn = {one: plot for one in shown if (plot := draw_attention(one)) is not None}
    tasks = [
        {
            "title": task.title, "overview": make_overview_table(task), "rows": format_figures(task),
            "left_out": task.left_out, "flags": task.overlap.flags if task.overlap else (),
            "recall": draw_recalls(task), "ranks": draw_ranks(task),
            "examples": [(one, drawn.get(one)) for one in shown if one.task == task.title],
        }
        for task in run.tasks
    ]  # fmt: skip
    return _write_page(run, "report.html", THUMBNAIL, drawn, head=FIGURE_HEAD, tasks=tasks)


def write_caption_page(captioning: MeasuredRun[PairCaption]) -> Path:
    """Writes the page of captions: every pair of pictures, what people said of it, and what the captioner says."""
    run = captioning.run
    rows = []
    for task in run.tasks:
        means = [f"{mean} ({span})" for _, _, mean, span, _ in format_figures(task)]
        rows.append((task.title, *means, f"{len(task.dialogue_ids):,}"))
    kinds = []
    for kind in dict.fromkeys(one.kind for one in captioning.things):
        pairs = [one for one in captioning.things if one.kind == kind]
        kinds.append((kind, len(pairs), pick_evenly(pairs, PAIRS)))
    head = ("", *(figure.name.metric for figure in run.tasks[0].figures), "pairs")
    left_out = [line for task in run.tasks for line in task.left_out]
    return _write_page(
        run, "captions.html", CAPTION_THUMBNAIL, {}, head=head, rows=rows, left_out=left_out, kinds=kinds,
        files=captioning.files,
    )  # fmt: skip


def _write_page(run: Run, template: str, thumbnail: int, drawn: Mapping[Example, bytes], **values: Any) -> Path:
    from jinja2 import Environment, StrictUndefined

    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page.filters["thumbnail"] = cache(partial(_make_thumbnail, longest=thumbnail))
    page.filters["png"] = lambda image: _encode_data_uri(image, "png")
    text = files("viewfinder.evaluation").joinpath(template).read_text(encoding="utf-8")
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
        (run.folder / PAGE).write_text(page.from_string(text).render(run=run, **values), encoding="utf-8")
        _write_drawings(run.folder / ATTENTION, drawn)
    except OSError as error:
        raise BadInput(f"{run.folder}: cannot be written ({error.strerror}); choose another --out") from error
    return run.folder / PAGE


def _write_drawings(folder: Path, drawn: Mapping[Example, bytes]) -> None:
    """The drawings as files, to be viewed without the page; those of an earlier run are deleted."""
    for old in folder.glob("*.png"):
        old.unlink()
    if not drawn:
        with suppress(OSError):  # there is none, or it holds something else
            folder.rmdir()
    for number, (example, plot) in enumerate(drawn.items(), start=1):
        folder.mkdir(exist_ok=True)
        name = re.sub(r"\W+", "-", f"{number} {example.task} {example.dialogue}")
        (folder / f"{name[:100]}.png").write_bytes(plot)


def _make_thumbnail(file: str, longest: int) -> str:
    """A small copy of a picture as a data URI; "" where the file cannot be read."""
    from PIL import Image

    try:
        pixels = decode_one(Path(file), AtMost(longest)).pixels
    except PictureError:
        return ""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=70)
    return _encode_data_uri(buffer.getvalue(), "jpeg")


def _encode_data_uri(image: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"
