"""Retrieval, then grounding (Zhao et al. 2024, Sec. 5.6): where in a picture is the thing that a phrase names?

Boxes are proposed, each is cut out and treated as a picture of its own, and any system searches for the phrase among
them. The top box is right if it overlaps the thing's own box with an IoU of at least 0.5.

grounded            the share of a picture's phrases for which that is so
clip-t              the same by the encoder alone
largest, random     by the largest box, and by a random one (its probability)
best                by whichever box overlaps most: no system can do better

Proposals are windows of the grid of 6 x 6 regions, or with the option "proposals=boxes" the boxes of all things in the
picture, each shifted and scaled a little, as a detector that finds everything would give them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.conversation import Say
from viewfinder.data.captions import read_instances
from viewfinder.data.splits import split_of
from viewfinder.data.truth import TRUTH_FILE, ThingTruth, read_truth
from viewfinder.encoders import Encoder
from viewfinder.encoders.base import Pixels
from viewfinder.encoders.features import Features
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.overlap import count_seen_pictures, list_parts, refuse_seen
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import Notify, Plan, load_system, pick_evenly, silent
from viewfinder.evaluation.replay import force_pictures, replay_turns
from viewfinder.evaluation.results import MeasuredRun, check_options, make_measured_result, make_run
from viewfinder.pictures import AtMost, decode_one
from viewfinder.retrievers import Retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.grounding import cut_boxes
from viewfinder.search.scores import express_query, score_all
from viewfinder.wording.nouns import with_article
from viewfinder.worlds.words import PATTERN_NOUNS

PROTOCOL, PHRASES = "grounding", "phrases.jsonl"
PROPOSALS, WINDOWS, BOXES = "proposals", "windows", "boxes"
MIN_IOU = 0.5
GROUNDED, CLIP, LARGEST, RANDOM, BEST = "grounded", "clip-t", "largest box", "random box", "best box"

DEFAULT_PICTURES = 50
"""Default number of pictures: each has some 250 windows, and all of them are searched."""

MIN_AREA = 1 / 36
"""Minimum share of a picture's area: things smaller than a grid cell are not searched for."""

MAX_SIDE = 1024
"""Maximum longer side, in pixels, of a picture from which boxes are cut out."""


@dataclass(frozen=True)
class GroundedPhrase:
    """A phrase and what a system chose for it; boxes are fractions of width and height (x0, y0, x1, y1).

    `iou` is the overlap of each choice with the right box, by the name of its figure; `random` is the share of boxes
    that would be right.
    """

    picture: str
    phrase: str
    box: tuple[float, ...]
    chosen: tuple[float, ...]
    iou: dict[str, float] = field(hash=False)
    random: float

    @property
    def right(self) -> dict[str, float]:
        """Whether each choice is right, by the name of its figure: 1 or 0; for a random draw, its probability."""
        return {name: float(iou >= MIN_IOU) for name, iou in self.iou.items()} | {RANDOM: self.random}


def ground_phrases(plan: Plan, encoder: Encoder, out: Path, notify: Notify = silent) -> MeasuredRun[GroundedPhrase]:
    """Finds the things of a folder's pictures by what they are called; nothing is written.

    From the plan it uses system, checkpoint, data, split (of a world), limit (pictures), options and seed.

    Raises:
        UnknownName, BadInput: no such system, split or manner; the pictures have no boxes marked.
        EncoderMismatch: the system was trained on other vectors than the encoder gives.
    """
    check_options(plan, (PROPOSALS,), PROTOCOL)
    proposals = plan.options.get(PROPOSALS, WINDOWS)
    if proposals not in {WINDOWS, BOXES}:
        raise BadInput(f"--manner {PROPOSALS}={proposals}: {WINDOWS} or {BOXES}")
    systems = {
        GROUNDED: force_pictures(load_system(plan.system, plan.seed, plan.checkpoint)),
        CLIP: load_system("clip-t"),
    }
    notify(f"reading {plan.data}")
    split, marked = read_marked_pictures(plan.data, plan.split)
    marked = pick_evenly(marked, plan.limit or DEFAULT_PICTURES)
    notify(f"{sum(len(one.phrases) for one in marked):,} phrases of {len(marked):,} pictures")
    rng = np.random.default_rng(plan.seed)
    found: list[GroundedPhrase] = []
    for done, one in enumerate(marked, start=1):
        found += _ground_picture(one, proposals == WINDOWS, encoder, systems, rng)
        if done % max(len(marked) // 10, 1) == 0:
            notify(f"  {done:,} of {len(marked):,} pictures")
    if not found:
        raise BadInput(f"{plan.data}: no thing that is marked there is large enough to be looked for")
    names = list(dict.fromkeys(one.picture for one in found))
    title = f"{PROTOCOL}, {proposals}, {split}"
    of = f"{proposals}, {split}, {len(found):,} phrases of {len(names):,} pictures"
    parts = list_parts(systems[GROUNDED], encoder)
    task = make_measured_result(
        title, count_grounded(found), names, of=of, split=split, pictures=len(names), at="one phrase",
        seed=plan.seed, overlap=refuse_seen(title, count_seen_pictures(names, plan.data, parts), plan),
    )  # fmt: skip
    return MeasuredRun(make_run(plan, encoder, out, (task,)), tuple(found), PHRASES)


def _ground_picture(
    one: MarkedPicture, by_windows: bool, encoder: Encoder, systems: dict[str, Retriever[Any]], rng: np.random.Generator
) -> Iterator[GroundedPhrase]:
    read = decode_one(one.path, AtMost(MAX_SIDE))
    size_4 = np.array([read.facts.width, read.facts.height] * 2, np.float32)
    boxes_n4 = make_grid_windows() if by_windows else jitter_boxes(np.array(one.boxes, np.float32) / size_4, rng)
    gallery = encode_boxes(read.pixels, boxes_n4, encoder, systems[GROUNDED])
    largest = int((boxes_n4[:, 2:] - boxes_n4[:, :2]).prod(axis=1).argmax())
    for phrase in one.phrases:
        right_4 = np.array(phrase.box, np.float32) / size_4
        if (right_4[2:] - right_4[:2]).prod() < MIN_AREA:
            continue
        iou_n = intersection_over_union(right_4, boxes_n4)
        rows = {LARGEST: largest, BEST: int(iou_n.argmax())}
        for name, system in systems.items():
            query = system.query(replay_turns((Say(phrase.text),), gallery, system))
            query = express_query(query, gallery.measures.scale)
            rows[name] = int(score_all(gallery, query).total_n.argmax())
        overlap = {name: float(iou_n[row]) for name, row in rows.items()}
        chosen, chance = tuple(boxes_n4[rows[GROUNDED]].tolist()), float((iou_n >= MIN_IOU).mean())
        yield GroundedPhrase(one.path.name, phrase.text, tuple(right_4.tolist()), chosen, overlap, chance)


def encode_boxes(pixels: Pixels, boxes_n4: Boxes, encoder: Encoder, retriever: Retriever[Any]) -> Gallery:
    """A gallery of what is in each box, in the order of the boxes."""
    encoded = encoder.pictures(cut_boxes(pixels, boxes_n4), regions=retriever.reads.regions)
    raw_ng = np.asarray(encoded.global_bd, np.float32)
    regions_nre = None if encoded.regions_brd is None else np.asarray(encoded.regions_brd, np.float16)
    keys = tuple(f"{at:06d}" for at in range(len(boxes_n4)))
    raw = Features(keys, raw_ng, encoder.raw_version, regions_nre)
    vectors_nd = np.asarray(encoder.project(raw_ng), np.float32)
    return Pictures(keys, vectors_nd, encoder, raw=raw).gallery()


def count_grounded(found: Sequence[GroundedPhrase]) -> dict[str, Float[np.ndarray, " s"]]:
    """The figures of every picture, means over its phrases; and by how much the system is better than the others."""
    pictures: dict[str, list[dict[str, float]]] = {}
    for one in found:
        pictures.setdefault(one.picture, []).append(one.right)
    names = (GROUNDED, CLIP, RANDOM, LARGEST, BEST)
    values = {
        name: np.array([np.mean([right[name] for right in rights]) for rights in pictures.values()]) for name in names
    }
    above = {f"above {name}": values[GROUNDED] - values[name] for name in (CLIP, RANDOM, LARGEST)}
    return {**values, **above}


GRID_SIDE = 6
"""Cells per side of the grid that windows are made of: the same grid as for regions."""

WINDOW_SIDES, MAX_ASPECT = (1, 2, 3, 4, 6), 2
"""Cells per side of a window; no side is more than twice as long as the other."""

MOVED, SCALED = 0.1, 0.15
"""How far off a detector's box is, relative to its sides: standard deviations of its centre and of its sides' logs."""

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1; in pixels, or as fractions of width and height."""

Boxes = Float32[np.ndarray, "n 4"]


@dataclass(frozen=True)
class Phrase:
    """A description of a thing that occurs only once in a picture, and the thing's box in pixels."""

    text: str
    box: Box


@dataclass(frozen=True)
class MarkedPicture:
    """A picture file, phrases that each mean one thing in it, and the boxes of all its things, in pixels."""

    path: Path
    phrases: tuple[Phrase, ...]
    boxes: tuple[Box, ...]


def read_marked_pictures(folder: Path, split: str | None) -> tuple[str, list[MarkedPicture]]:
    """The split and its pictures that have phrases: a world's things by their looks, COCO's by their category.

    A world has splits (None: test); all of COCO's pictures are taken.

    Raises:
        UnknownName: there is no such split.
        BadInput: the folder is neither, its files are damaged, or no thing is unique of its kind.
    """
    if (folder / TRUTH_FILE).is_file():
        split, found = split or "test", []
        for truth in read_truth(folder).values():
            if split_of(truth.image) == split:
                named = [(name_thing(thing), _to_corners(thing.box)) for thing in truth.things]
                found.append(_mark_picture(folder / "images" / truth.image, named))
        if not found:
            raise UnknownName(f"{folder}: no pictures of the split {split!r}; there are: train, val, test")
    else:
        if split not in {None, "all"}:
            raise UnknownName(f"{folder}: no split is called {split!r}; there is: all")
        split, found = "all", []
        for one in read_instances(folder)[0]:
            named = [
                (with_article(thing.category), _to_corners(thing.box)) for thing in one.instances if not thing.crowd
            ]
            crowds = {with_article(thing.category) for thing in one.instances if thing.crowd}
            found.append(_mark_picture(one.path, named, crowds))
    told = [one for one in found if one.phrases and one.path.is_file()]
    if not told:
        raise BadInput(f"{folder}: no picture of {split!r} with a thing that a phrase can mean; name another --data")
    return split, told


def _mark_picture(path: Path, named: Sequence[tuple[str, Box]], several: Collection[str] = ()) -> MarkedPicture:
    """A phrase for every thing whose name is unique; `several` are names that several things have."""
    counts = Counter([*(name for name, _ in named), *several])
    phrases = tuple(Phrase(name, box) for name, box in named if counts[name] == 1)
    return MarkedPicture(path, phrases, tuple(box for _, box in named))


def name_thing(thing: ThingTruth) -> str:
    """A thing of a world as a person would call it: "a striped blue umbrella"."""
    pattern = (thing.pattern,) if thing.pattern in PATTERN_NOUNS else ()
    colour = (thing.colour,) if thing.colour else ()
    return with_article(" ".join((*pattern, *colour, thing.nouns[0][0])))


def _to_corners(box: Sequence[float | int]) -> Box:
    x, y, width, height = map(float, box)
    return x, y, x + width, y + height


@cache
def make_grid_windows() -> Boxes:
    """Windows of the grid as fractions of width and height: of every size at every cell."""
    sizes = [(w, h) for w, h in product(WINDOW_SIDES, WINDOW_SIDES) if max(w, h) <= MAX_ASPECT * min(w, h)]
    boxes = [(x, y, x + w, y + h) for w, h in sizes for y in range(GRID_SIDE - h + 1) for x in range(GRID_SIDE - w + 1)]
    boxes_n4: Boxes = np.divide(np.array(boxes), GRID_SIDE).astype(np.float32)
    return boxes_n4


def jitter_boxes(boxes_n4: Boxes, rng: np.random.Generator) -> Boxes:
    """Boxes as a detector would give them: each slightly shifted and slightly larger or smaller; in fractions."""
    size_n2 = boxes_n4[:, 2:] - boxes_n4[:, :2]
    centre_n2 = (boxes_n4[:, 2:] + boxes_n4[:, :2]) / 2 + size_n2 * rng.normal(0, MOVED, size_n2.shape)
    half_n2 = size_n2 * np.exp(rng.normal(0, SCALED, size_n2.shape)) / 2
    moved_n4: Boxes = np.clip(np.hstack([centre_n2 - half_n2, centre_n2 + half_n2]), 0, 1).astype(np.float32)
    return moved_n4


def intersection_over_union(
    box_4: Float[np.ndarray, " 4"], boxes_n4: Float[np.ndarray, "n 4"]
) -> Float[np.ndarray, " n"]:
    """Intersection over union of a box with others; 0 if both are empty."""
    low_n2, high_n2 = np.maximum(box_4[:2], boxes_n4[:, :2]), np.minimum(box_4[2:], boxes_n4[:, 2:])
    both_n = np.maximum(high_n2 - low_n2, 0).prod(axis=1)
    either_n = (box_4[2:] - box_4[:2]).prod() + (boxes_n4[:, 2:] - boxes_n4[:, :2]).prod(axis=1) - both_n
    return np.asarray(np.divide(both_n, either_n, out=np.zeros(len(boxes_n4)), where=either_n > 0))
