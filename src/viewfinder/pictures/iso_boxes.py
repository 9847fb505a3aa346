"""Files made of ISO boxes (HEIC, AVIF, JPEG XL, Canon's CR3): their boxes, and the items of those that hold pictures.

Libraries that decode these files do not say which bytes belong to what; `identity.py` and `hdr.py` must know.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAX_BOXES = 100_000
"""Boxes of one file that are looked at, those within boxes included."""

MAX_PARTS = 200_000
"""Items of one file and pieces of them; and as many properties, and references."""


class UnreadableBoxes(Exception):
    """The structure is none, or larger than any honest one. Caught by whoever reads boxes."""


@dataclass(frozen=True)
class Box:
    """One box: its four letters and what it holds."""

    kind: bytes
    payload: memoryview


@dataclass(frozen=True)
class Item:
    """One thing in a HEIF file: a picture, a tile, a block of metadata. Properties are in the order of the file."""

    kind: bytes
    properties: tuple[Box, ...]
    data: tuple[memoryview, ...]


@dataclass(frozen=True)
class Items:
    """The items of a HEIF file by number, which is the picture, and how they refer to one another (kind, from, to)."""

    primary: int
    by_number: dict[int, Item]
    references: tuple[tuple[bytes, int, tuple[int, ...]], ...]


def iterate_boxes(payload: bytes | memoryview) -> Iterator[Box]:
    """The boxes of a file or within a box. Raises UnreadableBoxes: a size is impossible, or there are too many."""
    view = memoryview(payload)
    at = 0
    for _ in range(MAX_BOXES):
        if at + 8 > len(view):
            return
        size, kind = struct.unpack_from(">I4s", view, at)
        head = 8
        if size == 1 and at + 16 <= len(view):
            size, head = struct.unpack_from(">Q", view, at + 8)[0], 16
        if size == 0:  # to the end of the file
            size = len(view) - at
        if size < head:
            raise UnreadableBoxes("a box is smaller than its header")
        end = min(at + size, len(view))
        yield Box(kind, view[at + head : end])
        at = end
    raise UnreadableBoxes("more boxes than any honest file has")


def find_box(payload: bytes | memoryview, *path: bytes) -> memoryview | None:
    """What the first box under a path of names holds (`find_box(file, b"moov", b"trak")`); None if there is none."""
    found: memoryview = memoryview(payload)
    for kind in path:
        box = next((box for box in iterate_boxes(found) if box.kind == kind), None)
        if box is None:
            return None
        found = box.payload
    return found


def read_items(data: bytes) -> Items:
    """The items of a HEIF file (HEIC, AVIF). Raises UnreadableBoxes: it has none, is damaged, or is beyond bounds."""
    meta = find_box(data, b"meta")
    if meta is None:
        raise UnreadableBoxes("no items")
    parts = {box.kind: box.payload for box in iterate_boxes(meta[4:])}  # after the version and flags
    try:
        kinds = _read_kinds(parts[b"iinf"])
        places = _read_places(parts[b"iloc"], memoryview(data), parts.get(b"idat", memoryview(b"")))
        properties = _read_properties(parts[b"iprp"]) if b"iprp" in parts else {}
        references = _read_references(parts[b"iref"]) if b"iref" in parts else ()
        primary = _read_number(parts[b"pitm"], 4, 2 if parts[b"pitm"][0] == 0 else 4)
    except (KeyError, IndexError, struct.error) as error:
        raise UnreadableBoxes("a box is missing or cut off") from error
    return Items(
        primary,
        {
            number: Item(kind, tuple(properties.get(number, ())), tuple(places.get(number, ())))
            for number, kind in kinds.items()
        },
        references,
    )


def _read_number(view: memoryview, at: int, width: int) -> int:
    if at + width > len(view):
        raise UnreadableBoxes("cut off")
    return int.from_bytes(view[at : at + width], "big")


def _read_kinds(iinf: memoryview) -> dict[int, bytes]:
    """Item number -> its four letters."""
    kinds: dict[int, bytes] = {}
    for box in iterate_boxes(iinf[6 if iinf[0] == 0 else 8 :]):
        if box.kind != b"infe" or len(box.payload) < 12:
            continue
        wide = box.payload[0] >= 3
        number = _read_number(box.payload, 4, 4 if wide else 2)
        at = 10 if wide else 8
        kinds[number] = bytes(box.payload[at : at + 4])
    return kinds


def _read_places(iloc: memoryview, file: memoryview, idat: memoryview) -> dict[int, list[memoryview]]:
    """Item number -> the pieces of its data."""
    version = iloc[0]
    offset_size, length_size = iloc[4] >> 4, iloc[4] & 15
    base_size, index_size = iloc[5] >> 4, iloc[5] & 15 if version in (1, 2) else 0
    wide = 4 if version == 2 else 2
    at = 6 + wide
    places: dict[int, list[memoryview]] = {}
    pieces = 0
    for _ in range(_read_number(iloc, 6, wide)):
        number = _read_number(iloc, at, wide)
        at += wide
        method = 0
        if version in (1, 2):
            method = _read_number(iloc, at, 2) & 15
            at += 2
        base = _read_number(iloc, at + 2, base_size)
        at += 2 + base_size
        extents = _read_number(iloc, at, 2)
        at += 2
        pieces += 1 + extents
        if pieces > MAX_PARTS or method not in (0, 1):
            raise UnreadableBoxes("more pieces than any honest file has, or made of other items")
        source = idat if method == 1 else file
        for _ in range(extents):
            at += index_size
            start = base + _read_number(iloc, at, offset_size)
            length = _read_number(iloc, at + offset_size, length_size)
            at += offset_size + length_size
            start = min(start, len(source))
            end = min(start + length, len(source)) if length else len(source)
            places.setdefault(number, []).append(source[start:end])
    return places


def _read_properties(iprp: memoryview) -> dict[int, list[Box]]:
    """Item number -> its properties, in the order in which they apply."""
    shared: list[Box] = []
    found: dict[int, list[Box]] = {}
    total = 0
    for box in iterate_boxes(iprp):
        if box.kind == b"ipco":
            shared = list(iterate_boxes(box.payload))
        if box.kind != b"ipma":
            continue
        view = box.payload
        number_width, index_width = 2 if view[0] == 0 else 4, 2 if view[3] & 1 else 1
        at = 8
        for _ in range(_read_number(view, 4, 4)):
            number = _read_number(view, at, number_width)
            count = _read_number(view, at + number_width, 1)
            at += number_width + 1
            total += 1 + count
            if total > MAX_PARTS:
                raise UnreadableBoxes("more properties than any honest file has")
            for _ in range(count):
                index = _read_number(view, at, index_width) & (0x7FFF if index_width == 2 else 0x7F)
                at += index_width
                if 0 < index <= len(shared):
                    found.setdefault(number, []).append(shared[index - 1])
    return found


def _read_references(iref: memoryview) -> tuple[tuple[bytes, int, tuple[int, ...]], ...]:
    wide = 2 if iref[0] == 0 else 4
    found: list[tuple[bytes, int, tuple[int, ...]]] = []
    total = 0
    for box in iterate_boxes(iref[4:]):
        count = _read_number(box.payload, wide, 2)
        total += count
        if total > MAX_PARTS:
            raise UnreadableBoxes("more references than any honest file has")
        targets = (_read_number(box.payload, wide + 2 + wide * at, wide) for at in range(count))
        found.append((box.kind, _read_number(box.payload, 0, wide), tuple(targets)))
    return tuple(found)
