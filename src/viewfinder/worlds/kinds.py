"""The parts of drawn scenes: kinds of things, places, colours, sizes, patterns. Only tables.

Lengths are pixels of a picture of WIDTH x HEIGHT.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

WIDTH, HEIGHT = 448, 336

Box = tuple[int, int, int, int]
"""x, y of the upper left corner, width, height; as COCO has it."""

Zone = Literal["ground", "air", "water"]
Light = Literal["day", "sunset", "night", "indoors"]

SIZES = {"small": 0.62, "medium": 1.0, "large": 1.55}
"""Size by factor; what is far away is drawn smaller by less than lies between two sizes (`scene.FAR`)."""

PATTERNS = ("plain", "striped", "dotted", "checked")

COLOURS = {
    "red": (214, 40, 40),
    "orange": (245, 130, 32),
    "yellow": (250, 210, 50),
    "green": (52, 160, 72),
    "blue": (40, 100, 210),
    "purple": (130, 60, 170),
    "pink": (245, 130, 180),
    "brown": (128, 78, 44),
    "black": (38, 38, 42),
    "white": (248, 248, 245),
}

_FUR = ("black", "white", "brown", "orange")
_ALL = tuple(COLOURS)


@dataclass(frozen=True)
class Kind:
    """A kind of thing.

    Attributes:
        height: of a medium one that stands near.
        aspect: width over height.
        zone: where it can be.
        patterned: whether it comes in patterns other than plain.
        outdoors: whether it is never found in a room.
        near: how near it may stand, 0 (at the horizon) to 1 (at the lower rim).
        most: how many of it there can be in one scene.
        shows: other kinds that a sprite of it may show, and that must not be said to be absent.
    """

    height: int
    aspect: float
    zone: Zone = "ground"
    colours: tuple[str, ...] = _ALL
    patterned: bool = True
    outdoors: bool = False
    near: float = 1.0
    most: int = 3
    shows: frozenset[str] = frozenset()


KINDS: dict[str, Kind] = {
    "apple": Kind(38, 0.92, colours=("red", "green", "yellow"), patterned=False),
    "ball": Kind(44, 1.0),
    "balloon": Kind(96, 0.52, "air"),
    "bicycle": Kind(62, 1.55, patterned=False),
    "bird": Kind(42, 1.3, "air", patterned=False),
    "boat": Kind(84, 1.05, "water", outdoors=True),
    "book": Kind(40, 1.3),
    "bottle": Kind(66, 0.36),
    "bus": Kind(80, 1.95, patterned=False, outdoors=True, near=0.6, most=2),
    "butterfly": Kind(42, 1.2, "air"),
    "car": Kind(54, 2.05, outdoors=True),
    "cat": Kind(66, 0.82, colours=_FUR),
    "chair": Kind(78, 0.6),
    "clock": Kind(52, 0.86, patterned=False),
    "cup": Kind(42, 1.2),
    "dog": Kind(62, 1.25, colours=_FUR, patterned=False),
    "fish": Kind(36, 1.7, "water", outdoors=True),
    "flower": Kind(62, 0.55, patterned=False),
    "gift": Kind(50, 0.95),
    "hat": Kind(38, 1.6),
    "house": Kind(112, 1.05, patterned=False, outdoors=True, near=0.45, most=2),
    "kite": Kind(92, 0.6, "air", outdoors=True),
    "lamp": Kind(78, 0.62),
    "moon": Kind(48, 0.72, "air", colours=("white", "yellow", "orange"), patterned=False, outdoors=True, most=1),
    "mushroom": Kind(50, 1.0),
    "star": Kind(44, 1.05, "air"),
    "sun": Kind(66, 1.0, "air", colours=("yellow", "orange", "red"), patterned=False, outdoors=True, most=1),
    "tree": Kind(118, 0.74, colours=("green", "yellow", "orange", "red"), patterned=False, outdoors=True, near=0.55),
    "umbrella": Kind(76, 1.05),
}

_OPEN: tuple[Light, ...] = ("day", "day", "day", "sunset", "night")


@dataclass(frozen=True)
class Place:
    """A background.

    Attributes:
        zones: from and to which height the lower rim of a thing of that zone can be.
        shows: kinds that its painting contains, and that must not be said to be absent.
        parts: what a region description can point at, with its box.
    """

    zones: dict[Zone, tuple[int, int]]
    parts: dict[str, Box]
    shows: frozenset[str] = field(default_factory=frozenset)
    lights: tuple[Light, ...] = _OPEN


def _strip(top: int, bottom: int) -> Box:
    return (0, top, WIDTH, bottom - top)


PLACES: dict[str, Place] = {
    "beach": Place(
        {"air": (50, 130), "water": (158, 200), "ground": (235, 330)},
        {"sky": _strip(0, 138), "sea": _strip(138, 205), "sand": _strip(205, HEIGHT)},
    ),
    "meadow": Place(
        {"air": (50, 140), "ground": (205, 330)},
        {"sky": _strip(0, 160), "grass": _strip(160, HEIGHT)},
        frozenset({"flower"}),
    ),
    "snow": Place(
        {"air": (50, 140), "ground": (210, 330)},
        {"sky": _strip(0, 170), "snow": _strip(170, HEIGHT), "firs": _strip(105, 180)},
        frozenset({"tree"}),
    ),
    "city": Place(
        {"air": (45, 105), "ground": (262, 330)},
        {"night sky": _strip(0, 90), "skyline": _strip(50, 235), "street": _strip(235, HEIGHT)},
        frozenset({"house", "star"}),
        ("night",),
    ),
    "kitchen": Place(
        {"air": (50, 110), "ground": (240, 330)},
        {
            "tiles": _strip(60, 165),
            "worktop": _strip(165, 232),
            "shelf": (262, 40, 150, 50),
            "floor": _strip(232, HEIGHT),
        },
        frozenset({"bottle", "cup"}),
        ("indoors",),
    ),
    "road": Place(
        {"air": (50, 120), "ground": (195, 330)},
        {"sky": _strip(0, 150), "road": (90, 150, 268, 186), "verge": _strip(150, HEIGHT)},
    ),
    "desert": Place(
        {"air": (50, 130), "ground": (215, 330)},
        {"sky": _strip(0, 165), "dunes": _strip(135, 215), "cacti": _strip(120, 215)},
    ),
    "lake": Place(
        {"air": (45, 95), "water": (185, 258), "ground": (292, 331)},
        {
            "sky": _strip(0, 110),
            "hills": _strip(80, 150),
            "lake": _strip(150, 262),
            "shore": _strip(262, HEIGHT),
        },
    ),
    "forest": Place(
        {"air": (60, 130), "ground": (230, 330)},
        {"trunks": _strip(0, 215), "forest floor": _strip(205, HEIGHT)},
        frozenset({"tree"}),
        ("day", "day", "night"),
    ),
    "room": Place(
        {"air": (55, 120), "ground": (248, 330)},
        {
            "wallpaper": _strip(0, 220),
            "window": (40, 40, 96, 100),
            "painting": (300, 44, 88, 62),
            "rug": (64, 250, 320, 74),
        },
        frozenset({"sun"}),
        ("indoors",),
    ),
    "mountains": Place(
        {"air": (45, 95), "ground": (232, 330)},
        {"sky": _strip(0, 110), "mountains": _strip(55, 210), "pasture": _strip(205, HEIGHT)},
    ),
    "garden": Place(
        {"air": (50, 120), "ground": (235, 330)},
        {"sky": _strip(0, 125), "fence": _strip(125, 205), "lawn": _strip(200, HEIGHT)},
        frozenset({"flower"}),
    ),
}
