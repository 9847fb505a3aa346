"""Files on disk to upright RGB and facts: scan, identity, decoding in worker processes, thumbnails."""

from viewfinder.pictures.decode import AtMost, Decoded, Facts, Fit, Limits, Stretch, decode
from viewfinder.pictures.identity import picture_id
from viewfinder.pictures.sandbox import BadFile, DecodedFile, Decoders, Outcome, decode_one
from viewfinder.pictures.scan import FoundFile, Scan, UnreadablePlace, scan
from viewfinder.pictures.thumbnails import load_thumbnail

__all__ = [
    "AtMost",
    "BadFile",
    "Decoded",
    "Decoders",
    "Facts",
    "Fit",
    "FoundFile",
    "Limits",
    "Outcome",
    "DecodedFile",
    "Scan",
    "Stretch",
    "UnreadablePlace",
    "decode",
    "decode_one",
    "picture_id",
    "scan",
    "load_thumbnail",
]
