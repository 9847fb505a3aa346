"""`viewfinder export`: a model of torch as ONNX files, which need no torch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.options import JsonOption, option
from viewfinder.cli.output import make_notifier, print_result
from viewfinder.errors import BadInput

if TYPE_CHECKING:
    from viewfinder.encoders import Pixels
    from viewfinder.encoders.onnx_models.export import Difference

MAX_PICTURES = 32
"""Photographs that are compared: more would say the same."""


def export(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help="The model's folder or hub name.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write, empty or not there yet.")],
    int8: Annotated[bool, typer.Option("--int8", help="Also in 8 bits: a quarter of the size.")] = False,
    pictures: Annotated[
        Path | None, option("DIR", "Photographs on which both are compared. [default: drawn ones]")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Write a model of torch as ONNX, and say what is lost.

    What it writes needs neither torch nor transformers: `viewfinder add DIR --encoder OUT`.
    """
    from viewfinder.encoders import PLUGINS
    from viewfinder.encoders.onnx_models import find_onnx_folder

    if encoder in PLUGINS.names() or (find_onnx_folder(encoder) is not None):
        raise BadInput(f"{encoder} needs no torch already: name the folder or hub name of a model of torch")
    photographs = [] if pictures is None else _read_photographs(pictures)
    from viewfinder.encoders.onnx_models.export import export_checkpoint

    found = export_checkpoint(encoder, out, int8=int8, pictures=photographs, notify=make_notifier(as_json))
    record = {"out": str(out), "precisions": [asdict(difference) for difference in found]}
    lines = [_describe(difference) for difference in found]
    print_result(as_json, record, *lines, f"next: viewfinder add DIR --encoder {out}{'?q8' if int8 else ''}")
    return 0


def _describe(difference: Difference) -> str:
    return (
        f"{difference.precision}: {difference.bytes / 1e6:,.1f} MB; its vectors differ from those in torch by at most "
        f"{difference.largest:.1g} (cosine at least {difference.least_cosine:.4f}), scores by {difference.scores:.1g}"
    )


def _read_photographs(folder: Path) -> list[Pixels]:
    """The first photographs in a folder that can be read. Raises BadInput: there are none."""
    from viewfinder.encoders.onnx_models.encoder import MAX_DECODED_SIDE
    from viewfinder.pictures import AtMost, DecodedFile, Decoders

    files = sorted(file for file in folder.rglob("*") if file.is_file())[: 4 * MAX_PICTURES]
    with Decoders(1, fit=AtMost(MAX_DECODED_SIDE)) as decoders:
        read = [outcome.pixels for outcome in decoders.decode(files) if isinstance(outcome, DecodedFile)]
    if not read:
        raise BadInput(
            f"{folder}: no picture there can be read: name a folder with photographs, or leave --pictures out"
        )
    return read[:MAX_PICTURES]
