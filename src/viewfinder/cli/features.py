"""`viewfinder features`: the vectors of a data set's pictures, computed once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewfinder.cli.add import LISTED, announce_preparation
from viewfinder.cli.failing import QUARANTINED
from viewfinder.cli.options import JsonOption
from viewfinder.cli.output import count_noun, print_json, print_line
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.encoders import Encoder
    from viewfinder.encoders.features import Features


def features(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="A folder of pictures, or with images/ in it.")],
    encoder: Annotated[str, typer.Option(metavar="NAME|PATH", help="What makes the vectors.")] = "starter",
    regions: Annotated[bool, typer.Option("--regions/--no-regions", help="Vectors of 36 regions a picture.")] = True,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where they go. [default: in DATASET]")] = None,
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes that read pictures.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Compute the vectors of a data set's pictures.

    An interrupted run goes on where it was; pictures that did not change are not read again.
    """
    from viewfinder.encoders import load_encoder
    from viewfinder.encoders.features import features as compute

    model = load_encoder(encoder)
    announce_preparation(model)
    with progress_bar("reading pictures", shown=not as_json) as progress:
        found = compute(
            dataset,
            model,
            regions=regions,
            out=out,
            workers=workers,
            progress=progress,
        )
    print_json(_summary(found, model)) if as_json else _say_done(found)
    return QUARANTINED if found.dropped else 0


def _summary(found: Features, encoder: Encoder) -> dict[str, Any]:
    return {
        "dataset": str(found.dataset),
        "pictures": len(found),
        "regions": 0 if found.regions_nre is None else found.regions_nre.shape[1],
        "width": found.raw_nd.shape[1],
        "encoder": encoder.name,
        "dropped": [{"picture": bad.source.key, "reason": bad.reason} for bad in found.dropped],
        "folder": str(found.folder),
    }


def _say_done(found: Features) -> None:
    width = f"{found.raw_nd.shape[1]:,} numbers each"
    regions = "" if found.regions_nre is None else f", and {found.regions_nre.shape[1]} regions"
    print_line(f"vectors of {count_noun(len(found), 'picture')}: {width}{regions}, in {found.folder}")
    for bad in found.dropped[:LISTED]:
        print_line(f"  left out: {bad.source.key}: {bad.reason}")
    if len(found.dropped) > LISTED:
        print_line(f"  and {len(found.dropped) - LISTED:,} more")
