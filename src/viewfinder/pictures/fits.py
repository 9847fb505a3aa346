"""What to make of a picture: the sizes that encoders and screens ask for; and the id of a file.

Light: a search imports this, and not what reads files (`decode`).
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, field, replace

DRAFT = 2
"""JPEG is read at a reduced scale that is at least so many times the size wanted."""


@dataclass(frozen=True)
class Stretch:
    """The whole picture, stretched to a square: what the starter encoder looks at.

    `eighth`: a JPEG is read at an eighth of its size where that is so many times the size wanted. Below 2 this is
    quicker (12 megapixels: 32 ms instead of 41), but the pixels are no longer those of viewfinders that knew no eighth.
    """

    side: int = 224
    eighth: float = field(default=DRAFT, kw_only=True)

    def target(self, width: int, height: int) -> tuple[int, int]:
        """Width and height to make of a picture of this width and height."""
        return self.side, self.side


@dataclass(frozen=True)
class AtMost:
    """The picture in its own proportions, its longer side at most `longest`; never enlarged.

    `eighth`: see `Stretch`.
    """

    longest: int
    eighth: float = field(default=DRAFT, kw_only=True)

    def target(self, width: int, height: int) -> tuple[int, int]:
        """Width and height to make of a picture of this width and height."""
        scale = min(1.0, self.longest / max(width, height))
        return max(1, round(width * scale)), max(1, round(height * scale))


Fit = Stretch | AtMost


def list_former_fits(fit: Fit) -> list[Fit]:
    """What an earlier viewfinder made of the same files for this fit, where that were other pixels."""
    return [] if fit.eighth == DRAFT else [replace(fit, eighth=DRAFT)]


def picture_id(data: bytes) -> str:
    """The 128-bit blake2b hash of a file's content, written as a UUID.

    >>> picture_id(b"not even a picture")
    'b56fb7e4-be83-8e61-fb6a-be50613f190d'
    """
    return str(uuid.UUID(bytes=hashlib.blake2b(data, digest_size=16).digest()))
