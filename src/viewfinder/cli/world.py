"""`viewfinder world`: a folder of pictures whose truth is known."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.options import JsonOption
from viewfinder.cli.output import count_noun, print_json, print_line
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.worlds import WorldReport

WORTH_PROCESSES = 100
"""Pictures from which on several processes are worth their start."""


def world(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new or empty folder.")],
    kind: Annotated[
        str,
        typer.Option(
            metavar="scenes|catalogue|edits",
            help="Several things in a place, one product a picture, or scenes before and after one change.",
        ),
    ] = "scenes",
    count: Annotated[int, typer.Option(metavar="N", help="How many pictures, or edits.")] = 300,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed makes the same pictures.")] = 0,
    sprites: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Real products to use: a folder with products.csv and images/."),
    ] = None,
    transactions: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="FashionMT transactions. [default: 3 a picture]"),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="References of each picture for training, in Fashion IQ. [default: 1]"),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes that draw.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Make annotated pictures to try, train and test with."""
    from viewfinder import worlds

    processes = _processes(count) if workers is None else workers
    with progress_bar("making pictures", count or None, shown=not as_json) as progress:
        report = worlds.write_world(
            out, kind=kind, count=count, seed=seed, sprites=sprites, transactions=transactions, pairs=pairs,
            workers=processes, progress=progress,
        )  # fmt: skip
    if as_json:
        print_json(asdict(report) | {"out": str(report.out)})
    else:
        _tell(report)
    return 0


def _processes(count: int) -> int:
    """All cores, unless starting processes would take longer than the drawing."""
    return 1 if count < WORTH_PROCESSES else os.cpu_count() or 1


def _tell(report: WorldReport) -> None:
    """What was made, and what one can do with it."""
    others = {
        "region phrase": report.regions,
        "dialogue": report.dialogues,
        "chat-search sample": report.chats,
        "pair": report.pairs,
        "session": report.sessions,
        "transaction": report.transactions,
        "query": report.queries,
        "edit": report.edits,
    }
    made = [
        count_noun(report.pictures, "picture"),
        count_noun(report.captions, "caption"),
        *(count_noun(count, noun) for noun, count in others.items() if count),
    ]
    print_line(f"{', '.join(made[:-1])} and {made[-1]} in {report.out}")
    for what, file in (("look at them", "preview.png"), ("how it was made", "world.json")):
        if (report.out / file).is_file():
            print_line(f"{what}: {report.out / file}")
    tables = (report.out / name for name in ("catalogue.csv", "products.csv"))
    columns = "".join(f" --catalogue {table}" for table in tables if table.is_file())
    if report.edits:
        print_line(f"index them: viewfinder add {report.out}")
        print_line(f"learn from them, and from captions: viewfinder train chatsearcher --data {report.out} --data DIR")
        return
    print_line(f"index them: viewfinder add {report.out / 'images'}{columns}")
    print_line(f"measure on them: viewfinder evaluate composer --data {report.out}")
