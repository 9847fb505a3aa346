"""Small copies of the pictures of dialogues, made once."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from viewfinder.errors import PictureError
from viewfinder.pictures import load_thumbnail, picture_id


def make_small_copy(file: Path, size: int, cache: Path) -> bytes:
    """A JPEG of a picture, its longer side at most `size` pixels.

    Raises:
        PictureError: the file is not there, or is no picture.
    """
    try:
        status = file.stat()
        content = _content(file, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise PictureError(f"{file.name}: cannot be read ({error.strerror})") from error
    return load_thumbnail(file, content, cache, longest=size)


@lru_cache(maxsize=4096)
def _content(file: Path, size: int, mtime_ns: int) -> str:
    """The hash of a file's content; read again only where its size or time of change is another."""
    return picture_id(file.read_bytes())
