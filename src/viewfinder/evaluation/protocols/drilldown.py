"""Drill-down's protocol (Tan et al. 2019): ten region descriptions as ten turns, every picture of the split ranked.

R@1, R@5 and R@10 after every turn (Sec. 4), and the median and mean rank that the published code prints; no early
stopping, so nothing accumulates. Captioned pictures (Flickr8k, COCO) serve too: their captions, usually five, are the
turns, and they are split by the hash of their names, as for training.

Captioned photos have a protocol of their own: every caption is one turn, in the order of the file, and the whole set
is ranked. The first turn alone is text-to-image retrieval as usually reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from viewfinder.conversation import Say
from viewfinder.data import ReadReport
from viewfinder.data.captions import has_captions, read_captioned
from viewfinder.data.splits import SPLITS, split_reader
from viewfinder.data.visual_genome import choose_captions, list_splits, read_visual_genome
from viewfinder.evaluation.plan import SearchDialogue, Task

METRICS = ("R@1", "R@5", "R@10", "median rank", "rank")


def drilldown_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder with region descriptions as Visual Genome's, or with captions; none elsewhere."""
    return list_splits(folder) or (SPLITS if has_captions(folder) else ())


def drilldown_tasks(folder: Path, split: str) -> list[Task]:
    """One task: the split's pictures, ten region descriptions or five captions each."""
    if list_splits(folder):
        regions, report = read_visual_genome(folder, split)
        said = [
            (str(one.id), str(one.id) if one.path is None else one.path.name, choose_captions(one)) for one in regions
        ]
        return [_make_task("drilldown", split, said, "first ten regions by id", 10, report)]
    pictures, report = read_captioned(folder)
    # Captions in lower case and without repeats, as the published loader has region descriptions.
    split_of = split_reader(folder)
    said = [
        (one.path.name, one.path.name, tuple(dict.fromkeys(map(str.lower, one.captions)))[:MAX_TURNS])
        for one in pictures
        if split_of(one.path) == split
    ]
    return [_make_task("drilldown", split, said, FILE_ORDER, MAX_TURNS, report)]


def _make_task(
    protocol: str, split: str, said: Sequence[tuple[str, str, Sequence[str]]], caption: str, rounds: int,
    report: ReadReport,
) -> Task:  # fmt: skip
    """A task from pictures (id, key and what is said of it), each of them a target once."""
    dialogues = tuple(SearchDialogue(name, key, tuple(map(Say, texts))) for name, key, texts in said)
    gallery = tuple(key for _, key, _ in said)
    return Task(protocol, "", split, gallery, dialogues, METRICS, caption, rounds=rounds, reports=(report,))


MAX_TURNS = 5
FILE_ORDER = "in the order of the file"


def caption_splits(folder: Path) -> tuple[str, ...]:
    """The one split of captioned pictures: these files have none of their own."""
    return ("all",) if has_captions(folder) else ()


def caption_tasks(folder: Path, split: str) -> list[Task]:
    """One task over all pictures: these files have no splits."""
    pictures, report = read_captioned(folder)
    said = [(picture.path.name, picture.path.name, picture.captions[:MAX_TURNS]) for picture in pictures]
    return [_make_task("captions", "all", said, FILE_ORDER, MAX_TURNS, report)]
