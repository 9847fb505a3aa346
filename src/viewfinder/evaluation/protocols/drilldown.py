"""Drill-down's protocol (Tan et al. 2019): ten region descriptions as ten turns, every picture of the split ranked.

R@1, R@5, R@10, median and mean rank after every turn; no early stopping, so nothing accumulates.
"""

from __future__ import annotations

from pathlib import Path

from viewfinder.conversation import Say
from viewfinder.data.visual_genome import RegionPicture, read_visual_genome, split_names, ten_captions
from viewfinder.evaluation.task import Talk, Task

METRICS = ("R@1", "R@5", "R@10", "median rank", "rank")


def splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder with region descriptions as Visual Genome's; none elsewhere."""
    return split_names(folder)


def tasks(folder: Path, split: str) -> list[Task]:
    """One task: the split's pictures, ten captions each."""
    pictures, report = read_visual_genome(folder, split)
    talks = tuple(Talk(str(picture.id), _key(picture), tuple(map(Say, ten_captions(picture)))) for picture in pictures)
    gallery = tuple(_key(picture) for picture in pictures)
    caption = "first ten regions by id"
    return [Task("drilldown", "", split, gallery, talks, METRICS, caption, rounds=10, reports=(report,))]


def _key(picture: RegionPicture) -> str:
    return str(picture.id) if picture.path is None else picture.path.name
