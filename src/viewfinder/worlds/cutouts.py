"""Cutting a thing out of a photograph on a light, even background."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, UInt8
from PIL import Image

LIGHTEST_DARK = 205
"""A background is light where its darkest channel is at least this bright."""

NEAR = 12
"""How far, in any channel, a pixel may be from the background's colour and still belong to it."""

LEAST, MOST = 0.035, 0.86
"""Shares of the photograph that a thing may fill; outside of them the cut has failed."""

RAGGED = 0.15
"""What closing its gaps may add to a thing; a pale thing that the flood has eaten into gains more."""

_EVEN = 0.6
_SPECK = 0.03
_GAP, _WIDE_GAP = 7, 21
_CORE = 0.45
_HOLE, _EXACT = 0.004, 0.75


def cut_out(photo: Image.Image, *, solid: bool = False) -> Image.Image | None:
    """The thing in a photograph as RGBA, cropped to it; None where it cannot be told from its background.

    Of a `solid` thing (a garment, not a pair of glasses) wide gaps count as eaten too.

    The background is what a flood from the border reaches over pixels of the border's colour. The rim is drawn in
    by a pixel and softened, so that no halo of background stays on it.
    """
    pixels = np.asarray(photo.convert("RGB"))
    background = _background(pixels)
    if background is None:
        return None
    thing = _without_specks(~_flooded(pixels, background))
    if not LEAST <= thing.mean() <= MOST or _is_ragged(thing, solid):
        return None
    alpha = _soft(thing)
    if alpha.max() < 1.0:
        return None
    cut = np.dstack([pixels, np.round(alpha * 255).astype(np.uint8)])
    rows, columns = np.flatnonzero((alpha > 0).any(axis=1)), np.flatnonzero((alpha > 0).any(axis=0))
    return Image.fromarray(np.ascontiguousarray(cut[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]))


def _background(pixels: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, " 3"] | None:
    """The colour of the border, if that is light and mostly one colour."""
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    colour = np.median(border, axis=0).astype(np.uint8)
    even = _distance(border[None], colour)[0] <= NEAR
    return colour if colour.min() >= LIGHTEST_DARK and even.mean() >= _EVEN else None


def _distance(pixels: UInt8[np.ndarray, "h w 3"], colour: UInt8[np.ndarray, " 3"]) -> UInt8[np.ndarray, "h w"]:
    apart = np.maximum(pixels, colour) - np.minimum(pixels, colour)
    most: UInt8[np.ndarray, "h w"] = np.maximum(np.maximum(apart[..., 0], apart[..., 1]), apart[..., 2])
    return most


def _flooded(pixels: UInt8[np.ndarray, "h w 3"], colour: UInt8[np.ndarray, " 3"]) -> Bool[np.ndarray, "h w"]:
    """The pixels of the background's colour that the border reaches, and holes in which exactly that colour is seen."""
    from scipy import ndimage

    distance = _distance(pixels, colour)
    parts, count = ndimage.label(distance <= NEAR)
    reached = np.zeros(count + 1, dtype=bool)
    for side in (parts[0], parts[-1], parts[:, 0], parts[:, -1]):
        reached[side] = True
    sizes = np.bincount(parts.ravel())
    exact = np.bincount(parts[distance == 0], minlength=count + 1)
    reached |= (sizes > _HOLE * parts.size) & (exact > _EXACT * sizes)
    reached[0] = False
    flooded: Bool[np.ndarray, "h w"] = reached[parts]
    return flooded


def _without_specks(thing: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    """Without what hangs on by a hair, and without parts that are tiny beside the largest."""
    from scipy import ndimage

    parts, count = ndimage.label(ndimage.binary_opening(thing, iterations=1))
    if not count:
        return np.zeros_like(thing)
    sizes = np.bincount(parts.ravel())
    sizes[0] = 0
    kept: Bool[np.ndarray, "h w"] = (sizes >= _SPECK * sizes.max())[parts]
    return kept


def _is_ragged(thing: Bool[np.ndarray, "h w"], solid: bool) -> bool:
    from scipy import ndimage

    # At half size, where a closing by a square is two quick running maxima and minima.
    small = np.pad(thing[::2, ::2], _WIDE_GAP).astype(np.uint8)
    gap = _WIDE_GAP if solid else _GAP
    return bool(ndimage.grey_closing(small, size=(gap, gap)).sum() > (1 + RAGGED) * small.sum())


def _soft(thing: Bool[np.ndarray, "h w"]) -> Float[np.ndarray, "h w"]:
    """How much of each pixel the thing covers, 0 to 1."""
    from scipy import ndimage

    blurred = ndimage.gaussian_filter(thing.astype(np.float32), 1.0)
    alpha: Float[np.ndarray, "h w"] = np.clip((blurred - _CORE) / (1 - _CORE) * 1.25, 0.0, 1.0)
    return alpha
