"""ISO's boxes: EXIF and XMP of HEIC and AVIF (items), of Canon's CR3 (boxes of its own) and of JPEG XL.

Read here rather than by each format's library: none knows all of them, nor gives anything without the picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from viewfinder.pictures.facts.blocks import MAX_BLOCK_BYTES, MAX_PIECES, Blocks
from viewfinder.pictures.facts.dates import read_mac_seconds

_CR3_DIRECTORIES = bytes.fromhex("85c0b687820f11e08111f4ce462b6a48")
_CR3_XMP = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
_MAX_EXTENTS = 1_000
_MAX_PACKED = 4  # packed boxes of a file that are unpacked
_WITH_VERSION = 4  # bytes of version and flags that begin a "full" box


class Box(NamedTuple):
    """A box: its four letters (for a box of one's own, its 16 bytes), and where its content begins and ends."""

    kind: bytes
    start: int
    end: int


def list_boxes(data: bytes, start: int, end: int) -> Iterator[Box]:
    """The boxes of a stretch of a file, as far as they are whole; the last may be cut off."""
    for _ in range(MAX_PIECES):
        if start + 8 > end:
            return
        size, kind, content = int.from_bytes(data[start : start + 4], "big"), data[start + 4 : start + 8], start + 8
        if size == 1:
            size, content = int.from_bytes(data[content : content + 8], "big"), content + 8
        if size == 0:  # to the end
            size = end - start
        if kind == b"uuid":
            kind, content = data[content : content + 16], content + 16
        if start + size < content:
            return
        yield Box(kind, content, min(start + size, end))
        start += size


def find_box_blocks(data: bytes) -> Blocks:
    """The blocks of a file in boxes."""
    blocks, packed = Blocks(), 0
    for box in list_boxes(data, 0, len(data)):
        content = data[box.start : min(box.end, box.start + MAX_BLOCK_BYTES)] if box.kind in _PLAIN else b""
        if box.kind == b"meta":
            _take_items(data, box, blocks)
        elif box.kind == b"moov":
            _take_movie(data, box, blocks)
        elif box.kind == b"brob":  # JPEG XL's, packed
            packed += 1
            if packed <= _MAX_PACKED and content[:4] in _PLAIN:
                _take_plain(content[:4], _unpack_brotli(content[4:]), blocks)
        else:
            _take_plain(box.kind, content, blocks)
    return blocks


_PLAIN = frozenset({_CR3_XMP, b"xml ", b"Exif", b"brob"})


def _take_plain(kind: bytes, content: bytes, blocks: Blocks) -> None:
    """Boxes of JPEG XL, and that of XMP in CR3 and in films."""
    if kind == b"Exif":
        blocks.exif = blocks.exif or _skip_exif_length(content)
    elif kind in (b"xml ", _CR3_XMP):
        blocks.xmp = blocks.xmp or content


def _unpack_brotli(packed: bytes) -> bytes:
    """A packed box of JPEG XL; nothing without the package, or where it is damaged."""
    try:
        import brotli
    except ImportError:
        return b""
    unpacker = brotli.Decompressor()
    try:
        return bytes(unpacker.process(packed, output_buffer_limit=MAX_BLOCK_BYTES))
    except brotli.error:
        return b""


def _skip_exif_length(content: bytes) -> bytes:
    """A block of EXIF without the four bytes before it, which say where in the rest it begins.

    Some programs forget them (pillow-jxl-plugin 1.3.8).
    """
    if content.startswith((b"II*\0", b"MM\0*", b"Exif\0\0")):
        return content
    start = int.from_bytes(content[:4], "big")
    return content[4 + start :] if start < len(content) - 4 else content[4:]


def _take_movie(data: bytes, movie: Box, blocks: Blocks) -> None:
    """When a film or a CR3 was made, and a CR3's directories."""
    for box in list_boxes(data, movie.start, movie.end):
        if box.kind == b"mvhd" and not data[8:12].startswith(b"avi"):  # AVIF's encoders write when they ran
            width = 8 if data[box.start : box.start + 1] == b"\1" else 4
            at = box.start + _WITH_VERSION
            blocks.created = read_mac_seconds(int.from_bytes(data[at : at + width], "big"))
        elif box.kind == _CR3_DIRECTORIES:
            for part in list_boxes(data, box.start, box.end):
                if part.kind in (b"CMT1", b"CMT2", b"CMT4"):
                    blocks.lone_exif[part.kind.decode()] = data[
                        part.start : min(part.end, part.start + MAX_BLOCK_BYTES)
                    ]


def _take_items(data: bytes, meta: Box, blocks: Blocks) -> None:
    """The items of HEIC and AVIF that are EXIF or XMP."""
    parts = {box.kind: box for box in list_boxes(data, meta.start + _WITH_VERSION, meta.end)}
    if b"iinf" not in parts or b"iloc" not in parts:
        return
    wanted = _list_wanted_items(data, parts[b"iinf"])
    inner = parts.get(b"idat")
    for number, extents in _list_locations(data, parts[b"iloc"], frozenset(wanted), inner):
        if wanted[number] == b"Exif":
            blocks.exif = blocks.exif or _skip_exif_length(_join_extents(data, extents))
        else:
            blocks.xmp = blocks.xmp or _join_extents(data, extents)


def _join_extents(data: bytes, extents: list[tuple[int, int]]) -> bytes:
    joined = bytearray()
    for start, end in extents:
        joined += data[start : min(end, start + MAX_BLOCK_BYTES - len(joined))]
        if len(joined) >= MAX_BLOCK_BYTES:
            break
    return bytes(joined)


def _list_wanted_items(data: bytes, table: Box) -> dict[int, bytes]:
    """The numbers of items of EXIF and XMP, with their kind."""
    version = data[table.start : table.start + 1]
    start = table.start + _WITH_VERSION + (2 if version == b"\0" else 4)
    wanted: dict[int, bytes] = {}
    for box in list_boxes(data, start, table.end):
        entry = data[box.start : min(box.end, box.start + 300)]
        if box.kind != b"infe" or entry[:1] not in (b"\2", b"\3"):
            continue
        width = 2 if entry[:1] == b"\2" else 4
        kind = entry[6 + width : 10 + width]
        if kind == b"Exif" or (kind == b"mime" and re.search(rb"\0application/rdf\+xml(\0|$)", entry)):
            wanted[int.from_bytes(entry[4 : 4 + width], "big")] = kind
    return wanted


def _list_locations(
    data: bytes, table: Box, wanted: frozenset[int], inner: Box | None
) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Where the pieces of the wanted items begin and end."""
    version, at = data[table.start], table.start + _WITH_VERSION
    sizes = data[at : at + 2]
    if version > 2 or len(sizes) < 2:
        return
    offset_width, length_width = sizes[0] >> 4, sizes[0] & 15
    base_width, index_width = sizes[1] >> 4, (sizes[1] & 15) if version else 0
    at += 2

    def take(width: int) -> int:
        nonlocal at
        at += width
        return int.from_bytes(data[at - width : at], "big")

    for _ in range(min(take(2 if version < 2 else 4), MAX_PIECES)):
        if at >= table.end:
            return
        number = take(2 if version < 2 else 4)
        method = take(2) & 15 if version else 0
        take(2)  # another file that holds the data, which none does
        base, extents = take(base_width), []
        for _ in range(min(take(2), _MAX_EXTENTS)):
            take(index_width)
            offset, length = base + take(offset_width), take(length_width)
            if method == 1 and inner is not None:  # within the box of items
                offset += inner.start
            extents.append((offset, offset + length if length else len(data)))
        if number in wanted and (method == 0 or (method == 1 and inner is not None)):
            yield number, extents
