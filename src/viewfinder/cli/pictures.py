"""The best results as pictures in the terminal, where it can show some: Kitty's protocol, or Sixel (iTerm2, xterm ...).

The library that speaks these (textual-image, the extra `terminal`) asks the terminal what it can as soon as it is
imported. So it is imported only where somebody sits at both ends, and no pictures ever go into a pipe or a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewfinder.cli.output import print_line, print_note
from viewfinder.errors import BadInput, PictureError, advise_extra

if TYPE_CHECKING:
    from PIL.Image import Image

    from viewfinder.search.hits import Hits

PicturesOption = Annotated[
    bool | None,
    typer.Option(help="Show the best results as pictures. [default: where the terminal can show them]"),
]

MAX_SHOWN = 6
"""Pictures that are shown, if they fit side by side."""

LINES = 10
"""The height of the pictures in the terminal."""

SIDE = 400
"""The height of the pictures in pixels; terminals with small cells get fewer."""

GAP = 8
GREY = (128, 128, 128)
"""Between the pictures, of which nobody knows on which ground they are shown."""

WIDEST = 2.0
"""A picture that is wider for its height than this is cut, so that others find room."""

CELL = 0.45
"""The width of a cell for its height, of narrow ones; in wider ones there is some room left."""

UNABLE = frozenset({"", "dumb", "linux", "unknown"})
"""Terminals, by TERM, that show no pictures, and print what they do not understand."""

UNABLE_PROGRAMS = frozenset({"Apple_Terminal"})

Show = Callable[["Hits"], None]


@dataclass(frozen=True)
class Shown:
    """A picture of the terminal's height, and the number of its result."""

    rank: int
    picture: Image


def choose_show(wanted: bool | None, *, refused: str | None = None) -> Show | None:
    """What shows the pictures of results; None: nothing does.

    `wanted`: None where nothing was said: then only a terminal that shows real pictures gets some. `refused`: the
    option with which pictures make no sense, if it was given.

    Raises:
        BadInput: they are wanted beside that option.
    """
    if wanted and refused is not None:
        raise BadInput(f"--pictures shows pictures to people, and {refused} prints for programs: give one of them")
    if wanted is False or refused is not None:
        return None
    if not is_at_terminal():
        if wanted:
            print_note("viewfinder: pictures are shown in a terminal only, and this is none")
        return None
    renderable = find_renderable()
    if renderable is not None:
        return lambda hits: show_pictures(hits, renderable)
    if not wanted:
        return None
    if not is_installed():
        print_note(
            f"viewfinder: pictures are shown as blocks; sharp ones need textual-image: {advise_extra('terminal')}"
        )
    return show_blocks


def is_at_terminal() -> bool:
    """Whether a person sits at both ends, so that a question to the terminal is answered."""
    both = (sys.stdin, sys.__stdin__), (sys.stdout, sys.__stdout__)
    return all(stream is original and stream is not None and stream.isatty() for stream, original in both)


def is_installed() -> bool:
    """Whether the library that shows pictures is here, without importing it."""
    from importlib.util import find_spec

    return find_spec("textual_image") is not None


@cache
def find_renderable() -> Any | None:
    """The class that shows a picture in this terminal; None: it can show none, or nothing here can.

    The terminal is asked once. What was typed ahead would be taken for its answer: then nothing is asked.
    """
    from viewfinder.cli.terminal import is_line_waiting

    if os.environ.get("TERM", "") in UNABLE or os.environ.get("TERM_PROGRAM", "") in UNABLE_PROGRAMS:
        return None
    if not is_installed() or is_line_waiting():
        return None
    from textual_image.renderable import Image, SixelImage, TGPImage

    return Image if Image in (SixelImage, TGPImage) else None


def show_blocks(hits: Hits) -> None:
    """Small pictures of coloured blocks, which most terminals can show."""
    from viewfinder.cli.terminal import MAX_PREVIEWED, draw_preview

    if drawn := draw_preview([str(hit.path) for hit in hits[:MAX_PREVIEWED]]):
        typer.echo(drawn, color=True)


def show_pictures(hits: Hits, renderable: Any) -> None:
    """The best results side by side, as many as there is room for, with their numbers below."""
    from rich.console import Console

    console = Console(file=sys.stdout, force_terminal=True)
    shown = read_shown(hits, round(console.width * CELL / LINES * SIDE))
    if not shown:
        return
    image = renderable(join_side_by_side([one.picture for one in shown]), width="auto", height=LINES)
    sys.stdout.flush()
    console.print(image, end="")
    print_line(write_numbers(shown, image.__rich_measure__(console, console.options).maximum))


def read_shown(hits: Hits, width: int) -> list[Shown]:
    """The pictures of the best results that can be read, in order, until one does not fit into `width` pixels."""
    found: list[Shown] = []
    for hit in hits[:MAX_SHOWN]:
        picture = read_picture(hit.path)
        if picture is not None:
            width -= picture.width + GAP
            if width < 0 and found:
                break
            found.append(Shown(hit.rank, picture))
    return found


def read_picture(path: Path) -> Image | None:
    """A picture of the terminal's height, upright; None: it cannot be read any more, or not here."""
    from PIL import Image

    from viewfinder.pictures import AtMost, decode_one

    try:
        picture = Image.fromarray(decode_one(Path(path), AtMost(SIDE * 2)).pixels)
    except (PictureError, OSError):
        return None
    width = max(1, round(picture.width * SIDE / picture.height))
    scaled = picture.resize((width, SIDE), Image.Resampling.LANCZOS)
    over = width - round(SIDE * WIDEST)
    return scaled if over <= 0 else scaled.crop((over // 2, 0, width - over + over // 2, SIDE))


def join_side_by_side(pictures: Sequence[Image]) -> Image:
    """Pictures of one height as one, which every protocol shows in the same way."""
    from PIL import Image

    width = sum(one.width for one in pictures) + GAP * (len(pictures) - 1)
    sheet, at = Image.new("RGB", (width, SIDE), GREY), 0
    for one in pictures:
        sheet.paste(one, (at, 0))
        at += one.width + GAP
    return sheet


def write_numbers(shown: Sequence[Shown], cells: int) -> str:
    """The numbers of the results, each below the left edge of its picture, in a sheet so many cells wide."""
    width, line, at = sum(one.picture.width + GAP for one in shown) - GAP, "", 0
    for one in shown:
        line = f"{line:{round(at / width * cells)}}{one.rank} "
        at += one.picture.width + GAP
    return line.rstrip()
