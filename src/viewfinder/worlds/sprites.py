"""A thing as an image of its own: what `nature` and `goods` draw, cut to the frame."""

from __future__ import annotations

from collections.abc import Callable

from PIL import Image

from viewfinder.worlds import goods, nature
from viewfinder.worlds.brush import Brush, Cloth
from viewfinder.worlds.kinds import COLOURS

SPRITES: dict[str, Callable[[Brush, Cloth], None]] = {
    "apple": nature.apple,
    "ball": goods.ball,
    "balloon": goods.balloon,
    "bicycle": goods.bicycle,
    "bird": nature.bird,
    "boat": goods.boat,
    "book": goods.book,
    "bottle": goods.bottle,
    "bus": goods.bus,
    "butterfly": nature.butterfly,
    "car": goods.car,
    "cat": nature.cat,
    "chair": goods.chair,
    "clock": goods.clock,
    "cup": goods.cup,
    "dog": nature.dog,
    "fish": nature.fish,
    "flower": nature.flower,
    "gift": goods.gift,
    "hat": goods.hat,
    "house": goods.house,
    "kite": goods.kite,
    "lamp": goods.lamp,
    "moon": nature.moon,
    "mushroom": nature.mushroom,
    "star": nature.star,
    "sun": nature.sun,
    "tree": nature.tree,
    "umbrella": goods.umbrella,
}


def draw_sprite(kind: str, colour: str, pattern: str, size: tuple[int, int], *, mirrored: bool) -> Image.Image:
    """A thing on a transparent ground that touches all four sides of the image."""
    image = Image.new("RGBA", size)
    SPRITES[kind](Brush(image, size[0], size[1], outlined=True), Cloth(COLOURS[colour], pattern))
    tight = image.getbbox()
    if tight is not None and tight != (0, 0, *size):
        image = image.resize(size, Image.Resampling.BILINEAR, box=tight)
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirrored else image
