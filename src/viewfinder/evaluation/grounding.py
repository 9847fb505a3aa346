"""Retrieval, then grounding (Zhao et al. 2024, Sec. 5.6): where in a picture is what a phrase speaks of?

Boxes are proposed, each is cut out and seen as a picture of its own, and the phrase is searched among them by any
system. The box that comes first is right if it overlaps the thing's own with an IoU of at least 0.5.

grounded            the share of a picture's phrases for which that is so
clip-t              the same by the encoder alone
largest, random     by the largest box, and by a draw (its chance)
best                by whichever box overlaps most: no system can do better

Proposals are windows of the grid of 6 x 6 regions, or with the manner "proposals=boxes" the boxes of all things of the
picture, each moved and scaled a little, as a detector that finds everything would give them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Say
from viewfinder.encoders import Encoder
from viewfinder.encoders.base import Pixels
from viewfinder.errors import BadInput
from viewfinder.evaluation.marked import (
    Boxes,
    MarkedPicture,
    cut_boxes,
    grid_windows,
    intersection_over_union,
    jitter_boxes,
    read_marked_pictures,
)
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import Notify, Plan
from viewfinder.evaluation.raw import MappedVectors
from viewfinder.evaluation.results import Run, describe_machine
from viewfinder.evaluation.speaking import pictures_only, replay_turns
from viewfinder.evaluation.systems import load_system, region_space
from viewfinder.evaluation.values import MeasuredRun, check_options, pick_evenly, provenance_of, result_of_values
from viewfinder.index import Gallery
from viewfinder.pictures import AtMost, decode_one
from viewfinder.retrievers import Retriever

PROTOCOL, PHRASES = "grounding", "phrases.jsonl"
PROPOSALS, WINDOWS, BOXES = "proposals", "windows", "boxes"
ENOUGH_OVERLAP = 0.5
GROUNDED, CLIP, LARGEST, RANDOM, BEST = "grounded", "clip-t", "largest box", "random box", "best box"

PICTURES_AT_MOST = 50
"""Pictures unless told otherwise: each has some 250 windows, all of which are looked at."""

LEAST = 1 / 36
"""Of a picture's area: what is smaller than a cell of the grid is not looked for."""

LONGEST = 1024
"""Pixels of a picture's longer side at most, of which boxes are cut out."""


@dataclass(frozen=True)
class GroundedPhrase:
    """A phrase and what a system chose for it; boxes are shares of width and height (x0, y0, x1, y1).

    `iou` is the overlap of each choice with the right box, by the name of its figure; `random` the share of boxes
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
        """How right each choice is, by the name of its figure: 1 or 0, of a draw its chance."""
        return {name: float(iou >= ENOUGH_OVERLAP) for name, iou in self.iou.items()} | {RANDOM: self.random}


def ground_phrases(
    plan: Plan, encoder: Encoder, out: Path, told: Notify = lambda line: None
) -> MeasuredRun[GroundedPhrase]:
    """Finds the things of a folder's pictures by what they are called; nothing is written.

    Of the plan count system, checkpoint, data, split (of a world), limit (pictures), manners and seed.

    Raises:
        UnknownName, BadInput: no such system, split or manner; nothing is marked in the pictures there.
        EncoderMismatch: the system was trained on other vectors than the encoder gives.
    """
    check_options(plan, (PROPOSALS,), PROTOCOL)
    proposals = plan.manners.get(PROPOSALS, WINDOWS)
    if proposals not in {WINDOWS, BOXES}:
        raise BadInput(f"--manner {PROPOSALS}={proposals}: {WINDOWS} or {BOXES}")
    systems = {
        GROUNDED: pictures_only(load_system(plan.system, plan.seed, plan.checkpoint)),
        CLIP: load_system("clip-t"),
    }
    told(f"reading {plan.data}")
    split, marked = read_marked_pictures(plan.data, plan.split)
    marked = pick_evenly(marked, plan.limit or PICTURES_AT_MOST)
    told(f"{sum(len(one.phrases) for one in marked):,} phrases of {len(marked):,} pictures")
    rng = np.random.default_rng(plan.seed)
    found: list[GroundedPhrase] = []
    for done, one in enumerate(marked, start=1):
        found += _grounded(one, proposals == WINDOWS, encoder, systems, rng)
        if done % max(len(marked) // 10, 1) == 0:
            told(f"  {done:,} of {len(marked):,} pictures")
    if not found:
        raise BadInput(f"{plan.data}: no thing that is marked there is large enough to be looked for")
    names = list(dict.fromkeys(one.picture for one in found))
    task = result_of_values(
        f"{PROTOCOL}, {proposals}, {split}",
        grounding_values(found),
        names,
        of=f"{proposals}, {split}, {len(found):,} phrases of {len(names):,} pictures",
        split=split,
        pictures=len(names),
        at="one phrase",
        seed=plan.seed,
    )
    return MeasuredRun(Run(out, provenance_of(plan, encoder), describe_machine(), (task,)), tuple(found), PHRASES)


def _grounded(
    one: MarkedPicture, by_windows: bool, encoder: Encoder, systems: dict[str, Retriever[Any]], rng: np.random.Generator
) -> Iterator[GroundedPhrase]:
    read = decode_one(one.path, AtMost(LONGEST))
    size_4 = np.array([read.facts.width, read.facts.height] * 2, np.float32)
    boxes_n4 = grid_windows() if by_windows else jitter_boxes(np.array(one.boxes, np.float32) / size_4, rng)
    gallery = encode_boxes(read.pixels, boxes_n4, encoder, systems[GROUNDED])
    largest = int((boxes_n4[:, 2:] - boxes_n4[:, :2]).prod(axis=1).argmax())
    for phrase in one.phrases:
        right_4 = np.array(phrase.box, np.float32) / size_4
        if (right_4[2:] - right_4[:2]).prod() < LEAST:
            continue
        iou_n = intersection_over_union(right_4, boxes_n4)
        rows = {name: best_row(phrase.text, gallery, system) for name, system in systems.items()}
        rows |= {LARGEST: largest, BEST: int(iou_n.argmax())}
        yield GroundedPhrase(
            picture=one.path.name,
            phrase=phrase.text,
            box=tuple(right_4.tolist()),
            chosen=tuple(boxes_n4[rows[GROUNDED]].tolist()),
            iou={name: float(iou_n[row]) for name, row in rows.items()},
            random=float((iou_n >= ENOUGH_OVERLAP).mean()),
        )


def encode_boxes(pixels: Pixels, boxes_n4: Boxes, encoder: Encoder, retriever: Retriever[Any]) -> Gallery:
    """What is in each box as a picture to search for, in the order of the boxes."""
    space = region_space(retriever)
    regions = "regions" in retriever.needs or (space is not None and space.reads_regions)
    encoded = encoder.pictures(cut_boxes(pixels, boxes_n4), regions=regions)
    raw_ng = np.asarray(encoded.global_bd, np.float32)
    regions_nre = None if encoded.regions_brd is None else np.asarray(encoded.regions_brd, np.float16)
    keys = tuple(f"{at:06d}" for at in range(len(boxes_n4)))
    raw = MappedVectors(encoder.raw_version, {key: at for at, key in enumerate(keys)}, raw_ng, regions_nre)
    vectors_nd = np.asarray(encoder.project(raw_ng), np.float32)
    return Pictures(keys, vectors_nd, encoder, raw=raw).gallery()


def best_row(phrase: str, gallery: Gallery, retriever: Retriever[Any]) -> int:
    """The row of the picture that comes first when a phrase is said."""
    query = retriever.query(replay_turns((Say(phrase),), gallery, retriever))
    return int(gallery.scores(query).total_n.argmax())


def grounding_values(found: Sequence[GroundedPhrase]) -> dict[str, Float[np.ndarray, " s"]]:
    """Of every picture the mean over its phrases, figure by figure; and by how much the system is better."""
    pictures: dict[str, list[dict[str, float]]] = {}
    for one in found:
        pictures.setdefault(one.picture, []).append(one.right)
    names = (GROUNDED, CLIP, RANDOM, LARGEST, BEST)
    values = {
        name: np.array([np.mean([right[name] for right in rights]) for rights in pictures.values()]) for name in names
    }
    above = {f"above {name}": values[GROUNDED] - values[name] for name in (CLIP, RANDOM, LARGEST)}
    return {**values, **above}
