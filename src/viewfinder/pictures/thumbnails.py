"""Small copies of pictures, made when first asked for and kept in a cache folder: JPEG, and tiny WebP placeholders."""

from __future__ import annotations

import zlib
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from PIL import Image

from viewfinder.errors import PictureError
from viewfinder.pictures.fits import AtMost
from viewfinder.pictures.found_files import printable_path
from viewfinder.pictures.outcomes import DecodedFile
from viewfinder.pictures.sandbox import decode_one
from viewfinder.whole_files import replace_file

THUMBNAILS = "thumbnails"
"""The cache folder of a library's pictures, inside the library."""

PLACEHOLDER = 16
"""The size of the copy that stands for a picture while it is being loaded."""

SIZES = (PLACEHOLDER, 160, 320, 640, 1280)
"""Pixels of the longer side."""

CHECKSUM_BYTES = 4
"""The CRC-32 of a copy, after its last byte."""

_ENOUGH = 1.5
"""An eighth of a JPEG is read where it is so many times as large as the copy: 500 x 375 pixels for one of 320."""

_QUALITY = 85
_PLACEHOLDER_QUALITY = 50


def load_thumbnail(path: Path, picture_id: str, cache: Path, *, longest: int = 320, pixel_hash: str = "") -> bytes:
    """The file of a picture's copy, its longer side at most `longest` pixels, from the cache or made now.

    With a `pixel_hash` also of a file whose metadata alone are others than when the picture was first seen.
    What is made is kept with a placeholder, if there is room for them: a full disk hides no pictures.

    Raises:
        PictureError: the file is no longer there, is no picture, or is another picture by now.
    """
    place = thumbnail_path(cache, picture_id, longest)
    with suppress(OSError):
        return read_thumbnail(place)
    picture = decode_one(path, AtMost(longest, eighth=_ENOUGH))
    if not picture.is_picture(picture_id, pixel_hash):
        raise PictureError(f"{printable_path(path.name)} has changed since it was added: add it again")
    picture = replace(picture, id=picture_id)
    cache_thumbnails(picture, cache, sizes=(longest, PLACEHOLDER))
    return encode_thumbnail(picture, longest)


def read_thumbnail(place: Path) -> bytes:
    """A copy in the cache. Raises OSError: there is none, or a damaged one, which is removed."""
    kept = place.read_bytes()
    content, checksum = kept[:-CHECKSUM_BYTES], kept[-CHECKSUM_BYTES:]
    if zlib.crc32(content).to_bytes(CHECKSUM_BYTES, "big") != checksum or not content:
        place.unlink()
        raise FileNotFoundError(place)
    return content


def cache_thumbnails(picture: DecodedFile, cache: Path, *, sizes: tuple[int, ...]) -> None:
    """Puts copies of a decoded picture into the cache, where there is room and no such copy."""
    for longest in sizes:
        place = thumbnail_path(cache, picture.id, longest)
        if not place.exists():
            with suppress(OSError):
                _write_sealed(place, encode_thumbnail(picture, longest))


def encode_thumbnail(picture: DecodedFile, longest: int) -> bytes:
    """A picture that was decoded at this size or a larger one, as a file: JPEG, or WebP if it is a placeholder."""
    height, width, _ = picture.pixels.shape
    small = Image.fromarray(picture.pixels).resize(AtMost(longest).target(width, height), Image.Resampling.BICUBIC)
    copy = BytesIO()
    if longest == PLACEHOLDER:
        small.save(copy, "WEBP", quality=_PLACEHOLDER_QUALITY)  # a third of a JPEG, which is all header at this size
    else:
        small.save(copy, "JPEG", quality=_QUALITY)
    return copy.getvalue()


def thumbnail_path(cache: Path, picture_id: str, longest: int) -> Path:
    """The place of a picture's copy of this size."""
    kind = "webp" if longest == PLACEHOLDER else "jpg"
    return cache / picture_id[:2] / f"{picture_id}-{longest}.{kind}"


def choose_size(asked: int, longest: int) -> int:
    """The size whose copy serves one that was asked for: no copy is larger than the picture.

    >>> choose_size(1280, longest=224), choose_size(160, longest=224)
    (320, 160)
    """
    enough = [size for size in SIZES if size >= longest and size != PLACEHOLDER]
    return min(asked, enough[0]) if enough else asked


def _write_sealed(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(place) as file:
        file.touch(mode=0o600)
        file.write_bytes(content + zlib.crc32(content).to_bytes(CHECKSUM_BYTES, "big"))
