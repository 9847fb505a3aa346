"""`viewfinder find`: one search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from viewfinder.cli.options import CountOption, JsonOption, LibraryOption, open_library, parse_conditions
from viewfinder.cli.output import print_hits, print_json


def find(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is on the picture, in your words.")] = "",
    *,
    n: CountOption = 10,
    like: Annotated[Path | None, typer.Option(metavar="FILE", help="An image that it looks like.")] = None,
    without: Annotated[str, typer.Option(metavar="TEXT", help="What is not on it.")] = "",
    where: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A catalogue column to filter by; repeatable.")
    ] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Find pictures by words, by an image, or both."""
    filters = parse_conditions(where or ())
    hits = open_library(library).find(text, n, like=like, where=filters, without=without)
    if as_json:
        print_json(hits.to_json())
    else:
        print_hits(hits)
    return 0
