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
    pack_image,
    picture_id,
)
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
from viewfinder.pictures.scan import FoundFile, Scan, UnreadablePlace, absolute_path, absolute_root, is_file, scan, walk
from viewfinder.pictures.thumbnails import load_thumbnail
from viewfinder.pictures.walk_notes import WalkNotes

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
    "Scan",
    "Stretch",
    "UnreadablePlace",
    "WalkNotes",
    "absolute_path",
    "absolute_root",
    "can_be_read_now",
    "decode",
    "decode_content",
    "decode_one",
    "is_file",
    "load_thumbnail",
    "pack_image",
    "picture_id",
    "read_one",
    "scan",
    "walk",
]
