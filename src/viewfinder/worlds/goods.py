"""Sprites of what people make. Each fills a frame from (0, 0) to (1, 1) and looks to the right."""

from __future__ import annotations

from math import cos, pi, sin

from viewfinder.worlds.brush import RGB, Brush, Cloth, edge_of, mix
from viewfinder.worlds.kinds import COLOURS
from viewfinder.worlds.parts import BLACK, CREAM, GLASS, STEEL, WHITE, WOOD, at, shine, wheels


def ball(b: Brush, cloth: Cloth) -> None:
    """A ball."""
    b.oval((0.02, 0.02, 0.98, 0.98), cloth)
    if cloth.pattern == "plain":
        light, dark = mix(cloth.colour, WHITE, 0.35), edge_of(cloth.colour)
        b.arc((-0.55, 0.05, 0.45, 0.95), -62, 62, dark, 0.025)
        b.arc((0.55, 0.05, 1.45, 0.95), 118, 242, dark, 0.025)
        b.line([(0.5, 0.03), (0.5, 0.97)], light, 0.02)
    shine(b, (0.24, 0.14, 0.42, 0.28), cloth)


def balloon(b: Brush, cloth: Cloth) -> None:
    """A balloon."""
    b.curve(at("50,62 42,74 58,86 50,99"), (120, 120, 126), 0.035)
    b.blob(
        at("50,2 85,10 98,30 82,50 50,63 18,50 2,30 15,10"),
        cloth,
    )
    b.poly(at("50,61 62,67 38,67"), cloth)
    shine(b, (0.22, 0.12, 0.4, 0.24), cloth)


def bicycle(b: Brush, cloth: Cloth) -> None:
    """A bicycle."""
    ink = cloth.colour
    for x in (0.2, 0.8):
        b.arc((x - 0.19, 0.4, x + 0.19, 0.99), 0, 360, BLACK, 0.055)
        for turn in range(4):
            dx, dy = 0.17 * cos(turn * pi / 4), 0.27 * sin(turn * pi / 4)
            b.line([(x - dx, 0.695 - dy), (x + dx, 0.695 + dy)], STEEL, 0.014)
    for tube in (
        at("20,69 38,30 68,30 46,70 20,69"),
        [(0.36, 0.2), (0.46, 0.7)],
        [(0.64, 0.12), (0.8, 0.69)],
    ):
        b.line(tube, edge_of(ink), 0.085)
    for tube in (
        at("20,69 38,30 68,30 46,70 20,69"),
        [(0.36, 0.2), (0.46, 0.7)],
        [(0.64, 0.12), (0.8, 0.69)],
    ):
        b.line(tube, ink, 0.06)
    b.line(at("64,12 74,6 78,13"), BLACK, 0.05)
    b.rect((0.27, 0.14, 0.45, 0.21), BLACK, 0.04)
    b.oval((0.42, 0.64, 0.5, 0.76), STEEL)


def boat(b: Brush, cloth: Cloth) -> None:
    """A boat."""
    b.line([(0.48, 0.03), (0.48, 0.72)], WOOD, 0.045)
    b.poly(at("52,4 95,64 52,64"), cloth)
    b.poly(at("44,14 44,64 12,64"), mix(cloth.colour, WHITE, 0.55))
    b.poly(at("2,70 98,70 84,97 16,97"), cloth.colour)
    b.poly(at("2,70 98,70 95.5,77 4.5,77"), CREAM)


def book(b: Brush, cloth: Cloth) -> None:
    """A book."""
    b.poly(at("4,62 30,96 97,70 97,56 30,78"), CREAM)
    for y in (0.66, 0.72):
        b.line([(0.31, y + 0.18), (0.95, y - 0.04)], (190, 176, 148), 0.015)
    b.poly(at("30,95 97,69 99,73 31,99"), cloth.colour)
    b.poly(at("3,44 68,3 98,52 30,80"), cloth)
    b.poly(at("3,44 30,80 31,99 3,62"), mix(cloth.colour, BLACK, 0.25))
    b.poly(at("36,40 60,26 70,42 46,55"), CREAM)


def bottle(b: Brush, cloth: Cloth) -> None:
    """A bottle."""
    b.rect((0.36, 0.02, 0.64, 0.1), STEEL, 0.04)
    b.poly(at("38,10 62,10 62,26 97,42 97,98 3,98 3,42 38,26"), cloth)
    b.rect((0.03, 0.56, 0.97, 0.78), CREAM)
    b.line([(0.25, 0.67), (0.75, 0.67)], edge_of(cloth.colour), 0.08)
    shine(b, (0.14, 0.44, 0.24, 0.54), cloth)


def bus(b: Brush, cloth: Cloth) -> None:
    """A bus."""
    b.rect((0.01, 0.06, 0.99, 0.86), cloth, 0.14)
    for i in range(5):
        x = 0.05 + i * 0.155
        b.rect((x, 0.18, x + 0.12, 0.46), GLASS, 0.04)
    b.rect((0.84, 0.18, 0.96, 0.82), GLASS, 0.04)
    b.line([(0.9, 0.2), (0.9, 0.8)], edge_of(cloth.colour), 0.02)
    b.rect((0.01, 0.56, 0.8, 0.63), mix(cloth.colour, WHITE, 0.6))
    wheels(b, (0.2, 0.68), 0.085, 0.83)


def car(b: Brush, cloth: Cloth) -> None:
    """A car."""
    b.poly(at("18,42 32,5 66,5 82,42"), cloth)
    b.poly(at("25,40 35,13 48,13 48,40"), GLASS)
    b.poly(at("52,40 52,13 64,13 75,40"), GLASS)
    b.rect((0.01, 0.4, 0.99, 0.82), cloth, 0.16)
    b.oval((0.92, 0.46, 0.985, 0.6), (255, 240, 170))
    b.rect((0.015, 0.48, 0.05, 0.6), (220, 60, 50))
    b.line([(0.5, 0.46), (0.5, 0.76)], edge_of(cloth.colour), 0.03)
    b.rect((0.53, 0.5, 0.6, 0.55), STEEL)
    wheels(b, (0.23, 0.77), 0.1, 0.78)


def chair(b: Brush, cloth: Cloth) -> None:
    """A chair."""
    dark = mix(cloth.colour, BLACK, 0.25)
    for x in (0.2, 0.84):
        b.rect((x, 0.5, x + 0.09, 0.9), dark)
    b.rect((0.06, 0.02, 0.18, 0.98), cloth.colour, 0.05)
    b.rect((0.7, 0.56, 0.8, 0.98), cloth.colour, 0.04)
    b.rect((0.1, 0.05, 0.84, 0.4), cloth, 0.06)
    b.poly(at("6,60 20,48 97,48 83,60"), cloth)
    b.rect((0.06, 0.58, 0.84, 0.66), dark)


def clock(b: Brush, cloth: Cloth) -> None:
    """A clock."""
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


def cup(b: Brush, cloth: Cloth) -> None:
    """A cup."""
    b.arc((0.6, 0.28, 0.98, 0.76), -100, 110, edge_of(cloth.colour), 0.17)
    b.arc((0.61, 0.29, 0.97, 0.75), -100, 110, cloth.colour, 0.12)
    b.poly(at("3,12 77,12 70,80 58,97 22,97 10,80"), cloth)
    b.oval((0.03, 0.02, 0.77, 0.24), mix(cloth.colour, WHITE, 0.4))
    b.oval((0.1, 0.06, 0.7, 0.21), (96, 58, 36))


def gift(b: Brush, cloth: Cloth) -> None:
    """A gift."""
    ribbon = (
        COLOURS["yellow"] if cloth.colour in (COLOURS["red"], COLOURS["pink"], COLOURS["purple"]) else (205, 40, 60)
    )
    for s in (-1, 1):
        b.blob([(0.5, 0.26), (0.5 + s * 0.3, 0.02), (0.5 + s * 0.38, 0.16), (0.5 + s * 0.2, 0.27)], ribbon)
    b.rect((0.07, 0.42, 0.93, 0.98), cloth, 0.02)
    b.rect((0.02, 0.25, 0.98, 0.45), cloth, 0.03)
    b.rect((0.42, 0.25, 0.58, 0.98), ribbon)


def hat(b: Brush, cloth: Cloth) -> None:
    """A hat."""
    b.oval((0.01, 0.62, 0.99, 0.98), cloth)
    b.blob(
        at("24,78 26,30 38,6 50,10 62,6 74,30 76,78 50,86"),
        cloth,
    )
    b.poly(at("24,58 50,66 76,58 76.5,74 50,84 23.5,74"), BLACK if max(cloth.colour) > 60 else (200, 50, 50))


def house(b: Brush, cloth: Cloth) -> None:
    """A house."""
    roof: RGB = (
        (150, 62, 48) if cloth.colour not in (COLOURS["red"], COLOURS["brown"], COLOURS["orange"]) else (72, 76, 92)
    )
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


def kite(b: Brush, cloth: Cloth) -> None:
    """A kite."""
    b.curve(at("50,62 38,72 60,82 45,98"), (90, 90, 100), 0.03)
    for x, y in ((0.41, 0.72), (0.56, 0.81), (0.46, 0.92)):
        b.poly([(x, y), (x - 0.14, y - 0.04), (x - 0.14, y + 0.04)], cloth.colour)
        b.poly([(x, y), (x + 0.14, y - 0.04), (x + 0.14, y + 0.04)], cloth.colour)
    b.poly(at("50,1 98,25 50,65 2,25"), cloth)
    b.line([(0.5, 0.02), (0.5, 0.64)], edge_of(cloth.colour), 0.03)
    b.line([(0.03, 0.25), (0.97, 0.25)], edge_of(cloth.colour), 0.03)


def lamp(b: Brush, cloth: Cloth) -> None:
    """A lamp."""
    b.poly(at("28,48 72,48 90,62 10,62"), (255, 240, 170, 90))
    b.rect((0.45, 0.48, 0.55, 0.9), STEEL)
    b.oval((0.34, 0.62, 0.66, 0.86), mix(cloth.colour, BLACK, 0.25))
    b.rect((0.22, 0.9, 0.78, 0.98), STEEL, 0.04)
    b.poly(at("26,2 74,2 98,50 2,50"), cloth)


def umbrella(b: Brush, cloth: Cloth) -> None:
    """An umbrella."""
    b.line([(0.5, 0.02), (0.5, 0.9)], STEEL, 0.035)
    b.arc((0.36, 0.8, 0.51, 0.985), 0, 180, WOOD, 0.045)
    b.pie((0.01, 0.06, 0.99, 1.0), 180, 360, cloth)
    for corners in ((0.255, 0.06, 0.745, 1.0), (0.46, 0.06, 0.54, 1.0)):
        b.arc(corners, 180, 360, edge_of(cloth.colour), 0.02)
