"""EXIF and XMP in ISO's boxes: of HEIC and AVIF (items), of Canon's CR3 (boxes of its own) and of JPEG XL.

Read here rather than by each format's library: none knows all of them, nor gives anything without the picture.
"""

from __future__ import annotations

from viewfinder.pictures.facts.blocks import MAX_BLOCK_BYTES, Blocks
from viewfinder.pictures.facts.dates import read_mac_seconds
from viewfinder.pictures.iso_boxes import UnreadableBoxes, iterate_boxes, read_items

_CR3_DIRECTORIES = bytes.fromhex("85c0b687820f11e08111f4ce462b6a48")
_XMP = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
_MAX_PACKED = 4  # packed boxes of a file that are unpacked
_WITH_VERSION = 4  # bytes of version and flags that begin a "full" box
_MARKS_OF_XMP = (b"<x:xmpmeta", b"<rdf:RDF", b"<?xpacket")


def find_box_blocks(data: bytes) -> Blocks:
    """The blocks of a file in boxes, as far as these are whole."""
    blocks, packed = Blocks(), 0
    try:
        for box in iterate_boxes(data):
            if box.kind == b"meta":
                _take_items(data, blocks)
            elif box.kind == b"moov":
                _take_movie(data, box.payload, blocks)
            elif box.kind == b"uuid" and box.payload[:16] == _XMP:
                blocks.xmp = blocks.xmp or bytes(box.payload[16 : 16 + MAX_BLOCK_BYTES])
            elif box.kind in (b"Exif", b"xml "):
                _take_plain(box.kind, bytes(box.payload[:MAX_BLOCK_BYTES]), blocks)
            elif box.kind == b"brob" and packed < _MAX_PACKED:  # JPEG XL's, packed
                packed += 1
                _take_plain(bytes(box.payload[:4]), _unpack_brotli(bytes(box.payload[4:MAX_BLOCK_BYTES])), blocks)
    except UnreadableBoxes:
        pass
    return blocks


def _take_plain(kind: bytes, content: bytes, blocks: Blocks) -> None:
    """A box of JPEG XL."""
    if kind == b"Exif":
        blocks.exif = blocks.exif or _skip_exif_length(content)
    elif kind == b"xml ":
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


def _take_movie(data: bytes, movie: memoryview, blocks: Blocks) -> None:
    """When a film or a CR3 was made, and a CR3's directories."""
    for box in iterate_boxes(movie):
        if box.kind == b"mvhd" and not data[8:12].startswith(b"avi"):  # AVIF's encoders write when they ran
            width = 8 if bytes(box.payload[:1]) == b"\1" else 4
            seconds = int.from_bytes(box.payload[_WITH_VERSION : _WITH_VERSION + width], "big")
            blocks.created = read_mac_seconds(seconds)
        elif box.kind == b"uuid" and box.payload[:16] == _CR3_DIRECTORIES:
            for part in iterate_boxes(box.payload[16:]):
                if part.kind in (b"CMT1", b"CMT2", b"CMT4"):
                    blocks.lone_exif[part.kind.decode()] = bytes(part.payload[:MAX_BLOCK_BYTES])


def _take_items(data: bytes, blocks: Blocks) -> None:
    """The items of HEIC and AVIF that are EXIF or XMP."""
    for item in read_items(data).by_number.values():
        if item.kind == b"Exif" and not blocks.exif:
            blocks.exif = _skip_exif_length(_join_pieces(item.data))
        elif item.kind == b"mime" and not blocks.xmp:
            content = _join_pieces(item.data)
            if any(mark in content[:1_000] for mark in _MARKS_OF_XMP):
                blocks.xmp = content


def _join_pieces(pieces: tuple[memoryview, ...]) -> bytes:
    joined = bytearray()
    for piece in pieces:
        joined += piece[: MAX_BLOCK_BYTES - len(joined)]
        if len(joined) >= MAX_BLOCK_BYTES:
            break
    return bytes(joined)
