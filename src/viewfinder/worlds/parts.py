"""What several sprites share: a palette, a short way to write points, eyes, wheels, gleams."""

from __future__ import annotations

from functools import cache

from viewfinder.worlds.brush import RGB, Brush, Cloth, Corners, Number, Point, mix

WHITE: RGB = (250, 250, 250)
BLACK: RGB = (30, 30, 34)
WOOD: RGB = (140, 92, 52)
STEEL: RGB = (150, 156, 166)
GLASS: RGB = (188, 222, 240)
CREAM: RGB = (244, 232, 206)
LEAF: RGB = (60, 150, 70)


@cache
def at(points: str) -> tuple[Point, ...]:
    """Points written in hundredths of the frame: "50,26 72,18" is ((0.5, 0.26), (0.72, 0.18))."""
    pairs = (pair.split(",") for pair in points.split())
    return tuple((float(x) / 100, float(y) / 100) for x, y in pairs)


def shine(b: Brush, corners: Corners, cloth: Cloth) -> None:
    """A gleam on what has no pattern."""
    if cloth.pattern == "plain":
        quiet = Brush(b.image, b.across, b.down)
        quiet.oval(corners, mix(cloth.colour, WHITE, 0.6))


def eye(b: Brush, x: Number, y: Number, radius: Number) -> None:
    """A round eye with a pupil; `radius` in frame widths."""
    down = radius * b.across / b.down
    b.oval((x - radius, y - down, x + radius, y + down), WHITE)
    b.oval((x - radius / 2, y - down / 2, x + radius / 2, y + down / 2), BLACK)


def wheels(b: Brush, xs: tuple[Number, Number], radius: Number, y: Number) -> None:
    """Two wheels at the given places across; `radius` in frame widths."""
    down = radius * b.across / b.down
    for x in xs:
        b.oval((x - radius, y - down, x + radius, y + down), BLACK)
        b.oval((x - radius * 0.5, y - down * 0.5, x + radius * 0.5, y + down * 0.5), STEEL)


def angles(start: Number, end: Number, steps: int = 24) -> list[float]:
    """Evenly spaced angles from `start` to `end`, both included."""
    return [start + (end - start) * i / steps for i in range(steps + 1)]
