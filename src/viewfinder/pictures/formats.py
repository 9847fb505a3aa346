"""File formats: what the first bytes announce, what a camera wrote beside the pixels, formats that need more packages.

HEIC needs pillow-heif, cameras' raw files rawpy (LibRaw); formats that are none of ours, a `PictureReader` of another
package. Nothing that a camera wrote fails a picture.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.util import find_spec
from io import BytesIO
from typing import Any, Protocol, runtime_checkable

from PIL import ExifTags, Image, ImageOps

from viewfinder.errors import BadInput, PictureError, advise_extra, read_text
from viewfinder.plugins import Plugins, warn_of_part

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
MAX_HEAD_BYTES = 64
"""Bytes that `detect_format` may look at."""


def detect_format(data: bytes) -> str | None:
    """The format that the first bytes announce (a name as Pillow has it, or "HEIF", "RAW"), or None.

    Camera files built on TIFF (DNG, NEF, ARW) announce "TIFF" here; only their tags tell them apart.

    >>> detect_format(b"GIF89a...")
    'GIF'
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    if data[4:8] == b"ftyp":  # formats in ISO boxes name their brands: the major one first, then compatible ones
        length = min(int.from_bytes(data[:4], "big"), len(data), MAX_HEAD_BYTES)
        brands = [data[8:12], *(data[at : at + 4] for at in range(16, length - 3, 4))]
        if any(brand in (b"avif", b"avis") for brand in brands):
            return "AVIF"
        # crx: Canon's CR3
        return "RAW" if brands[0] == b"crx " else "HEIF" if _HEIF_BRANDS.intersection(brands) else None
    if data[:4] == b"II*\x00" and data[8:10] == b"CR":
        return "RAW"  # Canon CR2
    # Two letters are weak evidence ("BMW.txt"): the size of the second header must be a known one.
    if data[:2] == b"BM" and int.from_bytes(data[14:18], "little") not in (12, 16, 40, 52, 56, 64, 108, 124):
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


_MAX_NAME_LENGTH = 100


def read_capture_date(exif: Image.Exif) -> str | None:
    """DateTimeOriginal, else DateTime, as ISO 8601 in the camera's own time; None if absent or nonsense."""
    try:
        details = exif.get_ifd(ExifTags.IFD.Exif)
    except Exception:  # whatever a broken block makes Pillow raise, the pixels are still good
        details = {}
    for value in (details.get(ExifTags.Base.DateTimeOriginal), exif.get(ExifTags.Base.DateTime)):
        try:
            return datetime.strptime(_clean_text(value)[:19], "%Y:%m:%d %H:%M:%S").isoformat()
        except ValueError:
            continue
    return None


def read_camera(exif: Image.Exif) -> str | None:
    """Maker and model, the maker not twice ("Canon", "Canon EOS 5D" is "Canon EOS 5D"); None if unknown."""
    make, model = _clean_text(exif.get(ExifTags.Base.Make)), _clean_text(exif.get(ExifTags.Base.Model))
    name = model if model.lower().startswith(make.lower()) else f"{make} {model}"
    return (name.strip() or make)[:_MAX_NAME_LENGTH] or None


def forget_xmp(image: Image.Image) -> None:
    """Drops what XMP says: Pillow turns a picture by it where EXIF says nothing, and no other viewer does."""
    for name in ("xmp", "XML:com.adobe.xmp"):
        image.info.pop(name, None)


def read_orientation(exif: Image.Exif) -> int:
    """1 to 8 as EXIF numbers them; 1 (upright) for anything else."""
    value = exif.get(ExifTags.Base.Orientation, 1)
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _clean_text(value: object) -> str:
    """An EXIF text without the zero bytes and control characters that cameras pad it with."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value if isinstance(value, str) else ""
    return "".join(letter for letter in text.split("\0")[0] if letter.isprintable()).strip()


_NEW_SUBFILE_TYPE, _SUB_IFDS, _DNG_VERSION = 254, 330, 50706  # TIFF and DNG tags


READER_EXTRAS = {
    "pillow_heif": f"HEIC pictures need an extra: {advise_extra('heic')}",
    "rawpy": f"RAW pictures need an extra: {advise_extra('raw')}",
}
"""Packages that a reader needs, and why a picture is not read without."""


NO_PICTURE = "not a picture"
"""Begins the reason why a file that announces no format is not read."""


_ARCHIVES = (
    (b"PK\x03\x04", "a ZIP archive, or a document made like one"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x1f\x8b", "a gzip archive"),
)


def explain_no_picture(data: bytes) -> str:
    """Why a file is not read whose first bytes announce no format of ours, and what to do if it holds pictures."""
    if (archive := next((name for start, name in _ARCHIVES if data.startswith(start)), None)) is not None:
        return f"{NO_PICTURE} but {archive}: unpack it, and add the folder"
    return f"{NO_PICTURE} (starts with {show_first_bytes(data)})"


def is_installed_since(reason: str) -> bool:
    """Whether a picture was not read for want of a package that is there now; what may be one is looked at again."""
    if reason.startswith(NO_PICTURE):
        return bool(picture_readers())
    # Earlier versions wrote only the beginning of the reason.
    wanted = [package for package, why in READER_EXTRAS.items() if reason and why.startswith(reason)]
    return any(find_spec(package) is not None for package in wanted)


@runtime_checkable
class PictureReader(Protocol):
    """Reads a picture format that is none of ours; it works in the processes that decode, within their limits."""

    @property
    def format(self) -> str:
        """The name of the format, for `Facts.format`."""

    @property
    def extensions(self) -> tuple[str, ...]:
        """Endings of the names of such files, in lower case and without the dot."""

    @property
    def starts(self) -> tuple[bytes, ...]:
        """First bytes of such files; at most `MAX_HEAD_BYTES` each."""

    def read_size(self, data: bytes) -> tuple[int, int]:
        """Width and height, from the header alone: a picture that is too large is never read."""

    def read_picture(self, data: bytes) -> Image.Image:
        """The picture, upright, in any mode that Pillow has; any exception says that the file is damaged."""


PLUGINS = Plugins("picture reader", "viewfinder.readers", PictureReader, ())


@lru_cache(maxsize=1)
def picture_readers() -> tuple[PictureReader, ...]:
    """The readers of installed packages; one that cannot be used is left out, and a line in the log says so."""
    found: list[PictureReader] = []
    for name in PLUGINS.offered():
        try:
            found.append(PLUGINS.load(name))
        except BadInput as error:
            warn_of_part(error)
    return tuple(found)


def find_reader(data: bytes) -> PictureReader | None:
    """The reader of an installed package for a file that begins so; ours come first, see `detect_format`."""
    return next((reader for reader in picture_readers() if data.startswith(tuple(reader.starts))), None)


def is_extension_of_reader(extension: str) -> bool:
    """Whether a reader of an installed package reads files whose names end so (lower case, without the dot)."""
    return any(extension in reader.extensions for reader in picture_readers())


def say_error(error: BaseException) -> str:
    """What a library's exception says, as one line."""
    lines = "".join(letter if letter.isprintable() else "\n" for letter in read_text(error)).split("\n")
    return next((" ".join(line.split()) for line in lines if line.strip()), type(error).__name__)


def register_heif() -> None:
    """Lets Pillow read HEIC from now on. Raises PictureError: pillow-heif is not installed."""
    try:
        import pillow_heif
    except ImportError:
        raise PictureError(READER_EXTRAS["pillow_heif"]) from None
    pillow_heif.register_heif_opener(decode_threads=1)  # workers are parallel already


def is_camera_raw(data: bytes) -> bool:
    """Whether a file that looks like TIFF is a DNG, NEF or ARW: what Pillow would show is its thumbnail."""
    tags = read_tiff_notes(data)
    is_reduced = isinstance(kind := tags.get(_NEW_SUBFILE_TYPE), int) and kind & 1
    return _DNG_VERSION in tags or bool(is_reduced and _SUB_IFDS in tags)


# How LibRaw numbers the ways in which a camera was held.
_FLIPS = {3: Image.Transpose.ROTATE_180, 5: Image.Transpose.ROTATE_90, 6: Image.Transpose.ROTATE_270}


@dataclass(frozen=True)
class RawFile:
    """An opened raw file; width and height are upright."""

    width: int
    height: int
    captured: str | None
    camera: str | None
    _raw: Any
    _data: bytes

    def develop(self, *, half: bool) -> Image.Image:
        """Upright sRGB with the camera's white balance; `half` the size is four times as fast.

        The camera's own preview, where LibRaw does not know how the pixels are compressed (JPEG XL in a DNG).
        """
        import rawpy

        try:
            return Image.fromarray(self._raw.postprocess(use_camera_wb=True, half_size=half, output_bps=8))
        except (rawpy.LibRawFileUnsupportedError, rawpy.LibRawNotImplementedError) as error:
            if (preview := self._read_preview()) is None:
                raise PictureError(f"RAW of a kind that LibRaw does not read: {say_error(error)}") from error
            return preview

    def _read_preview(self) -> Image.Image | None:
        """The preview, upright; None if there is none, or it is compressed in the same way."""
        import rawpy

        try:
            with rawpy.imread(BytesIO(self._data)) as raw:  # after a failure LibRaw knows nothing more of a file
                preview, flip = raw.extract_thumb(), raw.sizes.flip
        except rawpy.LibRawError:
            return None
        if not isinstance(preview.data, bytes):
            image = Image.fromarray(preview.data)
            return image.transpose(_FLIPS[flip]) if flip in _FLIPS else image
        with Image.open(BytesIO(preview.data), formats=("JPEG",)) as stored:
            return ImageOps.exif_transpose(stored)  # where the camera has not written it, LibRaw has


@contextmanager
def open_raw(data: bytes) -> Iterator[RawFile]:
    """Opens a raw file. Raises PictureError: rawpy is not installed, or LibRaw does not know the file."""
    try:
        import rawpy
    except ImportError:
        raise PictureError(READER_EXTRAS["rawpy"]) from None
    try:
        opened = rawpy.imread(BytesIO(data))
    except rawpy.LibRawError as error:
        raise PictureError(f"damaged or unknown RAW: {say_error(error)}") from error
    with opened:
        sizes = opened.sizes
        turned = sizes.flip in (5, 6)
        width, height = (sizes.height, sizes.width) if turned else (sizes.width, sizes.height)
        notes = read_tiff_notes(data)
        yield RawFile(width, height, read_capture_date(notes), read_camera(notes), opened, data)


def read_tiff_notes(data: bytes) -> Image.Exif:
    """The first directory of the raw formats that are TIFF files (DNG, NEF, ARW, CR2); empty for others."""
    notes = Image.Exif()
    try:
        notes.load(data)
    except Exception:  # the pixels are LibRaw's business; without notes there is no date, nothing worse
        return Image.Exif()
    return notes
