"""The files themselves: only while they are the pictures that were added."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from viewfinder.pictures import picture_id
from viewfinder.server.discreet import to_unicode
from viewfinder.server.images.known import find_picture, picture_changed, picture_gone

if TYPE_CHECKING:
    from viewfinder.library import Library

FORMATS: dict[str, tuple[str, str]] = {
    "JPEG": ("jpg", "image/jpeg"),
    "PNG": ("png", "image/png"),
    "WEBP": ("webp", "image/webp"),
    "GIF": ("gif", "image/gif"),
    "BMP": ("bmp", "image/bmp"),
    "TIFF": ("tif", "image/tiff"),
    "AVIF": ("avif", "image/avif"),
    "HEIF": ("heic", "image/heic"),
    "RAW": ("dng", "image/x-adobe-dng"),
}
"""How files of each format are called, and what they are called over HTTP."""


@dataclass(frozen=True)
class Original:
    """A picture's file; `name` is the last of its names."""

    path: Path
    name: str
    media_type: str


def find_original(library: Library, picture: str) -> Original:
    """The first file that still is the picture.

    Raises:
        Problem: 404 there is no such picture; 410 none of its files is there any more.
        PictureError: all of them have changed since.
    """
    gallery, row = find_picture(library, picture)
    there = [path for path in map(Path, gallery.snapshot.paths(row)) if path.is_file()]
    if not there:
        raise picture_gone(picture)
    media_type = FORMATS[gallery.snapshot.facts(row)["format"]][1]
    for path in there:
        if _content_of(path) == picture:
            return Original(path, to_unicode(path.name), media_type)
    raise picture_changed(there[0])


def _content_of(path: Path) -> str | None:
    """The hash of a file's content, read again only if its size or time of change is another."""
    try:
        status = path.stat()
        return _hashed(path, status.st_size, status.st_mtime_ns, status.st_ino)
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _hashed(path: Path, size: int, mtime_ns: int, inode: int) -> str:
    return picture_id(path.read_bytes())
