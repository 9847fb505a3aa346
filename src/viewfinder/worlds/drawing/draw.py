"""From the truth of a scene to its pixels: how each place is painted, and the things on it; a sheet of first pictures.

Coordinates are those of the finished picture (448 x 336). What a painting shows must be what `kinds.PLACES` says of it:
horizon, parts, and the kinds it contains.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import pi, sin
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from viewfinder.errors import BadInput
from viewfinder.worlds.drawing.brush import RGB, Brush, Corners, Number, mix
from viewfinder.worlds.drawing.sprites import draw_sprite
from viewfinder.worlds.kinds import HEIGHT, WIDTH, Light
from viewfinder.worlds.scene import Scene, Thing
from viewfinder.worlds.stock import Shop

SCALE = 3
"""Pictures are painted this much larger and then reduced, which smooths all rims."""

SKIES: dict[Light, tuple[RGB, RGB]] = {
    "day": ((98, 176, 238), (206, 234, 250)),
    "sunset": ((104, 84, 152), (252, 178, 112)),
    "night": ((12, 16, 44), (52, 62, 104)),
}
_TINTS: dict[Light, tuple[RGB, float]] = {
    "day": ((255, 255, 255), 0.0),
    "sunset": ((236, 128, 72), 0.24),
    "night": ((14, 18, 52), 0.46),
    "indoors": ((255, 255, 255), 0.0),
}


class Scenery(Brush):
    """A brush on the whole picture, whose inks are seen in the light of the hour; those of `raw` are as they are."""

    def __init__(self, image: Image.Image, light: Light, rng: random.Random) -> None:
        super().__init__(image, SCALE, SCALE, tint=_TINTS[light])
        self.raw = Brush(image, SCALE, SCALE)
        self.light, self.rng = light, rng

    def strip(self, top: Number, bottom: Number, upper: RGB, lower: RGB) -> None:
        """A band over the whole width."""
        self.blend((0, top, WIDTH, bottom), upper, lower)

    def ridge(self, top: Number, rise: Number, foot: Number, colour: RGB) -> None:
        """A soft chain of hills between `top` and `top - 2 * rise`, filled down to `foot`."""
        a, b = self.rng.uniform(0, 2 * pi), self.rng.uniform(0, 2 * pi)
        steps = range(0, WIDTH + 8, 8)
        crest = [(x, top - rise + rise * 0.6 * sin(x / 70 + a) + rise * 0.4 * sin(x / 31 + b)) for x in steps]
        self.poly([(0, foot), *crest, (WIDTH, foot)], colour)

    def sky(self, horizon: Number, clouds: int = 3) -> None:
        """The sky of the hour, with clouds by day and points of starlight by night."""
        self.raw.blend((0, 0, WIDTH, horizon), *SKIES[self.light])
        if self.light == "night":
            for _ in range(46):
                x, y = self.rng.uniform(0, WIDTH), self.rng.uniform(0, horizon - 14)
                self.raw.disc(x, y, self.rng.uniform(0.4, 1.1), (236, 238, 255))
            return
        white: RGB = (255, 255, 255) if self.light == "day" else (255, 206, 180)
        for _ in range(clouds):
            x, y = self.rng.uniform(10, WIDTH - 70), self.rng.uniform(12, horizon * 0.55)
            for dx, dy, r in ((0, 6, 11), (15, 0, 15), (33, 3, 13), (47, 8, 9)):
                self.raw.disc(x + dx, y + dy, r, (*white, 205), flat=0.7)

    def specks(self, box: Corners, count: int, colour: RGB, width: Number, height: Number) -> None:
        """Small flat marks, larger where they are nearer."""
        for _ in range(count):
            x, y = self.rng.uniform(box[0], box[2]), self.rng.uniform(box[1], box[3])
            near = 0.5 + (y - box[1]) / (box[3] - box[1])
            self.oval((x, y, x + width * near, y + height * near), colour)


def _beach(s: Scenery) -> None:
    s.sky(138)
    s.strip(138, 206, (28, 112, 178), (86, 190, 208))
    for _ in range(22):
        x, y = s.rng.uniform(0, WIDTH), s.rng.uniform(145, 192)
        s.line([(x, y), (x + s.rng.uniform(12, 34), y)], (150, 216, 232), 1.2)
    wave = [(x, 204 + 4 * sin(x / 34 + 1)) for x in range(0, WIDTH + 8, 8)]
    s.strip(206, HEIGHT, (238, 216, 164), (226, 190, 124))
    s.poly([(0, 192), *[(x, y + 3) for x, y in wave], (WIDTH, 192)], (244, 250, 252))
    s.poly([(0, 190), *[(x, y - 3) for x, y in wave], (WIDTH, 190)], (92, 192, 210))
    s.specks((0, 222, WIDTH, 332), 90, (204, 166, 104), 3, 1.2)


def _meadow(s: Scenery) -> None:
    s.sky(172)
    s.ridge(166, 16, 182, (134, 186, 112))
    s.ridge(176, 9, 190, (112, 176, 88))
    s.strip(172, HEIGHT, (126, 192, 84), (64, 144, 52))
    for _ in range(150):
        x, y = s.rng.uniform(0, WIDTH), s.rng.uniform(182, 334)
        h = 3 + (y - 180) / 22
        s.line([(x, y), (x + s.rng.uniform(-2, 2), y - h)], (52, 124, 44), 1)
    for _ in range(40):
        x, y, r = s.rng.uniform(0, WIDTH), s.rng.uniform(196, 332), s.rng.uniform(1.2, 2.2)
        s.disc(x, y, r, s.rng.choice(((255, 255, 255), (255, 226, 90), (240, 150, 190))))


def _snow(s: Scenery) -> None:
    s.sky(176)
    s.ridge(170, 26, 190, (206, 220, 236))
    for _ in range(13):
        x, foot, h = s.rng.uniform(0, WIDTH), s.rng.uniform(166, 182), s.rng.uniform(34, 58)
        _draw_fir(s, x, foot, h)
    s.strip(176, HEIGHT, (234, 242, 250), (206, 220, 238))
    for drift in (217, 258, 308):
        s.ridge(drift, 7, drift + 1, (246, 250, 254))
    for _ in range(70):
        x, y, r = s.rng.uniform(0, WIDTH), s.rng.uniform(0, HEIGHT), s.rng.uniform(0.8, 2)
        s.raw.disc(x, y, r, (255, 255, 255, 220))


def _city(s: Scenery) -> None:
    s.sky(236, clouds=0)
    walls: tuple[RGB, ...] = ((30, 34, 62), (40, 44, 76), (24, 28, 52), (52, 50, 84))
    for row, (low, high) in enumerate(((118, 176), (64, 126))):
        x = -8.0
        while x < WIDTH:
            wide, tall = s.rng.uniform(32, 58), s.rng.uniform(low, high)
            wall = mix(walls[s.rng.randrange(4)], (90, 96, 140), 0.25 if row == 0 else 0)
            s.raw.rect((x, 236 - tall, x + wide, 236), wall)
            _draw_lit_windows(s, (x, 236 - tall, x + wide, 236))
            x += wide + s.rng.uniform(0, 5)
    s.raw.blend((0, 236, WIDTH, 252), (88, 88, 104), (74, 74, 90))
    s.raw.blend((0, 252, WIDTH, HEIGHT), (52, 54, 68), (34, 36, 48))
    for x in range(-20, WIDTH, 74):
        s.raw.poly([(x, 292), (x + 36, 292), (x + 32, 298), (x - 6, 298)], (206, 200, 150))


def _draw_lit_windows(s: Scenery, box: Corners) -> None:
    y = box[1] + 7
    while y < box[3] - 10:
        x = box[0] + 6
        while x < box[2] - 7:
            if s.rng.random() < 0.55:
                s.raw.rect((x, y, x + 4, y + 6), s.rng.choice(((255, 220, 120), (255, 240, 180), (250, 190, 90))))
            x += 9
        y += 12


def _kitchen(s: Scenery) -> None:
    wall: RGB = s.rng.choice(((250, 240, 214), (226, 240, 236), (248, 228, 220)))
    front: RGB = s.rng.choice(((122, 160, 156), (176, 140, 104), (214, 214, 218)))
    s.strip(0, 62, wall, wall)
    s.rect((0, 62, WIDTH, 168), (206, 222, 228))
    for row, y in enumerate(range(64, 168, 21)):
        for x in range(-26 + row % 2 * 13, WIDTH, 27):
            s.rect((x, y, x + 25, y + 19), (240, 246, 248), 1)
    _draw_shelf(s)
    s.rect((0, 166, WIDTH, 178), (150, 112, 78))
    s.rect((0, 178, WIDTH, 232), front)
    for x in range(4, WIDTH, 89):
        s.rect((x, 183, x + 82, 228), mix(front, (255, 255, 255), 0.18), 2)
        s.rect((x + 68, 190, x + 74, 206), (92, 92, 98), 2)
    s.rect((190, 168, 274, 232), (66, 68, 74), 2)  # the oven
    s.rect((198, 190, 266, 226), (34, 36, 42), 3)
    s.rect((202, 184, 262, 187), (206, 208, 212), 1)
    for x in range(202, 274, 18):
        s.oval((x, 172, x + 8, 180), (214, 214, 218))
    s.strip(232, HEIGHT, (206, 186, 160), (184, 160, 132))
    for i in range(-10, 20):
        s.line([(WIDTH / 2 + i * 26, 232), (WIDTH / 2 + i * 62, HEIGHT)], (166, 142, 114), 1)
    for y in (246, 264, 290, 322):
        s.line([(0, y), (WIDTH, y)], (166, 142, 114), 1)


def _draw_shelf(s: Scenery) -> None:
    s.rect((262, 86, 412, 92), (132, 92, 60))
    for i, x in enumerate(range(270, 400, 22)):
        ink = s.rng.choice(((90, 150, 190), (200, 110, 80), (236, 236, 230), (150, 176, 120)))
        if i % 3 == 1:
            s.rect((x + 3, 56, x + 13, 86), ink, 3)
            s.rect((x + 6, 46, x + 10, 58), ink)
        else:
            s.rect((x, 68, x + 15, 86), ink, 2)


def _road(s: Scenery) -> None:
    s.sky(152)
    s.ridge(150, 14, 158, (120, 156, 128))
    s.strip(150, HEIGHT, (144, 178, 100), (96, 146, 72))
    s.poly([(206, 150), (242, 150), (430, HEIGHT), (18, HEIGHT)], (98, 100, 108))
    s.poly([(205, 150), (208, 150), (32, HEIGHT), (12, HEIGHT)], (236, 236, 232))
    s.poly([(240, 150), (243, 150), (436, HEIGHT), (416, HEIGHT)], (236, 236, 232))
    y = 156.0
    while y < HEIGHT:
        long, wide = 4 + (y - 150) / 7, 0.8 + (y - 150) / 42
        low = wide * 1.2
        s.poly([(224 - wide, y), (224 + wide, y), (224 + low, y + long), (224 - low, y + long)], (248, 214, 92))
        y += long * 2.1
    for i in range(7):
        near = (i / 6) ** 1.7
        y = 162 + 150 * near
        for side in (-1, 1):
            x, h = 224 + side * (34 + 205 * near), 8 + 26 * near
            s.rect((x - h / 10, y - h, x + h / 10, y), (240, 240, 240))
            s.rect((x - h / 10, y - h * 0.8, x + h / 10, y - h * 0.55), (208, 60, 50))


def _desert(s: Scenery) -> None:
    s.sky(170, clouds=1)
    s.ridge(170, 22, 182, (206, 150, 104))
    s.ridge(182, 13, 200, (226, 176, 116))
    s.strip(186, HEIGHT, (236, 192, 124), (214, 156, 88))
    for y in (222, 262, 306):
        s.ridge(y, 6, y + 1, (242, 204, 142))
    for _ in range(4):
        near = s.rng.random()
        _draw_cactus(s, s.rng.uniform(15, WIDTH - 15), 190 + 18 * near, 34 + 26 * near)
    s.specks((0, 212, WIDTH, 334), 34, (186, 130, 76), 5, 2)


def _draw_cactus(s: Scenery, x: Number, foot: Number, h: Number) -> None:
    green: RGB = (70, 128, 78)
    s.line([(x, foot), (x, foot - h)], green, h / 6)
    s.line([(x, foot - h * 0.35), (x - h * 0.26, foot - h * 0.42), (x - h * 0.26, foot - h * 0.7)], green, h / 8)
    s.line([(x, foot - h * 0.25), (x + h * 0.26, foot - h * 0.34), (x + h * 0.26, foot - h * 0.62)], green, h / 8)


def _lake(s: Scenery) -> None:
    s.sky(154)
    s.ridge(146, 28, 152, (94, 130, 128))
    s.ridge(152, 12, 154, (70, 110, 92))
    s.strip(150, 264, (72, 132, 176), (44, 104, 156))
    for _ in range(44):
        y = s.rng.uniform(156, 258)
        x, long = s.rng.uniform(-10, WIDTH), 8 + (y - 150) / 4
        s.line([(x, y), (x + long, y)], (134, 184, 214), 1.1)
    s.strip(262, HEIGHT, (156, 176, 100), (104, 148, 70))
    s.poly([(0, 262), *[(x, 266 + 4 * sin(x / 27)) for x in range(0, WIDTH + 8, 8)], (WIDTH, 262)], (46, 106, 158))
    for _ in range(34):
        x, h = s.rng.choice((s.rng.uniform(0, 66), s.rng.uniform(382, WIDTH))), s.rng.uniform(16, 38)
        s.line([(x, 276), (x + s.rng.uniform(-4, 4), 276 - h)], (88, 126, 52), 1.6)


def _forest(s: Scenery) -> None:
    s.strip(0, 216, (168, 206, 164), (122, 168, 116))
    for row, (count, low, high, ink) in enumerate(((16, 4, 8, (116, 132, 98)), (9, 10, 17, (98, 82, 60)))):
        for i in range(count):
            x, r = (i + s.rng.uniform(0.1, 0.9)) * WIDTH / count, s.rng.uniform(low, high) / 2
            foot = 208 + 14 * row
            s.poly([(x - r, 0), (x + r, 0), (x + r * 1.5, foot), (x - r * 1.5, foot)], ink)
    for row, ink in enumerate(((70, 128, 72), (52, 108, 58), (40, 92, 50))):
        for x in range(-20, WIDTH + 20, 30):
            cx, cy, r = x + s.rng.uniform(-9, 9), 26 - row * 13 + s.rng.uniform(-7, 7), s.rng.uniform(24, 34)
            s.disc(cx, cy, r, ink, flat=0.7)
    s.strip(208, HEIGHT, (112, 128, 66), (86, 78, 44))
    for x in range(-10, WIDTH, 16):
        h = s.rng.uniform(5, 15)
        s.oval((x, 216 - h, x + 26, 222), (66, 112, 54))
    s.specks((0, 226, WIDTH, 334), 80, (136, 96, 50), 5, 2)


def _room(s: Scenery) -> None:
    wall: RGB = s.rng.choice(((224, 206, 180), (190, 208, 214), (222, 196, 200), (202, 212, 178)))
    s.strip(0, 222, wall, mix(wall, (0, 0, 0), 0.06))
    for x in range(12, WIDTH, 28):
        s.line([(x, 0), (x, 214)], mix(wall, (255, 255, 255), 0.35), 3)
    s.rect((36, 36, 140, 144), (250, 248, 240), 2)
    s.raw.blend((43, 43, 133, 137), *SKIES["day"])
    s.rect((43, 112, 133, 137), (128, 182, 104))
    s.rect((85, 40, 90, 140), (250, 248, 240))
    s.rect((40, 86, 136, 91), (250, 248, 240))
    for x, end in ((28, 50), (148, 126)):
        s.poly([(x, 28), (end, 28), ((x + end) / 2, 92), (x + (end - x) * 0.3, 156), (x, 156)], (186, 84, 74))
    s.rect((296, 40, 392, 110), (150, 108, 58))
    s.raw.blend((303, 47, 385, 103), (242, 190, 140), (250, 226, 180))
    s.poly([(303, 103), (330, 66), (352, 92), (366, 76), (385, 103)], (110, 130, 160))
    s.rect((0, 214, WIDTH, 224), (248, 244, 236))
    s.strip(224, HEIGHT, (176, 126, 82), (146, 98, 60))
    for i in range(-12, 24):
        s.line([(WIDTH / 2 + i * 22, 224), (WIDTH / 2 + i * 52, HEIGHT)], (128, 84, 50), 1)
    rug: RGB = s.rng.choice(((150, 62, 66), (62, 92, 132), (96, 122, 84)))
    s.oval((64, 250, 384, 326), mix(rug, (255, 255, 255), 0.5))
    s.oval((74, 255, 374, 321), rug)
    s.oval((106, 266, 342, 310), mix(rug, (255, 255, 255), 0.25))


def _mountains(s: Scenery) -> None:
    s.sky(212, clouds=2)
    peaks = sorted(s.rng.uniform(20, WIDTH - 20) for _ in range(5))
    for row, (ink, high) in enumerate((((140, 154, 182), 118), ((108, 120, 146), 92))):
        for x in peaks[row::2]:
            tall, wide = high + s.rng.uniform(0, 30), s.rng.uniform(78, 112)
            top = 206 - tall
            s.poly([(x - wide, 210), (x, top), (x + wide, 210)], ink)
            jags = ((0, 0), (0.3, 0.3), (0.1, 0.22), (0, 0.33), (-0.12, 0.21), (-0.3, 0.3))
            s.poly([(x + wide * across, top + tall * down) for across, down in jags], (246, 250, 255))
    s.ridge(208, 10, 216, (112, 152, 96))
    s.strip(206, HEIGHT, (132, 176, 96), (88, 138, 62))
    s.specks((0, 222, WIDTH, 334), 46, (150, 152, 150), 6, 3)


def _garden(s: Scenery) -> None:
    s.sky(150)
    for x in range(-20, WIDTH + 20, 26):
        r = s.rng.uniform(20, 30)
        s.disc(x, 140, r, s.rng.choice(((82, 140, 76), (70, 126, 66))))
    s.rect((0, 136, WIDTH, 206), (82, 134, 70))
    for rail in (146, 180):
        s.rect((0, rail, WIDTH, rail + 8), (226, 220, 206))
    for x in range(2, WIDTH, 22):
        s.poly([(x, 204), (x, 134), (x + 7, 126), (x + 14, 134), (x + 14, 204)], (250, 246, 236))
    s.strip(202, HEIGHT, (122, 190, 90), (78, 156, 62))
    for x in range(-20, WIDTH, 80):
        mown = [(x + 30, 206), (x + 66, 206), (x * 1.5 - 10, HEIGHT), (x * 1.5 - 76, HEIGHT)]
        s.raw.poly(mown, (255, 255, 255, 26))
    for x in range(4, WIDTH, 12):
        y, r = 208 + s.rng.uniform(-3, 4), s.rng.uniform(2.2, 3.6)
        s.oval((x - 5, y, x + 6, y + 8), (58, 124, 52))
        s.disc(x, y, r, s.rng.choice(((236, 92, 110), (250, 214, 92), (186, 120, 210), (255, 255, 255))))


def _draw_fir(s: Scenery, x: Number, foot: Number, h: Number) -> None:
    s.rect((x - h / 22, foot - h * 0.16, x + h / 22, foot), (92, 70, 52))
    for i in range(3):
        top, wide = foot - h * (0.56 + 0.22 * i), h * (0.3 - 0.06 * i)
        s.poly([(x - wide, top + h * 0.4), (x, top), (x + wide, top + h * 0.4)], (46, 92, 82))
        cap = wide * 0.45
        s.poly([(x - cap, top + h * 0.18), (x, top), (x + cap, top + h * 0.18)], (240, 246, 250))


_ALL = (_beach, _meadow, _snow, _city, _kitchen, _road, _desert, _lake, _forest, _room, _mountains, _garden)
PAINTINGS: dict[str, Callable[[Scenery], None]] = {painting.__name__.removeprefix("_"): painting for painting in _ALL}
"""The painting of each place of `kinds.PLACES`."""


def draw_scene(scene: Scene) -> Image.Image:
    """The picture of a scene, 448 x 336, RGB; equal scenes give equal pixels."""
    canvas = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE))
    rng = random.Random(f"viewfinder/scenery/{scene.seed}/{scene.number}")
    PAINTINGS[scene.place](Scenery(canvas, scene.light, rng))
    if scene.stock.shop is not None:
        return _paste_products(canvas, scene, scene.stock.shop)
    for thing in scene.things:
        if scene.stock.kinds[thing.kind].zone == "ground":
            _draw_shadow(canvas, thing)
        x, y, width, height = (SCALE * value for value in thing.box)
        image = draw_sprite(thing.kind, thing.colour, thing.pattern, (width, height), mirrored=thing.faces == "left")
        canvas.paste(image, (x, y), image)
    return canvas.reduce(SCALE)


def _draw_shadow(canvas: Image.Image, thing: Thing) -> None:
    """The shadow at a thing's foot."""
    x, _, width, _ = thing.box
    high = max(3.0, width * 0.08)
    shadow = (x - width * 0.04, thing.bottom - high, x + width * 1.04, thing.bottom + high * 0.7)
    Brush(canvas, SCALE, SCALE).oval(shadow, (0, 0, 0, 62))


def _paste_products(canvas: Image.Image, scene: Scene, shop: Shop) -> Image.Image:
    """Photographs are pasted in their final size; painting them larger first would only blur them."""
    for thing in scene.things:
        _draw_shadow(canvas, thing)
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
SHEET_COLUMNS = 6
_WIDE, _HIGH, _LINE, _GAP = 224, 168, 17, 6

Captioned = tuple[Path, str]


def caption_sheet(pictures: Sequence[Captioned]) -> Image.Image:
    """A sheet of pictures, six in a row, each with its caption below."""
    return draw_sheet(rows_of_six(pictures))


def rows_of_six(pictures: Sequence[Captioned]) -> list[Sequence[Captioned]]:
    """Pictures as the rows of a sheet."""
    return [pictures[start : start + SHEET_COLUMNS] for start in range(0, len(pictures), SHEET_COLUMNS)]


def draw_sheet(rows: Sequence[Sequence[Captioned]], *, lines: int = 2) -> Image.Image:
    """Rows of pictures with captions, of which those longer than so many lines end in dots."""
    font = ImageFont.load_default(11)
    texts = [[_wrap_words(caption, font, lines) for _, caption in row] for row in rows]
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


def _wrap_words(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, most: int) -> list[str]:
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
