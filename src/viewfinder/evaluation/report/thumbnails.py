"""Small copies of pictures inside a page."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from viewfinder.errors import PictureError
from viewfinder.pictures import AtMost, decode_one


class Thumbnails:
    """Small copies of pictures as data URIs, each made once; "" where a file cannot be read."""

    def __init__(self, longest: int) -> None:
        """`longest` is the longest side, in pixels."""
        self._longest = longest
        self._made: dict[str, str] = {}

    def __call__(self, file: str) -> str:
        """The small copy of a picture file."""
        if file and file not in self._made:
            self._made[file] = _small(Path(file), self._longest)
        return self._made.get(file, "")


def _small(file: Path, longest: int) -> str:
    from PIL import Image

    try:
        pixels = decode_one(file, AtMost(longest)).pixels
    except PictureError:
        return ""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=70)
    return data_uri(buffer.getvalue(), "jpeg")


def data_uri(image: bytes, kind: str) -> str:
    """A picture as a data URI."""
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"
