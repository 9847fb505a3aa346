"""Files and places as they are found, and paths as they are written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from viewfinder.errors import BadInput


@dataclass(frozen=True)
class FoundFile:
    """A file that says it is a picture; size in bytes.

    Attributes:
        sidecars: the names of the files beside it that tell of it, the most trusted first.
        stamp: 64 bits that are others as soon as what tells of it is: its sidecars, the readers of facts, the settings.
        facts_only: its pixels are known already, and need not be decoded.
    """

    path: Path
    size: int
    mtime_ns: int
    sidecars: tuple[str, ...] = ()
    stamp: int = 0
    facts_only: bool = False


@dataclass(frozen=True)
class UnreadablePlace:
    """A place that could not be looked into; `path` can be printed, whatever its bytes."""

    path: Path
    reason: str


def printable_path(path: str | Path) -> Path:
    """The path with the bytes that are not UTF-8 written as \\xNN, so that it can be printed and stored."""
    return Path(os.fsencode(path).decode("utf-8", errors="backslashreplace"))


def is_file(path: str | Path) -> bool:
    """Whether this is a file that there is; not what cannot be a file's name, either."""
    return os.path.isfile(path)  # noqa: PTH113 (`Path` raises for some of what cannot be a name)


def absolute_root(root: Path) -> Path:
    """A root that is there, as `absolute_path` writes it. Raises BadInput."""
    if not Path(root).expanduser().exists():
        raise BadInput(
            f"no such folder or file: {printable_path(Path(root).expanduser())}; check the spelling, or quote the name"
        )
    return absolute_path(root)


def absolute_path(place: Path) -> Path:
    """A path as the user wrote it, from / on; links stay, except where ".." would step over them."""
    place = Path(place).expanduser()
    return place.resolve() if ".." in place.parts else place.absolute()
