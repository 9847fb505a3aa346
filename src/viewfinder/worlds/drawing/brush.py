"""A brush for scenery and sprites, and what several sprites share: a palette, a short way to write points, gleams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
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
    """The cloth of a thing's body: a colour, and a pattern in a second one."""

    colour: RGB
    pattern: str = "plain"


@lru_cache(maxsize=8)
def cloth_tile(cloth: Cloth, size: tuple[int, int]) -> Image.Image:
    """A piece of cloth, its pattern in a second colour."""
    image = Image.new("RGB", size, cloth.colour)
    draw, (width, height), step = ImageDraw.Draw(image), size, max(16, min(size) // 6)
    ink = (112, 92, 70) if min(cloth.colour[:2]) > 200 else (250, 250, 248)
    match cloth.pattern:
        case "striped":
            for x in range(-height, width, 2 * step):
                draw.line([(x, height), (x + height, 0)], fill=ink, width=round(step * 0.7))
        case "dotted":
            radius = step * 0.36
            for row, y in enumerate(range(step // 2, height + step, step)):
                for x in range(step // 2 + row % 2 * (step // 2), width + step, step + step // 4):
                    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)
        case "checked":
            for row, y in enumerate(range(0, height, step)):
                for x in range(row % 2 * step, width, 2 * step):
                    draw.rectangle((x, y, x + step - 1, y + step - 1), fill=ink)
    return image


class Brush:
    """Draws on `image`; a point (x, y) lands on pixel (x * across, y * down).

    A fill is a colour or a `Cloth`. With `outlined`, shapes get a darker rim; `tint` is a colour that takes a share of
    every ink, none of which can be translucent then.
    """

    def __init__(
        self,
        image: Image.Image,
        across: Number,
        down: Number,
        *,
        outlined: bool = False,
        tint: tuple[RGB, Number] | None = None,
    ) -> None:
        self.image = image
        self.across, self.down = across, down
        self._unit = min(across, down)
        self._outlined, self._tint = outlined, tint
        # The second mode lets translucent ink blend with what is there (on pictures without alpha).
        self._draw = ImageDraw.Draw(image, "RGBA" if image.mode == "RGB" else None)

    def oval(self, corners: Corners, fill: Ink | Cloth) -> None:
        """An ellipse inside (x0, y0, x1, y1)."""
        self._draw_shape("ellipse", self._scale_corners(corners), fill)

    def disc(self, x: Number, y: Number, radius: Number, fill: Ink | Cloth, *, flat: Number = 1) -> None:
        """A circle around a point, or an ellipse `flat` times as high as it is wide."""
        self.oval((x - radius, y - radius * flat, x + radius, y + radius * flat), fill)

    def rect(self, corners: Corners, fill: Ink | Cloth, radius: Number = 0) -> None:
        """A rectangle, its corners rounded by `radius`."""
        self._draw_shape("rounded_rectangle", self._scale_corners(corners), fill, radius=radius * self._unit)

    def poly(self, points: Sequence[Point], fill: Ink | Cloth) -> None:
        """A polygon."""
        self._draw_shape("polygon", self._scale_points(points), fill)

    def blob(self, points: Sequence[Point], fill: Ink | Cloth) -> None:
        """A closed smooth shape through the points."""
        self.poly(_smooth_line(points), fill)

    def chord(self, corners: Corners, start: Number, end: Number, fill: Ink | Cloth) -> None:
        """The part of an ellipse cut off between two angles (degrees, clockwise from the right)."""
        self._draw_shape("chord", self._scale_corners(corners), fill, start=start, end=end)

    def pie(self, corners: Corners, start: Number, end: Number, fill: Ink | Cloth) -> None:
        """A slice of an ellipse."""
        self._draw_shape("pieslice", self._scale_corners(corners), fill, start=start, end=end)

    def arc(self, corners: Corners, start: Number, end: Number, ink: Ink, width: Number) -> None:
        """A piece of an ellipse's rim."""
        self._draw.arc(
            self._scale_corners(corners), start, end, fill=self._tint_ink(ink), width=self._scale_width(width)
        )

    def line(self, points: Sequence[Point], ink: Ink, width: Number) -> None:
        """A line with rounded joints and ends."""
        pixels, wide, ink = self._scale_points(points), self._scale_width(width), self._tint_ink(ink)
        self._draw.line(pixels, fill=ink, width=wide, joint="curve")
        if wide > 4 and len(ink) == 3:
            for x, y in (pixels[0], pixels[-1]):
                self._draw.ellipse((x - wide / 2, y - wide / 2, x + wide / 2, y + wide / 2), fill=ink)

    def curve(self, points: Sequence[Point], ink: Ink, width: Number) -> None:
        """A smooth line through the points."""
        self.line(_smooth_line(points, closed=False), ink, width)

    def blend(self, corners: Corners, top: RGB, bottom: RGB) -> None:
        """A rectangle that runs from one colour to another."""
        x0, y0, x1, y1 = (round(value) for value in self._scale_corners(corners))
        ramp = Image.linear_gradient("L").resize((1, y1 - y0)).resize((x1 - x0, y1 - y0))
        self.image.paste(Image.new("RGB", ramp.size, self._tint_ink(top)), (x0, y0))
        self.image.paste(Image.new("RGB", ramp.size, self._tint_ink(bottom)), (x0, y0), ramp)

    def _draw_shape(self, name: str, where: Any, fill: Ink | Cloth, **more: Any) -> None:
        colour = fill.colour if isinstance(fill, Cloth) else self._tint_ink(fill)
        if isinstance(fill, Cloth) and fill.pattern != "plain":
            mask = Image.new("L", self.image.size, 0)
            getattr(ImageDraw.Draw(mask), name)(where, fill=255, **more)
            self.image.paste(cloth_tile(fill, self.image.size), (0, 0), mask)
        else:
            getattr(self._draw, name)(where, fill=colour, **more)
        if self._outlined:
            getattr(self._draw, name)(where, outline=edge_of((colour[0], colour[1], colour[2])), width=_EDGE, **more)

    def _tint_ink(self, ink: Ink) -> Ink:
        return ink if self._tint is None else mix((ink[0], ink[1], ink[2]), *self._tint)

    def _scale_points(self, points: Sequence[Point]) -> list[Point]:
        return [(x * self.across, y * self.down) for x, y in points]

    def _scale_corners(self, corners: Corners) -> Corners:
        x0, y0, x1, y1 = corners
        return (x0 * self.across, y0 * self.down, x1 * self.across, y1 * self.down)

    def _scale_width(self, width: Number) -> int:
        return max(1, round(width * self._unit))


def _smooth_line(points: Sequence[Point], *, closed: bool = True) -> list[Point]:
    """A Catmull-Rom spline through the points, eight steps between two of them."""
    padded = [points[-1], *points, *points[:2]] if closed else [points[0], *points, points[-1]]
    line: list[Point] = []
    for window in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        for step in range(8):
            t = step / 8
            x, y = (
                p1 + t / 2 * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)))
                for p0, p1, p2, p3 in zip(*window, strict=True)
            )
            line.append((x, y))
    return line if closed else [*line, points[-1]]


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


def draw_ringed(b: Brush, x: Number, y: Number, radius: Number, outer: RGB, inner: RGB) -> None:
    """A disc with one of half the size in it, an eye or a wheel; `radius` in frame widths."""
    b.disc(x, y, radius, outer, flat=b.across / b.down)
    b.disc(x, y, radius / 2, inner, flat=b.across / b.down)


def list_angles(start: Number, end: Number) -> list[float]:
    """25 evenly spaced angles from `start` to `end`, both included."""
    return [start + (end - start) * i / 24 for i in range(25)]
