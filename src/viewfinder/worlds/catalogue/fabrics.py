"""What cloth, leather and glaze look like from near: a grey sheet to be added to a drawing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from jaxtyping import Float
from PIL import Image

_DEPTH = 170

Sheet = Float[np.ndarray, "rows columns"]


@cache
def fabric_sheet(fabric: str, side: int) -> Image.Image:
    """The sheet of a fabric or finish, RGB; 128 changes nothing, and is everywhere on what has no surface."""
    rows, columns = np.mgrid[0:side, 0:side].astype(np.float64)
    sheet = SURFACES[fabric](rows, columns, side) if fabric in SURFACES else np.full((side, side), 0.5)
    grey = np.clip(128 + (sheet - 0.5) * _DEPTH, 0, 255).astype(np.uint8)
    return Image.fromarray(np.stack([grey] * 3, axis=-1))


def _denim(rows: Sheet, columns: Sheet, side: int) -> Sheet:
    """Twill: fine diagonals."""
    sheet: Sheet = 0.46 + 0.2 * np.sign(np.sin((rows + columns) * 2 * np.pi / 10))
    return sheet


def _corduroy(rows: Sheet, columns: Sheet, side: int) -> Sheet:
    """Wales: vertical ribs."""
    sheet: Sheet = 0.48 + 0.24 * np.sin(columns * 2 * np.pi / 14)
    return sheet


def _knitted(rows: Sheet, columns: Sheet, side: int) -> Sheet:
    """Rows of little Vs."""
    sheet: Sheet = 0.48 + 0.24 * np.sin((rows + np.abs(columns % 16 - 8)) * 2 * np.pi / 12)
    return sheet


def _canvas(rows: Sheet, columns: Sheet, side: int) -> Sheet:
    """A coarse plain weave."""
    sheet: Sheet = 0.48 + 0.2 * np.sign(np.sin(rows * 2 * np.pi / 10) * np.sin(columns * 2 * np.pi / 10))
    return sheet


def _satin(rows: Sheet, columns: Sheet, side: int) -> Sheet:
    """Broad soft folds of light."""
    sheet: Sheet = 0.52 + 0.28 * np.sin((rows * 0.4 + columns) * 2 * np.pi / (side / 4))
    return sheet


def _leather(rows: Sheet, columns: Sheet, side: int) -> Sheet:
    """A hard gleam from the upper left, dark below."""
    down = (rows + columns) / (2 * side)
    sheet: Sheet = 0.62 - 0.35 * down + 0.35 * np.exp(-(((down - 0.36) / 0.05) ** 2))
    return sheet


def _suede(rows: Sheet, columns: Sheet, side: int) -> Sheet:
    """A grainy nap; the grain is the same every time."""
    sheet: Sheet = 0.48 + np.random.default_rng(7).normal(0, 0.16, (side // 4, side // 4)).repeat(4, 0).repeat(4, 1)
    return sheet


def _glossy(rows: Sheet, columns: Sheet, side: int) -> Sheet:
    """Two upright reflections of a window."""
    at = columns / side
    sheet: Sheet = 0.5 + 0.4 * np.exp(-(((at - 0.26) / 0.035) ** 2)) + 0.25 * np.exp(-(((at - 0.6) / 0.02) ** 2))
    return sheet


SURFACES: dict[str, Callable[[Sheet, Sheet, int], Sheet]] = {
    "denim": _denim,
    "corduroy": _corduroy,
    "knitted": _knitted,
    "canvas": _canvas,
    "satin": _satin,
    "leather": _leather,
    "suede": _suede,
    "glossy": _glossy,
}
"""Fabrics and finishes that show; cotton and matte do not."""
