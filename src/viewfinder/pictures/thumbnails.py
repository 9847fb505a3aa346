"""Small JPEG copies of pictures, made when first asked for and kept in a cache folder."""

from __future__ import annotations

import errno
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image

from viewfinder.errors import DiskFull, PictureError
from viewfinder.pictures.decode import AtMost
from viewfinder.pictures.sandbox import decode_one

_QUALITY = 85


def thumbnail(path: Path, picture_id: str, cache: Path, *, longest: int = 320) -> Path:
    """The cached thumbnail of a picture, its longer side at most `longest` pixels.

    Raises:
        PictureError: the file is no longer there, is no picture, or is another picture by now.
        DiskFull: there is no room for it.
    """
    place = cache / picture_id[:2] / f"{picture_id}-{longest}.jpg"
    if place.exists():
        return place
    picture = decode_one(path, AtMost(longest))
    if picture.id != picture_id:
        raise PictureError(f"{path} has changed since it was added: add it again")
    jpeg = BytesIO()
    Image.fromarray(picture.pixels).save(jpeg, "JPEG", quality=_QUALITY)
    try:
        _write_whole(place, jpeg.getvalue())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no room for a thumbnail in {cache}: free some space and try again") from error
        raise
    return place


def _write_whole(place: Path, content: bytes) -> None:
    """A reader sees the whole file or none, also when several processes make the same one."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, prefix=".", suffix=".part", delete=False) as part:
        unfinished = Path(part.name)
        try:
            part.write(content)
            part.flush()
            unfinished.replace(place)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
