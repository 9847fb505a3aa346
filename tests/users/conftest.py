"""A scene and two articles whose truth is written down by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from viewfinder.data.truth import PictureTruth, ThingTruth
from viewfinder.worlds.words import NOUNS

BROWN_DOG = ThingTruth(1, "dog", NOUNS["dog"], "brown", "small", "plain", "left", (40, 240, 60, 50), "left", "bottom")
BLACK_DOG = ThingTruth(
    2, "dog", NOUNS["dog"], "black", "large", "plain", "right", (200, 240, 100, 90), "middle", "bottom"
)
CAR = ThingTruth(3, "car", NOUNS["car"], "red", "medium", "striped", "left", (330, 250, 90, 50), "right", "bottom")
KITE = ThingTruth(4, "kite", NOUNS["kite"], "blue", "medium", "dotted", "", (180, 20, 60, 80), "middle", "top")

LEFT_TO_RIGHT = [(1, 2), (2, 3), (1, 3)]


@pytest.fixture
def beach() -> PictureTruth:
    """A small brown dog, a large black dog, a red striped car, from left to right; a blue dotted kite above."""
    relations = [
        *((a, "left of", b) for a, b in LEFT_TO_RIGHT),
        *((b, "right of", a) for a, b in LEFT_TO_RIGHT),
        *((4, "above", other) for other in (1, 2, 3)),
        *((other, "below", 4) for other in (1, 2, 3)),
    ]
    return PictureTruth("beach.jpg", (BROWN_DOG, BLACK_DOG, CAR, KITE), tuple(relations), "beach", "day")


@pytest.fixture
def evening(beach: PictureTruth) -> PictureTruth:
    """The beach at sunset without the brown dog, with a blue car and a clock."""
    car = replace(CAR, colour="blue")
    clock = replace(KITE, kind="clock", nouns=NOUNS["clock"], pattern="plain", row="bottom", box=(180, 260, 20, 20))
    relations = tuple(r for r in beach.relations if 1 not in (r[0], r[2]) and 4 not in (r[0], r[2]))
    return replace(beach, image="evening.jpg", things=(BLACK_DOG, car, clock), relations=relations, light="sunset")


@pytest.fixture
def dress() -> PictureTruth:
    """An article of a drawn catalogue: facets, and beside them the five types."""
    facets = {
        "kind": ("dress",),
        "colour": ("navy blue",),
        "pattern": ("striped",),
        "fabric": ("cotton",),
        "sleeves": ("long sleeves",),
        "audience": ("women",),
        "detail": ("belt",),
    }
    types = {"texture": ("navy blue", "striped"), "shape": (), "part": ("long sleeves", "belt"), "style": ("women",)}
    return PictureTruth("dress.jpg", title="Alder Women Dress", category="Dresses", attributes={**types, **facets})


@pytest.fixture
def shirt() -> PictureTruth:
    """Another one: a printed red shirt for everybody, short sleeves."""
    facets = {
        "kind": ("shirt",),
        "colour": ("red",),
        "pattern": ("printed",),
        "sleeves": ("short sleeves",),
        "audience": ("unisex",),
    }
    return PictureTruth("shirt.jpg", title="Birch Green Day Shirt", category="Shirts", attributes=facets)
