"""`viewfinder world`: a folder of drawn pictures whose truth is known."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from viewfinder.cli.options import JsonOption
from viewfinder.cli.output import counted, emit, say


def world(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new or empty folder.")],
    kind: Annotated[str, typer.Option(metavar="scenes", help="What kind of pictures.")] = "scenes",
    count: Annotated[int, typer.Option(metavar="N", help="How many pictures.")] = 300,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed draws the same pictures.")] = 0,
    as_json: JsonOption = False,
) -> int:
    """Draw annotated pictures to try things with."""
    from viewfinder.data import world as worlds

    report = worlds.world(out, kind=kind, count=count, seed=seed)
    if as_json:
        emit(asdict(report) | {"out": str(report.out)})
    else:
        say(
            f"{counted(report.pictures, 'picture')}, {counted(report.captions, 'caption')} and "
            f"{counted(report.regions, 'region phrase')} in {report.out}"
        )
        say(f"index them: viewfinder add {out / 'images'} --catalogue {out / 'catalogue.csv'}")
    return 0
