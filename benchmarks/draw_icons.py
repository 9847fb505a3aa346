"""Draws the icons of the installed page from the shapes of `icon.svg`: `python benchmarks/draw_icons.py`."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw

BLUE, WHITE = "#3451d1", "#ffffff"
FINE = 4
"""How much larger it is drawn than it is kept, for smooth edges."""


def draw_icon(size: int, *, whole: bool = False) -> Image.Image:
    """The icon of so many pixels. `whole`: to the edge, with room around it, as systems cut such to their own shape."""
    unit = size * FINE / 32
    icon = Image.new("RGBA", (size * FINE, size * FINE), BLUE if whole else (0, 0, 0, 0))
    draw = ImageDraw.Draw(icon)
    if not whole:
        draw.rounded_rectangle((0, 0, size * FINE - 1, size * FINE - 1), 8 * unit, BLUE)
    scale = 0.72 if whole else 1.0

    def at(*place: float) -> tuple[float, ...]:
        return tuple((16 + (each - 16) * scale) * unit for each in place)

    width = round(2.4 * unit * scale)
    draw.ellipse(at(10.6, 10.6, 21.4, 21.4), outline=WHITE, width=width)
    for left, top in ((True, True), (False, True), (True, False), (False, False)):
        x, y = (7 if left else 25), (7 if top else 25)
        inward_x, inward_y = (1 if left else -1), (1 if top else -1)
        corner = (x + 2 * inward_x, y + 2 * inward_y)
        box = sorted((corner[0] - 2, corner[0] + 2)), sorted((corner[1] - 2, corner[1] + 2))
        grown = at(box[0][0] - 1.2, box[1][0] - 1.2, box[0][1] + 1.2, box[1][1] + 1.2)
        start = {(True, True): 180, (False, True): 270, (False, False): 0, (True, False): 90}[left, top]
        draw.arc(grown, start, start + 90, WHITE, width)
        for line in (((x, corner[1]), (x, y + 5 * inward_y)), ((corner[0], y), (x + 5 * inward_x, y))):
            draw.line([at(*end) for end in line], WHITE, width)
            _dot(draw, at(*line[1]), width / 2)
    return icon.resize((size, size), Image.Resampling.LANCZOS)


def _dot(draw: ImageDraw.ImageDraw, centre: tuple[float, ...], radius: float) -> None:
    draw.ellipse((centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius), WHITE)


def main() -> None:
    """Writes the files."""
    here = Path(__file__).parents[1] / "src/viewfinder/server/static/icons"
    for name, size, whole in (
        ("192", 192, False),
        ("512", 512, False),
        ("whole-512", 512, True),
        ("touch-180", 180, True),
    ):
        picture = draw_icon(size, whole=whole)
        picture.quantize(64, method=Image.Quantize.FASTOCTREE).save(here / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
