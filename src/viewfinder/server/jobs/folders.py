"""Which folders may be added over HTTP: those below the server's roots, wherever links lead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from viewfinder.server.problems import Problem


def find_folder_below(root: int, folder: str, roots: Sequence[Path]) -> Path:
    """The folder (or file) `folder` of a root, absolute and with links followed.

    Raises:
        Problem: 422, there is no such root or folder, or it lies outside the root.
    """
    if not 0 <= root < len(roots):
        started = f"there are {len(roots)}" if roots else "the server was started without --root DIR"
        raise Problem(422, "unknown-root", f"there is no root {root}: {started}")
    home = roots[root].resolve()
    try:
        place = (home / folder).resolve()
        inside = place.is_relative_to(home)
        there = inside and place.exists()
    except (OSError, ValueError, RuntimeError):  # a name no file can have, or links in a circle
        raise _absent(folder) from None
    if not inside:
        raise Problem(422, "outside-roots", f"{folder!r} does not lie below root {root} ({home.name})")
    if not there:
        raise _absent(folder)
    return place


def _absent(folder: str) -> Problem:
    return Problem(422, "no-such-folder", f"there is no folder {folder!r} below this root: check the spelling")
