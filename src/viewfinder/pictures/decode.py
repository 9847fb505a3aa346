"""The one way from a file's bytes to pixels: upright, sRGB, on white, first frame, within limits; and the id of a file.

Runs in worker processes (see `sandbox.py`): a hostile file may crash or stall the libraries below.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, UnidentifiedImageError

from viewfinder.errors import BadInput, PartFailed, PictureError
from viewfinder.pictures import formats
from viewfinder.pictures.fits import DRAFT, AtMost, Fit
from viewfinder.pictures.outcomes import NO_VECTOR, Facts
from viewfinder.plugins import find_fault, refuse_reply

if TYPE_CHECKING:  # the rest is imported where a file is decoded, which a server does not do itself
    from viewfinder.pictures.deep_tiff import DeepTiff
    from viewfinder.pictures.hdr import HdrCoding

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_READ_AT_ONCE = 4 << 20  # bytes of a JPEG that its decoder is given: Pillow's 64 kB cost 1 ms more for 3 MB
_GAP = 3.0  # the same for box-shrinking before the bicubic filter: 3 is "close to fair resampling" (Pillow)


PIXELS_SETTING = "VIEWFINDER_PICTURE_PIXELS"
"""The environment's variable for the most pixels of a picture that is added."""


@dataclass(frozen=True)
class Limits:
    """The most that one picture may cost; `seconds` and `memory_bytes` (beyond an idle worker's) hold in a sandbox.

    `pixels_set_by` is the setting that a message names.
    """

    max_bytes: int = 200_000_000
    max_pixels: int = 250_000_000  # phones make 200
    seconds: float = 20.0
    memory_bytes: int = 2_000_000_000
    pixels_set_by: str = PIXELS_SETTING


def read_limits() -> Limits:
    """The limits of pictures that are added. Raises BadInput: the environment says nonsense."""
    if not (said := os.environ.get(PIXELS_SETTING)):
        return Limits()
    if not said.isdecimal() or int(said) < 1:
        raise BadInput(
            f"{PIXELS_SETTING}={said!r}: write the most pixels of a picture as a whole number, like 250000000"
        )
    return Limits(max_pixels=int(said))


READER = "picture reader"

BUGS = (TypeError, AttributeError, NameError, ImportError, NotImplementedError)
"""Exceptions of a reader that has a bug, whatever the file holds."""


def can_be_read_now(reason: str) -> bool:
    """Whether what kept a file from being read may be no more: a package that was missing, another limit of pixels, an
    encoder or a reader that has been mended meanwhile.
    """
    if reason.startswith((NO_VECTOR, f"the {READER} ")):
        return True
    is_limit_another = reason.startswith(_TOO_MANY) and not reason.endswith(_say_pixels(read_limits()))
    return is_limit_another or formats.is_installed_since(reason)


@dataclass(frozen=True, eq=False)
class Decoded:
    """Pixels (height, width, 3), upright sRGB, and the facts."""

    pixels: NDArray[np.uint8]
    facts: Facts


def decode(data: bytes, *, limits: Limits, fit: Fit) -> Decoded:
    """The picture in a file's bytes. Raises PictureError, with the reason alone: none, damaged, over a limit."""
    if not data:
        raise PictureError("empty file")
    if len(data) > limits.max_bytes:
        raise PictureError(explain_too_large(len(data), limits))
    try:
        with _without_pillows_limit():
            return _decode_announced(data, limits, fit)
    except PictureError:
        raise
    except MemoryError:
        raise PictureError(explain_too_hungry(limits)) from None
    except PartFailed as error:
        raise PictureError(str(error)) from error
    except Exception as error:  # Pillow's readers raise whatever a damaged file makes of them
        raise PictureError(_explain_error(error, data)) from error


def explain_too_large(size: int, limits: Limits) -> str:
    """Why a file of `size` bytes is not even read."""
    return f"too large: {size / 1e6:.0f} MB is over the limit of {limits.max_bytes / 1e6:.0f} MB"


def explain_too_hungry(limits: Limits) -> str:
    """Why a picture is given up for want of memory."""
    return f"needs more memory than the limit of {limits.memory_bytes / 1e9:g} GB"


def _decode_announced(data: bytes, limits: Limits, fit: Fit) -> Decoded:
    announced = formats.detect_format(data)
    if announced is None and (reader := formats.find_reader(data)) is not None:
        return _read_by(reader, data, limits, fit)
    if announced is None:
        raise PictureError(formats.explain_no_picture(data))
    if announced == "RAW" or (announced == "TIFF" and formats.is_camera_raw(data)):
        return _develop_raw(data, limits, fit)
    if announced == "TIFF":
        from viewfinder.pictures.deep_tiff import open_deep_tiff

        if (deep := open_deep_tiff(data)) is not None:
            return _decode_deep_tiff(deep, data, limits, fit)
    if announced == "WEBP" and (canvas := formats.read_webp_canvas(data)):
        _check_pixels(canvas, limits)
    if announced == "HEIF":
        formats.register_heif()
    from viewfinder.pictures.hdr import find_hdr_coding

    if announced == "JXL":
        formats.register_jxl()
        if (claimed := formats.read_jxl_size(data)) is None:
            raise PictureError("truncated or damaged JXL")
        _check_pixels(claimed, limits)
    with Image.open(BytesIO(data), formats=(announced,)) as image:
        _check_pixels(image.size, limits)
        width, height = image.size
        target = fit.target(width, height)
        if announced == "JPEG":
            image.draft(None, _choose_draft(image.size, target, fit.eighth))
            image.decodermaxblock = min(len(data), _READ_AT_ONCE)
        formats.forget_xmp(image)  # before load: TIFF turns itself
        image.load()
        formats.forget_xmp(image)
        notes = image.getexif()  # after load: in PNG it may come last
        turn = formats.read_orientation(notes)
        facts = Facts(
            *((height, width) if turn >= 5 else (width, height)),
            format="JPEG" if image.format == "MPO" else image.format or "",
            bytes=len(data),
            captured=formats.read_capture_date(notes),
            camera=formats.read_camera(notes),
        )
        coding = find_hdr_coding(data, announced, image.info)
        pixels_hw3 = _convert_pixels(image, target, turn, coding)
        if announced in _ANIMATED and _is_one_colour(pixels_hw3) and getattr(image, "is_animated", False):
            pixels_hw3 = _find_frame(image, target, turn, coding, pixels_hw3)
        return Decoded(pixels_hw3, facts)


def _choose_draft(size: tuple[int, int], target: tuple[int, int], eighth: float) -> tuple[int, int]:
    """The least size at which a JPEG is read: libjpeg gives the next larger of its whole, half, quarter or eighth."""
    width, height = size[0] // 8, size[1] // 8
    if min(width / target[0], height / target[1]) >= eighth:
        return width, height
    return DRAFT * target[0], DRAFT * target[1]


_ANIMATED = frozenset({"GIF", "WEBP", "PNG", "AVIF"})  # in HEIC, frames are other pictures
MAX_FRAMES = 16
"""Frames of an animation that are looked at for one that shows something."""

_SAME_COLOUR = 3  # what compression makes of one colour


def _is_one_colour(pixels_hw3: NDArray[np.uint8]) -> bool:
    for some_hw3 in (pixels_hw3[::37, ::37], pixels_hw3):  # a few pixels tell almost all pictures
        flat = some_hw3.reshape(-1, 3)
        if (flat.max(axis=0) - flat.min(axis=0)).max() > _SAME_COLOUR:
            return False
    return True


def _find_frame(
    image: Image.Image, target: tuple[int, int], turn: int, coding: HdrCoding | None, first_hw3: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """The first frame that is more than one colour: many animations begin with an empty one."""
    for frame in range(1, MAX_FRAMES):
        try:
            image.seek(frame)
            pixels_hw3 = _convert_pixels(image, target, turn, coding)
        except (EOFError, OSError, SyntaxError, ValueError):  # the last frame, or a damaged one
            break
        if not _is_one_colour(pixels_hw3):
            return pixels_hw3
    return first_hw3


def _decode_deep_tiff(deep: DeepTiff, data: bytes, limits: Limits, fit: Fit) -> Decoded:
    """A TIFF page of more than 8 bits a sample."""
    _check_pixels((deep.width, deep.height), limits)
    notes = formats.read_tiff_notes(data)
    turn = deep.orientation
    facts = Facts(
        *((deep.height, deep.width) if turn >= 5 else (deep.width, deep.height)),
        format="TIFF",
        bytes=len(data),
        captured=formats.read_capture_date(notes),
        camera=formats.read_camera(notes),
    )
    return Decoded(_convert_pixels(deep.read(), fit.target(deep.width, deep.height), turn), facts)


MAX_PACKED_SIDE = 2048
"""The longer side of a packed image: more than any encoder looks at."""


def pack_image(image: object) -> bytes:
    """A PIL image, or an array of uint8 (h, w, 3), (h, w, 4) or (h, w), as a PNG file: upright, sRGB, on white.

    Raises BadInput: it is something else, empty, or cannot be read.
    """
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] in (3, 4))):
            raise BadInput(
                f"an array of an image has uint8 (height, width, 3), (height, width, 4) or (height, width); "
                f"this one has {image.dtype} {image.shape}"
            )
        if image.size == 0:
            raise BadInput(f"this image has no pixels: {image.shape}")
        image = Image.fromarray(np.ascontiguousarray(image))
    if not isinstance(image, Image.Image):
        raise BadInput(f"an image is a file's path, its bytes, a PIL image or an array, this is {type(image).__name__}")
    if 0 in image.size:
        raise BadInput(f"this image has no pixels: {image.size}")
    packed = BytesIO()
    try:
        turn = formats.read_orientation(image.getexif())
        pixels_hw3 = _convert_pixels(image, AtMost(MAX_PACKED_SIDE).target(*image.size), turn)
    except Exception as error:  # as in `decode`: it may be of a file that is read only now, or was closed
        raise BadInput(f"this image cannot be read: {formats.say_error(error)}") from error
    Image.fromarray(pixels_hw3).save(packed, "PNG", compress_level=1)
    return packed.getvalue()


def _convert_pixels(
    image: Image.Image, target: tuple[int, int], turn: int, coding: HdrCoding | None = None
) -> NDArray[np.uint8]:
    """Small first: colours and turning then cost nothing, and none of the three minds the order."""
    profile = image.info.get("icc_profile")
    small = to_eight_bit(image).resize(target, Image.Resampling.BICUBIC, reducing_gap=_GAP)
    if coding is not None:  # its profile, if it has one, says the same
        from viewfinder.pictures.hdr import to_ordinary_brightness

        small, profile = to_ordinary_brightness(small, coding), None
    plain = to_srgb_on_white(small, profile)
    upright = plain.transpose(_TURNS[turn]) if turn in _TURNS else plain
    return np.array(upright)


def _develop_raw(data: bytes, limits: Limits, fit: Fit) -> Decoded:
    """A camera's raw file, through LibRaw, which also turns it upright."""
    with formats.open_raw(data) as raw:
        _check_pixels((raw.width, raw.height), limits)
        target = fit.target(raw.width, raw.height)
        image = raw.develop(half=min(raw.width // target[0], raw.height // target[1]) >= 2 * DRAFT)
        facts = Facts(raw.width, raw.height, "RAW", len(data), raw.captured, raw.camera)
        return Decoded(_convert_pixels(image, target, turn=1), facts)


def _read_by(reader: formats.PictureReader, data: bytes, limits: Limits, fit: Fit) -> Decoded:
    """A format that another package reads."""
    size = reader.read_size(data)
    is_pair = isinstance(size, tuple | list) and len(size) == 2
    if not (is_pair and all(isinstance(it, Integral) and it > 0 for it in size)):
        raise refuse_reply(READER, reader, f"`read_size` gave {str(size)[:60]}, not two whole numbers above 0")
    width, height = map(int, size)
    _check_pixels((width, height), limits)
    image = reader.read_picture(data)
    if not isinstance(image, Image.Image):
        raise refuse_reply(READER, reader, f"`read_picture` gave {type(image).__name__}, not an image of Pillow")
    if image.size != (width, height):
        raise ValueError(f"{image.size[0]} x {image.size[1]}, where the header says {width} x {height}")
    facts = Facts(width, height, reader.format, len(data), None, None)
    return Decoded(_convert_pixels(image, fit.target(width, height), turn=1), facts)


def _check_pixels(size: tuple[int, int], limits: Limits) -> None:
    if size[0] * size[1] > limits.max_pixels:
        raise PictureError(f"{_TOO_MANY}{size[0]} x {size[1]} is over the limit of {_say_pixels(limits)}")


_TOO_MANY = "too many pixels: "


def _say_pixels(limits: Limits) -> str:
    return f"{limits.max_pixels / 1e6:g} megapixels ({limits.pixels_set_by})"


def _explain_error(error: Exception, data: bytes) -> str:
    reader = formats.find_reader(data) if (format_name := formats.detect_format(data)) is None else None
    if isinstance(error, BUGS) and (fault := find_fault(error)) is not None:
        return fault
    format_name = format_name if reader is None else reader.format
    text = formats.say_error(error)
    if isinstance(error, UnidentifiedImageError) or "could not create decoder" in text:  # the latter: WebP
        return f"truncated or damaged {format_name}"
    if isinstance(error, EOFError) or "truncated" in text.lower() or "unrecognized data stream" in text:
        return f"truncated {format_name}"
    return f"damaged {format_name}: {text[:100]}"


@contextmanager
def _without_pillows_limit() -> Iterator[None]:
    """Pillow's own guard against bombs warns at another size than ours; `Limits` is the one that counts."""
    before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # readers remark on odd metadata, which is no news to a user
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = before


_PLAIN = frozenset({"L", "LA", "RGB", "RGBA", "CMYK", "LAB"})
_SPACES = {"L": "GRAY", "RGB": "RGB", "CMYK": "CMYK", "LAB": "Lab"}


def to_eight_bit(image: Image.Image) -> Image.Image:
    """The picture in one of the modes L, LA, RGB, RGBA, CMYK, LAB; 16 bits are scaled, not clipped.

    32-bit modes have no agreed white: their brightest value becomes white, zero and below black.
    """
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        values_hw = np.nan_to_num(np.asarray(image, dtype=np.float32), posinf=0.0, neginf=0.0)
        top = float(values_hw.max()) or 1.0
        return Image.fromarray((np.clip(values_hw / abs(top), 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8))
    if image.has_transparency_data and image.mode not in ("LA", "RGBA"):
        return image.convert("RGBA")
    if image.mode in _PLAIN:
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def to_srgb_on_white(image: Image.Image, profile: bytes | None) -> Image.Image:
    """An image of `to_eight_bit` in mode RGB: through its ICC profile if that can be used, alpha on white."""
    if image.mode not in ("LA", "RGBA"):
        return _to_srgb(image, profile)
    *bands, alpha = image.split()
    colours = bands[0] if len(bands) == 1 else Image.merge("RGB", bands)
    page = Image.new("RGB", image.size, "white")
    page.paste(_to_srgb(colours, profile), mask=alpha)
    return page


def _to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    transform = _find_transform(profile, image.mode) if profile or image.mode == "LAB" else None
    if transform is None:
        return image if image.mode == "RGB" else image.convert("RGB")  # it would copy
    source = image.convert("RGB") if transform.input_mode == "RGB" else image
    return transform.apply(source)


@lru_cache(maxsize=16)
def _find_transform(profile: bytes | None, mode: str) -> ImageCms.ImageCmsTransform | None:
    """The way from a profile to sRGB (a folder shares a few); None for a broken or foreign profile."""
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile) if profile else ImageCms.createProfile("LAB"))
        space = source.profile.xcolor_space.strip()
        if mode == "L" and space == "RGB":  # grey pixels under a colour profile
            mode = "RGB"
        if space != _SPACES[mode]:
            return _find_transform(None, mode) if mode == "LAB" and profile else None
        target = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
        return ImageCms.ImageCmsTransform(source, target, mode, "RGB")
    except (OSError, ValueError, TypeError, ImageCms.PyCMSError):
        return None
