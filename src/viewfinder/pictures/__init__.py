"""Files on disk to upright RGB and facts: scan, identity, decoding in worker processes, thumbnails."""

from viewfinder.pictures.decode import (
    AtMost,
    Decoded,
    Facts,
    Fit,
    Limits,
    Stretch,
    can_be_read_now,
    decode,
    list_former_fits,
    pack_image,
    picture_id,
)
from viewfinder.pictures.found_files import FoundFile, UnreadablePlace, absolute_path, absolute_root, is_file
from viewfinder.pictures.sandbox import (
    BadFile,
    DecodedFile,
    Decoders,
    IdentifiedFile,
    Outcome,
    decode_content,
    decode_one,
    read_one,
)
from viewfinder.pictures.thumbnails import load_thumbnail

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
    "decode",
    "decode_content",
    "decode_one",
    "is_file",
    "list_former_fits",
    "load_thumbnail",
    "pack_image",
    "picture_id",
    "read_one",
]
