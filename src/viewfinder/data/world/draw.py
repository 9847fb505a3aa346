"""From the truth of a scene to its pixels."""

from __future__ import annotations

import random

from PIL import Image

from viewfinder.data.world.backgrounds import PAINTINGS, SCALE, Scenery
from viewfinder.data.world.brush import Brush
from viewfinder.data.world.kinds import HEIGHT, KINDS, WIDTH
from viewfinder.data.world.scene import Scene, Thing
from viewfinder.data.world.sprites import sprite


def draw_scene(scene: Scene) -> Image.Image:
    """The picture of a scene, 448 x 336, RGB; equal scenes give equal pixels."""
    canvas = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE))
    rng = random.Random(f"viewfinder/scenery/{scene.seed}/{scene.number}")
    PAINTINGS[scene.place](Scenery(canvas, scene.light, rng))
    for thing in scene.things:
        _draw_thing(canvas, thing)
    return canvas.reduce(SCALE)


def _draw_thing(canvas: Image.Image, thing: Thing) -> None:
    x, y, width, height = thing.box
    if KINDS[thing.kind].zone == "ground":
        high = max(3.0, width * 0.08)
        shadow = (x - width * 0.04, thing.bottom - high, x + width * 1.04, thing.bottom + high * 0.7)
        Brush(canvas, SCALE, SCALE).oval(shadow, (0, 0, 0, 62))
    size = (width * SCALE, height * SCALE)
    image = sprite(thing.kind, thing.colour, thing.pattern, size, mirrored=thing.faces == "left")
    canvas.paste(image, (x * SCALE, y * SCALE), image)
