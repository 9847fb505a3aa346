"""`viewfinder tune`: a better head for one's own pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from viewfinder.cli.options import JsonOption, LibraryOption, open_library
from viewfinder.cli.output import counted, emit, note, say
from viewfinder.errors import BadInput


def tune(
    captions: Annotated[Path | None, typer.Option(metavar="CSV", help="Captions of pictures in the library.")] = None,
    catalogue: Annotated[Path | None, typer.Option(metavar="CSV", help="Catalogue rows of pictures in it.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Go back to the space before the last tune.")] = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Learn how words go with your pictures.

    From captions or a catalogue. The pictures are not read again; `--undo` goes back.
    """
    if undo == (captions is not None or catalogue is not None):
        raise BadInput("tune needs --captions CSV or --catalogue CSV, or --undo alone")
    collection = open_library(library)
    if undo:
        collection.switch_back()
        space = collection.status()["space"]
        emit({"space": space}) if as_json else say(f"switched to {space}")
        return 0
    from viewfinder.tuning import tune as fit

    report = fit(collection, captions=captions, catalogue=catalogue, report=told(as_json))
    if as_json:
        emit(asdict(report))
    else:
        say(f"{counted(report.texts, 'text')} of {counted(report.pictures, 'picture')}: chose {report.chosen!r}")
        say_figures(report.held_out)
        say(f"space {report.space}; `viewfinder tune --undo` goes back")
    return 0


def told(as_json: bool) -> Callable[[str], None]:
    """Where progress goes: stderr, and nowhere when a program listens."""
    return (lambda line: None) if as_json else note


def say_figures(figures: Mapping[str, float]) -> None:
    """A line a figure."""
    for name, figure in figures.items():
        say(f"  {name}: {figure:.4f}")
