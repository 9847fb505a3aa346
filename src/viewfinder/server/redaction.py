"""What may leave the server of names and messages: no path of this machine, and only text that is unicode."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_QUOTED = re.compile(r"(['\"])/(?:(?!\1).)*?([^/'\"]*)\1")
_ABSOLUTE = re.compile(r"(?<![\w/.~-])/(?:[^/\s'\"]+/)*([^/\s'\"]*)")


def hide_paths(text: str, names: Mapping[Path, str] | None = None) -> str:
    """One line in which each absolute path is the name that `names` has for it, else its last part.

    >>> hide_paths("no pictures in /srv/photos/2019: looked", {Path("/srv/photos"): "root 0"})
    'no pictures in root 0/2019: looked'
    >>> hide_paths("cannot read '/home/me/a.jpg'")
    "cannot read 'a.jpg'"
    """
    line = " ".join(text.split())
    for path, name in sorted((names or {}).items(), key=lambda item: -len(str(item[0]))):
        told = name.replace("\\", r"\\")
        line = re.sub(rf"{re.escape(str(path))}(?![^/\s'\":;,)])", told, line)
    line = _QUOTED.sub(lambda found: f"{found[1]}{found[2]}{found[1]}", line)
    return _ABSOLUTE.sub(lambda found: found[1], line)


def to_unicode(text: str) -> str:
    """Bytes of a file name that are not unicode, shown as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
