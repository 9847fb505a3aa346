"""The HTML page of captions: every pair of pictures, what people said of it, and what the captioner says."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from viewfinder.errors import BadInput
from viewfinder.evaluation.captioning import CaptioningRun, PairCaption
from viewfinder.evaluation.report.page import PAGE
from viewfinder.evaluation.report.tables import figure_rows
from viewfinder.evaluation.report.thumbnails import Thumbnails
from viewfinder.evaluation.results import TaskResult

THUMBNAIL = 128
PAIRS = 60
"""Pairs shown of a kind, taken evenly: all of a large set would make a page that no browser opens gladly."""


def write_caption_page(captioning: CaptioningRun) -> Path:
    """Writes the page into the run's folder.

    Raises:
        BadInput: it cannot be written.
    """
    from jinja2 import Environment, StrictUndefined

    template = files("viewfinder.evaluation.report").joinpath("captions.html").read_text(encoding="utf-8")
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page.filters["thumbnail"] = Thumbnails(THUMBNAIL)
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
    return (task.title, *means, f"{len(task.talk_ids):,}")


def _shown(captions: Sequence[PairCaption], kind: str) -> tuple[int, list[PairCaption]]:
    """How many pairs of a kind there are, and those that are shown, in their order."""
    own = [one for one in captions if one.kind == kind]
    if len(own) <= PAIRS:
        return len(own), own
    return len(own), [own[place * (len(own) - 1) // (PAIRS - 1)] for place in range(PAIRS)]
