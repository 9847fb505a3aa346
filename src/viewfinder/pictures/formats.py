"""File formats: what the first bytes announce, what a camera wrote beside the pixels, formats that need more packages.

HEIC needs pillow-heif, cameras' raw files rawpy (LibRaw); formats that are none of ours, a `PictureReader` of another
package. Nothing that a camera wrote fails a picture.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from io import BytesIO
from itertools import chain
from typing import Any, Protocol, runtime_checkable

from PIL import ExifTags, Image, ImageFile, ImageOps

from viewfinder.errors import BadInput, PictureError, advise_extra, read_text
from viewfinder.plugins import Plugins, warn_of_part

_COMMON = (
    "jpg jpeg jpe jfif pjpeg pjp jif jps mpo png apng webp gif bmp dib tif tiff avif avifs heic heics heif heifs hif "
    "jxl"
)
_RAW = (
    "3fr arw cr2 cr3 crw dcr dcs dng drf erf gpr iiq k25 kdc mdc mef mos mrw nef nrw orf ori pef ptx raf rw2 rwl sr2 "
    "srf srw x3f"
)
EXTENSIONS = frozenset(f"{_COMMON} {_RAW}".split())
"""Endings of names that say "picture", in lower case."""

AMBIGUOUS_EXTENSIONS = frozenset({"", "raw", "cap", "fff"})
"""Endings that cameras share with other programs: such a file is a picture if its first bytes say so."""

_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
    (b"FUJIFILMCCD-RAW", "RAW"),
    (b"II\x1a\x00\x00\x00HEAPCCDR", "RAW"),  # Canon CRW
    (b"FOVb", "RAW"),  # Sigma X3F
    (b"\x00MRM", "RAW"),  # Minolta MRW
    (b"\xff\x0a", "JXL"),  # a bare codestream
    (b"\x00\x00\x00\x0cJXL \r\n\x87\n", "JXL"),  # in ISO boxes
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
    if data[:4] in (b"II*\x00", b"MM\x00*") and data[8:12].startswith((b"CR", b"IIII", b"MMMM")):
        return "RAW"  # Canon CR2, Phase One IIQ, Leaf MOS
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


def read_capture_date(exif: Image.Exif) -> str | None:
    """When the picture was taken, else digitized, as ISO 8601 in the camera's own time; None if absent or nonsense."""
    from viewfinder.pictures.facts.exif import Directories, read_exif_dates
    from viewfinder.pictures.facts.model import find_value

    try:
        details = exif.get_ifd(ExifTags.IFD.Exif)
    except Exception:  # whatever a broken block makes Pillow raise, the pixels are still good
        details = {}
    return find_value(read_exif_dates(Directories(main=exif, details=details)), "captured")


def read_camera(exif: Image.Exif) -> str | None:
    """Maker and model, the maker not twice; None if unknown."""
    from viewfinder.pictures.facts.exif import name_camera
    from viewfinder.pictures.facts.words import clean_text

    return name_camera(clean_text(exif.get(ExifTags.Base.Make)), clean_text(exif.get(ExifTags.Base.Model)))


def forget_xmp(image: Image.Image) -> None:
    """Drops what XMP says: Pillow turns a picture by it where EXIF says nothing, and no other viewer does."""
    for name in ("xmp", "XML:com.adobe.xmp"):
        image.info.pop(name, None)


def read_orientation(exif: Image.Exif) -> int:
    """1 to 8 as EXIF numbers them; 1 (upright) for anything else."""
    value = exif.get(ExifTags.Base.Orientation, 1)
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


_NEW_SUBFILE_TYPE, _SUB_IFDS, _DNG_VERSION = 254, 330, 50706  # TIFF and DNG tags


READER_EXTRAS = {
    "pillow_heif": f"HEIC pictures need an extra: {advise_extra('heic')}",
    "rawpy": f"RAW pictures need an extra: {advise_extra('raw')}",
    "pillow_jxl": f"JPEG XL pictures need an extra: {advise_extra('jxl')}",
}
"""Packages that a reader needs, and why a picture is not read without."""

_ENDINGS_OF_EXTRAS = {
    "pillow_heif": "heic heics heif heifs hif",
    "rawpy": f"{_RAW} raw cap fff",
    "pillow_jxl": "jxl",
}


def extensions_lacking() -> frozenset[str]:
    """Endings of pictures that cannot be read until an extra is installed."""
    missing = (endings for package, endings in _ENDINGS_OF_EXTRAS.items() if find_spec(package) is None)
    return frozenset(" ".join(missing).split())


def advise_for_ending(ending: str) -> str:
    """How to install what pictures with this ending need; empty for those that need nothing."""
    packages = (package for package, endings in _ENDINGS_OF_EXTRAS.items() if ending in endings.split())
    return next((READER_EXTRAS[package].partition(": ")[2] for package in packages), "")


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


def register_jxl() -> None:
    """Lets Pillow read JPEG XL from now on. Raises PictureError: pillow-jxl-plugin is not installed."""
    try:
        from pillow_jxl import JpegXLImagePlugin as JxlPlugin
    except ImportError:
        raise PictureError(READER_EXTRAS["pillow_jxl"]) from None
    JxlPlugin.DECODE_THREADS = 0  # workers are parallel already

    def open_jxl(file: Any, name: Any) -> ImageFile.ImageFile:
        try:
            image: Any = JxlPlugin.JXLImageFile(file, name)
        except RuntimeError as error:  # its text is about building libjxl, not about the file
            raise SyntaxError("damaged") from error
        if not image.jpeg:
            # libjxl has turned the pixels upright; what EXIF says besides does not count (ISO/IEC 18181-2). A JPEG that
            # was packed without loss comes back as it was, and is still to be turned.
            image.getexif().pop(ExifTags.Base.Orientation, None)
        return image  # type: ignore[no-any-return]

    Image.register_open("JXL", open_jxl, JxlPlugin._accept)


_JXL_RATIOS = (None, (1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1))
MAX_JXL_BOXES = 1_000


def read_jxl_size(data: bytes) -> tuple[int, int] | None:
    """Width and height that a JPEG XL file claims, not turned: its reader decodes all before one can ask Pillow.

    None: there is no picture in the file.
    """
    start = _find_jxl_codestream(data)
    if start is None or len(data) < start + 4:
        return None
    bits = int.from_bytes(data[start + 2 : start + 12], "little")

    def take(count: int) -> int:
        nonlocal bits
        value, bits = bits & ((1 << count) - 1), bits >> count
        return value

    is_small = take(1)

    def take_side() -> int:
        return 8 * (take(5) + 1) if is_small else take((9, 13, 18, 30)[take(2)]) + 1

    height = take_side()
    ratio = _JXL_RATIOS[take(3)]
    return (take_side() if ratio is None else height * ratio[0] // ratio[1]), height


def _find_jxl_codestream(data: bytes) -> int | None:
    """Where the picture begins: at once, or in the first box that holds a part of it."""
    if data.startswith(b"\xff\x0a"):
        return 0
    at = 0
    for _ in range(MAX_JXL_BOXES):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        body = at + 8
        if size == 1:
            size, body = int.from_bytes(data[body : body + 8], "big"), body + 8
        if kind in (b"jxlc", b"jxlp"):
            start = body if kind == b"jxlc" else body + 4  # a part has its number first
            return start if data[start : start + 2] == b"\xff\x0a" else None
        if size < body - at or len(kind) < 4:
            return None
        at += size
    return None


def is_camera_raw(data: bytes) -> bool:
    """Whether a file that looks like TIFF is a camera's: DNG, NEF, ARW, PEF, SRW, 3FR, DCR, ERF, MEF and their like.

    What Pillow would show of one is its thumbnail, or noise. It is known by what it holds, for names can lie: by the
    mark of DNG, by a first picture that is a small one of another, or by a directory whose pixels lie under a colour
    filter or in a camera maker's own compression. A scan or a developed picture has none of these, whoever made it.
    """
    directories = _read_tiff_directories(data)
    first = next(directories, {})
    is_reduced = isinstance(kind := first.get(_NEW_SUBFILE_TYPE), int) and kind & 1
    if _DNG_VERSION in first or (is_reduced and _SUB_IFDS in first):
        return True
    return any(map(_has_sensor_pixels, chain((first,), directories)))


_COMPRESSION, _PHOTOMETRIC, _SAMPLES, _CFA_PATTERN = 259, 262, 277, 33422
_SENSOR_PHOTOMETRIC = frozenset({32803, 34892})  # a colour filter array; linear raw
_SENSOR_COMPRESSION = frozenset(
    {32767, 32769, 32770, 32772, 34713, 65000, 65535}
)  # Sony, Samsung, Nikon, Kodak, Pentax
MAX_DIRECTORIES = 16


def _has_sensor_pixels(tags: Mapping[int, Any]) -> bool:
    is_filtered = _CFA_PATTERN in tags and tags.get(_SAMPLES, 1) == 1
    return is_filtered or (
        tags.get(_PHOTOMETRIC) in _SENSOR_PHOTOMETRIC or tags.get(_COMPRESSION) in _SENSOR_COMPRESSION
    )


def _read_tiff_directories(data: bytes) -> Iterator[Mapping[int, Any]]:
    """The directories of a TIFF file that can be read, some of them at least: the first one and those it leads to."""
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    file, seen = BytesIO(data), set[int]()
    order = "little" if data[:1] == b"I" else "big"
    pending = [int.from_bytes(data[4:8], order)]  # type: ignore[arg-type]
    while pending and len(seen) < MAX_DIRECTORIES:
        offset = pending.pop(0)
        if offset in seen or not 8 <= offset < len(data):
            continue
        seen.add(offset)
        try:
            tags = ImageFileDirectory_v2(data[:8])
            file.seek(offset)
            tags.load(file)
            yield tags
            inner = tags.get(_SUB_IFDS, ())
        except Exception:  # damaged: what was read before it counts
            continue
        inner = inner if isinstance(inner, tuple) else (inner,)
        pending += [place for place in (*inner[:MAX_DIRECTORIES], tags.next) if isinstance(place, int)]


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
