"""Pictures in the terminal: half blocks in true colour, two rows of pixels a line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

SIDE = 32
"""Longest side of a preview in pixels: 32 columns, 16 lines."""
GAP = "  "


def draw_preview(paths: Sequence[str]) -> str:
    """The pictures side by side, as far as they can be read; "" when none can."""
    blocks = [draw_half_blocks(pixels) for path in paths if (pixels := _pixels(path)) is not None]
    widths = [count_columns(block) for block in blocks]
    lines = zip_longest(*(lines for lines in blocks))
    return "\n".join(
        GAP.join(" " * width if cell is None else cell for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def draw_half_blocks(pixels: UInt8[np.ndarray, "h w 3"]) -> list[str]:
    """A picture as lines of upper half blocks: the block is the upper pixel, its ground the lower one.

    >>> half_blocks(np.array([[[255, 0, 0]], [[0, 0, 255]]], np.uint8))
    ['\\x1b[38;2;255;0;0m\\x1b[48;2;0;0;255m▀\\x1b[0m']
    """
    if len(pixels) % 2:
        pixels = np.concatenate([pixels, pixels[-1:]])
    return [
        "".join(
            f"\x1b[38;2;{ur};{ug};{ub}m\x1b[48;2;{lr};{lg};{lb}m▀"
            for (ur, ug, ub), (lr, lg, lb) in zip(upper.tolist(), lower.tolist(), strict=True)
        )
        + "\x1b[0m"
        for upper, lower in zip(pixels[::2], pixels[1::2], strict=True)
    ]


def count_columns(lines: Sequence[str]) -> int:
    """How many characters wide a picture made by `half_blocks` is."""
    return lines[0].count("▀") if lines else 0


def _pixels(path: str) -> UInt8[np.ndarray, "_h _w 3"] | None:
    from viewfinder.errors import PictureError
    from viewfinder.pictures import AtMost, decode_one

    try:
        return decode_one(Path(path), AtMost(SIDE)).pixels
    except PictureError:  # it has gone since it was indexed
        return None
