"""Files on disk to upright RGB and facts: scan, identity, decoding in worker processes, thumbnails.

The function `decode` is in the module of that name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from viewfinder.pictures.fits import AtMost, Fit, Stretch, list_former_fits, picture_id
from viewfinder.pictures.found_files import FoundFile, UnreadablePlace, absolute_path, absolute_root, is_file
from viewfinder.pictures.outcomes import BadFile, DecodedFile, Facts, IdentifiedFile, Outcome

if TYPE_CHECKING:
    from viewfinder.pictures.decode import Decoded, Limits, can_be_read_now, pack_image
    from viewfinder.pictures.sandbox import Decoders, decode_content, decode_one, read_one
    from viewfinder.pictures.thumbnails import load_thumbnail

_HOMES = {
    "decode": ("Decoded", "Limits", "can_be_read_now", "pack_image"),
    "sandbox": ("Decoders", "decode_content", "decode_one", "read_one"),
    "thumbnails": ("load_thumbnail",),
}
"""The modules that need Pillow, or begin processes, and the names that they have."""

__all__ = [
    "AtMost",
    "BadFile",
    "Decoded",
    "DecodedFile",
    "Decoders",
    "Facts",
    "Fit",
    "FoundFile",
    "IdentifiedFile",
    "Limits",
    "Outcome",
    "Stretch",
    "UnreadablePlace",
    "absolute_path",
    "absolute_root",
    "can_be_read_now",
    "decode_content",
    "decode_one",
    "is_file",
    "list_former_fits",
    "load_thumbnail",
    "pack_image",
    "picture_id",
    "read_one",
]


def __getattr__(name: str) -> Any:
    """Imports a name on first use: a search by words reads no files."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
