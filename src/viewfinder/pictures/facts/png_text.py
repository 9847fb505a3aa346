"""PNG: chunks of EXIF, XMP and texts under keywords; ImageMagick and exiftool put whole blocks into texts, in hex."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from viewfinder.pictures.facts.blocks import MAX_BLOCK_BYTES, MAX_PIECES, Blocks
from viewfinder.pictures.facts.captions import COMMENT
from viewfinder.pictures.facts.dates import read_written_date
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.facts.words import decode_text, keep_names, keep_words, split_keywords

MAX_TEXT_BYTES = 8_000_000
"""Bytes of all texts of a file, unpacked; the rest is left out."""

_XMP = "XML:com.adobe.xmp"
_PROFILE = re.compile(r"Raw profile type (\w+)", re.IGNORECASE)
_FACTS = {
    "title": "title",
    "description": "description",
    "caption": "description",
    "comment": COMMENT,
    "author": "creator",
    "artist": "creator",
    "keywords": "keywords",
}
"""Facts by the keyword of a text, in small letters."""

_CREATED = frozenset({"creation time", "create-date"})


def find_png_blocks(data: bytes) -> Blocks:
    """The blocks of a PNG file, also those after its pixels."""
    blocks, position, left = Blocks(kind="PNG"), 8, MAX_TEXT_BYTES
    for _ in range(MAX_PIECES):
        kind, size = data[position + 4 : position + 8], int.from_bytes(data[position : position + 4], "big")
        if len(kind) < 4 or kind == b"IEND":
            break
        start = position + 8
        if kind == b"eXIf":
            blocks.exif = data[start : start + min(size, MAX_BLOCK_BYTES)]
        elif kind in (b"tEXt", b"zTXt", b"iTXt"):
            keyword = data[start : start + min(size, 80)].split(b"\0")[0]
            name = keyword.decode("latin-1").strip()
            if left and _is_wanted(name):
                text = _read_text(kind, data[start + len(keyword) + 1 : start + size], left)
                left -= len(text)
                _take_text(name, text, blocks)
        position = start + size + 4
    return blocks


def _is_wanted(keyword: str) -> bool:
    return keyword == _XMP or keyword.lower() in (*_FACTS, *_CREATED) or _PROFILE.fullmatch(keyword) is not None


def _read_text(kind: bytes, content: bytes, most: int) -> bytes:
    """The text of a chunk after its keyword, unpacked, at most so many bytes; nothing for one that is damaged."""
    is_packed = kind == b"zTXt"
    if kind == b"iTXt":
        is_packed = content[:1] == b"\1"
        content = content[2:].split(b"\0", 2)[-1]  # after the flag: the method, a language, the keyword in it
    elif is_packed:
        content = content[1:]
    try:
        return zlib.decompressobj().decompress(content, most) if is_packed else content[:most]
    except zlib.error:
        return b""


def _take_text(keyword: str, text: bytes, blocks: Blocks) -> None:
    if keyword == _XMP:
        blocks.xmp = blocks.xmp or text
    elif (profile := _PROFILE.fullmatch(keyword)) is not None:
        _take_profile(profile[1].lower(), _read_profile(text), blocks)
    else:
        blocks.texts.append((keyword, decode_text(text)))


def _read_profile(text: bytes) -> bytes:
    """A block as ImageMagick writes it: a name, a length, then the bytes in hex."""
    lines = text.strip().split(b"\n", 2)
    try:
        return bytes.fromhex(lines[2].decode("ascii")) if len(lines) == 3 else b""
    except ValueError:
        return b""


def _take_profile(name: str, block: bytes, blocks: Blocks) -> None:
    if name == "xmp" or (name == "app1" and b"adobe.com/xap" in block[:64]):
        blocks.xmp = blocks.xmp or block.removeprefix(b"http://ns.adobe.com/xap/1.0/\0")
    elif name in ("exif", "app1"):
        blocks.exif = blocks.exif or block
    elif name in ("iptc", "8bim") and block.startswith(b"8BIM"):
        blocks.photoshop = blocks.photoshop or block
    elif name == "iptc":
        blocks.iptc = blocks.iptc or block


def read_texts(texts: Iterable[tuple[str, str]], source_prefix: str) -> list[Fact]:
    """What the texts of a PNG say, or the comments of a GIF or a JPEG, by their keywords."""
    facts: list[Fact] = []
    for keyword, text in texts:
        name, source = _FACTS.get(keyword.lower()), f"{source_prefix} {keyword}"
        if name == "keywords":
            items = text.split(",") if ";" not in text else [text]
            facts.append(Fact(name, split_keywords(items), source))
        elif name == "creator":
            facts.append(Fact(name, keep_names([text]), source))
        elif name is not None:
            facts.append(Fact(name, keep_words([text]), source))
    return [fact for fact in facts if fact.values]


def read_creation_time(texts: Iterable[tuple[str, str]]) -> Fact | None:
    """When a PNG says that it was made. Its chunk tIME and ImageMagick's "date:create" are the file's last change."""
    for keyword, text in texts:
        if keyword.lower() in _CREATED and (said := read_written_date(text.strip())):
            return Fact("captured", (said,), f"PNG {keyword}")
    return None
