"""The one way from a file's bytes to pixels: upright, sRGB, on white, first frame, within limits.

Runs in worker processes (see `sandbox.py`): a hostile file may crash or stall the libraries below.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import (  # each announces its format to Image.open, which would otherwise import all fifty
    AvifImagePlugin,  # noqa: F401
    BmpImagePlugin,  # noqa: F401
    GifImagePlugin,  # noqa: F401
    Image,
    JpegImagePlugin,  # noqa: F401
    PngImagePlugin,  # noqa: F401
    TiffImagePlugin,  # noqa: F401
    UnidentifiedImageError,
    WebPImagePlugin,  # noqa: F401
)

from viewfinder.errors import PictureError
from viewfinder.pictures import colour, exif, optional, signatures

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_DRAFT = 2  # JPEG is read at a reduced scale that is at least so many times the size wanted
_GAP = 3.0  # the same for box-shrinking before the bicubic filter: 3 is "close to fair resampling" (Pillow)


@dataclass(frozen=True)
class Limits:
    """What one picture may cost; `seconds` and `memory_bytes` (beyond an idle worker's) hold in a sandbox."""

    max_bytes: int = 200_000_000
    max_pixels: int = 150_000_000
    seconds: float = 20.0
    memory_bytes: int = 2_000_000_000


@dataclass(frozen=True)
class Stretch:
    """The whole picture, stretched to a square: what the starter encoder looks at."""

    side: int = 224

    def target(self, width: int, height: int) -> tuple[int, int]:
        """Width and height to make of a picture of this width and height."""
        return self.side, self.side


@dataclass(frozen=True)
class AtMost:
    """The picture in its own proportions, its longer side at most `longest`; never enlarged."""

    longest: int

    def target(self, width: int, height: int) -> tuple[int, int]:
        """Width and height to make of a picture of this width and height."""
        scale = min(1.0, self.longest / max(width, height))
        return max(1, round(width * scale)), max(1, round(height * scale))


Fit = Stretch | AtMost


@dataclass(frozen=True)
class Facts:
    """What is known of a picture besides its pixels; width and height are those of the upright original.

    `captured` is ISO 8601 in the camera's own time. `format` is Pillow's name, or "HEIF", "RAW".
    """

    width: int
    height: int
    format: str
    bytes: int
    captured: str | None
    camera: str | None


@dataclass(frozen=True, eq=False)
class Decoded:
    """Pixels (height, width, 3), upright sRGB, and the facts."""

    pixels: NDArray[np.uint8]
    facts: Facts


def decode(data: bytes, *, limits: Limits, fit: Fit) -> Decoded:
    """The picture in a file's bytes.

    Raises:
        PictureError: there is none, or it is damaged or over a limit; the message is the reason alone.
    """
    if not data:
        raise PictureError("empty file")
    if len(data) > limits.max_bytes:
        raise PictureError(explain_too_large(len(data), limits))
    try:
        with _without_pillows_limit():
            return _decode(data, limits, fit)
    except PictureError:
        raise
    except MemoryError:
        raise PictureError(explain_too_hungry(limits)) from None
    except Exception as error:  # Pillow's readers raise whatever a damaged file makes of them
        raise PictureError(_reason(error, data)) from error


def explain_too_large(size: int, limits: Limits) -> str:
    """Why a file of `size` bytes is not even read."""
    return f"too large: {size / 1e6:.0f} MB is over the limit of {limits.max_bytes / 1e6:.0f} MB"


def explain_too_hungry(limits: Limits) -> str:
    """Why a picture is given up for want of memory."""
    return f"needs more memory than the limit of {limits.memory_bytes / 1e9:g} GB"


def _decode(data: bytes, limits: Limits, fit: Fit) -> Decoded:
    announced = signatures.detect_format(data)
    if announced is None:
        raise PictureError(f"not a picture (starts with {signatures.show_first_bytes(data)})")
    if announced == "RAW" or (announced == "TIFF" and optional.is_camera_raw(data)):
        return _developed(data, limits, fit)
    if announced == "WEBP" and (canvas := signatures.read_webp_canvas(data)):
        _check_pixels(canvas, limits)
    if announced == "HEIF":
        optional.register_heif()
    with Image.open(BytesIO(data), formats=(announced,)) as image:
        _check_pixels(image.size, limits)
        width, height = image.size
        target = fit.target(width, height)
        image.draft(None, (_DRAFT * target[0], _DRAFT * target[1]))
        image.load()
        notes = image.getexif()  # after load: in PNG it may come last, and TIFF has turned itself
        turn = exif.read_orientation(notes)
        facts = Facts(
            *((height, width) if turn >= 5 else (width, height)),
            format="JPEG" if image.format == "MPO" else image.format or "",
            bytes=len(data),
            captured=exif.read_capture_date(notes),
            camera=exif.read_camera(notes),
        )
        return Decoded(_pixels(image, target, turn), facts)


def _pixels(image: Image.Image, target: tuple[int, int], turn: int) -> NDArray[np.uint8]:
    """Small first: colours and turning then cost nothing, and none of the three minds the order."""
    profile = image.info.get("icc_profile")
    small = colour.to_eight_bit(image).resize(target, Image.Resampling.BICUBIC, reducing_gap=_GAP)
    plain = colour.to_srgb_on_white(small, profile)
    upright = plain.transpose(_TURNS[turn]) if turn in _TURNS else plain
    return np.array(upright)


def _developed(data: bytes, limits: Limits, fit: Fit) -> Decoded:
    """A camera's raw file, through LibRaw, which also turns it upright."""
    with optional.open_raw(data) as raw:
        _check_pixels((raw.width, raw.height), limits)
        target = fit.target(raw.width, raw.height)
        image = raw.develop(half=min(raw.width // target[0], raw.height // target[1]) >= 2 * _DRAFT)
        facts = Facts(raw.width, raw.height, "RAW", len(data), raw.captured, raw.camera)
        return Decoded(_pixels(image, target, turn=1), facts)


def _check_pixels(size: tuple[int, int], limits: Limits) -> None:
    if size[0] * size[1] > limits.max_pixels:
        limit = f"{limits.max_pixels / 1e6:g} megapixels"
        raise PictureError(f"too many pixels: {size[0]} x {size[1]} is over the limit of {limit}")


def _reason(error: Exception, data: bytes) -> str:
    format_name = signatures.detect_format(data)
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
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
