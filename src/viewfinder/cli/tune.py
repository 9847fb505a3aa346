"""`viewfinder tune`: a better head for one's own pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from viewfinder.cli.options import JsonOption, LibraryOption, open_library
from viewfinder.cli.output import count_noun, print_json, print_line, print_note
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
        print_json({"space": space}) if as_json else print_line(f"switched to {space}")
        return 0
    from viewfinder.tuning import tune as fit

    report = fit(collection, captions=captions, catalogue=catalogue, report=progress_printer(as_json))
    if as_json:
        print_json(asdict(report))
    else:
        print_line(
            f"{count_noun(report.texts, 'text')} of {count_noun(report.pictures, 'picture')}: chose {report.chosen!r}"
        )
        print_figures(report.held_out)
        print_line(f"space {report.space}; `viewfinder tune --undo` goes back")
    return 0


def progress_printer(as_json: bool) -> Callable[[str], None]:
    """Where progress goes: stderr, and nowhere when a program listens."""
    return (lambda line: None) if as_json else print_note


def print_figures(figures: Mapping[str, float]) -> None:
    """A line a figure."""
    for name, figure in figures.items():
        print_line(f"  {name}: {figure:.4f}")
