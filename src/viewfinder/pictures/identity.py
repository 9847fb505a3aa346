"""The identity of a picture: a hash of its data without what was written beside them.

Programs write keywords, stars, dates and places into files. The content of the file is then another one; the picture is
not. So what decides which pixels come out is hashed (compressed data, tables, colour), and nothing else, wherever in
the file it lies. Nothing is decoded, and every byte is hashed at most about twice, whatever a file claims.

What counts, by format:

- JPEG: all segments up to the end of the picture (EOI), of the application segments only the colour profile and Adobe's
  note on the colour model. What lies behind the end (previews, gain maps, films of motion photos) does not count:
  programs that edit metadata move it or drop it.
- PNG, also animated: header, palette, transparency, colour, frames and their data, however they are cut into chunks.
- WebP: data, transparency, colour profile, frames. GIF: screen, colour tables, frames. BMP: the whole file.
- TIFF and the raw formats built on it: of each full picture, how its data are coded, and the data. Previews count only
  in a file that has nothing else. Panasonic's RW2 and Fujifilm's RAF: what lies at the address of their raw data.
- HEIC, AVIF: of each item that is no metadata, its type, properties and data. Canon's CR3: the media data.
- JPEG XL: the codestream, bare or in boxes.
- Anything else, and what cannot be taken apart: the whole content, which makes it the hash that `picture_id` gives.

The suffix is which way is up, as `decode` applies it: 1 to 8 as EXIF numbers them.
"""

from __future__ import annotations

import hashlib
import re
import struct
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from viewfinder.pictures import iso_boxes, tiff_tags
from viewfinder.pictures.tiff_tags import Directory


def hash_pixels(data: bytes, announced: str) -> str:
    """A picture's identity and orientation, like "0b1f...-.../6". Equal before "/": the same picture.

    `announced` is what `formats.detect_format` says of the file. Never raises for what a file holds.
    """
    if (hash_parts := _HASHERS.get(announced)) is not None:
        label = (
            "TIFF" if announced == "RAW" else announced
        )  # some raw files are announced as the one, some as the other
        digest = _Digest(label, budget=2 * len(data) + 100_000)
        try:
            orientation = hash_parts(data, digest)
            return f"{_write_uuid(digest.finish())}/{orientation}"
        except _UNREADABLE:
            pass
    return f"{_write_uuid(hashlib.blake2b(data, digest_size=16).digest())}/1"


def _write_uuid(bits: bytes) -> str:
    return str(uuid.UUID(bytes=bits))


class _Unreadable(Exception):
    """A file that cannot be taken apart, or only with more work than it is worth."""


_UNREADABLE = (
    *(_Unreadable, iso_boxes.UnreadableBoxes, tiff_tags.UnreadableTiff),
    *(struct.error, ValueError, IndexError, KeyError, OverflowError),
)

_MAX_PARTS = 500_000  # segments, chunks, strips of one file; beyond, the whole content is hashed at once


class _Digest:
    """Hashes labelled parts. Each says how long it is, so that what moves from one part to another is noticed."""

    def __init__(self, label: str, budget: int) -> None:
        self._hash = hashlib.blake2b(label.encode(), digest_size=16)
        self._left = budget

    def add(self, label: bytes, pieces: Iterable[bytes | memoryview]) -> None:
        """One part, which may lie in several pieces. Raises _Unreadable: the file claims its bytes over and over."""
        length = 0
        for piece in pieces:
            length += len(piece)
            self._left -= len(piece) + 4
            if self._left < 0:
                raise _Unreadable
            self._hash.update(piece)
        self._left -= len(label) + 8
        self._hash.update(struct.pack(">Q", length) + label)

    def finish(self) -> bytes:
        """128 bits."""
        return self._hash.digest()


# JPEG

_SCAN_END = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
"""What ends entropy-coded data: neither a stuffed zero nor a restart marker."""

_EOI, _SOS, _COM = 0xD9, 0xDA, 0xFE
_APPLICATIONS = range(0xE0, 0xF0)
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})  # markers without a segment


def _hash_jpeg(data: bytes, digest: _Digest) -> int:
    coded: list[memoryview] = []
    colour: list[memoryview] = []  # hashed apart: programs that insert metadata may put it before or after these
    orientation: int | None = None
    scans = 0
    for marker, segment in _iterate_segments(data):
        start = bytes(segment[4:16])
        if marker not in _APPLICATIONS and marker != _COM:
            coded.append(segment)
            scans += marker == _SOS
        elif start == b"ICC_PROFILE\0" or (marker == 0xEE and start[:5] == b"Adobe"):
            colour.append(segment)
        elif marker == 0xE1 and start[:6] == b"Exif\0\0" and orientation is None:
            orientation = tiff_tags.read_exif_orientation(segment[4:])
    if not scans:
        raise _Unreadable
    digest.add(b"coded", coded)
    digest.add(b"colour", colour)
    return orientation or 1


def _iterate_segments(data: bytes) -> Iterator[tuple[int, memoryview]]:
    """Markers and their segments up to the end of the picture, or of the file; a scan comes with its coded data."""
    view = memoryview(data)
    at = 2
    for _ in range(_MAX_PARTS):
        if at + 4 > len(data):  # cut off before its end: the decoder decides what that is worth
            return
        if data[at] != 0xFF:
            raise _Unreadable
        marker = data[at + 1]
        if marker == _EOI:
            return
        if marker == 0xFF:  # fill
            at += 1
        elif marker in _BARE:
            at += 2
        else:
            end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
            if marker == _SOS:
                found = _SCAN_END.search(data, end)
                end = len(data) if found is None else found.start()
            yield marker, view[at:end]
            at = end
    raise _Unreadable


# PNG

_PNG_PICTURE = frozenset(
    {b"IHDR", b"PLTE", b"tRNS", b"gAMA", b"cHRM", b"iCCP", b"sRGB", b"sBIT", b"cICP", b"acTL", b"fcTL", b"fdAT"}
)
_RAW_PROFILE = b"Raw profile type exif\0"  # EXIF in a text chunk, as ImageMagick writes it
_MAX_RAW_PROFILE = 1_000_000


def _hash_png(data: bytes, digest: _Digest) -> int:
    view = memoryview(data)
    rows: list[memoryview] = []
    exif: bytes | memoryview | None = None
    raw_profile: tuple[bytes, memoryview] | None = None
    at = 8
    for _ in range(_MAX_PARTS):
        kind = data[at + 4 : at + 8]
        if len(kind) < 4 or kind == b"IEND":
            break
        end = at + 8 + int.from_bytes(data[at : at + 4], "big")
        chunk = view[at + 8 : end]
        if kind == b"IDAT":
            rows.append(chunk)
        elif kind in _PNG_PICTURE:
            digest.add(kind, [chunk])
        elif kind == b"eXIf":
            exif = chunk
        elif kind in (b"tEXt", b"zTXt") and bytes(chunk[: len(_RAW_PROFILE)]) == _RAW_PROFILE:
            raw_profile = kind, chunk[len(_RAW_PROFILE) :]
        at = end + 4
    else:
        raise _Unreadable
    digest.add(b"IDAT", rows)
    if exif is None and raw_profile is not None:  # the last one, once: each may unpack to a thousand times its size
        exif = _read_raw_profile(*raw_profile)
    return tiff_tags.read_exif_orientation(exif or b"")


def _read_raw_profile(kind: bytes, body: memoryview) -> bytes:
    """The EXIF block that a text chunk spells in hexadecimal; empty if it is none."""
    text = bytes(body[:_MAX_RAW_PROFILE])
    try:
        if kind == b"zTXt":
            text = zlib.decompressobj().decompress(text[1:], _MAX_RAW_PROFILE)
        return bytes.fromhex("".join(text[:_MAX_RAW_PROFILE].decode("latin-1").split("\n")[3:]))
    except (ValueError, zlib.error):
        return b""


# WebP, GIF

_WEBP_PICTURE = frozenset({b"VP8 ", b"VP8L", b"ALPH", b"ICCP", b"ANIM", b"ANMF"})


def _hash_webp(data: bytes, digest: _Digest) -> int:
    """The header VP8X is left out: it comes and goes with the metadata that it announces."""
    view = memoryview(data)
    orientation = 1
    at = 12
    for _ in range(_MAX_PARTS):
        kind = data[at : at + 4]
        if len(kind) < 4:
            return orientation
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        chunk = view[at + 8 : at + 8 + size]
        if kind == b"ANIM":  # frames lie on a canvas, whose size only that header has
            digest.add(b"canvas", [data[24:30] if data[12:16] == b"VP8X" else b""])
        if kind in _WEBP_PICTURE:
            digest.add(kind, [chunk])
        elif kind == b"EXIF":
            orientation = tiff_tags.read_exif_orientation(chunk)
        at += 8 + size + size % 2
    raise _Unreadable


def _hash_gif(data: bytes, digest: _Digest) -> int:
    """The version is left out: a comment makes 89a of 87a."""
    view = memoryview(data)
    at = 13 + _measure_colour_table(data[10])
    digest.add(b"screen", [view[6:at]])
    for _ in range(_MAX_PARTS):
        start = at
        kind = data[at : at + 1]
        if kind == b"!":  # an extension
            at = _skip_sub_blocks(data, at + 2)
            if data[start + 1 : start + 2] == b"\xf9":  # how the next frame is shown, and its transparent colour
                digest.add(b"control", [view[start:at]])
        elif kind == b",":  # a frame
            at = _skip_sub_blocks(data, at + 11 + _measure_colour_table(data[at + 9]))
            digest.add(b"frame", [view[start:at]])
        else:
            return 1
    raise _Unreadable


_MAX_SUB_BLOCKS = 2_000_000  # of one frame; honest ones have 255 bytes each


def _measure_colour_table(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _skip_sub_blocks(data: bytes, at: int) -> int:
    """Where what follows a chain of blocks begins; each begins with its length, the last has none."""
    end = len(data)
    for _ in range(_MAX_SUB_BLOCKS):
        if at >= end:
            return end
        size = data[at]
        at += 1 + size
        if size == 0:
            return at
    raise _Unreadable


# TIFF and raw formats built on it

_WIDTH, _STRIPS, _TILES, _OLD_JPEG = 256, 273, 324, 513
_ADDRESSES = {_STRIPS: 279, _TILES: 325, _OLD_JPEG: 514}  # where data lie, and how long they are
_DECODING = (
    *(256, 257, 258, 259, 262, 266, 277, 278, 284, 301, 317, 318, 319, 320, 322, 323, 332, 336, 338, 339, 340, 341),
    *(347, 512, 515, 517, 518, 519, 520, 521, 529, 530, 531, 532),  # of JPEG and YCbCr
    *(33421, 33422, 34675),  # mosaic, colour profile
    # DNG: levels, matrices, illuminants, crops, corrections of the lens
    *(*range(50710, 50735), 50738, 50739, 50778, 50779, 50829, 50830, 50964, 50965, *range(51008, 51023)),
)
"""Tags that decide what the data come out as."""

_PANASONIC_RAW, _PANASONIC_PREVIEW = 0x118, 0x2E


def _hash_tiff(data: bytes, digest: _Digest) -> int:
    """Of all full pictures in the file, in its order; so a new preview leaves a raw file what it is."""
    if data[:4] == b"IIU\0":
        return _hash_rw2(data, digest)
    if data[8:12] in (b"IIII", b"MMMM"):  # Phase One, Leaf: what the sensor saw lies outside of TIFF's structure
        raise _Unreadable
    orientation = 1
    full: list[Directory] = []
    reduced: list[Directory] = []
    for number, directory in enumerate(tiff_tags.iterate_directories(data)):
        if number == 0:
            orientation = tiff_tags.read_orientation(directory)
        if _WIDTH in directory.tags:
            is_reduced = directory.read_integer(254) & 1 or directory.read_integer(255) == 2
            (reduced if is_reduced else full).append(directory)
    if not (counted := full or reduced):
        raise _Unreadable
    strips = 0
    for directory in counted:
        for tag in _DECODING:
            if tag in directory.tags:
                digest.add(struct.pack(">H", tag), [_normalize_value(directory, tag)])
        address = next((tag for tag in _ADDRESSES if tag in directory.tags), None)
        if address is None or _ADDRESSES[address] not in directory.tags:
            raise _Unreadable  # data without a length: old writers of single strips
        strips += directory.tags[address].count
        if strips > _MAX_PARTS:
            raise _Unreadable
        digest.add(b"data", _cut_strips(memoryview(data), directory, address))
    return orientation


def _normalize_value(directory: Directory, tag: int) -> bytes | memoryview:
    """Whole numbers as numbers: writers may store them in 16 bits or in 32."""
    integers = directory.read_integers(tag)
    is_whole = 0 < len(integers) == directory.tags[tag].count
    return integers.astype("<i8").tobytes() if is_whole else directory.tags[tag].value


def _cut_strips(view: memoryview, directory: Directory, address: int) -> Iterable[memoryview]:
    starts = directory.read_integers(address).tolist()
    lengths = directory.read_integers(_ADDRESSES[address]).tolist()
    if len(starts) != len(lengths) or not starts or min(starts) < 0 or min(lengths) < 0 or max(starts) >= len(view):
        raise _Unreadable
    return (view[start : start + length] for start, length in zip(starts, lengths, strict=True))


def _hash_rw2(data: bytes, digest: _Digest) -> int:
    """Panasonic: numbers of its own below 0x2E describe the sensor; the raw data go on to the end of the file."""
    directory = next(tiff_tags.iterate_directories(data))
    start = directory.read_integer(_PANASONIC_RAW)
    if not 0 < start < len(data):
        raise _Unreadable
    for tag in sorted(directory.tags):
        if tag < _PANASONIC_PREVIEW:
            digest.add(struct.pack(">H", tag), [directory.tags[tag].value])
    digest.add(b"data", [memoryview(data)[start:]])
    return tiff_tags.read_orientation(directory)


def _hash_raw(data: bytes, digest: _Digest) -> int:
    if data[:15] == b"FUJIFILMCCD-RAW":
        return _hash_raf(data, digest)
    if data[4:8] == b"ftyp":
        return _hash_cr3(data, digest)
    return _hash_tiff(data, digest)


def _hash_raf(data: bytes, digest: _Digest) -> int:
    """Fujifilm: addresses and lengths of a preview with the EXIF block, of notes on the sensor, and of its data."""
    view = memoryview(data)
    *preview, notes_at, notes_length, raw_at, raw_length = struct.unpack_from(">6I", data, 84)
    raw = view[raw_at : raw_at + raw_length]
    if not len(raw) or raw_at < 108:
        raise _Unreadable
    digest.add(b"notes", [view[notes_at : notes_at + notes_length]])
    digest.add(b"data", [raw])
    return _find_jpeg_orientation(view[preview[0] : sum(preview)])


def _find_jpeg_orientation(jpeg: memoryview) -> int:
    try:
        return _hash_jpeg(bytes(jpeg), _Digest("", budget=2 * len(jpeg)))
    except _UNREADABLE:
        return 1


def _hash_cr3(data: bytes, digest: _Digest) -> int:
    """Canon: one film whose media data are the pictures; CMT1 is the first directory of an EXIF block."""
    media: Sequence[memoryview] = [box.payload for box in iso_boxes.iterate_boxes(data) if box.kind == b"mdat"]
    if not media:
        raise _Unreadable
    digest.add(b"media", media)
    moov = iso_boxes.find_box(data, b"moov") or memoryview(b"")
    for box in iso_boxes.iterate_boxes(moov):
        if box.kind == b"uuid" and (notes := iso_boxes.find_box(box.payload[16:], b"CMT1")) is not None:
            return tiff_tags.read_exif_orientation(notes)
    return 1


# HEIC, AVIF, JPEG XL

_METADATA_ITEMS = frozenset({b"Exif", b"mime", b"uri "})
_METADATA_PROPERTIES = frozenset({b"irot", b"imir", b"udes", b"crtm", b"mdft"})  # turned, described, dated
_PICTURE_REFERENCES = frozenset({b"dimg", b"auxl", b"thmb", b"prem", b"base"})
_QUARTER_TURN = (1, 8, 3, 6)  # irot counts them against the clock


def _hash_heif(data: bytes, digest: _Digest) -> int:
    """How items are turned is left out: it is the suffix."""
    items = iso_boxes.read_items(data)
    if items.primary not in items.by_number:
        raise _Unreadable
    for number in sorted(items.by_number):
        item = items.by_number[number]
        if item.kind in _METADATA_ITEMS:
            continue
        properties = [box for box in item.properties if box.kind not in _METADATA_PROPERTIES]
        for box in properties:
            digest.add(box.kind, [box.payload])
        digest.add(item.kind + struct.pack(">I?", number, number == items.primary), item.data)
    for kind, source, targets in items.references:
        if kind in _PICTURE_REFERENCES:
            digest.add(kind, [struct.pack(f">{1 + len(targets)}I", source, *targets)])
    for box in iso_boxes.iterate_boxes(data):
        if box.kind == b"moov":  # an animation: how long the data of each of its frames are stands in for them
            _add_frames(box.payload, digest)
    return _read_turn(items.by_number[items.primary])


def _add_frames(moov: memoryview, digest: _Digest) -> None:
    for track in iso_boxes.iterate_boxes(moov):
        if track.kind == b"trak":
            for kind in (b"stsz", b"stz2", b"stts"):
                frames = iso_boxes.find_box(track.payload, b"mdia", b"minf", b"stbl", kind)
                digest.add(kind, [frames or b""])


def _read_turn(item: iso_boxes.Item) -> int:
    """How an item's properties turn it, one after another, as EXIF numbers it."""
    orientation = 1
    for box in item.properties:
        if box.kind == b"irot" and len(box.payload):
            orientation = _turn_further(orientation, _QUARTER_TURN[box.payload[0] & 3])
        elif box.kind == b"imir" and len(box.payload):
            orientation = _turn_further(orientation, 2 if box.payload[0] & 1 else 4)
    return orientation


# Each orientation as (mirrored left to right first, then so many quarter turns clockwise).
_AS_TURNS = {1: (0, 0), 6: (0, 1), 3: (0, 2), 8: (0, 3), 2: (1, 0), 7: (1, 1), 4: (1, 2), 5: (1, 3)}


def _turn_further(orientation: int, then: int) -> int:
    """The one orientation that does what two do one after the other.

    >>> _turn_further(6, 6), _turn_further(6, 2), _turn_further(2, 6)
    (3, 5, 7)
    """
    mirrored, turns = _AS_TURNS[orientation]
    mirrored_then, turns_then = _AS_TURNS[then]
    # A mirror after a turn equals the opposite turn after that mirror.
    both = (mirrored ^ mirrored_then, ((-turns if mirrored_then else turns) + turns_then) % 4)
    return next(number for number, way in _AS_TURNS.items() if way == both)


def _hash_jpeg_xl(data: bytes, digest: _Digest) -> int:
    """The codestream says which way is up, and decoders obey it; EXIF counts only where an old JPEG is restored."""
    if data[:2] == b"\xff\x0a":
        digest.add(b"codestream", [data])
        return 1
    boxes: dict[bytes, list[memoryview]] = {}
    for box in iso_boxes.iterate_boxes(data):
        boxes.setdefault(box.kind, []).append(box.payload)
    parts = [part[4:] for part in boxes.get(b"jxlp", ())]  # numbered, in order
    if not (pieces := boxes.get(b"jxlc", []) + parts):
        raise _Unreadable
    digest.add(b"codestream", pieces)
    exif = boxes.get(b"Exif", [memoryview(b"")])[0]
    return tiff_tags.read_exif_orientation(exif[4:]) if b"jbrd" in boxes else 1


_HASHERS: dict[str, Callable[[bytes, _Digest], int]] = {
    "JPEG": _hash_jpeg,
    "PNG": _hash_png,
    "WEBP": _hash_webp,
    "GIF": _hash_gif,
    "TIFF": _hash_tiff,
    "RAW": _hash_raw,
    "HEIF": _hash_heif,
    "AVIF": _hash_heif,
    "JXL": _hash_jpeg_xl,
}
