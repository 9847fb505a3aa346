"""Any of Pillow's modes to 8-bit sRGB on white."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO

import numpy as np
from PIL import Image, ImageCms

_PLAIN = frozenset({"L", "LA", "RGB", "RGBA", "CMYK", "LAB"})
_SPACES = {"L": "GRAY", "RGB": "RGB", "CMYK": "CMYK", "LAB": "Lab"}


def to_eight_bit(image: Image.Image) -> Image.Image:
    """The picture in one of the modes L, LA, RGB, RGBA, CMYK, LAB; 16 bits are scaled, not clipped.

    32-bit modes have no agreed white: their brightest value becomes white, zero and below black.
    """
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        return _brightest_to_white(image)
    if image.has_transparency_data and image.mode not in ("LA", "RGBA"):
        return image.convert("RGBA")
    if image.mode in _PLAIN:
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def to_srgb_on_white(image: Image.Image, profile: bytes | None) -> Image.Image:
    """An image of `eight_bit` in mode RGB: through its ICC profile if that can be used, alpha on white."""
    if image.mode not in ("LA", "RGBA"):
        return _to_srgb(image, profile)
    *bands, alpha = image.split()
    colours = bands[0] if len(bands) == 1 else Image.merge("RGB", bands)
    page = Image.new("RGB", image.size, "white")
    page.paste(_to_srgb(colours, profile), mask=alpha)
    return page


def _to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    transform = _transform(profile, image.mode) if profile or image.mode == "LAB" else None
    if transform is None:
        return image.convert("RGB")
    source = image.convert("RGB") if transform.input_mode == "RGB" else image
    return transform.apply(source)


@lru_cache(maxsize=16)
def _transform(profile: bytes | None, mode: str) -> ImageCms.ImageCmsTransform | None:
    """The way from a profile to sRGB (a folder shares a few); None for a broken or foreign profile."""
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile) if profile else ImageCms.createProfile("LAB"))
        space = source.profile.xcolor_space.strip()
        if mode == "L" and space == "RGB":  # grey pixels under a colour profile
            mode = "RGB"
        if space != _SPACES[mode]:
            return _transform(None, mode) if mode == "LAB" and profile else None
        target = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
        return ImageCms.ImageCmsTransform(source, target, mode, "RGB")
    except (OSError, ValueError, TypeError, ImageCms.PyCMSError):
        return None


def _brightest_to_white(image: Image.Image) -> Image.Image:
    values_hw = np.nan_to_num(np.asarray(image, dtype=np.float32), posinf=0.0, neginf=0.0)
    top = float(values_hw.max()) or 1.0
    return Image.fromarray((np.clip(values_hw / abs(top), 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8))
