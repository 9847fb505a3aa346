"""`viewfinder add | find | status | failures | prune | verify | tune`: the verbs over a library."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewfinder.cli.ending import FAILED, QUARANTINED, Interrupts
from viewfinder.cli.options import (
    CountOption,
    JsonOption,
    LibraryOption,
    library_folder,
    open_library,
    parse_conditions,
)
from viewfinder.cli.output import count_noun, print_hits, print_json, print_line, print_note, print_table
from viewfinder.errors import BadInput
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
        f"{count_noun(report.found, 'picture file')} found: {report.added:,} would be read, "
        f"{report.unchanged:,} unchanged" + (f", {report.quarantined:,} in quarantine" if report.quarantined else "")
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


def status(library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """Say what the library holds."""
    facts = open_library(library).status()
    if as_json:
        print_json(facts)
    else:
        width = max(map(len, facts))
        for name, value in facts.items():
            print_line(f"{name.replace('_', ' '):{width}}  {_told(value)}")
    return 0


def failures(library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """List the files that could not be read, with reasons."""
    found = open_library(library).failures()
    if as_json:
        print_json({"failures": [asdict(failure) for failure in found]})
    elif found:
        print_table(("reason", "file"), [(failure.reason, failure.path) for failure in found])
    else:
        print_line("No failures: every file was read.")
    return 0


def prune(
    library: LibraryOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Forget pictures whose files are gone."""
    gone = open_library(library).prune(dry_run=dry_run)
    if as_json:
        print_json({"pruned": gone, "dry_run": dry_run})
    else:
        print_line(f"{count_noun(len(gone), 'picture')} {'would be forgotten' if dry_run else 'forgotten'}")
    return 0


def verify(library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """Check that everything is as it should be; exit 1 if not."""
    problems = open_library(library).verify()
    if as_json:
        print_json({"ok": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            print_line(problem)
        print_line(f"{count_noun(len(problems), 'problem')}; `viewfinder prune` forgets files that are gone")
    else:
        print_line("Everything is in order.")
    return FAILED if problems else 0


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | dict):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


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
