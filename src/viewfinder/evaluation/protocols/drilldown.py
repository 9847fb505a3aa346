"""Drill-down's protocol (Tan et al. 2019): ten region descriptions as ten turns, every picture of the split ranked.

R@1, R@5 and R@10 after every turn (Sec. 4), and the median and mean rank that the published code prints; no early
stopping, so nothing accumulates. Captioned pictures (Flickr8k, COCO) serve too: their captions, five as a rule, are the
turns, and they are split by their place in the file, as for training.

Captioned photos have a protocol of their own: every caption one turn, in the order of the file; the whole set is
ranked. The first turn alone is text-to-image retrieval as usually reported.
"""

from __future__ import annotations

from pathlib import Path

from viewfinder.conversation import Say
from viewfinder.data import CaptionedPicture, ReadReport, read_coco, read_flickr8k
from viewfinder.data.captions import SPLITS, split_of
from viewfinder.data.visual_genome import RegionPicture, choose_captions, list_splits, read_visual_genome
from viewfinder.evaluation.plan import SearchDialogue, Task

METRICS = ("R@1", "R@5", "R@10", "median rank", "rank")


def drilldown_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder with region descriptions as Visual Genome's, or with captions; none elsewhere."""
    return list_splits(folder) or (SPLITS if has_captions(folder) else ())


def drilldown_tasks(folder: Path, split: str) -> list[Task]:
    """One task: the split's pictures, ten region descriptions or five captions each."""
    return [_regions(folder, split) if list_splits(folder) else _captions(folder, split)]


def _regions(folder: Path, split: str) -> Task:
    pictures, report = read_visual_genome(folder, split)
    dialogues = tuple(
        SearchDialogue(str(picture.id), _key(picture), tuple(map(Say, choose_captions(picture))))
        for picture in pictures
    )
    gallery = tuple(_key(picture) for picture in pictures)
    caption = "first ten regions by id"
    return Task("drilldown", "", split, gallery, dialogues, METRICS, caption, rounds=10, reports=(report,))


def _captions(folder: Path, split: str) -> Task:
    """Captions lower-case and each once, as the published loader has region descriptions."""
    pictures, report = read_captioned(folder)
    chosen = [picture for place, picture in enumerate(pictures) if split_of(place) == split]
    said = [tuple(dict.fromkeys(map(str.lower, picture.captions)))[:MOST_TURNS] for picture in chosen]
    gallery = tuple(picture.path.name for picture in chosen)
    dialogues = tuple(
        SearchDialogue(name, name, tuple(map(Say, captions))) for name, captions in zip(gallery, said, strict=True)
    )
    caption = "in the order of the file"
    return Task("drilldown", "", split, gallery, dialogues, METRICS, caption, rounds=MOST_TURNS, reports=(report,))


def _key(picture: RegionPicture) -> str:
    return str(picture.id) if picture.path is None else picture.path.name


CAPTION_METRICS = ("R@1", "R@5", "R@10", "median rank", "rank")
MOST_TURNS = 5


def caption_splits(folder: Path) -> tuple[str, ...]:
    """These files know no splits."""
    return ("all",) if has_captions(folder) else ()


def caption_tasks(folder: Path, split: str) -> list[Task]:
    """One task over all pictures: these files know no splits."""
    pictures, report = read_captioned(folder)
    dialogues = tuple(
        SearchDialogue(picture.path.name, picture.path.name, tuple(map(Say, picture.captions[:MOST_TURNS])))
        for picture in pictures
    )
    gallery = tuple(picture.path.name for picture in pictures)
    return [
        Task("captions", "", "all", gallery, dialogues, CAPTION_METRICS, "in the order of the file", reports=(report,))
    ]


def has_captions(folder: Path) -> bool:
    """Whether a folder holds captions as Flickr8k's or COCO's."""
    return (folder / "captions.csv").is_file() or any(folder.glob("annotations/captions_*.json"))


def read_captioned(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """The captioned pictures of a folder, in the order of its files."""
    return read_flickr8k(folder) if (folder / "captions.csv").is_file() else read_coco(folder)
