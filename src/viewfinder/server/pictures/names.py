"""The header that names a file to be saved (RFC 6266), for whatever name a file has."""

from __future__ import annotations

import re
from unicodedata import normalize
from urllib.parse import quote

_UNSAFE = re.compile(r'[\x00-\x1f\x7f"\\/:*?<>|%]')
"""What some system takes for something else than a part of a name; a percent sign some browsers decode."""

_PLAIN = "!#$&+-.^_`|~"
"""What stands for itself in an extended value (RFC 8187), beside letters and digits."""


def name_attachment(name: str, *, inline: bool = False) -> str:
    r"""The value of `Content-Disposition`: the name for programs that know ASCII only, and as it is for all others.

    >>> name_attachment("Sommer in Köln.jpg")
    'attachment; filename="Sommer in Koln.jpg"; filename*=UTF-8\'\'Sommer%20in%20K%C3%B6ln.jpg'
    >>> name_attachment('a"b.png', inline=True)
    'inline; filename="a_b.png"; filename*=UTF-8\'\'a%22b.png'
    """
    whole = re.sub(r"[\x00-\x1f\x7f/\\]", "_", name)
    letters = normalize("NFKD", whole).encode("ascii", "ignore").decode()
    plain = _UNSAFE.sub("_", letters).strip() or "picture"
    how = "inline" if inline else "attachment"
    value = f'{how}; filename="{plain}"'
    return value if plain == whole else f"{value}; filename*=UTF-8''{quote(whole, safe=_PLAIN)}"
