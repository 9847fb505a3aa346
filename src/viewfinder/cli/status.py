"""`viewfinder status | failures | prune | verify`: what a library holds, and keeping it in order."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from viewfinder.cli.failing import FAILED
from viewfinder.cli.options import JsonOption, LibraryOption, open_library
from viewfinder.cli.output import counted, emit, say, show_table


def status(library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """Say what the library holds."""
    facts = open_library(library).status()
    if as_json:
        emit(facts)
    else:
        width = max(map(len, facts))
        for name, value in facts.items():
            say(f"{name.replace('_', ' '):{width}}  {_told(value)}")
    return 0


def failures(library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """List the files that could not be read, with reasons."""
    found = open_library(library).failures()
    if as_json:
        emit({"failures": [asdict(failure) for failure in found]})
    elif found:
        show_table(("reason", "file"), [(failure.reason, failure.path) for failure in found])
    else:
        say("No failures: every file was read.")
    return 0


def prune(
    library: LibraryOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Forget pictures whose files are gone."""
    gone = open_library(library).prune(dry_run=dry_run)
    if as_json:
        emit({"pruned": gone, "dry_run": dry_run})
    else:
        say(f"{counted(len(gone), 'picture')} {'would be forgotten' if dry_run else 'forgotten'}")
    return 0


def verify(library: LibraryOption = None, as_json: JsonOption = False) -> int:
    """Check that everything is as it should be; exit 1 if not."""
    problems = open_library(library).verify()
    if as_json:
        emit({"ok": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            say(problem)
        say(f"{counted(len(problems), 'problem')}; `viewfinder prune` forgets files that are gone")
    else:
        say("Everything is in order.")
    return FAILED if problems else 0


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | dict):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
