"""Names of spaces as names of tables and files, there and back."""

from __future__ import annotations

import re

from viewfinder.errors import BadInput

LONGEST = 200
_SAFE = re.compile(r"[a-z0-9.-]")


def to_file_name(name: str) -> str:
    """A name that every file system and Lance accept; other characters become `_` and two hex digits a byte.

    Capitals are written that way too, because some file systems do not tell them from small letters.

    Raises:
        BadInput: the name is empty, or too long for a file.

    >>> to_file_name("starter-1+tune-3f2a")
    'starter-1_2btune-3f2a'
    """
    encoded = "".join(
        character if _SAFE.match(character) else "".join(f"_{byte:02x}" for byte in _bytes(character))
        for character in name
    )
    if not 0 < len(encoded) <= LONGEST:
        raise BadInput(f"{name[:60]!r} cannot name a space: use 1 to {LONGEST} letters and digits")
    return encoded


def from_file_name(encoded: str) -> str:
    """The name that `to_file_name` encoded.

    >>> from_file_name("starter-1_2btune-3f2a")
    'starter-1+tune-3f2a'
    """
    raw = re.sub(rb"_([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), encoded.encode())
    return raw.decode("utf-8", "surrogatepass")


def _bytes(character: str) -> bytes:
    return character.encode("utf-8", "surrogatepass")
