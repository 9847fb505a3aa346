"""Pictures in which things are marked by boxes: phrases that mean one of them, boxes to choose among, cut-outs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.data.captions import read_instances, split_of
from viewfinder.data.truth import TRUTH_FILE, ThingTruth, read_truth
from viewfinder.encoders.base import Pixels
from viewfinder.errors import BadInput, UnknownName
from viewfinder.worlds.words import PATTERN_NOUNS, with_article

SIDE = 6
"""Cells of a side of the grid that windows are made of: the regions' own."""

SIDES, SLIMMEST = (1, 2, 3, 4, 6), 2
"""Windows have so many cells a side, and no side is more than twice as long as the other."""

MOVED, SCALED = 0.1, 0.15
"""How far a box of a detector is off, as shares of its sides: standard deviations of its centre and of their logs."""

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1; in pixels, or as shares of width and height."""

Boxes = Float32[np.ndarray, "n 4"]


@dataclass(frozen=True)
class Phrase:
    """What is looked for in a picture: a thing of which there is one there, and its box in pixels."""

    text: str
    box: Box


@dataclass(frozen=True)
class MarkedPicture:
    """A picture file, phrases that mean one thing in it, and the boxes of all of its things, in pixels."""

    path: Path
    phrases: tuple[Phrase, ...]
    boxes: tuple[Box, ...]


def read_marked_pictures(folder: Path, split: str | None) -> tuple[str, list[MarkedPicture]]:
    """The split and its pictures that have phrases: things of a world by their looks, those of COCO by their category.

    A world has splits (None: test); of COCO's pictures all are taken.

    Raises:
        UnknownName: there is no such split.
        BadInput: the folder is neither, its files are damaged, or no thing is the only one of its kind.
    """
    split, found = _of_world(folder, split or "test") if (folder / TRUTH_FILE).is_file() else _of_coco(folder, split)
    told = [one for one in found if one.phrases and one.path.is_file()]
    if not told:
        raise BadInput(f"{folder}: no picture of {split!r} with a thing that a phrase can mean; name another --data")
    return split, told


def _of_world(folder: Path, split: str) -> tuple[str, list[MarkedPicture]]:
    truths = read_truth(folder).values()
    own = [
        truth for truth in truths if Path(truth.image).stem.isdigit() and split_of(int(Path(truth.image).stem)) == split
    ]
    if not own:
        raise UnknownName(f"{folder}: no pictures of the split {split!r}; there are: train, val, test")
    return split, [
        _marked(folder / "images" / truth.image, [(name_thing(thing), _corners(thing.box)) for thing in truth.things])
        for truth in own
    ]


def _of_coco(folder: Path, split: str | None) -> tuple[str, list[MarkedPicture]]:
    if split not in {None, "all"}:
        raise UnknownName(f"{folder}: no split is called {split!r}; there is: all")
    found = []
    for one in read_instances(folder)[0]:
        named = [(with_article(thing.category), _corners(thing.box)) for thing in one.instances if not thing.crowd]
        crowds = {with_article(thing.category) for thing in one.instances if thing.crowd}
        found.append(_marked(one.path, named, crowds))
    return "all", found


def _marked(path: Path, named: Sequence[tuple[str, Box]], several: Collection[str] = ()) -> MarkedPicture:
    """A phrase for every thing that is alone in being called so; `several` are names of which there are more."""
    counts = Counter([*(name for name, _ in named), *several])
    phrases = tuple(Phrase(name, box) for name, box in named if counts[name] == 1)
    return MarkedPicture(path, phrases, tuple(box for _, box in named))


def name_thing(thing: ThingTruth) -> str:
    """What one calls a thing of a world: "a striped blue umbrella"."""
    pattern = (thing.pattern,) if thing.pattern in PATTERN_NOUNS else ()
    colour = (thing.colour,) if thing.colour else ()
    return with_article(" ".join((*pattern, *colour, thing.nouns[0][0])))


def _corners(box: Sequence[float | int]) -> Box:
    x, y, width, height = map(float, box)
    return x, y, x + width, y + height


# -- boxes


@cache
def grid_windows() -> Boxes:
    """Windows of the grid as shares of width and height: of every size at every cell."""
    sizes = [(w, h) for w, h in product(SIDES, SIDES) if max(w, h) <= SLIMMEST * min(w, h)]
    boxes = [(x, y, x + w, y + h) for w, h in sizes for y in range(SIDE - h + 1) for x in range(SIDE - w + 1)]
    boxes_n4: Boxes = np.divide(np.array(boxes), SIDE).astype(np.float32)
    return boxes_n4


def jitter_boxes(boxes_n4: Boxes, rng: np.random.Generator) -> Boxes:
    """Boxes as a detector would give them: each a little beside, a little larger or smaller; in shares."""
    size_n2 = boxes_n4[:, 2:] - boxes_n4[:, :2]
    centre_n2 = (boxes_n4[:, 2:] + boxes_n4[:, :2]) / 2 + size_n2 * rng.normal(0, MOVED, size_n2.shape)
    half_n2 = size_n2 * np.exp(rng.normal(0, SCALED, size_n2.shape)) / 2
    moved_n4: Boxes = np.clip(np.hstack([centre_n2 - half_n2, centre_n2 + half_n2]), 0, 1).astype(np.float32)
    return moved_n4


def intersection_over_union(
    box_4: Float[np.ndarray, " 4"], boxes_n4: Float[np.ndarray, "n 4"]
) -> Float[np.ndarray, " n"]:
    """Intersection over union of a box with others; 0 where both are empty."""
    low_n2, high_n2 = np.maximum(box_4[:2], boxes_n4[:, :2]), np.minimum(box_4[2:], boxes_n4[:, 2:])
    both_n = np.maximum(high_n2 - low_n2, 0).prod(axis=1)
    either_n = (box_4[2:] - box_4[:2]).prod() + (boxes_n4[:, 2:] - boxes_n4[:, :2]).prod(axis=1) - both_n
    return np.asarray(np.divide(both_n, either_n, out=np.zeros(len(boxes_n4)), where=either_n > 0))


def cut_boxes(pixels: Pixels, boxes_n4: Boxes) -> list[Pixels]:
    """What is in each box, at least a pixel of it."""
    height, width = pixels.shape[:2]
    found = []
    for x0, y0, x1, y1 in boxes_n4.tolist():
        left, top = min(int(x0 * width), width - 1), min(int(y0 * height), height - 1)
        right, bottom = max(round(x1 * width), left + 1), max(round(y1 * height), top + 1)
        found.append(np.ascontiguousarray(pixels[top:bottom, left:right]))
    return found
