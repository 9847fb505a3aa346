"""Commands of this program as they are told to people: with the library that they mean, quoted for a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path


def default_library() -> Path:
    """The library that is meant where none is named: in the user data folder."""
    from platformdirs import user_data_path

    return user_data_path("viewfinder", appauthor=False) / "library"


def write_command(words: str, library: Path | str) -> str:
    """A command that can be copied as it is: "viewfinder add FOLDER" of this library, which is named unless it is the
    one that is meant without a name.

    >>> write_command("add ~/Pictures", "/srv/my pictures.vf")
    "viewfinder add ~/Pictures --library '/srv/my pictures.vf'"
    """
    return f"viewfinder {words}{write_option(library)}"


def write_option(library: Path | str) -> str:
    """What a command ends in that means this library, with the blank before it; "" where none need be named."""
    named = str(library)
    if named == str(default_library()) and not os.environ.get("VIEWFINDER_LIBRARY"):
        return ""
    return f" --library {quote(named)}"


def quote(text: str) -> str:
    """A text as one word for the shell of this machine."""
    return subprocess.list2cmdline([text]) if os.name == "nt" else shlex.quote(text)
