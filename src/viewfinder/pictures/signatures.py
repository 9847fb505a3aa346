"""The first bytes of a file: which format they announce, whatever the file is called."""

import struct

_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
    (b"FUJIFILMCCD-RAW", "RAW"),
    (b"IIU\x00", "RAW"),  # Panasonic RW2
    (b"IIRO", "RAW"),  # Olympus ORF, three spellings
    (b"IIRS", "RAW"),
    (b"MMOR", "RAW"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"II+\x00", "TIFF"),  # BigTIFF
    (b"MM\x00+", "TIFF"),
)
_HEIF_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
LONGEST = 64
"""Bytes that `format_of` may look at."""


def detect_format(data: bytes) -> str | None:
    """The format that the first bytes announce (a name as Pillow has it, or "HEIF", "RAW"), or None.

    Camera files built on TIFF (DNG, NEF, ARW) announce "TIFF" here; only their tags tell them apart.

    >>> format_of(b"GIF89a...")
    'GIF'
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    if data[4:8] == b"ftyp":
        return _format_of_brands(data)
    if data[:4] == b"II*\x00" and data[8:10] == b"CR":
        return "RAW"  # Canon CR2
    if data[:2] == b"BM" and not _is_bitmap_header(data):
        return None
    return next((name for start, name in _STARTS if data.startswith(start)), None)


def read_webp_canvas(data: bytes) -> tuple[int, int] | None:
    """Width and height that a WebP file claims: libwebp allocates its canvas before one can ask Pillow."""
    kind = data[12:16]
    if len(data) < 30:
        return None
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def show_first_bytes(data: bytes) -> str:
    """The first bytes as something a person can read in a message."""
    start = data[:16]
    if all(32 <= byte < 127 or byte in b"\r\n\t" for byte in start):
        return f"'{' '.join(start.decode('ascii').split())}'"
    return f"the bytes {start[:6].hex(' ')}"


def _format_of_brands(data: bytes) -> str | None:
    """Formats in ISO boxes name their brands: the major one first, then compatible ones."""
    length = min(int.from_bytes(data[:4], "big"), len(data), LONGEST)
    brands = [data[8:12], *(data[at : at + 4] for at in range(16, length - 3, 4))]
    if any(brand in (b"avif", b"avis") for brand in brands):
        return "AVIF"
    if brands[0] == b"crx ":
        return "RAW"  # Canon CR3
    return "HEIF" if _HEIF_BRANDS.intersection(brands) else None


def _is_bitmap_header(data: bytes) -> bool:
    """Two letters are weak evidence ("BMW.txt"): the size of the second header must be a known one."""
    return int.from_bytes(data[14:18], "little") in (12, 16, 40, 52, 56, 64, 108, 124)
