"""`viewfinder status | failures | prune | verify`: what a library holds, and keeping it in order."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from viewfinder.cli.failing import FAILED
from viewfinder.cli.options import JsonOption, LibraryOption, open_library
from viewfinder.cli.output import count_noun, print_json, print_line, print_table


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
