"""The truth of a picture: what is where, sampled from a seed. Nothing here knows how it is drawn or said.

>>> scene = sample_scene(seed=1, number=1)
>>> 3 <= len(scene.things) <= 8
True
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import Literal, get_args

from viewfinder.worlds.kinds import HEIGHT, PATTERNS, PLACES, SIZES, WIDTH, Box, Kind, Light
from viewfinder.worlds.stock import DRAWN, Stock

FAR = 0.84
"""Size of a thing at the horizon, as a share of its size when near."""

CLEARLY_LARGER = 1.6
"""Ratio of two areas from which people agree that one thing is larger."""

MARGIN = 5  # pixels to the picture's edges
_MAX_SPOTS_TRIED = 60
_HIDDEN = 0.28  # share of the smaller of two things that may be covered

Predicate = Literal["left of", "right of", "above", "below", "next to", "in front of", "behind"]

PREDICATES: tuple[Predicate, ...] = get_args(Predicate)


@dataclass(frozen=True)
class Thing:
    """One object: `box` is what is drawn of it, hidden parts included.

    `product` is the id of a product; which way it faces is unknown and its pattern may be: both are "" then.
    """

    number: int
    kind: str
    colour: str
    size: str
    pattern: str
    faces: Literal["left", "right", ""]
    box: Box
    product: str = ""

    @property
    def bottom(self) -> int:
        """The y at which it ends below; what stands lower is nearer."""
        return self.box[1] + self.box[3]

    @property
    def centre(self) -> tuple[float, float]:
        """x and y of the middle of its box."""
        x, y, width, height = self.box
        return x + width / 2, y + height / 2

    @property
    def column(self) -> str:
        """The third of the picture in which its centre is: left, middle or right."""
        return ("left", "middle", "right")[min(2, int(3 * self.centre[0] / WIDTH))]

    @property
    def row(self) -> str:
        """The third of the picture in which its centre is: top, centre or bottom."""
        return ("top", "centre", "bottom")[min(2, int(3 * self.centre[1] / HEIGHT))]


@dataclass(frozen=True)
class Relation:
    """`subject` is `predicate` `object`, by the geometry of their boxes (see `relation_holds`)."""

    number: int
    subject: Thing
    predicate: Predicate
    object: Thing


@dataclass(frozen=True)
class Scene:
    """A picture's truth; things are numbered in the order in which they are drawn, the furthest first."""

    seed: int
    number: int
    place: str
    light: Light
    things: tuple[Thing, ...]
    stock: Stock = field(default=DRAWN, compare=False, repr=False)

    def counts(self) -> Counter[str]:
        """The number of things of each kind."""
        return Counter(thing.kind for thing in self.things)

    def of_kind(self, kind: str) -> tuple[Thing, ...]:
        """All of a kind."""
        return tuple(thing for thing in self.things if thing.kind == kind)

    def main(self) -> Thing:
        """The thing that takes most of the picture."""
        return max(self.things, key=lambda thing: (box_area(thing.box), -thing.number))

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """Everything that holds between two things."""
        true = (
            (subject, predicate, other)
            for subject, other in permutations(self.things, 2)
            for predicate in PREDICATES
            if relation_holds(subject, predicate, other)
        )
        return tuple(Relation(number, *found) for number, found in enumerate(true, start=1))


def relation_holds(a: Thing, predicate: Predicate, b: Thing) -> bool:  # noqa: PLR0911 (one line a predicate)
    """Whether `a` is `predicate` `b`, judged by their boxes.

    Left of: entirely, and further to the left than up or down. Above: entirely, and further up than aside.
    Next to: side by side on one height, with a gap below 40 pixels. In front of: the boxes overlap and `a`
    stands lower.
    """
    match predicate:
        case "left of":
            return a.box[0] + a.box[2] <= b.box[0] and abs(a.centre[1] - b.centre[1]) <= b.centre[0] - a.centre[0]
        case "right of":
            return relation_holds(b, "left of", a)
        case "above":
            return a.bottom <= b.box[1] and abs(a.centre[0] - b.centre[0]) <= b.centre[1] - a.centre[1]
        case "below":
            return relation_holds(b, "above", a)
        case "next to":
            gap = max(a.box[0], b.box[0]) - min(a.box[0] + a.box[2], b.box[0] + b.box[2])
            return 0 <= gap < 40 and abs(a.bottom - b.bottom) < 28
        case "in front of":
            return box_overlap(a.box, b.box) > 0 and a.bottom > b.bottom + 4
        case "behind":
            return relation_holds(b, "in front of", a)


def box_area(box: Box) -> int:
    """Square pixels of a box."""
    return box[2] * box[3]


def box_overlap(a: Box, b: Box) -> int:
    """Square pixels that two boxes share."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return max(0, width) * max(0, height)


def sample_scene(*, seed: int, number: int, stock: Stock = DRAWN) -> Scene:
    """Scene `number` of a world; it depends on nothing but the two numbers and what the things are taken from."""
    rng = random.Random(f"viewfinder/scene/{seed}/{number}")
    while True:
        place = rng.choice(tuple(PLACES))
        light = rng.choice(PLACES[place].lights)
        things = _place_things(list(_draw_wishes(rng, stock, place, light)), rng, stock, place)
        if len(things) >= 3:
            return Scene(seed, number, place, light, things, stock)


def _draw_wishes(rng: random.Random, stock: Stock, place: str, light: Light) -> Iterator[Thing]:
    """Three to eight things to be placed, in most scenes several of one kind."""
    kinds_of = stock.kinds
    there = kinds_of if stock.shop is None else stock.shop.products
    allowed = [name for name, kind in kinds_of.items() if name in there and kind_fits(name, kind, place, light)]
    count = rng.choices(range(3, 9), weights=(2, 4, 5, 4, 3, 2))[0]
    kinds = rng.sample(allowed, min(count, len(allowed)))
    # So few kinds float that most waters would be empty without this.
    swimming = [name for name in allowed if kinds_of[name].zone == "water"]
    if swimming and rng.random() < 0.6:
        afloat = rng.choice(swimming)
        kinds = [afloat, *(kind for kind in kinds if kind != afloat)][:count]
    if rng.random() < 0.7:
        repeated = next((kind for kind in kinds if kinds_of[kind].most > 1), kinds[0])
        times = min(rng.choice((2, 2, 3)), kinds_of[repeated].most, count)
        kinds = [repeated] * times + [kind for kind in kinds if kind != repeated][: count - times]
    for kind in kinds:
        thing = _draw_look(rng, stock, kind)
        if thing is not None:
            yield thing


def kind_fits(name: str, kind: Kind, place: str, light: Light) -> bool:
    """Whether a kind of thing can be at a place, at an hour."""
    if kind.zone not in PLACES[place].zones or name in PLACES[place].shows:
        return False
    if light == "indoors":
        return not kind.outdoors
    return name not in {"day": {"moon"}, "sunset": {"moon"}, "night": {"sun", "star"}}[light]


def _draw_look(rng: random.Random, stock: Stock, name: str) -> Thing | None:
    """One thing of a kind with random looks; None where the shop has none that can be cut out."""
    if stock.shop is not None:
        product = stock.shop.pick(rng, name)
        size = rng.choices(tuple(SIZES), weights=(2, 3, 2))[0]
        if product is None:
            return None
        return Thing(0, name, product.colour, size, product.pattern, "", (0, 0, 0, 0), product.id)
    kind = stock.kinds[name]
    pattern = rng.choices(PATTERNS, weights=(5, 2, 2, 2))[0] if kind.patterned else "plain"
    colour, size = rng.choice(kind.colours), rng.choices(tuple(SIZES), weights=(2, 3, 2))[0]
    return Thing(0, name, colour, size, pattern, rng.choice(("left", "right")), (0, 0, 0, 0))


def _place_things(wishes: list[Thing], rng: random.Random, stock: Stock, place: str) -> tuple[Thing, ...]:
    """The things that find a spot, large ones first; in the order in which they are drawn."""
    placed: list[Thing] = []
    for thing in sorted(wishes, key=lambda wish: -stock.kinds[wish.kind].height * SIZES[wish.size]):
        for _ in range(_MAX_SPOTS_TRIED):
            box = _draw_box(thing, rng, stock, place)
            if is_box_free(box, placed):
                placed.append(replace(thing, box=box))
                break
    return order_for_drawing(placed, stock)


def order_for_drawing(things: Iterable[Thing], stock: Stock) -> tuple[Thing, ...]:
    """Things numbered as they are drawn: what flies and swims first, then the furthest."""
    order = sorted(things, key=lambda thing: (stock.kinds[thing.kind].zone == "ground", thing.bottom, thing.box))
    return tuple(replace(thing, number=number) for number, thing in enumerate(order, start=1))


def _draw_box(thing: Thing, rng: random.Random, stock: Stock, place: str) -> Box:
    """A box of the right size somewhere in the thing's zone, wholly in the picture."""
    kind = stock.kinds[thing.kind]
    medium, aspect = stock.extent(thing.kind, thing.product)
    top, bottom = PLACES[place].zones[kind.zone]
    nearness = rng.random() * kind.near
    scale = SIZES[thing.size] * (FAR + (1 - FAR) * nearness)
    height = round(medium * scale)
    width = min(round(height * aspect), WIDTH - 2 * MARGIN)
    foot = round(top + (bottom - top) * nearness)
    if kind.zone == "air":
        foot = max(foot, height + MARGIN)
    return (rng.randint(MARGIN, WIDTH - MARGIN - width), foot - height, width, height)


def is_box_free(box: Box, placed: Sequence[Thing]) -> bool:
    """Whether nothing would be hidden by much, and nothing would overlap at an equal height."""
    if box[1] < MARGIN:
        return False
    for other in placed:
        shared = box_overlap(box, other.box)
        same_height = abs(box[1] + box[3] - other.bottom) <= 8
        if shared and (same_height or shared > _HIDDEN * min(box_area(box), box_area(other.box))):
            return False
    return True
