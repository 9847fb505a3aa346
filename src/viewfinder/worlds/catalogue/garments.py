"""Drawings of articles: every word that is known of an article can be seen in it, its fabric too."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageChops

from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.drawing.brush import (
    BLACK,
    CREAM,
    RGB,
    STEEL,
    WHITE,
    WOOD,
    Brush,
    Cloth,
    Number,
    Point,
    at,
    edge_of,
    mix,
)
from viewfinder.worlds.kinds import COLOURS

_DEPTH = 170

Sheet = Float[np.ndarray, "rows columns"]


@cache
def make_fabric_sheet(fabric: str, side: int) -> Image.Image:
    """The sheet of a fabric or finish, RGB; 128 changes nothing, and is everywhere on what has no surface."""
    rows, columns = np.mgrid[0:side, 0:side].astype(np.float64)
    sheet = SURFACES[fabric](rows, columns, side) if fabric in SURFACES else np.full((side, side), 0.5)
    grey = np.clip(128 + (sheet - 0.5) * _DEPTH, 0, 255).astype(np.uint8)
    return Image.fromarray(np.stack([grey] * 3, axis=-1))


# Each of rows, columns and side, about 0.5.
SURFACES: dict[str, Callable[[Sheet, Sheet, int], Sheet]] = {
    # Twill: fine diagonals.
    "denim": lambda rows, columns, side: 0.46 + 0.2 * np.sign(np.sin((rows + columns) * 2 * np.pi / 10)),
    # Wales: vertical ribs.
    "corduroy": lambda rows, columns, side: 0.48 + 0.24 * np.sin(columns * 2 * np.pi / 14),
    # Rows of little Vs.
    "knitted": lambda rows, columns, side: 0.48 + 0.24 * np.sin((rows + np.abs(columns % 16 - 8)) * 2 * np.pi / 12),
    # A coarse plain weave.
    "canvas": lambda rows, columns, side: (
        0.48 + 0.2 * np.sign(np.sin(rows * 2 * np.pi / 10) * np.sin(columns * 2 * np.pi / 10))
    ),
    # Broad soft folds of light.
    "satin": lambda rows, columns, side: 0.52 + 0.28 * np.sin((rows * 0.4 + columns) * 2 * np.pi / (side / 4)),
    # A hard gleam from the upper left, dark below.
    "leather": lambda rows, columns, side: _make_gleam((rows + columns) / (2 * side)),
    # A grainy nap; the grain is the same every time.
    "suede": lambda rows, columns, side: (
        0.48 + np.random.default_rng(7).normal(0, 0.16, (side // 4, side // 4)).repeat(4, 0).repeat(4, 1)
    ),
    # Two upright reflections of a window.
    "glossy": lambda rows, columns, side: (
        0.5
        + 0.4 * np.exp(-(((columns / side - 0.26) / 0.035) ** 2))
        + 0.25 * np.exp(-(((columns / side - 0.6) / 0.02) ** 2))
    ),
}
"""Fabrics and finishes that show; cotton and matte do not."""


def _make_gleam(down: Sheet) -> Sheet:
    sheet: Sheet = 0.62 - 0.35 * down + 0.35 * np.exp(-(((down - 0.36) / 0.05) ** 2))
    return sheet


ITEM_SIDE = 224
"""Pictures are square, as the product photos are."""

_SCALE = 2
_GROUNDS: tuple[RGB, ...] = ((244, 244, 242), (236, 240, 244), (244, 238, 230), (234, 240, 234), (240, 234, 240))

Look = Mapping[str, Sequence[str]]


def draw_item(item: Item) -> Image.Image:
    """The picture of a drawn article, 224 x 224, RGB; it depends on the article alone."""
    rng = random.Random(f"viewfinder/drawn goods/{item.key}/{item.title}")
    look = item.by_facet
    side = ITEM_SIDE * _SCALE
    layer = Image.new("RGBA", (side, side))
    cloth = Cloth(COLOURS[look["colour"][0]], look["pattern"][0])
    DRAWINGS[item.kind](Brush(layer, side, side, outlined=True), cloth, look)
    canvas = Image.new("RGB", (side, side), rng.choice(_GROUNDS))
    share = {"small": 0.55, "medium-sized": 0.75, "large": 0.95}.get(look.get("size", ("large",))[0], 0.95)
    sized = round(side * share * rng.uniform(0.95, 1.0))
    small = layer.resize((sized, sized), Image.Resampling.BILINEAR)
    place = ((side - sized) // 2 + rng.randint(-8, 8), (side - sized) // 2 + rng.randint(-8, 8))
    Brush(canvas, side, side).oval((0.5 - share * 0.4, 0.93, 0.5 + share * 0.4, 0.99), (0, 0, 0, 22))
    canvas.paste(small, place, small)
    return canvas.reduce(_SCALE)


def _lay_fabric(b: Brush, fabric: str) -> None:
    """Lay the surface of a fabric over all that is drawn so far."""
    alpha = b.image.getchannel("A")
    shaded = ImageChops.add(b.image.convert("RGB"), make_fabric_sheet(fabric, b.image.width), offset=-128)
    shaded.putalpha(alpha)
    b.image.paste(shaded)


def _mirror_points(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple((1 - x, y) for x, y in points)


def _draw_pair(b: Brush, points: Sequence[Point], fill: RGB | Cloth) -> None:
    """A shape on the left and its mirror image on the right."""
    if points:
        b.poly(points, fill)
        b.poly(_mirror_points(points), fill)


_NECKLINES: dict[str, tuple[Point, ...]] = {
    "round neck": at("40,15 42,21 46,25 50,26 54,25 58,21 60,15"),
    "v-neck": at("40,15 50,36 60,15"),
    "collar": at("41,14 50,24 59,14"),
}

_SLEEVES: dict[str, tuple[Point, ...]] = {
    "sleeveless": (),
    "short sleeves": at("37,16 26,19 12,36 23,44 33,34 38,30"),
    "three-quarter sleeves": at("37,16 26,19 7,54 17,59 33,36 38,30"),
    "long sleeves": at("37,16 26,19 3,76 12,79 33,38 38,30"),
}


def _draw_collar(b: Brush, cloth: Cloth, neck: str) -> None:
    if neck == "collar":
        _draw_pair(b, at("41,13 50,24 43,33 35,18"), mix(cloth.colour, WHITE, 0.45))


def _draw_shirt(b: Brush, cloth: Cloth, look: Look) -> None:
    sleeves, neck = look["sleeves"][0], look["neck"][0]
    hem = {"cropped": 0.52, "hip-length": 0.74, "tunic-length": 0.95}[look["length"][0]]
    _draw_pair(b, _SLEEVES[sleeves], cloth)
    shoulder = 0.35 if sleeves == "sleeveless" else 0.32
    left: tuple[Point, ...] = ((0.29, hem), (0.3, 0.4), (shoulder, 0.16))
    b.poly((*left, *_NECKLINES[neck], *reversed(_mirror_points(left))), cloth)
    _draw_collar(b, cloth, neck)
    _lay_fabric(b, look["fabric"][0])
    details = look.get("detail", ())
    if "buttons" in details:
        b.line([(0.5, 0.37), (0.5, hem - 0.02)], edge_of(cloth.colour), 0.008)
        for step in range(4):
            y = 0.39 + step * (hem - 0.43) / 3
            b.oval((0.484, y - 0.016, 0.516, y + 0.016), CREAM)
    if "chest pocket" in details:
        b.poly(at("55,36 66,36 66,46 60.5,49 55,46"), mix(cloth.colour, BLACK, 0.3))


def _draw_dress(b: Brush, cloth: Cloth, look: Look) -> None:
    sleeves, neck = look["sleeves"][0], look["neck"][0]
    hem = {"mini": 0.64, "knee-length": 0.79, "maxi": 0.95}[look["length"][0]]
    flare = 0.5 if look["fit"][0] == "flared" else 0.06
    half = 0.13 + flare * (hem - 0.42)
    _draw_pair(b, _SLEEVES[sleeves], cloth)
    left: tuple[Point, ...] = ((0.5 - half, hem), (0.38, 0.43), (0.34, 0.3), (0.35, 0.16))
    b.poly((*left, *_NECKLINES[neck], *reversed(_mirror_points(left))), cloth)
    details = look.get("detail", ())
    if "ruffled hem" in details:
        count = max(4, round(half * 24))
        for step in range(count):
            x = 0.5 - half + step * 2 * half / count
            b.oval((x, hem - 0.025, x + 2 * half / count, hem + 0.035), mix(cloth.colour, WHITE, 0.35))
    _draw_collar(b, cloth, neck)
    _lay_fabric(b, look["fabric"][0])
    if "belt" in details:
        b.rect((0.365, 0.41, 0.635, 0.46), BLACK if max(cloth.colour) > 60 else WOOD, 0.01)
        b.rect((0.47, 0.405, 0.53, 0.465), STEEL, 0.01)


def _draw_trousers(b: Brush, cloth: Cloth, look: Look) -> None:
    hem = {"above-the-knee": 0.42, "calf-length": 0.7, "full-length": 0.96}[look["length"][0]]
    wide = {"slim": 0.055, "straight": 0.09, "wide": 0.13}[look["fit"][0]]
    _draw_pair(b, ((0.31, 0.06), (0.5, 0.06), (0.5, 0.3), (0.36 + wide, hem), (0.36 - wide, hem), (0.29, 0.25)), cloth)
    _lay_fabric(b, look["fabric"][0])
    details = look.get("detail", ())
    if "cargo pockets" in details:
        _draw_pair(b, at("29,25 38,25 38,35 29,35"), mix(cloth.colour, BLACK, 0.3))
    b.rect((0.31, 0.04, 0.69, 0.1), mix(cloth.colour, BLACK, 0.25))
    if "belt" in details:
        b.rect((0.3, 0.045, 0.7, 0.095), WOOD if cloth.colour != COLOURS["brown"] else BLACK)
        b.rect((0.46, 0.035, 0.54, 0.105), STEEL, 0.01)
    if "drawstring" in details:
        for x in (0.475, 0.525):
            b.line([(0.5, 0.08), (x, 0.22)], CREAM, 0.016)


def _draw_shoe(b: Brush, cloth: Cloth, look: Look) -> None:
    """One shoe from the side, its toe to the right."""
    lift = {"flat heel": 0.0, "mid heel": 0.1, "high heel": 0.22}[look["heel"][0]]
    top = {"low-cut": 0.52, "ankle-high": 0.36, "knee-high": 0.05}[look["length"][0]] - lift * 0.4
    base = 0.88 - lift
    ankle = max(top + 0.06, 0.5 - lift * 0.5)
    arch = (0.45, base + lift * 0.35)
    b.poly(((0.1, base), (0.1, top), (0.4, top), (0.42, ankle), *at("62,66 86,73 95,80 95,88 70,88"), arch), cloth)
    details = look.get("detail", ())
    if "contrasting toe cap" in details:
        cap = CREAM if min(cloth.colour) < 200 else BLACK
        b.poly(((0.78, 0.708), (0.86, 0.73), (0.95, 0.8), (0.95, 0.88), (0.78, 0.88)), cap)
    _lay_fabric(b, look["fabric"][0])
    sole: tuple[Point, ...] = ((0.1, base), arch, (0.7, 0.88), (0.95, 0.88))
    b.poly((*sole, *((x, y + 0.05) for x, y in reversed(sole))), (70, 60, 54))
    if lift:
        b.poly(((0.1, base + 0.03), (0.24, base + 0.05), (0.17, 0.93), (0.11, 0.93)), (70, 60, 54))
    _draw_fastening(b, look["closure"][0], ankle)
    if "pompom" in details:
        b.oval((0.66, 0.58, 0.8, 0.72), (250, 120, 160) if cloth.colour != COLOURS["pink"] else WHITE)


def _draw_fastening(b: Brush, closure: str, ankle: Number) -> None:
    if closure == "laces":
        for step in range(4):
            x, y = 0.41 + step * 0.055, ankle - 0.02 + step * (0.66 - ankle) / 4
            b.line([(x, y), (x + 0.03, y + 0.1)], WHITE, 0.02)
            b.line([(x + 0.05, y), (x, y + 0.09)], BLACK, 0.01)
    elif closure == "buckle":
        b.poly(((0.11, ankle + 0.02), (0.45, ankle + 0.04), (0.47, ankle + 0.1), (0.11, ankle + 0.08)), WOOD)
        b.rect((0.32, ankle, 0.4, ankle + 0.12), STEEL, 0.01)


def _draw_bag(b: Brush, cloth: Cloth, look: Look) -> None:
    cut, dark = look["cut"][0], mix(cloth.colour, BLACK, 0.35)
    if cut == "tote":
        b.arc((0.28, 0.05, 0.72, 0.75), 180, 360, dark, 0.045)
        b.poly(at("14,36 86,36 94,95 6,95"), cloth)
    elif cut == "backpack":
        b.arc((0.4, 0.02, 0.6, 0.26), 180, 360, dark, 0.04)
        b.rect((0.08, 0.3, 0.92, 0.8), dark, 0.12)
        b.rect((0.16, 0.1, 0.84, 0.96), cloth, 0.18)
    else:
        b.rect((0.04, 0.34, 0.96, 0.84), cloth, 0.03)
        b.poly(at("4,34 96,34 50,66"), mix(cloth.colour, WHITE, 0.25))
    _lay_fabric(b, look["fabric"][0])
    details = look.get("detail", ())
    if "outside pocket" in details:
        b.rect((0.28, 0.6, 0.72, 0.83), mix(cloth.colour, WHITE, 0.4), 0.03)
    if "zip" in details:
        y = {"tote": 0.41, "backpack": 0.3, "clutch": 0.38}[cut]
        b.line([(0.24, y), (0.76, y)], STEEL, 0.035)
        b.rect((0.7, y, 0.74, y + 0.09), STEEL, 0.01)
    if "tassel" in details:
        b.line([(0.85, 0.4), (0.87, 0.6)], WOOD, 0.02)
        b.poly(at("84,58 90,58 93,76 81,76"), (196, 60, 50) if cloth.colour != COLOURS["red"] else CREAM)


def _draw_mug(b: Brush, cloth: Cloth, look: Look) -> None:
    cut, details = look["cut"][0], look.get("detail", ())
    if "saucer" in details:
        b.oval((0.02, 0.82, 0.86, 0.98), mix(cloth.colour, WHITE, 0.4))
    b.arc((0.58, 0.34, 0.96, 0.76), -100, 110, edge_of(cloth.colour), 0.13)
    b.arc((0.585, 0.345, 0.955, 0.755), -100, 110, cloth.colour, 0.1)
    body = {
        "straight": at("12,24 76,24 76,90 12,90"),
        "rounded": at("16,24 72,24 84,52 74,82 60,91 28,91 14,82 4,52"),
        "tapered": at("6,24 82,24 64,91 24,91"),
    }[cut]
    b.poly(body, cloth)
    rim = {"straight": (0.12, 0.76), "rounded": (0.16, 0.72), "tapered": (0.06, 0.82)}[cut]
    b.oval((rim[0], 0.16, rim[1], 0.32), mix(cloth.colour, WHITE, 0.4))
    if "lid" in details:
        b.oval((rim[0] - 0.02, 0.13, rim[1] + 0.02, 0.3), STEEL)
        b.oval((0.38, 0.07, 0.5, 0.19), STEEL)
    else:
        b.oval((rim[0] + 0.06, 0.19, rim[1] - 0.06, 0.3), (96, 58, 36))
    _lay_fabric(b, look["finish"][0])


DRAWINGS: dict[str, Callable[[Brush, Cloth, Look], None]] = {
    "Shirts": _draw_shirt,
    "Dresses": _draw_dress,
    "Trousers": _draw_trousers,
    "Shoes": _draw_shoe,
    "Bags": _draw_bag,
    "Mugs": _draw_mug,
}
"""The drawing of each kind of `items.RANGES`."""
