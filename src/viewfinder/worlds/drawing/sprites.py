"""Sprites: a thing as an image of its own. Each drawing fills a frame from (0, 0) to (1, 1) and looks to the right."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin

from PIL import Image

from viewfinder.worlds.drawing.brush import (
    BLACK,
    CREAM,
    GLASS,
    LEAF,
    STEEL,
    WHITE,
    WOOD,
    Brush,
    Cloth,
    at,
    draw_ringed,
    edge_of,
    list_angles,
    mix,
    shine,
)
from viewfinder.worlds.kinds import COLOURS


def _apple(b: Brush, cloth: Cloth) -> None:
    b.blob(at("50,26 72,18 95,40 86,80 62,98 50,94 38,98 14,80 5,40 28,18"), cloth)
    b.curve(at("50,30 50,16 56,3"), WOOD, 0.06)
    b.blob(at("54,16 68,2 88,6 74,18"), LEAF)
    shine(b, (0.2, 0.34, 0.32, 0.52), cloth)


def _bird(b: Brush, cloth: Cloth) -> None:
    ink = cloth.colour
    b.poly(at("2,42 30,50 26,72 4,66"), ink)
    b.blob(at("20,60 40,42 66,36 80,50 72,76 46,86"), ink)
    b.oval((0.62, 0.2, 0.9, 0.56), ink)
    b.poly(at("88,32 99,40 87,45"), COLOURS["orange"])
    b.blob(at("36,60 30,24 14,3 46,14 64,54 52,66"), mix(ink, WHITE, 0.25))
    draw_ringed(b, 0.79, 0.34, 0.05, WHITE, BLACK)
    for x in (0.48, 0.58):
        b.line([(x, 0.84), (x + 0.02, 0.98)], COLOURS["orange"], 0.04)


_WINGS = ("2,46 20,6 44,4 47,30 30,54", "2,50 28,54 38,78 22,96 8,80")


def _butterfly(b: Brush, cloth: Cloth) -> None:
    for s in (1, -1):
        fore, hind = ([(0.5 + s * x, y) for x, y in at(wing)] for wing in _WINGS)
        b.blob(fore, cloth)
        b.blob(hind, mix(cloth.colour, BLACK, 0.18))
        b.curve([(0.5, 0.26), (0.5 + s * 0.05, 0.12), (0.5 + s * 0.13, 0.06)], BLACK, 0.025)
    b.oval((0.455, 0.22, 0.545, 0.84), (60, 48, 44))


def _cat(b: Brush, cloth: Cloth) -> None:
    b.curve(at("72,92 95,88 93,62 82,50"), edge_of(cloth.colour), 0.13)
    b.curve(at("72,92 95,88 93,62 82,50"), cloth.colour, 0.09)
    b.blob(at("42,40 64,50 80,84 70,98 16,98 10,80 20,50"), cloth)
    for x in (0.24, 0.46):
        b.oval((x, 0.88, x + 0.18, 0.99), mix(cloth.colour, WHITE, 0.3))
    b.poly(at("10,22 12,1 33,12"), cloth)
    b.poly(at("50,12 70,1 72,22"), cloth)
    b.oval((0.05, 0.08, 0.77, 0.52), cloth)
    for x in (0.28, 0.54):
        b.oval((x - 0.075, 0.22, x + 0.075, 0.34), (160, 210, 90))
        b.oval((x - 0.03, 0.225, x + 0.03, 0.335), BLACK)
    b.poly(at("37,36 45,36 41,40.5"), (230, 120, 130))
    whisker = WHITE if max(cloth.colour) < 150 else BLACK
    for s in (-1, 1):
        for y in (0.38, 0.43):
            b.line([(0.41 + s * 0.1, 0.4), (0.41 + s * 0.34, y)], whisker, 0.012)


def _dog(b: Brush, cloth: Cloth) -> None:
    ink, dark = cloth.colour, mix(cloth.colour, BLACK, 0.3) if max(cloth.colour) > 60 else (80, 80, 88)
    b.curve(at("10,50 3,34 6,16"), edge_of(ink), 0.13)
    b.curve(at("10,50 3,34 6,16"), ink, 0.09)
    for x in (0.17, 0.54):
        b.rect((x, 0.66, x + 0.09, 0.96), dark, 0.04)
    b.blob(at("8,50 30,42 58,44 72,56 66,76 36,76 12,74"), ink)
    for x in (0.1, 0.6):
        b.rect((x, 0.64, x + 0.1, 0.985), ink, 0.05)
    b.blob(at("58,50 60,24 70,6 84,10 88,22 98,28 97,40 84,46 72,62"), ink)
    b.blob(at("66,10 57,20 56,44 65,46 72,16"), dark)
    b.oval((0.93, 0.25, 0.995, 0.34), BLACK if max(ink) > 60 else (120, 120, 126))
    draw_ringed(b, 0.8, 0.2, 0.03, WHITE, BLACK)
    b.line([(0.62, 0.54), (0.76, 0.5)], (210, 50, 50), 0.06)


def _fish(b: Brush, cloth: Cloth) -> None:
    b.poly(at("30,50 2,10 9,50 2,90"), cloth)
    b.blob(at("40,22 58,2 72,20"), mix(cloth.colour, BLACK, 0.15))
    b.blob(at("20,50 42,18 72,12 94,36 98,52 92,66 70,90 42,82"), cloth)
    b.poly(at("50,56 64,50 58,74"), mix(cloth.colour, WHITE, 0.35))
    b.arc((0.56, 0.2, 0.78, 0.84), -60, 60, edge_of(cloth.colour), 0.04)
    draw_ringed(b, 0.86, 0.4, 0.07, WHITE, BLACK)


def _flower(b: Brush, cloth: Cloth) -> None:
    b.curve(at("50,40 47,70 50,99"), LEAF, 0.07)
    b.blob(at("50,84 68,62 98,58 82,80"), LEAF)
    b.blob(at("49,92 32,70 4,70 20,88"), LEAF)
    for turn in range(6):
        x, y = 0.5 + 0.29 * cos(turn * pi / 3), 0.28 + 0.155 * sin(turn * pi / 3)
        b.oval((x - 0.2, y - 0.115, x + 0.2, y + 0.115), cloth)
    b.oval((0.34, 0.19, 0.66, 0.37), COLOURS["yellow"] if cloth.colour != COLOURS["yellow"] else WOOD)


def _moon(b: Brush, cloth: Cloth) -> None:
    outer = [(0.72 + 0.7 * cos(a), 0.5 + 0.48 * sin(a)) for a in list_angles(0.56 * pi, 1.44 * pi)]
    inner = [(0.98 + 0.55 * cos(a), 0.5 + 0.34 * sin(a)) for a in list_angles(1.42 * pi, 0.58 * pi)]
    b.poly([*outer, (0.98, 0.07), *inner, (0.98, 0.93)], cloth)
    for x, y, r in ((0.2, 0.42, 0.05), (0.27, 0.66, 0.04), (0.34, 0.24, 0.035)):
        b.oval((x - r, y - r * 0.72, x + r, y + r * 0.72), mix(cloth.colour, BLACK, 0.14))


def _mushroom(b: Brush, cloth: Cloth) -> None:
    b.poly(at("36,50 64,50 70,97 30,97"), CREAM)
    b.oval((0.1, 0.46, 0.9, 0.64), mix(CREAM, WOOD, 0.25))
    b.chord((0.02, 0.02, 0.98, 1.08), 180, 360, cloth)


def _star(b: Brush, cloth: Cloth) -> None:
    tips = ((i * pi / 5, 0.5 if i % 2 == 0 else 0.215) for i in range(10))
    b.poly([(0.5 + radius * sin(a), 0.53 - radius * cos(a)) for a, radius in tips], cloth)


def _sun(b: Brush, cloth: Cloth) -> None:
    for i in range(12):
        a = i * pi / 6
        ray = ((0.49, a), (0.33, a + 0.2), (0.33, a - 0.2))
        b.poly([(0.5 + radius * cos(turn), 0.5 + radius * sin(turn)) for radius, turn in ray], cloth)
    b.oval((0.2, 0.2, 0.8, 0.8), mix(cloth.colour, WHITE, 0.15))


def _tree(b: Brush, cloth: Cloth) -> None:
    b.poly(at("43,55 57,55 64,98 36,98"), WOOD)
    crowns = ((0.05, 0.3, 0.5, 0.62), (0.5, 0.3, 0.95, 0.62), (0.18, 0.02, 0.82, 0.42), (0.26, 0.3, 0.74, 0.68))
    for corners in crowns:
        b.oval(corners, cloth)
    for x, y in ((0.3, 0.2), (0.62, 0.24), (0.22, 0.44), (0.72, 0.46), (0.48, 0.5), (0.46, 0.3)):
        b.arc((x - 0.09, y - 0.05, x + 0.09, y + 0.05), 190, 350, edge_of(cloth.colour), 0.015)


def _ball(b: Brush, cloth: Cloth) -> None:
    b.oval((0.02, 0.02, 0.98, 0.98), cloth)
    if cloth.pattern == "plain":
        light, dark = mix(cloth.colour, WHITE, 0.35), edge_of(cloth.colour)
        b.arc((-0.55, 0.05, 0.45, 0.95), -62, 62, dark, 0.025)
        b.arc((0.55, 0.05, 1.45, 0.95), 118, 242, dark, 0.025)
        b.line([(0.5, 0.03), (0.5, 0.97)], light, 0.02)
    shine(b, (0.24, 0.14, 0.42, 0.28), cloth)


def _balloon(b: Brush, cloth: Cloth) -> None:
    b.curve(at("50,62 42,74 58,86 50,99"), (120, 120, 126), 0.035)
    b.blob(at("50,2 85,10 98,30 82,50 50,63 18,50 2,30 15,10"), cloth)
    b.poly(at("50,61 62,67 38,67"), cloth)
    shine(b, (0.22, 0.12, 0.4, 0.24), cloth)


def _bicycle(b: Brush, cloth: Cloth) -> None:
    ink = cloth.colour
    for x in (0.2, 0.8):
        b.arc((x - 0.19, 0.4, x + 0.19, 0.99), 0, 360, BLACK, 0.055)
        for turn in range(4):
            dx, dy = 0.17 * cos(turn * pi / 4), 0.27 * sin(turn * pi / 4)
            b.line([(x - dx, 0.695 - dy), (x + dx, 0.695 + dy)], STEEL, 0.014)
    tubes = (at("20,69 38,30 68,30 46,70 20,69"), at("36,20 46,70"), at("64,12 80,69"))
    for colour, width in ((edge_of(ink), 0.085), (ink, 0.06)):
        for tube in tubes:
            b.line(tube, colour, width)
    b.line(at("64,12 74,6 78,13"), BLACK, 0.05)
    b.rect((0.27, 0.14, 0.45, 0.21), BLACK, 0.04)
    b.oval((0.42, 0.64, 0.5, 0.76), STEEL)


def _boat(b: Brush, cloth: Cloth) -> None:
    b.line([(0.48, 0.03), (0.48, 0.72)], WOOD, 0.045)
    b.poly(at("52,4 95,64 52,64"), cloth)
    b.poly(at("44,14 44,64 12,64"), mix(cloth.colour, WHITE, 0.55))
    b.poly(at("2,70 98,70 84,97 16,97"), cloth.colour)
    b.poly(at("2,70 98,70 95.5,77 4.5,77"), CREAM)


def _book(b: Brush, cloth: Cloth) -> None:
    b.poly(at("4,62 30,96 97,70 97,56 30,78"), CREAM)
    for y in (0.66, 0.72):
        b.line([(0.31, y + 0.18), (0.95, y - 0.04)], (190, 176, 148), 0.015)
    b.poly(at("30,95 97,69 99,73 31,99"), cloth.colour)
    b.poly(at("3,44 68,3 98,52 30,80"), cloth)
    b.poly(at("3,44 30,80 31,99 3,62"), mix(cloth.colour, BLACK, 0.25))
    b.poly(at("36,40 60,26 70,42 46,55"), CREAM)


def _bottle(b: Brush, cloth: Cloth) -> None:
    b.rect((0.36, 0.02, 0.64, 0.1), STEEL, 0.04)
    b.poly(at("38,10 62,10 62,26 97,42 97,98 3,98 3,42 38,26"), cloth)
    b.rect((0.03, 0.56, 0.97, 0.78), CREAM)
    b.line([(0.25, 0.67), (0.75, 0.67)], edge_of(cloth.colour), 0.08)
    shine(b, (0.14, 0.44, 0.24, 0.54), cloth)


def _bus(b: Brush, cloth: Cloth) -> None:
    b.rect((0.01, 0.06, 0.99, 0.86), cloth, 0.14)
    for i in range(5):
        x = 0.05 + i * 0.155
        b.rect((x, 0.18, x + 0.12, 0.46), GLASS, 0.04)
    b.rect((0.84, 0.18, 0.96, 0.82), GLASS, 0.04)
    b.line([(0.9, 0.2), (0.9, 0.8)], edge_of(cloth.colour), 0.02)
    b.rect((0.01, 0.56, 0.8, 0.63), mix(cloth.colour, WHITE, 0.6))
    for x in (0.2, 0.68):
        draw_ringed(b, x, 0.83, 0.085, BLACK, STEEL)


def _car(b: Brush, cloth: Cloth) -> None:
    b.poly(at("18,42 32,5 66,5 82,42"), cloth)
    b.poly(at("25,40 35,13 48,13 48,40"), GLASS)
    b.poly(at("52,40 52,13 64,13 75,40"), GLASS)
    b.rect((0.01, 0.4, 0.99, 0.82), cloth, 0.16)
    b.oval((0.92, 0.46, 0.985, 0.6), (255, 240, 170))
    b.rect((0.015, 0.48, 0.05, 0.6), (220, 60, 50))
    b.line([(0.5, 0.46), (0.5, 0.76)], edge_of(cloth.colour), 0.03)
    b.rect((0.53, 0.5, 0.6, 0.55), STEEL)
    for x in (0.23, 0.77):
        draw_ringed(b, x, 0.78, 0.1, BLACK, STEEL)


def _chair(b: Brush, cloth: Cloth) -> None:
    dark = mix(cloth.colour, BLACK, 0.25)
    for x in (0.2, 0.84):
        b.rect((x, 0.5, x + 0.09, 0.9), dark)
    b.rect((0.06, 0.02, 0.18, 0.98), cloth.colour, 0.05)
    b.rect((0.7, 0.56, 0.8, 0.98), cloth.colour, 0.04)
    b.rect((0.1, 0.05, 0.84, 0.4), cloth, 0.06)
    b.poly(at("6,60 20,48 97,48 83,60"), cloth)
    b.rect((0.06, 0.58, 0.84, 0.66), dark)


def _clock(b: Brush, cloth: Cloth) -> None:
    ink = cloth.colour
    for s in (-1, 1):
        b.poly([(0.5 + s * 0.24, 0.84), (0.5 + s * 0.4, 0.98), (0.5 + s * 0.3, 0.98), (0.5 + s * 0.14, 0.9)], ink)
        b.chord((0.5 + s * 0.28 - 0.17, 0.02, 0.5 + s * 0.28 + 0.17, 0.32), 180, 360, mix(ink, WHITE, 0.3))
    b.rect((0.46, 0.04, 0.54, 0.16), STEEL)
    b.oval((0.03, 0.12, 0.97, 0.94), ink)
    b.oval((0.13, 0.21, 0.87, 0.85), WHITE)
    for hour in range(12):
        dx, dy = sin(hour * pi / 6), cos(hour * pi / 6)
        b.line([(0.5 + 0.29 * dx, 0.53 - 0.25 * dy), (0.5 + 0.33 * dx, 0.53 - 0.285 * dy)], BLACK, 0.03)
    b.line([(0.5, 0.53), (0.5, 0.31)], BLACK, 0.045)
    b.line([(0.5, 0.53), (0.66, 0.61)], BLACK, 0.055)
    b.oval((0.46, 0.495, 0.54, 0.565), (210, 50, 50))


def _cup(b: Brush, cloth: Cloth) -> None:
    b.arc((0.6, 0.28, 0.98, 0.76), -100, 110, edge_of(cloth.colour), 0.17)
    b.arc((0.61, 0.29, 0.97, 0.75), -100, 110, cloth.colour, 0.12)
    b.poly(at("3,12 77,12 70,80 58,97 22,97 10,80"), cloth)
    b.oval((0.03, 0.02, 0.77, 0.24), mix(cloth.colour, WHITE, 0.4))
    b.oval((0.1, 0.06, 0.7, 0.21), (96, 58, 36))


def _gift(b: Brush, cloth: Cloth) -> None:
    reddish = cloth.colour in (COLOURS["red"], COLOURS["pink"], COLOURS["purple"])
    ribbon = COLOURS["yellow"] if reddish else (205, 40, 60)
    for s in (-1, 1):
        b.blob([(0.5, 0.26), (0.5 + s * 0.3, 0.02), (0.5 + s * 0.38, 0.16), (0.5 + s * 0.2, 0.27)], ribbon)
    b.rect((0.07, 0.42, 0.93, 0.98), cloth, 0.02)
    b.rect((0.02, 0.25, 0.98, 0.45), cloth, 0.03)
    b.rect((0.42, 0.25, 0.58, 0.98), ribbon)


def _hat(b: Brush, cloth: Cloth) -> None:
    b.oval((0.01, 0.62, 0.99, 0.98), cloth)
    b.blob(at("24,78 26,30 38,6 50,10 62,6 74,30 76,78 50,86"), cloth)
    b.poly(at("24,58 50,66 76,58 76.5,74 50,84 23.5,74"), BLACK if max(cloth.colour) > 60 else (200, 50, 50))


def _house(b: Brush, cloth: Cloth) -> None:
    reddish = cloth.colour in (COLOURS["red"], COLOURS["brown"], COLOURS["orange"])
    roof = (72, 76, 92) if reddish else (150, 62, 48)
    b.rect((0.7, 0.06, 0.82, 0.34), (130, 90, 80))
    b.rect((0.1, 0.42, 0.9, 0.98), cloth)
    b.poly(at("1,46 50,2 99,46"), roof)
    b.rect((0.42, 0.64, 0.6, 0.98), WOOD)
    b.oval((0.55, 0.8, 0.585, 0.835), COLOURS["yellow"])
    for x in (0.17, 0.67):
        b.rect((x, 0.58, x + 0.17, 0.77), GLASS)
        b.line([(x + 0.085, 0.59), (x + 0.085, 0.76)], WHITE, 0.02)
        b.line([(x + 0.01, 0.675), (x + 0.16, 0.675)], WHITE, 0.02)
    b.oval((0.44, 0.22, 0.56, 0.34), GLASS)


def _kite(b: Brush, cloth: Cloth) -> None:
    b.curve(at("50,62 38,72 60,82 45,98"), (90, 90, 100), 0.03)
    for x, y in ((0.41, 0.72), (0.56, 0.81), (0.46, 0.92)):
        b.poly([(x, y), (x - 0.14, y - 0.04), (x - 0.14, y + 0.04)], cloth.colour)
        b.poly([(x, y), (x + 0.14, y - 0.04), (x + 0.14, y + 0.04)], cloth.colour)
    b.poly(at("50,1 98,25 50,65 2,25"), cloth)
    b.line([(0.5, 0.02), (0.5, 0.64)], edge_of(cloth.colour), 0.03)
    b.line([(0.03, 0.25), (0.97, 0.25)], edge_of(cloth.colour), 0.03)


def _lamp(b: Brush, cloth: Cloth) -> None:
    b.poly(at("28,48 72,48 90,62 10,62"), (255, 240, 170, 90))
    b.rect((0.45, 0.48, 0.55, 0.9), STEEL)
    b.oval((0.34, 0.62, 0.66, 0.86), mix(cloth.colour, BLACK, 0.25))
    b.rect((0.22, 0.9, 0.78, 0.98), STEEL, 0.04)
    b.poly(at("26,2 74,2 98,50 2,50"), cloth)


def _umbrella(b: Brush, cloth: Cloth) -> None:
    b.line([(0.5, 0.02), (0.5, 0.9)], STEEL, 0.035)
    b.arc((0.36, 0.8, 0.51, 0.985), 0, 180, WOOD, 0.045)
    b.pie((0.01, 0.06, 0.99, 1.0), 180, 360, cloth)
    for corners in ((0.255, 0.06, 0.745, 1.0), (0.46, 0.06, 0.54, 1.0)):
        b.arc(corners, 180, 360, edge_of(cloth.colour), 0.02)


_ALL = (
    *(_apple, _ball, _balloon, _bicycle, _bird, _boat, _book, _bottle, _bus, _butterfly, _car, _cat, _chair, _clock),
    *(_cup, _dog, _fish, _flower, _gift, _hat, _house, _kite, _lamp, _moon, _mushroom, _star, _sun, _tree, _umbrella),
)
SPRITES: dict[str, Callable[[Brush, Cloth], None]] = {drawing.__name__.removeprefix("_"): drawing for drawing in _ALL}
"""The drawing of each kind of `kinds.KINDS`."""


def draw_sprite(kind: str, colour: str, pattern: str, size: tuple[int, int], *, mirrored: bool) -> Image.Image:
    """A thing on a transparent ground that touches all four sides of the image."""
    image = Image.new("RGBA", size)
    SPRITES[kind](Brush(image, size[0], size[1], outlined=True), Cloth(COLOURS[colour], pattern))
    tight = image.getbbox()
    if tight is not None and tight != (0, 0, *size):
        image = image.resize(size, Image.Resampling.BILINEAR, box=tight)
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirrored else image
