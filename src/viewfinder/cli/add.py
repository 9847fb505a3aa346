"""`viewfinder add`: pictures into a library."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.failing import FAILED, QUARANTINED
from viewfinder.cli.interrupts import Interrupts
from viewfinder.cli.options import JsonOption, LibraryOption, library_folder
from viewfinder.cli.output import count_noun, print_json, print_line, print_note
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.encoders import Encoder
    from viewfinder.library import AddReport, Library

LISTED = 10
"""Quarantined files that the summary names."""


def add(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATH...", help="Folders and picture files.")] = None,
    *,
    library: LibraryOption = None,
    encoder: Annotated[
        str | None, typer.Option(metavar="NAME|PATH", help="The encoder of a new library. [default: starter]")
    ] = None,
    captions: Annotated[Path | None, typer.Option(metavar="CSV", help="Captions of the pictures.")] = None,
    catalogue: Annotated[Path | None, typer.Option(metavar="CSV", help="What a catalogue says of them.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be read; change nothing.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes that read pictures.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Add folders and picture files.

    Adding the same again takes in what is new, changed or moved. Nothing is ever removed (see `prune`).
    """
    roots = list(paths or ())
    _check(roots, captions, catalogue)
    with _library(library_folder(library), encoder, new=bool(roots), dry_run=dry_run) as collection:
        if dry_run:
            report = collection.add(*roots, dry_run=True)
        else:
            announce_preparation(collection.encoder)
            with Interrupts() as interrupts, progress_bar("reading pictures", shown=not as_json) as progress:
                report = collection.add(
                    *roots,
                    captions=captions,
                    catalogue=catalogue,
                    workers=workers,
                    progress=progress,
                    should_stop=interrupts,
                )
    if as_json:
        print_json(asdict(report))
    else:
        _say_planned(report) if dry_run else _say_done(report)
    if report.stopped:
        print_note("viewfinder: stopped after a whole batch; nothing is lost, the same command goes on from here")
        return FAILED
    return QUARANTINED if report.quarantined and not dry_run else 0


def _check(roots: Sequence[Path], captions: Path | None, catalogue: Path | None) -> None:
    """What can be said before a library is made."""
    from viewfinder.errors import BadInput

    if not roots and captions is None and catalogue is None:
        raise BadInput("nothing to add: name folders or picture files, or a table with --captions or --catalogue")
    for root in roots:
        if not os.path.lexists(root):
            raise BadInput(f"{root}: no such file or folder; check the path")


@contextmanager
def _library(folder: Path, encoder: str | None, *, new: bool, dry_run: bool) -> Iterator[Library]:
    """The library, made if pictures come in; a dry run without one looks at an empty one in a scratch folder."""
    from viewfinder.library import Library

    if dry_run and not (folder / "library.json").exists():
        with tempfile.TemporaryDirectory(prefix="viewfinder-") as scratch:
            yield Library.open(Path(scratch) / "library", encoder=encoder)
    else:
        yield Library.open(folder, encoder=encoder, create=new)


def announce_preparation(encoder: Encoder) -> None:
    """The first use of the starter on a machine takes so long that it should be said why."""
    from viewfinder.encoders.starter.encoder import StarterEncoder, is_network_exported

    if isinstance(encoder, StarterEncoder) and not is_network_exported():
        print_note("viewfinder: preparing the encoder, once on this machine (half a minute)")


def _say_planned(report: AddReport) -> None:
    print_line(
        f"{count_noun(report.found, 'picture file')} found: {report.added:,} would be read, {report.unchanged:,} unchanged"
        + (f", {report.quarantined:,} in quarantine" if report.quarantined else "")
    )


def _say_done(report: AddReport) -> None:
    numbers = {
        "added": report.added,
        "changed": report.changed,
        "moved": report.moved,
        "unchanged": report.unchanged,
        "copies of others": report.duplicates,
        "described": report.described,
        "quarantined": report.quarantined,
    }
    told = [f"{number:,} {what}" for what, number in numbers.items() if number or what == "added"]
    print_line(f"{count_noun(report.found, 'picture file')} found: {', '.join(told)}")
    for line in report.notes:
        print_line(f"note: {line}")
    for failure in report.failures[:LISTED]:
        print_line(f"  quarantined: {failure.path}: {failure.reason}")
    if len(report.failures) > LISTED:
        print_line(f"  and {len(report.failures) - LISTED:,} more")
    if report.failures:
        print_line("`viewfinder failures` lists them; a file that is mended is read again by the next `viewfinder add`")
