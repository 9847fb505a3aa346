"""A picture in the system's own program, or its folder: on the server's machine, for somebody who sits there."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from viewfinder.pictures.formats import EXTENSIONS
from viewfinder.server.access.trust import has_desktop
from viewfinder.server.pictures.library import find_original
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.library import Library


LAUNCH_S = 3.0
"""How long is waited for the program that opens files to say that it cannot."""


def open_picture(library: Library, picture: str, how: Literal["open", "folder"]) -> None:
    """Opens the file of a picture in the program that the system has for it, or shows the folder in which it lies.

    Raises:
        Problem: 404 or 410, there is no such picture or file; 409, there is no desktop, or it cannot be opened.
        PictureError: all of its files have changed since they were added.
    """
    path = find_original(library, picture).path
    if not has_desktop():
        raise Problem(409, "no-desktop", "the server's machine has no desktop to open files on: download the picture")
    # A picture may be called as programs are, and would be run: it is shown where it lies, and a person decides.
    if how == "open" and not has_picture_ending(path):
        raise Problem(409, "not-opened", f"{path.name} is not called as pictures are: have its folder shown instead")
    if _launch(path.absolute(), locate=how == "folder") != 0:
        raise Problem(409, "not-opened", "the system found no program to open it with: download the picture")


def _launch(path: Path, *, locate: bool) -> int:
    """The exit code of the program that opens files; 0 if it is at work for longer than one waits for it."""
    import typer

    ended: Future[int] = Future()

    def launch() -> None:  # in a thread of its own, until the program has ended: some stay until a window is closed
        try:
            ended.set_result(typer.launch(str(path), wait=True, locate=locate))
        except Exception as error:
            ended.set_exception(error)

    threading.Thread(target=launch, name="open", daemon=True).start()
    try:
        return ended.result(LAUNCH_S)
    except TimeoutError:
        return 0


def has_picture_ending(path: Path) -> bool:
    """Whether a file is called as pictures are.

    >>> has_picture_ending(Path("a.JPG")), has_picture_ending(Path("a.desktop")), has_picture_ending(Path("a.html"))
    (True, False, False)
    """
    return path.suffix.lower().lstrip(".") in EXTENSIONS - {""}
