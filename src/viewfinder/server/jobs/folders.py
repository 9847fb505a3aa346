"""Walking through folders to choose one whose pictures are to be added: only folders, nothing hidden, no file's name.

A folder is listed under its own name; a link to one is a folder too, and choosing it leads to where it points, so that
links in a circle lead nowhere new. Counting follows no links, and ends after a moment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from viewfinder.pictures.formats import EXTENSIONS
from viewfinder.server.jobs.manager import find_folder_below, find_own_folder
from viewfinder.server.pictures.schemas import FolderInside, Folders
from viewfinder.server.problems import Problem
from viewfinder.server.redaction import to_unicode

MAX_LISTED = 1000
"""Folders in one folder that are listed."""

MAX_COUNTED, MAX_COUNT_S = 100_000, 0.7
"""Pictures that are counted, and the time for it."""

OF_THE_SYSTEM = frozenset({"/dev", "/proc", "/sys"})
"""Folders in which nobody keeps pictures, and whose files may never end."""


def look_into_root(root: int, at: str, roots: Sequence[Path]) -> Folders:
    """A folder below a root of the server.

    Raises:
        Problem: 422, there is no such root or folder, or it may not be read.
    """
    place = find_folder_below(root, at, roots)
    home = roots[root].resolve()
    inside = place.relative_to(home)

    def name_place(folder: Path) -> str:
        return "/".join(folder.relative_to(home).parts)

    above = None if place == home else "/".join(inside.parts[:-1])
    listed = [it for it in _list_inside(place) if it.resolve().is_relative_to(home)]
    return _describe(place, listed, root=root, above=above, name_place=name_place)


def look_on_machine(at: str) -> Folders:
    """A folder of this machine; without one, where pictures usually are.

    Raises:
        Problem: 422, there is no such folder, or it may not be read.
    """
    usual = _find_usual_places()
    place = find_own_folder(at) if at else usual[0]
    above = None if place.parent == place else str(place.parent)
    found = _describe(place, list(_list_inside(place)), root=None, above=above, name_place=str)
    return found.model_copy(update={"places": [_show_folder(it, str(it)) for it in usual]})


def _describe(
    place: Path, listed: list[Path], *, root: int | None, above: str | None, name_place: Callable[[Path], str]
) -> Folders:
    shown = sorted(listed, key=lambda it: it.name.casefold())[:MAX_LISTED]
    pictures, more = count_pictures(place)
    return Folders(
        root=root,
        at=to_unicode(name_place(place)),
        name=to_unicode(place.name or str(place)),
        above=None if above is None else to_unicode(above),
        folders=[_show_folder(it, name_place(it)) for it in shown],
        left_out=len(listed) - len(shown),
        pictures=pictures,
        more=more,
        places=[],
    )


def _show_folder(folder: Path, at: str) -> FolderInside:
    readable = os.access(folder, os.R_OK | os.X_OK)
    return FolderInside(name=to_unicode(folder.name or str(folder)), at=to_unicode(at), readable=readable)


def _list_inside(place: Path) -> Iterator[Path]:
    """The folders in a folder, links to folders among them.

    Raises:
        Problem: 422, it is no folder, or may not be read.
    """
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                with suppress(OSError):  # a link in a circle, or to what may not be looked at
                    hidden = entry.name.startswith(".") or entry.path in OF_THE_SYSTEM
                    if not hidden and entry.is_dir():
                        yield Path(entry.path)
    except PermissionError as error:
        detail = f"the folder {to_unicode(place.name)!r} may not be read by the user who runs the server"
        raise Problem(422, "unreadable-folder", f"{detail}: change its permissions, or choose another") from error
    except OSError as error:
        raise Problem(422, "no-such-folder", f"{to_unicode(place.name)!r} is no folder: choose one") from error


def count_pictures(place: Path) -> tuple[int, bool]:
    """How many files below a folder have the names of pictures, and whether counting ended before it was done."""
    counted, waiting, end = 0, [str(place)], time.monotonic() + MAX_COUNT_S
    while waiting:
        if counted >= MAX_COUNTED or time.monotonic() > end:
            return counted, True
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for number, entry in enumerate(entries):
                if number % 1024 == 1023 and time.monotonic() > end:
                    return counted, True
                if entry.name.startswith(".") or entry.path in OF_THE_SYSTEM:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif os.path.splitext(entry.name)[1][1:].lower() in EXTENSIONS:  # noqa: PTH122 (a Path each takes longer)
                    counted += 1
    return counted, False


def _find_usual_places() -> list[Path]:
    """The folders in which people look first, those that are there; at least the top of this machine."""
    from platformdirs import user_desktop_path, user_documents_path, user_downloads_path, user_pictures_path

    home = Path.home()
    wished = [user_pictures_path(), home, user_desktop_path(), user_documents_path(), user_downloads_path()]
    mounts = [Path(it) for it in ("/media", "/mnt", "/run/media", "/Volumes", "/")]
    found: dict[Path, None] = {}
    for place in (*wished, *mounts, *_list_drives()):
        with suppress(OSError, RuntimeError):
            if place.is_dir() and os.access(place, os.R_OK | os.X_OK):
                found[place.resolve()] = None
    return list(found)


def _list_drives() -> list[Path]:
    """The drives of Windows."""
    listed = getattr(os, "listdrives", list)  # from Python 3.12 on, and only there
    return [Path(drive) for drive in listed()]
