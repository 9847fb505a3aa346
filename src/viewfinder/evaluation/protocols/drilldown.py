"""Drill-down's protocol (Tan et al. 2019): ten region descriptions as ten turns, every picture of the split ranked.

R@1, R@5 and R@10 after every turn (Sec. 4), and the median and mean rank that the published code prints; no early
stopping, so nothing accumulates. Captioned pictures (Flickr8k, Flickr30k, COCO) serve too: their captions, usually
five, are the turns, and they are split as for training: as the set is published, else by the hash of their names.

Captioned photos have a protocol of their own: every caption is one turn, in the order of the file, and the whole split
is ranked; without published splits, all that is there. The first turn alone is text-to-image retrieval as usually
reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from viewfinder.conversation import Say
from viewfinder.data import ReadReport
from viewfinder.data.captions import has_captions, has_own_splits, read_captioned, read_lists
from viewfinder.data.splits import SPLITS, CaptionsFound, choose_split, survey_captions
from viewfinder.data.visual_genome import (
    choose_captions,
    describe_regions,
    has_split_lists,
    list_splits,
    read_visual_genome,
)
from viewfinder.evaluation.plan import SearchDialogue, Task

METRICS = ("R@1", "R@5", "R@10", "median rank", "rank")


def drilldown_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder with region descriptions as Visual Genome's, or with captions; none elsewhere."""
    if known := list_splits(folder):
        return known
    if not has_captions(folder):
        return ()
    found = _survey(folder)
    return SPLITS if found is None else found.splits


def drilldown_note(folder: Path) -> str:
    """What a folder has of Visual Genome's one file of regions, for messages; "" if it has none."""
    return "" if has_split_lists(folder) else describe_regions(folder)


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
    said = [
        (one.path.name, one.path.name, tuple(dict.fromkeys(map(str.lower, one.captions)))[:MAX_TURNS])
        for one in choose_split(folder, pictures, split)
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


ALL = "all"
MAX_TURNS = 5
FILE_ORDER = "in the order of the file"


def caption_splits(folder: Path) -> tuple[str, ...]:
    """The published splits of captioned pictures that are here, and all of them together."""
    if not has_captions(folder):
        return ()
    found = _survey(folder)
    published = (
        () if found is None else found.splits if found.is_complete else [one.name for one in found.parts if one.here]
    )
    return (*filter(None, published), ALL) if found is None or found.has_pictures else ()


def caption_note(folder: Path) -> str:
    """What a folder has of a captioned set whose splits are published; "" for other folders."""
    found = _survey(folder) if has_captions(folder) else None
    return "" if found is None else str(found)


def _survey(folder: Path) -> CaptionsFound | None:
    """What a folder has of a captioned set, if that set comes with splits: the captions have to be read for it."""
    return survey_captions(folder) if has_own_splits(folder) or read_lists(folder) else None


def caption_tasks(folder: Path, split: str) -> list[Task]:
    """One task over the pictures of a split, or over all."""
    pictures, report = read_captioned(folder)
    chosen = pictures if split == ALL else choose_split(folder, pictures, split)
    said = [(picture.path.name, picture.path.name, picture.captions[:MAX_TURNS]) for picture in chosen]
    return [_make_task("captions", split, said, FILE_ORDER, MAX_TURNS, report)]
