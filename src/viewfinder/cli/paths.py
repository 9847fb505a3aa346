"""The paths of results for other programs: nothing but paths on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from viewfinder.cli.output import count_noun, describe_head, escape_controls, print_note
from viewfinder.store.objects import is_gone, parse_url

if TYPE_CHECKING:
    from viewfinder.search.hits import Hits

LINE_ENDS = frozenset("\n\r")


def print_paths(hits: Hits, *, null: bool) -> None:
    """The paths of files that are here, best first: one a line, or with `null` each ended by a NUL.

    Names are printed byte by byte as the file system has them, but in a terminal, which a name could speak to. What has
    no such path, and what the search says of all results, is said on stderr.
    """
    for line in describe_head(hits):
        print_note(f"viewfinder: {line}")
    left_out: dict[str, list[str]] = {}
    for hit in hits:
        path = str(hit.path)
        if (reason := _find_reason(path, null=null)) is not None:
            left_out.setdefault(reason, []).append(path)
        elif null:
            typer.echo(os.fsencode(path) + b"\0", nl=False)
        else:
            typer.echo(escape_controls(path) if sys.stdout.isatty() else os.fsencode(path))
    for reason, paths in left_out.items():
        first = paths[0] if len(paths) == 1 else f"{count_noun(len(paths), 'picture')}, the first {paths[0]}"
        print_note(f"viewfinder: left out: {first}: {reason}")


def _find_reason(path: str, *, null: bool) -> str | None:
    """Why a picture has no path that another program can use; None: it has one."""
    if parse_url(path) is not None:
        return "it lies in a bucket, not on this machine"
    if is_gone(path):
        return "its file is not here any more (`viewfinder prune` forgets it)"
    if not null and not LINE_ENDS.isdisjoint(path):
        return "its name has a line break: use -0"
    return None
