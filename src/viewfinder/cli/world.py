"""`viewfinder world`: a folder of pictures whose truth is known."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.options import JsonOption
from viewfinder.cli.output import counted, emit, say

if TYPE_CHECKING:
    from viewfinder.data.world import WorldReport

WORTH_PROCESSES = 100
"""Pictures from which on several processes are worth their start."""


def world(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new or empty folder.")],
    kind: Annotated[
        str, typer.Option(metavar="scenes|catalogue", help="Several things in a place, or one product a picture.")
    ] = "scenes",
    count: Annotated[int, typer.Option(metavar="N", help="How many pictures.")] = 300,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed makes the same pictures.")] = 0,
    sprites: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Real products to use: a folder with products.csv and images/."),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes that draw.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Make annotated pictures to try, train and test with."""
    from viewfinder.data import world as worlds

    processes = _processes(count) if workers is None else workers
    with _progress(count, shown=not as_json) as progress:
        report = worlds.world(
            out, kind=kind, count=count, seed=seed, sprites=sprites, workers=processes, progress=progress
        )
    if as_json:
        emit(asdict(report) | {"out": str(report.out)})
    else:
        _tell(report)
    return 0


def _processes(count: int) -> int:
    """All cores, unless starting processes would take longer than the drawing."""
    return 1 if count < WORTH_PROCESSES else os.cpu_count() or 1


@contextmanager
def _progress(count: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar on stderr if that is a terminal."""
    if not shown or not sys.stderr.isatty():
        yield lambda written: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("making pictures", total=count)
        yield lambda written: bar.update(task, completed=written)


def _tell(report: WorldReport) -> None:
    """What was made, and what one can do with it."""
    made = [
        counted(report.pictures, "picture"),
        counted(report.captions, "caption"),
        *([counted(report.regions, "region phrase")] if report.regions else []),
        *([counted(report.dialogues, "dialogue")] if report.dialogues else []),
        *([counted(report.chats, "chat-search sample")] if report.chats else []),
    ]
    say(f"{', '.join(made[:-1])} and {made[-1]} in {report.out}")
    for what, file in (("look at them", "preview.png"), ("how it was made", "world.json")):
        if (report.out / file).is_file():
            say(f"{what}: {report.out / file}")
    catalogue = report.out / "catalogue.csv"
    columns = f" --catalogue {catalogue}" if catalogue.is_file() else ""
    say(f"index them: viewfinder add {report.out / 'images'}{columns}")
    say(f"measure on them: viewfinder evaluate composer --data {report.out}")
