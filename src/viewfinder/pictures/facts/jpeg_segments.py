"""JPEG's segments before the pixels."""

from __future__ import annotations

from viewfinder.pictures.facts.blocks import MAX_BLOCK_BYTES, MAX_PIECES, Blocks
from viewfinder.pictures.facts.words import decode_text

_EXIF = b"Exif\0"
_XMP = (b"http://ns.adobe.com/xap/1.0/\0", b"XMP\0")
_EXTENDED_XMP = b"http://ns.adobe.com/xmp/extension/\0"
_PHOTOSHOP = (b"Photoshop 3.0\0", b"Adobe_Photoshop2.5:")
_APP1, _APP13, _COMMENT, _SCAN, _END = 0xE1, 0xED, 0xFE, 0xDA, 0xD9
_BARE = frozenset({0x01, *range(0xD0, 0xD8)})  # markers without a length


def find_jpeg_blocks(data: bytes, at: int = 0) -> Blocks:
    """The blocks of a JPEG file that begins at a place of `data`: raw files hold one."""
    blocks, position, resources = Blocks(kind="JPEG"), at + 2, []
    for _ in range(MAX_PIECES):
        if data[position : position + 1] != b"\xff" or position + 4 > len(data):
            break
        marker = data[position + 1]
        if marker == 0xFF or marker in _BARE:
            position += 1 if marker == 0xFF else 2  # a marker may be filled up
            continue
        if marker in (_SCAN, _END):
            break
        length = int.from_bytes(data[position + 2 : position + 4], "big")
        content = data[position + 4 : position + 2 + length]
        if marker == _APP1:
            _take_app1(content, blocks)
        elif marker == _APP13 and content.startswith(_PHOTOSHOP):
            resources.append(content[next(len(head) for head in _PHOTOSHOP if content.startswith(head)) :])
        elif marker == _COMMENT:
            blocks.texts.append(("Comment", decode_text(content.rstrip(b"\0"))))
        position += 2 + max(2, length)
    blocks.photoshop = b"".join(resources)[:MAX_BLOCK_BYTES]
    return blocks


def _take_app1(content: bytes, blocks: Blocks) -> None:
    if content.startswith(_EXIF):
        blocks.exif = blocks.exif or content
    elif content.startswith(_EXTENDED_XMP):
        start = len(_EXTENDED_XMP)
        guid, offset = content[start : start + 32], int.from_bytes(content[start + 36 : start + 40], "big")
        blocks.extended_xmp.setdefault(guid, []).append((offset, content[start + 40 :]))
    else:
        start = next((len(head) for head in _XMP if content.startswith(head)), 0)
        if start and not blocks.xmp:
            blocks.xmp = content[start:]


def join_extended_xmp(pieces: list[tuple[int, bytes]]) -> bytes:
    """The rest of a packet from its segments, which may come in any order; as far as it is whole."""
    joined = bytearray()
    for offset, piece in sorted(pieces):
        if offset > len(joined) or len(joined) > MAX_BLOCK_BYTES:
            break
        joined[offset:] = piece
    return bytes(joined)
