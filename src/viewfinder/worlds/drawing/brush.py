"""A brush for scenery and sprites: shapes in coordinates of one's own, patterned fills, outlines; and what several
sprites share: a palette, a short way to write points, eyes, wheels, gleams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from PIL import Image, ImageDraw

RGB = tuple[int, int, int]
Ink = RGB | tuple[int, int, int, int]
Number = int | float
Point = tuple[Number, Number]
Corners = tuple[Number, Number, Number, Number]

_EDGE = 4


def mix(a: RGB, b: RGB, share: Number) -> RGB:
    """A colour between `a` (share 0) and `b` (share 1)."""
    red, green, blue = (round(one + (other - one) * share) for one, other in zip(a, b, strict=True))
    return red, green, blue


def edge_of(colour: RGB) -> RGB:
    """The colour of an outline: darker, and visible around black too."""
    return (105, 105, 115) if max(colour) < 60 else mix(colour, (0, 0, 0), 0.42)


@dataclass(frozen=True)
class Cloth:
    """What a thing's body is made of: a colour, and a pattern in a second one."""

    colour: RGB
    pattern: str = "plain"

    @property
    def second(self) -> RGB:
        """The colour of stripes, dots and checks."""
        return (112, 92, 70) if min(self.colour[:2]) > 200 else (250, 250, 248)

    def tile(self, size: tuple[int, int]) -> Image.Image:
        """A piece of this cloth."""
        image = Image.new("RGB", size, self.colour)
        step = max(16, min(size) // 6)
        PATTERN_PAINTERS[self.pattern](ImageDraw.Draw(image), size, step, self.second)
        return image


Painter = Callable[[ImageDraw.ImageDraw, tuple[int, int], int, RGB], None]


def _plain(draw: ImageDraw.ImageDraw, size: tuple[int, int], step: int, ink: RGB) -> None:
    pass


def _stripes(draw: ImageDraw.ImageDraw, size: tuple[int, int], step: int, ink: RGB) -> None:
    for x in range(-size[1], size[0], 2 * step):
        draw.line([(x, size[1]), (x + size[1], 0)], fill=ink, width=round(step * 0.7))


def _dots(draw: ImageDraw.ImageDraw, size: tuple[int, int], step: int, ink: RGB) -> None:
    radius = step * 0.36
    for row, y in enumerate(range(step // 2, size[1] + step, step)):
        for x in range(step // 2 + row % 2 * (step // 2), size[0] + step, step + step // 4):
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)


def _checks(draw: ImageDraw.ImageDraw, size: tuple[int, int], step: int, ink: RGB) -> None:
    for row, y in enumerate(range(0, size[1], step)):
        for x in range(row % 2 * step, size[0], 2 * step):
            draw.rectangle((x, y, x + step - 1, y + step - 1), fill=ink)


PATTERN_PAINTERS: dict[str, Painter] = {
    "plain": _plain,
    "striped": _stripes,
    "dotted": _dots,
    "checked": _checks,
}


class Brush:
    """Draws on `image`; a point (x, y) lands on pixel (x * across, y * down).

    A fill is a colour or a `Cloth`. With `outlined`, shapes get a darker rim.
    """

    def __init__(self, image: Image.Image, across: Number, down: Number, *, outlined: bool = False) -> None:
        self.image = image
        self.across, self.down = across, down
        self._outlined = outlined
        # The second mode lets translucent ink blend with what is there (on pictures without alpha).
        self._draw = ImageDraw.Draw(image, "RGBA" if image.mode == "RGB" else None)
        self._tiles: dict[Cloth, Image.Image] = {}

    @cached_property
    def _unit(self) -> Number:
        return min(self.across, self.down)

    def oval(self, corners: Corners, fill: Ink | Cloth) -> None:
        """An ellipse inside (x0, y0, x1, y1)."""
        self._shape("ellipse", self._corners(corners), fill)

    def rect(self, corners: Corners, fill: Ink | Cloth, radius: Number = 0) -> None:
        """A rectangle, its corners rounded by `radius`."""
        self._shape("rounded_rectangle", self._corners(corners), fill, radius=radius * self._unit)

    def poly(self, points: Sequence[Point], fill: Ink | Cloth) -> None:
        """A polygon."""
        self._shape("polygon", self._points(points), fill)

    def blob(self, points: Sequence[Point], fill: Ink | Cloth) -> None:
        """A closed smooth shape through the points."""
        self.poly(_smooth(points), fill)

    def chord(self, corners: Corners, start: Number, end: Number, fill: Ink | Cloth) -> None:
        """The part of an ellipse cut off between two angles (degrees, clockwise from the right)."""
        self._shape("chord", self._corners(corners), fill, start=start, end=end)

    def pie(self, corners: Corners, start: Number, end: Number, fill: Ink | Cloth) -> None:
        """A slice of an ellipse."""
        self._shape("pieslice", self._corners(corners), fill, start=start, end=end)

    def arc(self, corners: Corners, start: Number, end: Number, ink: Ink, width: Number) -> None:
        """A piece of an ellipse's rim."""
        self._draw.arc(self._corners(corners), start, end, fill=ink, width=self._width(width))

    def line(self, points: Sequence[Point], ink: Ink, width: Number) -> None:
        """A line with rounded joints and ends."""
        pixels, wide = self._points(points), self._width(width)
        self._draw.line(pixels, fill=ink, width=wide, joint="curve")
        if wide > 4 and len(ink) == 3:
            for x, y in (pixels[0], pixels[-1]):
                self._draw.ellipse((x - wide / 2, y - wide / 2, x + wide / 2, y + wide / 2), fill=ink)

    def curve(self, points: Sequence[Point], ink: Ink, width: Number) -> None:
        """A smooth line through the points."""
        self.line(_smooth(points, closed=False), ink, width)

    def blend(self, corners: Corners, top: RGB, bottom: RGB) -> None:
        """A rectangle that runs from one colour to another."""
        x0, y0, x1, y1 = (round(value) for value in self._corners(corners))
        ramp = Image.linear_gradient("L").resize((1, y1 - y0)).resize((x1 - x0, y1 - y0))
        self.image.paste(Image.new("RGB", ramp.size, top), (x0, y0))
        self.image.paste(Image.new("RGB", ramp.size, bottom), (x0, y0), ramp)

    def _shape(self, name: str, where: Any, fill: Ink | Cloth, **more: Any) -> None:
        colour = fill.colour if isinstance(fill, Cloth) else fill
        if isinstance(fill, Cloth) and fill.pattern != "plain":
            mask = Image.new("L", self.image.size, 0)
            getattr(ImageDraw.Draw(mask), name)(where, fill=255, **more)
            self.image.paste(self._tile(fill), (0, 0), mask)
        else:
            getattr(self._draw, name)(where, fill=colour, **more)
        if self._outlined:
            getattr(self._draw, name)(where, outline=edge_of((colour[0], colour[1], colour[2])), width=_EDGE, **more)

    def _tile(self, cloth: Cloth) -> Image.Image:
        if cloth not in self._tiles:
            self._tiles[cloth] = cloth.tile(self.image.size)
        return self._tiles[cloth]

    def _points(self, points: Sequence[Point]) -> list[Point]:
        return [(x * self.across, y * self.down) for x, y in points]

    def _corners(self, corners: Corners) -> Corners:
        x0, y0, x1, y1 = corners
        return (x0 * self.across, y0 * self.down, x1 * self.across, y1 * self.down)

    def _width(self, width: Number) -> int:
        return max(1, round(width * self._unit))


def _smooth(points: Sequence[Point], *, closed: bool = True, steps: int = 8) -> list[Point]:
    """A Catmull-Rom spline through the points."""
    n = len(points)
    ends = points if closed else [points[0], *points, points[-1]]
    m = len(ends)
    segments = range(n) if closed else range(n - 1)
    line: list[Point] = []
    for i in segments:
        a, b, c, d = (ends[(i + j - (1 if closed else 0)) % m] for j in range(4))
        line += [_between(a, b, c, d, step / steps) for step in range(steps)]
    return line if closed else [*line, points[-1]]


def _between(a: Point, b: Point, c: Point, d: Point, t: Number) -> Point:
    def axis(i: int) -> Number:
        p0, p1, p2, p3 = a[i], b[i], c[i], d[i]
        return p1 + t / 2 * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)))

    return axis(0), axis(1)


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
