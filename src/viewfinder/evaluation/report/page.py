"""The HTML page of a run: one file, pictures and plots inside it, so that it can be sent to somebody."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from viewfinder.errors import BadInput
from viewfinder.evaluation.examples import Example
from viewfinder.evaluation.report.attention import attention_plot
from viewfinder.evaluation.report.plots import rank_plot, recall_plot
from viewfinder.evaluation.report.tables import FIGURE_HEAD, figure_rows, overview_table
from viewfinder.evaluation.report.thumbnails import Thumbnails, data_uri
from viewfinder.evaluation.results import Run

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

    template = files("viewfinder.evaluation.report").joinpath("page.html").read_text(encoding="utf-8")
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
    """One PNG a talk, to be looked at without the page; those of an earlier run go."""
    for old in folder.glob("*.png"):
        old.unlink()
    if not drawn:
        with suppress(OSError):  # there is none, or something else lies in it
            folder.rmdir()
    for number, (example, plot) in enumerate(drawn.items(), start=1):
        folder.mkdir(exist_ok=True)
        name = re.sub(r"\W+", "-", f"{number} {example.task} {example.talk}")
        (folder / f"{name[:100]}.png").write_bytes(plot)
