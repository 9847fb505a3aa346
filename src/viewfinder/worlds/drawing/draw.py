"""From the truth of a scene to its pixels, and a sheet of a world's first pictures to look at."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from viewfinder.errors import BadInput
from viewfinder.worlds.drawing.backgrounds import PAINTINGS, SCALE, Scenery
from viewfinder.worlds.drawing.brush import Brush
from viewfinder.worlds.drawing.sprites import draw_sprite
from viewfinder.worlds.kinds import HEIGHT, WIDTH
from viewfinder.worlds.scene import Scene, Thing
from viewfinder.worlds.stock import Shop


def draw_scene(scene: Scene) -> Image.Image:
    """The picture of a scene, 448 x 336, RGB; equal scenes give equal pixels."""
    canvas = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE))
    rng = random.Random(f"viewfinder/scenery/{scene.seed}/{scene.number}")
    PAINTINGS[scene.place](Scenery(canvas, scene.light, rng))
    if scene.stock.shop is not None:
        return _with_products(canvas, scene, scene.stock.shop)
    for thing in scene.things:
        if scene.stock.kinds[thing.kind].zone == "ground":
            _shade(canvas, thing)
        x, y, width, height = (SCALE * value for value in thing.box)
        image = draw_sprite(thing.kind, thing.colour, thing.pattern, (width, height), mirrored=thing.faces == "left")
        canvas.paste(image, (x, y), image)
    return canvas.reduce(SCALE)


def _shade(canvas: Image.Image, thing: Thing) -> None:
    """The shadow at a thing's foot."""
    x, _, width, _ = thing.box
    high = max(3.0, width * 0.08)
    shadow = (x - width * 0.04, thing.bottom - high, x + width * 1.04, thing.bottom + high * 0.7)
    Brush(canvas, SCALE, SCALE).oval(shadow, (0, 0, 0, 62))


def _with_products(canvas: Image.Image, scene: Scene, shop: Shop) -> Image.Image:
    """Photographs are pasted in their final size; painting them larger first would only blur them."""
    for thing in scene.things:
        _shade(canvas, thing)
    picture = canvas.reduce(SCALE)
    for thing in scene.things:
        cutout = shop.cutout(thing.kind, thing.product)
        if cutout is None:
            raise BadInput(f"{shop.folder}: product {thing.product} cannot be cut out any more; make the world again")
        x, y, width, height = thing.box
        # RGBa: colours weighted with their opacity, so that the background does not come back at the rim.
        image = cutout.convert("RGBa").resize((width, height), Image.Resampling.LANCZOS).convert("RGBA")
        picture.paste(image, (x, y), image)
    return picture


SHEET_PICTURES = 24
COLUMNS = 6
_WIDE, _HIGH, _LINE, _GAP = 224, 168, 17, 6

Captioned = tuple[Path, str]


def caption_sheet(pictures: Sequence[Captioned]) -> Image.Image:
    """A sheet of pictures, six in a row, each with its caption below."""
    return draw_sheet(rows_of_six(pictures))


def rows_of_six(pictures: Sequence[Captioned]) -> list[Sequence[Captioned]]:
    """Pictures as the rows of a sheet."""
    return [pictures[start : start + COLUMNS] for start in range(0, len(pictures), COLUMNS)]


def draw_sheet(rows: Sequence[Sequence[Captioned]], *, lines: int = 2) -> Image.Image:
    """Rows of pictures with captions, of which those longer than so many lines end in dots."""
    font = ImageFont.load_default(11)
    texts = [[_wrapped(caption, font, lines) for _, caption in row] for row in rows]
    heights = [_HIGH + _LINE * max(2, *map(len, row)) + _GAP for row in texts]
    sheet = Image.new("RGB", (_GAP + max(map(len, rows)) * (_WIDE + _GAP), _GAP + sum(heights)), (255, 255, 255))
    pen, y = ImageDraw.Draw(sheet), _GAP
    for row, below, height in zip(rows, texts, heights, strict=True):
        for at, ((file, _), text) in enumerate(zip(row, below, strict=True)):
            x = _GAP + at * (_WIDE + _GAP)
            with Image.open(file) as picture:
                # Onto white and in the middle: pictures of a catalogue need not be wide.
                small = picture.convert("RGB")
                small.thumbnail((_WIDE, _HIGH))
            sheet.paste(small, (x + (_WIDE - small.width) // 2, y + (_HIGH - small.height) // 2))
            pen.text((x + 2, y + _HIGH + 2), "\n".join(text), font=font, fill=(30, 30, 34), spacing=2)
        y += height
    return sheet


def _wrapped(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, most: int) -> list[str]:
    """Lines of words that fit."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= _WIDE - 4:
            lines[-1] = longer
        elif len(lines) < most:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1].rsplit(' ', 1)[0]} ..."
            break
    return lines
