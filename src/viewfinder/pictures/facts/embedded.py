"""All that a file says of a picture besides its pixels: EXIF, XMP, IPTC and texts, from whatever holds them.

`find_blocks` takes the file apart; `read_blocks` hears XMP first, then IPTC, then EXIF: what people write with a
program of today stands in XMP, and programs often leave what the others said before. What the camera measured is heard
the other way round.
"""

from __future__ import annotations

from viewfinder.pictures.facts.blocks import Blocks
from viewfinder.pictures.facts.boxes import find_box_blocks
from viewfinder.pictures.facts.captions import settle_captions
from viewfinder.pictures.facts.exif import Directories, load_directories, load_lone_directories, read_exif
from viewfinder.pictures.facts.gif_blocks import find_gif_blocks
from viewfinder.pictures.facts.iptc import find_iptc, read_iptc
from viewfinder.pictures.facts.jpeg_segments import find_jpeg_blocks, join_extended_xmp
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.facts.png_text import find_png_blocks, read_creation_time, read_texts
from viewfinder.pictures.facts.raw_files import find_raw_blocks
from viewfinder.pictures.facts.webp_chunks import find_webp_blocks
from viewfinder.pictures.facts.xmp import EXTENDED, Properties, list_xmp_facts, parse_packet

_MEASURED = frozenset({"captured", "latitude", "longitude", "altitude", "camera", "lens"})
"""Facts that the camera wrote, and no program has a reason to change."""

_RANKS = ("EXIF", "XMP exif:DateTimeOriginal", "XMP photoshop:DateCreated", "IPTC", "XMP")


_FINDERS = {"PNG": find_png_blocks, "WEBP": find_webp_blocks, "GIF": find_gif_blocks}


def read_embedded(data: bytes, announced: str) -> tuple[Fact, ...]:
    """What the blocks of a file say, the most trusted first. Never raises for a damaged one: the pixels are still good.

    `announced` is the format as `detect_format` says, "RAW" for a camera's file built on TIFF, "JXL" for JPEG XL.
    """
    return read_blocks(find_blocks(data, announced))


def read_container(data: bytes, announced: str) -> tuple[Fact, ...]:
    """When the container itself says that it was made, which is weaker than what stands beside the file."""
    return date_container(find_blocks(data, announced))


def find_blocks(data: bytes, announced: str) -> Blocks:
    """The blocks of a file, as far as they can be found."""
    try:
        return _find_blocks(data, announced)
    except (ValueError, IndexError, MemoryError):  # of a file that is cut off or means harm
        return Blocks()


def _find_blocks(data: bytes, announced: str) -> Blocks:
    if data.startswith(b"\xff\xd8"):
        return find_jpeg_blocks(data)
    if data[4:8] in (b"ftyp", b"JXL "):
        return find_box_blocks(data)
    if announced in _FINDERS:
        return _FINDERS[announced](data)
    if announced == "RAW" and (blocks := find_raw_blocks(data)) is not None:
        return blocks
    return Blocks(exif=data) if announced in ("TIFF", "RAW") else Blocks()


def read_blocks(blocks: Blocks) -> tuple[Fact, ...]:
    """What the blocks of a file say, the most trusted first."""
    directories = _load_exif(blocks)
    properties = _load_xmp(blocks.xmp or directories.xmp, blocks)
    # A file may have several: ImageMagick cuts the one of TIFF short, and has it whole among Photoshop's resources.
    iptc = dict.fromkeys((blocks.iptc, find_iptc(blocks.photoshop), *directories.iptc))
    facts = settle_captions(
        [
            *list_xmp_facts(properties, "XMP"),
            *(fact for block in iptc for fact in read_iptc(block)),
            *read_exif(directories),
            *read_texts(blocks.texts, blocks.kind),
            *blocks.facts,
        ]
    )
    measured = [fact for fact in facts if fact.name in _MEASURED]
    return (*sorted(measured, key=_rank), *(fact for fact in facts if fact.name not in _MEASURED))


def date_container(blocks: Blocks) -> tuple[Fact, ...]:
    """When the container says that it was made."""
    if (said := read_creation_time(blocks.texts)) is not None:
        return (said,)
    return (Fact("captured", (blocks.created,), "QuickTime CreateDate"),) if blocks.created else ()


def _rank(fact: Fact) -> int:
    return next((rank for rank, start in enumerate(_RANKS) if fact.source.startswith(start)), 0)


def _load_exif(blocks: Blocks) -> Directories:
    try:
        if blocks.lone_exif:
            return load_lone_directories(*(blocks.lone_exif.get(kind, b"") for kind in ("CMT1", "CMT2", "CMT4")))
        directories = load_directories(blocks.exif)
        if preview := directories.preview:  # Panasonic's older raw files have their EXIF there
            inner = load_directories(find_jpeg_blocks(preview).exif)
            return inner if inner.details and not directories.details else directories
        return directories
    except MemoryError:
        return Directories()


def _load_xmp(packet: bytes, blocks: Blocks) -> Properties:
    """The properties of the packet, and of the rest of it that did not fit into a segment of JPEG."""
    properties = parse_packet(packet) if packet else {}
    guid = properties.get(EXTENDED)
    if isinstance(guid, str) and (pieces := blocks.extended_xmp.get(guid.encode("ascii", errors="replace"))):
        return parse_packet(join_extended_xmp(pieces)) | properties
    return properties
