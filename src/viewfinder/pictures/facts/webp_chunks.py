"""WebP's chunks, which may come in any order."""

from __future__ import annotations

from viewfinder.pictures.facts.blocks import MAX_BLOCK_BYTES, MAX_PIECES, Blocks

_XMP = (b"XMP ", b"XMP\0")
"""The chunk of XMP by the standard, and as ImageMagick wrote it (6.9.11)."""


def find_webp_blocks(data: bytes) -> Blocks:
    """The blocks of a WebP file."""
    blocks, position = Blocks(), 12
    for _ in range(MAX_PIECES):
        kind, size = data[position : position + 4], int.from_bytes(data[position + 4 : position + 8], "little")
        if len(kind) < 4:
            break
        content = data[position + 8 : position + 8 + min(size, MAX_BLOCK_BYTES)] if kind in (b"EXIF", *_XMP) else b""
        if kind == b"EXIF":
            blocks.exif = blocks.exif or content
        elif kind in _XMP:
            blocks.xmp = blocks.xmp or content
        position += 8 + size + (size & 1)
    return blocks
