"""Captioned photos: every caption one turn, in the order of the file; the whole set is ranked.

The first turn alone is text-to-image retrieval as usually reported.
"""

from __future__ import annotations

from pathlib import Path

from viewfinder.conversation import Say
from viewfinder.data import CaptionedPicture, ReadReport, read_coco, read_flickr8k
from viewfinder.evaluation.task import SearchDialogue, Task

METRICS = ("R@1", "R@5", "R@10", "median rank", "rank")
MOST_TURNS = 5


def caption_splits(folder: Path) -> tuple[str, ...]:
    """These files know no splits."""
    return ("all",) if has_captions(folder) else ()


def caption_tasks(folder: Path, split: str) -> list[Task]:
    """One task over all pictures: these files know no splits."""
    pictures, report = read_captioned(folder)
    talks = tuple(
        SearchDialogue(picture.path.name, picture.path.name, tuple(map(Say, picture.captions[:MOST_TURNS])))
        for picture in pictures
    )
    gallery = tuple(picture.path.name for picture in pictures)
    return [Task("captions", "", "all", gallery, talks, METRICS, "in the order of the file", reports=(report,))]


def has_captions(folder: Path) -> bool:
    """Whether a folder holds captions as Flickr8k's or COCO's."""
    return (folder / "captions.csv").is_file() or any(folder.glob("annotations/captions_*.json"))


def read_captioned(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """The captioned pictures of a folder, in the order of its files."""
    return read_flickr8k(folder) if (folder / "captions.csv").is_file() else read_coco(folder)
