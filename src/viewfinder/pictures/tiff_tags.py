"""The directories of a TIFF file (and of the EXIF block, which is one): tags and their values, read within bounds.

Pillow reads the tags that it knows of the page that it shows; this reads all tags of all pages, as their bytes. For
`identity.py`, which leaves out some of them, and for `deep_tiff.py`, whose pages Pillow refuses.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ORIENTATION = 274
SUB_DIRECTORIES = 330

MAX_DIRECTORIES = 10_000
"""Pages of one file; a scanned book has hundreds."""

MAX_TAGS = 300_000
"""Tags of all pages together."""

MAX_INTEGERS = 1_000_000
"""Numbers that are read of one tag."""

_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_INTEGERS = {1: "u1", 3: "u2", 4: "u4", 6: "i1", 8: "i2", 9: "i4", 13: "u4", 16: "u8", 17: "i8", 18: "u8"}
_MAGIC_NUMBERS = frozenset({42, 43, 0x55, 0x4F52, 0x5352})  # TIFF, BigTIFF, Panasonic's RW2, Olympus' ORF twice


class UnreadableTiff(Exception):
    """The structure is none, or larger than any honest one. Caught by whoever reads directories."""


@dataclass(frozen=True)
class Tag:
    """One tag: its type as TIFF numbers it, and its values' bytes, cut off where the file ends."""

    kind: int
    count: int
    value: memoryview


@dataclass(frozen=True)
class Directory:
    """One page, preview or block of a TIFF file: its tags by number, in the file's byte order ("<" or ">")."""

    order: str
    tags: dict[int, Tag]

    def read_integers(self, number: int, most: int = MAX_INTEGERS) -> NDArray[np.int64]:
        """The first values of a tag of whole numbers; empty if it is absent or of another type."""
        tag = self.tags.get(number)
        if tag is None or (letter := _INTEGERS.get(tag.kind)) is None:
            return np.empty(0, np.int64)
        size = _SIZES[tag.kind]
        there = min(len(tag.value) // size, most)
        return np.frombuffer(tag.value[: there * size], np.dtype(self.order + letter)).astype(np.int64)

    def read_integer(self, number: int, default: int = 0) -> int:
        """The first value of a tag of whole numbers."""
        values = self.read_integers(number, most=1)
        return int(values[0]) if len(values) else default


def iterate_directories(data: bytes | memoryview) -> Iterator[Directory]:
    """All directories: the chain of pages, after each page those below it (SubIFDs). Loops are cut.

    Raises UnreadableTiff: this is no TIFF file, or it has more directories or tags than `MAX_DIRECTORIES`, `MAX_TAGS`.
    """
    view = memoryview(data)
    layout = _read_header(view)
    waiting, seen, tags = [layout.first], set[int](), 0
    while waiting:
        at = waiting.pop()
        if at in seen or not 0 < at < len(view):
            continue
        seen.add(at)
        directory, following = _read_directory(view, at, layout)
        tags += len(directory.tags)
        waiting.append(following)  # taken after those below this page
        waiting.extend(directory.read_integers(SUB_DIRECTORIES, most=MAX_DIRECTORIES)[::-1].tolist())
        if max(len(seen), len(waiting)) > MAX_DIRECTORIES or tags > MAX_TAGS:
            raise UnreadableTiff("more directories than any honest file has")
        yield directory


def read_exif_orientation(block: bytes | memoryview) -> int:
    """1 to 8 as an EXIF block (with or without "Exif" before it) says which way is up; 1 for anything else."""
    view = memoryview(block)
    while bytes(view[:6]) == b"Exif\0\0":
        view = view[6:]
    try:
        return read_orientation(next(iterate_directories(view), None))
    except UnreadableTiff:
        return 1


def read_orientation(directory: Directory | None) -> int:
    """1 to 8 as a directory's tag says; 1 if there is no such tag, or nonsense in it."""
    tag = None if directory is None else directory.tags.get(ORIENTATION)
    if directory is None or tag is None or tag.count != 1 or tag.kind not in (3, 4, 8, 9):
        return 1
    value = directory.read_integer(ORIENTATION, 1)
    return value if 1 <= value <= 8 else 1


@dataclass(frozen=True)
class _Layout:
    """How a file writes its directories; BigTIFF has 8 bytes where TIFF has 4."""

    order: str
    first: int
    count: struct.Struct
    entry: struct.Struct
    inline: int


def _read_header(view: memoryview) -> _Layout:
    order = {b"II": "<", b"MM": ">"}.get(bytes(view[:2]))
    if order is None or len(view) < 8:
        raise UnreadableTiff("no TIFF header")
    magic = struct.unpack_from(order + "H", view, 2)[0]
    if magic not in _MAGIC_NUMBERS:
        raise UnreadableTiff("no TIFF header")
    if magic == 43:
        if len(view) < 16:
            raise UnreadableTiff("cut off")
        first = struct.unpack_from(order + "Q", view, 8)[0]
        return _Layout(order, first, struct.Struct(order + "Q"), struct.Struct(order + "HHQ"), 8)
    first = struct.unpack_from(order + "I", view, 4)[0]
    return _Layout(order, first, struct.Struct(order + "H"), struct.Struct(order + "HHI"), 4)


def _read_directory(view: memoryview, at: int, layout: _Layout) -> tuple[Directory, int]:
    """The directory at an offset, and the offset of the next one (0: none)."""
    pointer = struct.Struct(layout.order + ("Q" if layout.inline == 8 else "I"))
    if at + layout.count.size > len(view):
        raise UnreadableTiff("cut off")
    count = layout.count.unpack_from(view, at)[0]
    at += layout.count.size
    step = layout.entry.size + layout.inline
    if count > MAX_TAGS or at + count * step > len(view):
        raise UnreadableTiff("cut off")
    tags: dict[int, Tag] = {}
    for place in range(at, at + count * step, step):
        number, kind, values = layout.entry.unpack_from(view, place)
        size = _SIZES.get(kind, 0) * values
        start = place + layout.entry.size
        if size > layout.inline:
            start = pointer.unpack_from(view, start)[0]
        # A slice beyond the end is short or empty; a start beyond what an index may be would raise.
        start = min(start, len(view))
        tags[number] = Tag(kind, values, view[start : min(start + size, len(view))])
    end = at + count * step
    following = pointer.unpack_from(view, end)[0] if end + pointer.size <= len(view) else 0
    return Directory(layout.order, tags), following
