"""Cameras' raw files that are no TIFF: where Fujifilm's, Minolta's, Sigma's and Canon's first ones keep what they know.

Newer ones are in ISO's boxes (`boxes.py`); all others are TIFF, whose head some makers spell in their own way.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

from viewfinder.pictures.facts.blocks import MAX_BLOCK_BYTES, Blocks
from viewfinder.pictures.facts.exif import name_camera
from viewfinder.pictures.facts.jpeg_segments import find_jpeg_blocks
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.facts.words import decode_text

FUJI, MINOLTA, SIGMA, CANON = b"FUJIFILMCCD-RAW", b"\0MRM", b"FOVb", b"HEAPCCDR"
MAX_ENTRIES = 2_000
"""Entries of a Canon's file that are looked at."""

MAX_LEVELS = 8
"""Directories in one another, likewise."""

Order = Literal["little", "big"]

_CANON_NAME, _CANON_TIME = 0x080A, 0x180E


def find_raw_blocks(data: bytes) -> Blocks | None:
    """The blocks of a raw file that is no TIFF; None for any other."""
    if data.startswith(FUJI):
        return find_jpeg_blocks(data, int.from_bytes(data[84:88], "big"))
    if data.startswith(MINOLTA):
        return _find_minolta_blocks(data)
    if data.startswith(SIGMA):  # a preview by the camera has its EXIF
        start = data.find(b"\xff\xd8\xff\xe1")
        return find_jpeg_blocks(data, start) if start >= 0 else Blocks()
    return _find_canon_blocks(data) if data[6:14] == CANON else None


def _find_minolta_blocks(data: bytes) -> Blocks:
    """The block of TIFF among the few at the beginning."""
    at, end = 8, min(len(data), 8 + int.from_bytes(data[4:8], "big"))
    while at + 8 <= end:
        size = int.from_bytes(data[at + 4 : at + 8], "big")
        if data[at : at + 4] == b"\0TTW":
            return Blocks(exif=data[at + 8 : at + 8 + min(size, MAX_BLOCK_BYTES)])
        at += 8 + size
    return Blocks()


def _find_canon_blocks(data: bytes) -> Blocks:
    """The camera's name, and its clock's seconds since 1970, of a CRW, which has no EXIF."""
    blocks = Blocks()
    order: Order = "little" if data[:2] == b"II" else "big"
    start = int.from_bytes(data[2:6], order)
    for tag, value in _list_canon_entries(data, start, len(data), order, [MAX_ENTRIES], MAX_LEVELS):
        if tag == _CANON_NAME:
            make, model = (*value.split(b"\0"), b"")[:2]
            if camera := name_camera(decode_text(make), decode_text(model)):
                blocks.facts.append(Fact("camera", (camera,), "CRW MakeModel"))
        elif tag == _CANON_TIME and (seconds := int.from_bytes(value[:4], order)):
            moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()
            blocks.facts.append(Fact("captured", (moment,), "CRW TimeStamp"))
    return blocks


def _list_canon_entries(
    data: bytes, start: int, end: int, order: Order, left: list[int], levels: int
) -> Iterator[tuple[int, bytes]]:
    """The entries of a block, whose directory stands at its end, and of those in it, as far as `left` has any."""
    at = start + int.from_bytes(data[end - 4 : end], order)
    for entry in range(at + 2, at + 2 + 10 * int.from_bytes(data[at : at + 2], order), 10):
        tag = int.from_bytes(data[entry : entry + 2], order)
        left[0] -= 1
        if entry + 10 > end or left[0] < 0 or tag & 0x8000:
            return
        size, offset = (int.from_bytes(data[at : at + 4], order) for at in (entry + 2, entry + 6))
        if tag & 0x4000:  # the value stands in the entry itself
            yield tag & 0x3FFF, data[entry + 2 : entry + 10]
        elif tag & 0x3800 in (0x2800, 0x3000):
            if levels and start + offset + size <= end:
                yield from _list_canon_entries(data, start + offset, start + offset + size, order, left, levels - 1)
        else:
            yield tag & 0x3FFF, data[start + offset : start + offset + min(size, 1_000)]
