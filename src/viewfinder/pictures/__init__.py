"""Files on disk to upright RGB and facts: scan, identity, decoding in worker processes, thumbnails."""

from viewfinder.pictures.decode import AtMost, Decoded, Facts, Fit, Limits, Stretch, decode
from viewfinder.pictures.identity import picture_id
from viewfinder.pictures.sandbox import Bad, Decoders, Outcome, Read, decode_one
from viewfinder.pictures.scan import Found, Scan, Unreadable, scan
from viewfinder.pictures.thumbnails import thumbnail

__all__ = [
    "AtMost",
    "Bad",
    "Decoded",
    "Decoders",
    "Facts",
    "Fit",
    "Found",
    "Limits",
    "Outcome",
    "Read",
    "Scan",
    "Stretch",
    "Unreadable",
    "decode",
    "decode_one",
    "picture_id",
    "scan",
    "thumbnail",
]
