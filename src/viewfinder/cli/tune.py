"""`viewfinder tune` and `viewfinder train`: a better head for one's own pictures, and the head in the box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from viewfinder.cli.options import JsonOption, LibraryOption, open_library
from viewfinder.cli.output import counted, emit, note, say
from viewfinder.errors import BadInput, UnknownName


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

    report = fit(collection, captions=captions, catalogue=catalogue, report=_told(as_json))
    if as_json:
        emit(asdict(report))
    else:
        say(f"{counted(report.texts, 'text')} of {counted(report.pictures, 'picture')}: chose {report.chosen!r}")
        _say_figures(report.held_out)
        say(f"space {report.space}; `viewfinder tune --undo` goes back")
    return 0


def train(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="What to train: starter.")],
    data: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the data sets.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the head and its card go.")] = Path("runs/starter"),
    as_json: JsonOption = False,
) -> int:
    """Train a system from data on disk."""
    if system not in SYSTEMS:
        raise UnknownName(f"no system is called {system!r}; there are: {', '.join(SYSTEMS)}")
    if not data.is_dir():
        raise BadInput(f"{data}: no such folder; name the folder that holds the data sets")
    return SYSTEMS[system](data, out, as_json)


def _train_starter(data: Path, out: Path, as_json: bool) -> int:
    from viewfinder.tuning import train_starter

    report = train_starter(data, out, _told(as_json))
    if as_json:
        emit(asdict(report) | {"head": str(report.head), "card": str(report.card)})
    else:
        say(f"{report.head}, trained on {counted(report.pictures, 'picture')}; its card is {report.card}")
        _say_figures(report.figures)
    return 0


SYSTEMS: dict[str, Callable[[Path, Path, bool], int]] = {"starter": _train_starter}


def _told(as_json: bool) -> Callable[[str], None]:
    """Where progress goes: stderr, and nowhere when a program listens."""
    return (lambda line: None) if as_json else note


def _say_figures(figures: dict[str, float]) -> None:
    for name, figure in figures.items():
        say(f"  {name}: {figure:.4f}")
