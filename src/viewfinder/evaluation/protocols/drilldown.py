"""Drill-down's protocol (Tan et al. 2019): ten region descriptions as ten turns, every picture of the split ranked.

R@1, R@5 and R@10 after every turn (Sec. 4), and the median and mean rank that the published code prints; no early
stopping, so nothing accumulates. Captioned pictures (Flickr8k, COCO) serve too: their captions, five as a rule, are the
turns, and they are split by their place in the file, as for training.
"""

from __future__ import annotations

from pathlib import Path

from viewfinder.conversation import Say
from viewfinder.data.captions import SPLITS, split_of
from viewfinder.data.visual_genome import RegionPicture, choose_captions, list_splits, read_visual_genome
from viewfinder.evaluation.protocols.captions import MOST_TURNS, has_captions, read_captioned
from viewfinder.evaluation.task import SearchDialogue, Task

METRICS = ("R@1", "R@5", "R@10", "median rank", "rank")


def drilldown_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder with region descriptions as Visual Genome's, or with captions; none elsewhere."""
    return list_splits(folder) or (SPLITS if has_captions(folder) else ())


def drilldown_tasks(folder: Path, split: str) -> list[Task]:
    """One task: the split's pictures, ten region descriptions or five captions each."""
    return [_regions(folder, split) if list_splits(folder) else _captions(folder, split)]


def _regions(folder: Path, split: str) -> Task:
    pictures, report = read_visual_genome(folder, split)
    talks = tuple(
        SearchDialogue(str(picture.id), _key(picture), tuple(map(Say, choose_captions(picture))))
        for picture in pictures
    )
    gallery = tuple(_key(picture) for picture in pictures)
    caption = "first ten regions by id"
    return Task("drilldown", "", split, gallery, talks, METRICS, caption, rounds=10, reports=(report,))


def _captions(folder: Path, split: str) -> Task:
    """Captions lower-case and each once, as the published loader has region descriptions."""
    pictures, report = read_captioned(folder)
    chosen = [picture for place, picture in enumerate(pictures) if split_of(place) == split]
    said = [tuple(dict.fromkeys(map(str.lower, picture.captions)))[:MOST_TURNS] for picture in chosen]
    gallery = tuple(picture.path.name for picture in chosen)
    talks = tuple(
        SearchDialogue(name, name, tuple(map(Say, captions))) for name, captions in zip(gallery, said, strict=True)
    )
    caption = "in the order of the file"
    return Task("drilldown", "", split, gallery, talks, METRICS, caption, rounds=MOST_TURNS, reports=(report,))


def _key(picture: RegionPicture) -> str:
    return str(picture.id) if picture.path is None else picture.path.name
