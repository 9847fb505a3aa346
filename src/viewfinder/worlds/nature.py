"""Sprites of what grows, lives or shines. Each fills a frame from (0, 0) to (1, 1) and looks to the right."""

from __future__ import annotations

from math import cos, pi, sin

from viewfinder.worlds.brush import Brush, Cloth, Point, edge_of, mix
from viewfinder.worlds.kinds import COLOURS
from viewfinder.worlds.parts import BLACK, CREAM, LEAF, WHITE, WOOD, angles, at, eye, shine


def apple(b: Brush, cloth: Cloth) -> None:
    """An apple."""
    b.blob(at("50,26 72,18 95,40 86,80 62,98 50,94 38,98 14,80 5,40 28,18"), cloth)
    b.curve(at("50,30 50,16 56,3"), WOOD, 0.06)
    b.blob(at("54,16 68,2 88,6 74,18"), LEAF)
    shine(b, (0.2, 0.34, 0.32, 0.52), cloth)


def bird(b: Brush, cloth: Cloth) -> None:
    """A bird."""
    ink = cloth.colour
    b.poly(at("2,42 30,50 26,72 4,66"), ink)
    b.blob(at("20,60 40,42 66,36 80,50 72,76 46,86"), ink)
    b.oval((0.62, 0.2, 0.9, 0.56), ink)
    b.poly(at("88,32 99,40 87,45"), COLOURS["orange"])
    b.blob(
        at("36,60 30,24 14,3 46,14 64,54 52,66"),
        mix(ink, WHITE, 0.25),
    )
    eye(b, 0.79, 0.34, 0.05)
    for x in (0.48, 0.58):
        b.line([(x, 0.84), (x + 0.02, 0.98)], COLOURS["orange"], 0.04)


def butterfly(b: Brush, cloth: Cloth) -> None:
    """A butterfly."""
    for s in (1, -1):
        b.blob(
            [(0.5 + s * x, y) for x, y in ((0.02, 0.46), (0.2, 0.06), (0.44, 0.04), (0.47, 0.3), (0.3, 0.54))],
            cloth,
        )
        b.blob(
            [(0.5 + s * x, y) for x, y in ((0.02, 0.5), (0.28, 0.54), (0.38, 0.78), (0.22, 0.96), (0.08, 0.8))],
            mix(cloth.colour, BLACK, 0.18),
        )
        b.curve([(0.5, 0.26), (0.5 + s * 0.05, 0.12), (0.5 + s * 0.13, 0.06)], BLACK, 0.025)
    b.oval((0.455, 0.22, 0.545, 0.84), (60, 48, 44))


def cat(b: Brush, cloth: Cloth) -> None:
    """A cat."""
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
    for s in (-1, 1):
        for y in (0.38, 0.43):
            b.line(
                [(0.41 + s * 0.1, 0.4), (0.41 + s * 0.34, y)],
                WHITE if max(cloth.colour) < 150 else BLACK,
                0.012,
            )


def dog(b: Brush, cloth: Cloth) -> None:
    """A dog."""
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
    eye(b, 0.8, 0.2, 0.03)
    b.line([(0.62, 0.54), (0.76, 0.5)], (210, 50, 50), 0.06)


def fish(b: Brush, cloth: Cloth) -> None:
    """A fish."""
    b.poly(at("30,50 2,10 9,50 2,90"), cloth)
    b.blob(at("40,22 58,2 72,20"), mix(cloth.colour, BLACK, 0.15))
    b.blob(
        at("20,50 42,18 72,12 94,36 98,52 92,66 70,90 42,82"),
        cloth,
    )
    b.poly(at("50,56 64,50 58,74"), mix(cloth.colour, WHITE, 0.35))
    b.arc((0.56, 0.2, 0.78, 0.84), -60, 60, edge_of(cloth.colour), 0.04)
    eye(b, 0.86, 0.4, 0.07)


def flower(b: Brush, cloth: Cloth) -> None:
    """A flower."""
    b.curve(at("50,40 47,70 50,99"), LEAF, 0.07)
    b.blob(at("50,84 68,62 98,58 82,80"), LEAF)
    b.blob(at("49,92 32,70 4,70 20,88"), LEAF)
    for turn in range(6):
        x, y = 0.5 + 0.29 * cos(turn * pi / 3), 0.28 + 0.155 * sin(turn * pi / 3)
        b.oval((x - 0.2, y - 0.115, x + 0.2, y + 0.115), cloth)
    b.oval((0.34, 0.19, 0.66, 0.37), COLOURS["yellow"] if cloth.colour != COLOURS["yellow"] else WOOD)


def moon(b: Brush, cloth: Cloth) -> None:
    """A moon."""
    outer = [(0.72 + 0.7 * cos(a), 0.5 + 0.48 * sin(a)) for a in angles(0.56 * pi, 1.44 * pi)]
    inner = [(0.98 + 0.55 * cos(a), 0.5 + 0.34 * sin(a)) for a in angles(1.42 * pi, 0.58 * pi)]
    b.poly([*outer, (0.98, 0.07), *inner, (0.98, 0.93)], cloth)
    for x, y, r in ((0.2, 0.42, 0.05), (0.27, 0.66, 0.04), (0.34, 0.24, 0.035)):
        b.oval((x - r, y - r * 0.72, x + r, y + r * 0.72), mix(cloth.colour, BLACK, 0.14))


def mushroom(b: Brush, cloth: Cloth) -> None:
    """A mushroom."""
    b.poly(at("36,50 64,50 70,97 30,97"), CREAM)
    b.oval((0.1, 0.46, 0.9, 0.64), mix(CREAM, WOOD, 0.25))
    b.chord((0.02, 0.02, 0.98, 1.08), 180, 360, cloth)


def star(b: Brush, cloth: Cloth) -> None:
    """A star."""
    tips: list[Point] = []
    for i in range(10):
        radius = 0.5 if i % 2 == 0 else 0.215
        tips.append((0.5 + radius * sin(i * pi / 5), 0.53 - radius * cos(i * pi / 5)))
    b.poly(tips, cloth)


def sun(b: Brush, cloth: Cloth) -> None:
    """A sun."""
    for i in range(12):
        a = i * pi / 6
        b.poly(
            [
                (0.5 + 0.49 * cos(a), 0.5 + 0.49 * sin(a)),
                (0.5 + 0.33 * cos(a + 0.2), 0.5 + 0.33 * sin(a + 0.2)),
                (0.5 + 0.33 * cos(a - 0.2), 0.5 + 0.33 * sin(a - 0.2)),
            ],
            cloth,
        )
    b.oval((0.2, 0.2, 0.8, 0.8), mix(cloth.colour, WHITE, 0.15))


def tree(b: Brush, cloth: Cloth) -> None:
    """A tree."""
    b.poly(at("43,55 57,55 64,98 36,98"), WOOD)
    crowns = (
        (0.05, 0.3, 0.5, 0.62),
        (0.5, 0.3, 0.95, 0.62),
        (0.18, 0.02, 0.82, 0.42),
        (0.26, 0.3, 0.74, 0.68),
    )
    for corners in crowns:
        b.oval(corners, cloth)
    for x, y in ((0.3, 0.2), (0.62, 0.24), (0.22, 0.44), (0.72, 0.46), (0.48, 0.5), (0.46, 0.3)):
        b.arc((x - 0.09, y - 0.05, x + 0.09, y + 0.05), 190, 350, edge_of(cloth.colour), 0.015)
