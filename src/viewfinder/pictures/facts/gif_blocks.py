"""GIF's extensions: comments, and XMP under a name of its own."""

from __future__ import annotations

from viewfinder.pictures.facts.blocks import MAX_PIECES, Blocks
from viewfinder.pictures.facts.words import decode_text

_XMP = b"XMP DataXMP"
_XMP_TRAILER = 257  # bytes by which readers that know no XMP find the end of its block


def find_gif_blocks(data: bytes) -> Blocks:
    """The blocks of a GIF file."""
    blocks = Blocks(kind="GIF")
    position = 13 + _size_palette(data[10:11])
    for _ in range(MAX_PIECES):
        kind = data[position : position + 1]
        if kind == b"!":
            label = data[position + 1 : position + 2]
            start, position = position + 2, _skip_gif_blocks(data, position + 2)
            if label == b"\xfe":
                comment = b"".join(_list_gif_blocks(data, start, position))
                blocks.texts.append(("Comment", decode_text(comment)))
            elif label == b"\xff" and data[start + 1 : start + 12] == _XMP:
                blocks.xmp = data[start + 12 : max(start + 12, position - _XMP_TRAILER - 1)]
        elif kind == b",":
            position = _skip_gif_blocks(data, position + 11 + _size_palette(data[position + 9 : position + 10]))
        else:
            break
    return blocks


def _size_palette(flags: bytes) -> int:
    return 3 << (flags[0] & 7) + 1 if flags and flags[0] & 0x80 else 0


def _skip_gif_blocks(data: bytes, position: int) -> int:
    while position < len(data) and (size := data[position]):
        position += size + 1
    return position + 1


def _list_gif_blocks(data: bytes, position: int, end: int) -> list[bytes]:
    pieces = []
    while position < end - 1:
        pieces.append(data[position + 1 : position + 1 + data[position]])
        position += data[position] + 1
    return pieces
