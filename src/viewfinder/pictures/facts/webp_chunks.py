"""WebP's chunks, which may come in any order."""

from __future__ import annotations

from viewfinder.pictures.facts.blocks import MAX_BLOCK_BYTES, MAX_PIECES, Blocks


def find_webp_blocks(data: bytes) -> Blocks:
    """The blocks of a WebP file."""
    blocks, position = Blocks(), 12
    for _ in range(MAX_PIECES):
        kind, size = data[position : position + 4], int.from_bytes(data[position + 4 : position + 8], "little")
        if len(kind) < 4:
            break
        content = data[position + 8 : position + 8 + min(size, MAX_BLOCK_BYTES)] if kind in (b"EXIF", b"XMP ") else b""
        if kind == b"EXIF":
            blocks.exif = blocks.exif or content
        elif kind == b"XMP ":
            blocks.xmp = blocks.xmp or content
        position += 8 + size + (size & 1)
    return blocks
