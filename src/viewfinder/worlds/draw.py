"""From the truth of a scene to its pixels."""

from __future__ import annotations

import random

from PIL import Image

from viewfinder.errors import BadInput
from viewfinder.worlds.backgrounds import PAINTINGS, SCALE, Scenery
from viewfinder.worlds.brush import Brush
from viewfinder.worlds.kinds import HEIGHT, WIDTH
from viewfinder.worlds.products import Shop
from viewfinder.worlds.scene import Scene, Thing
from viewfinder.worlds.sprites import draw_sprite


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
        _draw_thing(canvas, thing)
    return canvas.reduce(SCALE)


def _shade(canvas: Image.Image, thing: Thing) -> None:
    """The shadow at a thing's foot."""
    x, _, width, _ = thing.box
    high = max(3.0, width * 0.08)
    shadow = (x - width * 0.04, thing.bottom - high, x + width * 1.04, thing.bottom + high * 0.7)
    Brush(canvas, SCALE, SCALE).oval(shadow, (0, 0, 0, 62))


def _draw_thing(canvas: Image.Image, thing: Thing) -> None:
    x, y, width, height = thing.box
    size = (width * SCALE, height * SCALE)
    image = draw_sprite(thing.kind, thing.colour, thing.pattern, size, mirrored=thing.faces == "left")
    canvas.paste(image, (x * SCALE, y * SCALE), image)


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
