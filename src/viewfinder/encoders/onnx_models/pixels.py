"""Pictures as a network takes them: resized, cropped and scaled as the processor that is documented for it.

Two families of settings are read: those of transformers (preprocessor_config.json) and of open_clip
(preprocess_cfg.json). Both resize with Pillow; where an odd number of rows is left over, transformers and Immich cut
the larger half below, open_clip and rclip round to the even number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import Pixels
from viewfinder.encoders.onnx_models.layouts import ModelFiles, read_settings
from viewfinder.errors import BadInput, EncoderMismatch

CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
"""Mean and deviation of the pixels that CLIP was trained on: those of rclip's model, which has no settings file."""

BICUBIC = 3
"""Pillow's number for it."""

RESAMPLINGS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": BICUBIC, "box": 4, "hamming": 5}

MAX_SIDE = 4096
"""Pixels along a side of a network's input: more is a mistake in the settings, and would fill the memory."""

MAX_ASPECT = 32
"""If sides differ by more than this factor, the ends, which the crop drops, are cut off before resizing: with 224 on
its short side, a picture of 1 x 60,000 pixels would take 9 GB."""


@dataclass(frozen=True)
class PixelSettings:
    """How pictures are prepared.

    Attributes:
        resize: to `size` whatever the proportions; or the shorter side to `size`, then the middle is cut out.
        size: height and width of the input; None: as the graph has it.
        resample: Pillow's number of the filter.
        rounds_to_even: whether the crop begins at the even number where it would begin between two pixels.
        scale: factor of the pixels' numbers, before mean and deviation.
    """

    resize: Literal["exact", "shortest"]
    size: tuple[int, int] | None
    crop: tuple[int, int] | None = None
    resample: int = BICUBIC
    rounds_to_even: bool = False
    scale: float = 1 / 255
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)

    @property
    def shape(self) -> tuple[int, int] | None:
        """Height and width of what a network gets; None: as the graph has it."""
        return self.crop if self.resize == "shortest" else self.size

    def fill_in(self, height: int | None, width: int | None) -> PixelSettings:
        """These settings for a graph whose input has this height and width (None: any).

        Raises:
            EncoderMismatch: they make inputs of another shape.
        """
        if self.size is None:
            side = height or width or 224
            return replace(self, size=(side, side), crop=(side, side))
        assert self.shape is not None
        if (height or self.shape[0], width or self.shape[1]) != self.shape:
            made, wanted = "x".join(map(str, self.shape)), f"{height}x{width}"
            raise EncoderMismatch(f"the settings make pictures of {made}, the network takes {wanted}")
        return self


def read_pixel_settings(files: ModelFiles) -> PixelSettings:
    """How this model's pictures are prepared. Raises BadInput: it does not say, or says what is not possible here."""
    match files.layout:
        case "immich":
            return _read_open_clip(files.visual.parent / "preprocess_cfg.json", rounds_to_even=False)
        case "rclip":
            for name in ("preprocess_cfg.json", "open_clip_config.json"):
                if (files.folder / name).is_file():
                    return _read_open_clip(files.folder / name, rounds_to_even=True)
            return PixelSettings("shortest", None, rounds_to_even=True, mean=CLIP_MEAN, std=CLIP_STD)
    file = files.folder / "preprocessor_config.json"
    settings = read_settings(file, needed=not (files.folder / "processor_config.json").is_file())
    if not settings:  # transformers 5 may write all of a processor into one file
        file = files.folder / "processor_config.json"
        settings = read_settings(file).get("image_processor", {})
    return _read_transformers(settings, file)


def _read_transformers(settings: Mapping[str, Any], file: Path) -> PixelSettings:
    kind = str(settings.get("image_processor_type") or settings.get("feature_extractor_type") or "")
    crops = settings.get("do_center_crop", "CLIP" in kind or "crop_size" in settings)
    odd = [name for name in ("do_pad", "include_top", "rescale_offset", "do_pan_and_scan") if settings.get(name)]
    if "max_num_patches" in settings:
        odd.append("max_num_patches")
    if odd or not settings.get("do_resize", True):
        what = ", ".join(odd) or "do_resize is false"
        raise BadInput(f"{file} asks for what viewfinder does not do ({what}): give another export of the model")
    size = settings.get("size", 224)
    if isinstance(size, Mapping) and set(size) == {"shortest_edge"}:
        resize, sides = "shortest", _read_sides(size["shortest_edge"], file)
    elif isinstance(size, Mapping) and {"height", "width"} <= set(size):
        resize, sides = "exact", _read_sides([size["height"], size["width"]], file)
    elif isinstance(size, int):
        # A number alone is the shorter side for these, and a square for others.
        is_shorter = crops or "CLIP" in kind or "Siglip" in kind
        resize, sides = "shortest" if is_shorter else "exact", _read_sides(size, file)
    else:
        raise BadInput(f"{file}: size {str(size)[:60]} is not understood: give another export of the model")
    crop = None
    if crops:
        given = settings.get("crop_size", size)
        crop = _read_sides([given["height"], given["width"]] if isinstance(given, Mapping) else given, file)
    if resize == "exact" and crop == sides:  # nothing is left to cut off
        crop = None
    if (resize == "shortest") != (crop is not None):
        raise BadInput(f"{file}: size and crop do not make pictures of one shape: give another export of the model")
    scales, shifts = settings.get("do_rescale", True), settings.get("do_normalize", True)
    return PixelSettings(
        "shortest" if resize == "shortest" else "exact",
        sides,
        crop,
        _read_resampling(settings.get("resample", BICUBIC), file),
        scale=float(settings.get("rescale_factor", 1 / 255)) if scales else 1.0,
        mean=_read_three(settings.get("image_mean", CLIP_MEAN), file) if shifts else (0.0, 0.0, 0.0),
        std=_read_three(settings.get("image_std", CLIP_STD), file, above_zero=True) if shifts else (1.0, 1.0, 1.0),
        rounds_to_even=kind.startswith("OpenCLIP"),
    )


def _read_open_clip(file: Path, *, rounds_to_even: bool) -> PixelSettings:
    settings = read_settings(file)
    settings = settings.get("preprocess_cfg", settings)  # open_clip_config.json has them beside the model's
    size = _read_sides(settings.get("size", 224), file)
    mode = settings.get("resize_mode", "shortest")
    if mode not in {"shortest", "squash"}:
        raise BadInput(f"{file}: resize_mode {mode!r} is not one of shortest, squash: give another export of the model")
    return PixelSettings(
        "exact" if mode == "squash" else "shortest",
        size,
        None if mode == "squash" else size,
        _read_resampling(settings.get("interpolation", "bicubic"), file),
        rounds_to_even=rounds_to_even,
        mean=_read_three(settings.get("mean", CLIP_MEAN), file),
        std=_read_three(settings.get("std", CLIP_STD), file, above_zero=True),
    )


def _read_sides(given: Any, file: Path) -> tuple[int, int]:
    sides = [given, given] if isinstance(given, int) else given
    if not (
        isinstance(sides, list) and len(sides) == 2 and all(isinstance(n, int) and 0 < n <= MAX_SIDE for n in sides)
    ):
        raise BadInput(f"{file}: {str(given)[:60]} are no height and width up to {MAX_SIDE}: fetch it again")
    return sides[0], sides[1]


def _read_three(given: Any, file: Path, *, above_zero: bool = False) -> tuple[float, ...]:
    numbers = given if isinstance(given, list | tuple) else ()
    is_usable = all(isinstance(n, int | float) and math.isfinite(n) and (n > 0 or not above_zero) for n in numbers)
    if len(numbers) != 3 or not is_usable:
        raise BadInput(f"{file}: {str(given)[:60]} are no three numbers for red, green and blue: fetch it again")
    return tuple(float(n) for n in numbers)


def _read_resampling(given: Any, file: Path) -> int:
    found = RESAMPLINGS.get(given.lower()) if isinstance(given, str) else given
    if not isinstance(found, int) or found not in RESAMPLINGS.values():
        raise BadInput(f"{file}: the filter {str(given)[:30]!r} is not one of {', '.join(RESAMPLINGS)}: fetch it again")
    return found


def prepare_pixels(pixels: Pixels, settings: PixelSettings) -> Float[np.ndarray, "3 h w"]:
    """One picture as a network takes it."""
    from PIL import Image

    assert settings.size is not None
    if settings.crop is not None:
        pixels = _cut_ends(pixels)
    width, height = resized_size(pixels.shape[1], pixels.shape[0], settings)
    resample = Image.Resampling(settings.resample)
    image = Image.fromarray(np.ascontiguousarray(pixels)).resize((width, height), resample)
    if settings.crop is not None:
        left, top = crop_corner(width, height, settings)
        image = image.crop((left, top, left + settings.crop[1], top + settings.crop[0]))
    std_3 = np.array(settings.std, np.float32)
    numbers_hw3 = np.asarray(image).astype(np.float32)
    numbers_hw3 *= np.float32(settings.scale) / std_3
    numbers_hw3 -= np.array(settings.mean, np.float32) / std_3
    return np.ascontiguousarray(numbers_hw3.transpose(2, 0, 1))


def _cut_ends(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    longest = MAX_ASPECT * min(height, width)
    top, left = max(0, height - longest) // 2, max(0, width - longest) // 2
    return pixels[top : height - top, left : width - left]


def resized_size(width: int, height: int, settings: PixelSettings) -> tuple[int, int]:
    """Width and height of a picture once it is resized, before the crop."""
    assert settings.size is not None
    if settings.resize == "exact":
        return settings.size[1], settings.size[0]
    side = settings.size[0]
    longer = int(side * max(width, height) / min(width, height))
    return (side, longer) if width <= height else (longer, side)


def crop_corner(width: int, height: int, settings: PixelSettings) -> tuple[int, int]:
    """Where the crop of a resized picture begins; below 0 is padding."""
    assert settings.crop is not None
    over = (width - settings.crop[1], height - settings.crop[0])
    left, top = (round(n / 2) if settings.rounds_to_even else n // 2 for n in over)
    return left, top


def find_seen(width: int, height: int, settings: PixelSettings, *, patch: int = 1) -> tuple[float, float, float, float]:
    """The box (x0, y0, x1, y1) of a picture that the network sees, in the picture's pixels.

    `patch`: pixels along a side of a patch; rows and columns that fill none are seen by none.
    """
    assert settings.shape is not None
    new_width, new_height = resized_size(width, height, settings)
    left, top = (0, 0) if settings.crop is None else crop_corner(new_width, new_height, settings)
    covered_y, covered_x = (side // patch * patch for side in settings.shape)
    scale_x, scale_y = new_width / width, new_height / height
    return (
        max(0.0, left / scale_x),
        max(0.0, top / scale_y),
        min(float(width), (left + covered_x) / scale_x),
        min(float(height), (top + covered_y) / scale_y),
    )
