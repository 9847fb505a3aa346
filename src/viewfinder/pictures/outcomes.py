"""What reading a file comes to: a picture with its facts, a picture that was not decoded, or a bad file.

Light, as `fits` is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.pixel_hashes import is_same_picture

NO_VECTOR = "no vector"
"""Begins the reason why a picture that was read is none for its encoder (`encoders.vectors`)."""


@dataclass(frozen=True)
class Facts:
    """Facts about a picture besides its pixels; width and height are those of the upright original.

    `captured` is ISO 8601 in the camera's own time. `format` is Pillow's name, or "HEIF", "RAW".
    """

    width: int
    height: int
    format: str
    bytes: int
    captured: str | None
    camera: str | None


@dataclass(frozen=True, eq=False)
class DecodedFile:
    """A picture: pixels (height, width, 3), upright sRGB; size in bytes, `id` the hash of the content.

    Attributes:
        known: what the file and its sidecars say of the picture, if that was asked for.
        pixel_hash: the hash of the content without metadata, and the orientation (`identity.hash_pixels`).
    """

    path: Path
    id: str
    size: int
    mtime_ns: int
    pixels: NDArray[np.uint8]
    facts: Facts
    known: tuple[Fact, ...] = field(default=(), kw_only=True)
    pixel_hash: str = field(default="", kw_only=True)

    def is_picture(self, picture: str, pixel_hash: str) -> bool:
        """Whether this file holds the picture of an id and a pixel hash ("" if that is not known)."""
        return self.id == picture or is_same_picture(self.pixel_hash, pixel_hash)


@dataclass(frozen=True)
class IdentifiedFile:
    """A picture's file that was read without decoding it: its hashes, and what is known of the picture."""

    path: Path
    id: str
    size: int
    mtime_ns: int
    known: tuple[Fact, ...]
    pixel_hash: str


@dataclass(frozen=True)
class BadFile:
    """A file that did not become a picture, and why."""

    path: Path
    size: int
    mtime_ns: int
    reason: str


Outcome = DecodedFile | IdentifiedFile | BadFile
