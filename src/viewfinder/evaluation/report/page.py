"""The HTML page of a run: one file, pictures and plots inside it, so that it can be sent to somebody."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from viewfinder.errors import BadInput, PictureError
from viewfinder.evaluation.examples import Example
from viewfinder.evaluation.report.attention import attention_plot
from viewfinder.evaluation.report.plots import rank_plot, recall_plot
from viewfinder.evaluation.report.tables import FIGURE_HEAD, figure_rows, overview
from viewfinder.evaluation.results import Run
from viewfinder.pictures import AtMost, decode_one

PAGE = "report.html"
ATTENTION = "attention"
"""The folder beside the page with the drawings of what state vectors look at."""

THUMBNAIL = 84


def write_page(run: Run, shown: Sequence[Example] = ()) -> Path:
    """Writes the page into the run's folder.

    Raises:
        BadInput: it cannot be written.
    """
    from jinja2 import Environment, StrictUndefined

    template = files("viewfinder.evaluation.report").joinpath("page.html").read_text(encoding="utf-8")
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page.filters["thumbnail"] = _Thumbnails()
    page.filters["png"] = lambda image: _inline(image, "png")
    drawn = {one: plot for one in shown if (plot := attention_plot(one)) is not None}
    tasks = [
        {
            "title": task.title,
            "overview": overview(task),
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


class _Thumbnails:
    """Small copies of pictures as data URIs, each made once; "" where a file cannot be read."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def __call__(self, file: str) -> str:
        if file and file not in self._made:
            self._made[file] = _small(Path(file))
        return self._made.get(file, "")


def _small(file: Path) -> str:
    from PIL import Image

    try:
        pixels = decode_one(file, AtMost(THUMBNAIL)).pixels
    except PictureError:
        return ""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=70)
    return _inline(buffer.getvalue(), "jpeg")


def _inline(image: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"
