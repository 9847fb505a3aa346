"""What a camera wrote beside the pixels: when, with what, which way up. Nothing here fails a picture."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from PIL import ExifTags, Image

_LONGEST_NAME = 100


def read_capture_date(exif: Image.Exif) -> str | None:
    """DateTimeOriginal, else DateTime, as ISO 8601 in the camera's own time; None if absent or nonsense."""
    for value in (_details(exif).get(ExifTags.Base.DateTimeOriginal), exif.get(ExifTags.Base.DateTime)):
        try:
            return datetime.strptime(_text(value)[:19], "%Y:%m:%d %H:%M:%S").isoformat()
        except ValueError:
            continue
    return None


def read_camera(exif: Image.Exif) -> str | None:
    """Maker and model, the maker not twice ("Canon", "Canon EOS 5D" is "Canon EOS 5D"); None if unknown."""
    make, model = _text(exif.get(ExifTags.Base.Make)), _text(exif.get(ExifTags.Base.Model))
    name = model if model.lower().startswith(make.lower()) else f"{make} {model}"
    return (name.strip() or make)[:_LONGEST_NAME] or None


def read_orientation(exif: Image.Exif) -> int:
    """1 to 8 as EXIF numbers them; 1 (upright) for anything else."""
    value = exif.get(ExifTags.Base.Orientation, 1)
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _details(exif: Image.Exif) -> dict[int, Any]:
    try:
        return exif.get_ifd(ExifTags.IFD.Exif)
    except Exception:  # whatever a broken block makes Pillow raise, the pixels are still good
        return {}


def _text(value: object) -> str:
    """An EXIF text without the zero bytes and control characters that cameras pad it with."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value if isinstance(value, str) else ""
    return "".join(letter for letter in text.split("\0")[0] if letter.isprintable()).strip()
