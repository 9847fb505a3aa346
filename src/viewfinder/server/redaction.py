"""Cleans names and messages that leave the server: no path of this machine, no credentials, only unicode text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from viewfinder.errors import hide_credentials

_QUOTED = re.compile(r"(['\"])(?:file:)?/(?:(?!\1).)*?([^/'\"]*)\1", re.IGNORECASE)

_WORD = r"(?:[^/\s'\"]|(?<=\w)'(?=\w))+"
"""Of a name: without quotes, but for an apostrophe in the middle."""

_FOLDERS = rf"(?: ?{_WORD}(?:(?<!:) {_WORD})*/+)*"
"""Of a path, each with its slash. Names have blanks: what stands between two slashes is one, unless the second slash
begins another path, or a colon ends the first."""

_URL = r"\b(?:(?!file:)[a-z][a-z0-9+.-]*://|(?:s3|gs):/)(?=[^/\s])[^\s'\"]*"
"""Of another machine, or of a bucket, which as a path has one slash; `sqlite:///...` is a path of this one."""

_ABSOLUTE = re.compile(rf"({_URL})|(?<![\w/.~-])(?:file:/+|\w+:(?=///)|(?=/))/*{_FOLDERS}({_WORD}|)", re.IGNORECASE)


def hide_paths(text: str, names: Mapping[Path, str] | None = None) -> str:
    """One line in which each absolute path is the name that `names` has for it, else its last part.

    Where a message does not say where a path with blanks ends, more of the message is hidden rather than less.

    >>> hide_paths("no pictures in /srv/photos/2019: looked", {Path("/srv/photos"): "root 0"})
    'no pictures in root 0/2019: looked'
    >>> hide_paths("cannot read '/home/me/a.jpg'"), hide_paths("cannot read /home/me/my photos/of us/a.jpg: damaged")
    ("cannot read 'a.jpg'", 'cannot read a.jpg: damaged')
    """
    line = hide_credentials(" ".join(text.split()))
    for path, name in sorted((names or {}).items(), key=lambda item: -len(str(item[0]))):
        told = name.replace("\\", r"\\")
        line = re.sub(rf"(?:file:(?://)?)?{re.escape(str(path))}(?![^/\s'\":;,)])", told, line)
    line = _QUOTED.sub(lambda found: f"{found[1]}{found[2]}{found[1]}", line)
    return _ABSOLUTE.sub(lambda found: found[1] or found[2], line)


def to_unicode(text: str) -> str:
    """Bytes of a file name that are not unicode, shown as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
