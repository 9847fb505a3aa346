"""Formats that need an extra package: HEIC (pillow-heif) and cameras' raw files (rawpy, on LibRaw)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image

from viewfinder.errors import PictureError
from viewfinder.pictures import exif

_NEW_SUBFILE_TYPE, _SUB_IFDS, _DNG_VERSION = 254, 330, 50706  # TIFF and DNG tags


def register_heif() -> None:
    """Lets Pillow read HEIC from now on.

    Raises:
        PictureError: pillow-heif is not installed.
    """
    try:
        import pillow_heif
    except ImportError:
        raise PictureError("HEIC pictures need an extra: pip install 'viewfinder[heic]'") from None
    pillow_heif.register_heif_opener(decode_threads=1)  # workers are parallel already


def is_camera_raw(data: bytes) -> bool:
    """Whether a file that looks like TIFF is a DNG, NEF or ARW: what Pillow would show is its thumbnail."""
    tags = _tiff_notes(data)
    is_reduced = isinstance(kind := tags.get(_NEW_SUBFILE_TYPE), int) and kind & 1
    return _DNG_VERSION in tags or bool(is_reduced and _SUB_IFDS in tags)


@dataclass(frozen=True)
class RawFile:
    """An opened raw file; width and height are upright."""

    width: int
    height: int
    captured: str | None
    camera: str | None
    _raw: Any

    def develop(self, *, half: bool) -> Image.Image:
        """Upright sRGB with the camera's white balance; `half` the size is four times as fast."""
        return Image.fromarray(self._raw.postprocess(use_camera_wb=True, half_size=half, output_bps=8))


@contextmanager
def open_raw(data: bytes) -> Iterator[RawFile]:
    """Opens a raw file.

    Raises:
        PictureError: rawpy is not installed, or LibRaw does not know the file.
    """
    try:
        import rawpy
    except ImportError:
        raise PictureError("RAW pictures need an extra: pip install 'viewfinder[raw]'") from None
    try:
        opened = rawpy.imread(BytesIO(data))
    except rawpy.LibRawError as error:
        raise PictureError(f"damaged or unknown RAW: {_words(error)}") from error
    with opened:
        sizes = opened.sizes
        turned = sizes.flip in (5, 6)
        width, height = (sizes.height, sizes.width) if turned else (sizes.width, sizes.height)
        notes = _tiff_notes(data)
        yield RawFile(width, height, exif.read_capture_date(notes), exif.read_camera(notes), opened)


def _words(error: Exception) -> str:
    """LibRaw's messages are bytes."""
    first = error.args[0] if error.args else ""
    return first.decode("ascii", errors="replace") if isinstance(first, bytes) else str(first)


def _tiff_notes(data: bytes) -> Image.Exif:
    """The first directory of the raw formats that are TIFF files (DNG, NEF, ARW, CR2); empty for others."""
    notes = Image.Exif()
    try:
        notes.load(data)
    except Exception:  # the pixels are LibRaw's business; without notes there is no date, nothing worse
        return Image.Exif()
    return notes
