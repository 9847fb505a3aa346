"""The blocks of EXIF, XMP, IPTC and texts in a file, taken from its container without a look at the pixels.

`embedded.find_blocks` chooses the module that takes a format apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from viewfinder.pictures.facts.model import Fact

MAX_BLOCK_BYTES = 16_000_000
"""Bytes of one block; what is longer is cut off."""

MAX_PIECES = 100_000
"""Segments, chunks or blocks of one file that are walked through."""


@dataclass
class Blocks:
    """What a file of a `kind` holds besides its pixels, as bytes.

    `texts` are keywords and texts of PNG, or "Comment" of GIF and JPEG; `created` is when the container says that it
    was made, ISO 8601. `lone_exif` are the directories of a CR3, each a block of its own; `facts` what is
    said in no block of these kinds.
    """

    kind: str = ""
    exif: bytes = b""
    xmp: bytes = b""
    extended_xmp: dict[bytes, list[tuple[int, bytes]]] = field(default_factory=dict)
    iptc: bytes = b""
    photoshop: bytes = b""
    texts: list[tuple[str, str]] = field(default_factory=list)
    created: str | None = None
    lone_exif: dict[str, bytes] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
